"""The planner's file from the bundle to llama.cpp, and the engine's calls that could end the process; with a tiny model
of random weights.
"""

from __future__ import annotations

import hashlib
import os
from math import inf
from pathlib import Path

import numpy as np
import pytest
from conftest import build_tiny
from gguf_forge import Gguf, tiny

import edgeret
from edgeret.errors import PlannerError
from edgeret.planner import llama, state_file
from edgeret.planner.chat import Prompt, Turn
from edgeret.planner.model import MAX_ANSWER_TOKENS, Planner
from edgeret.planner.spec import PlannerSpec
from edgeret.planner.state_file import read_state, write_state
from edgeret.planner.turn import BusyError
from edgeret_export.planner.package import PlannerModel
from edgeret_export.recipe import Recipe
from edgeret_export.sources.cards import Card, PlannerCard

pytest.importorskip("llama_cpp", reason="the extra 'planner' is not installed")

SPEC = PlannerSpec("chatml", 4096)
QUERY = "find my file and send a mail"
KEY = hashlib.sha256(b"").hexdigest()


def ask(query: str) -> Prompt:
    return Prompt((Turn("system", "Choose."),), Turn("user", query))


@pytest.fixture
def planner(tmp_path: Path) -> Planner:
    return opened(tiny(), tmp_path)


def opened(gguf: Gguf, folder: Path, spec: PlannerSpec = SPEC) -> Planner:
    (folder / "tiny.gguf").write_bytes(gguf.pack())
    return Planner(folder / "tiny.gguf", spec, 1, name="planner.gguf")


def bundle_with(gguf: Gguf, folder: Path) -> Path:
    """A tiny bundle whose planner was never asked what its advice is worth."""
    (folder / "weights.gguf").write_bytes(gguf.pack())
    card = PlannerCard("weights.gguf", "chatml", 4096)
    whole = Card("tiny", "planner", "for tests", "MIT", ("path:.",), {}, None, Path(), card)
    recipe = Recipe(precision="fp32", planner_questions=0, profile="full")
    return build_tiny(folder / "bundle", recipe=recipe, model=PlannerModel(whole, card, folder))


def test_a_planner_is_asked_from_its_bundle(tmp_path: Path) -> None:
    runtime = edgeret.load(bundle_with(tiny(), tmp_path))
    decision = runtime.task(QUERY).next(policy="planner", masking="none")
    assert decision.source == "planner"
    assert decision.usage is not None


@pytest.mark.parametrize("other", ["another model", "nothing", "no file"])
def test_a_planner_exchanged_after_loading_is_never_used(tmp_path: Path, other: str) -> None:
    bundle = bundle_with(tiny(), tmp_path)
    runtime = edgeret.load(bundle)
    model = bundle / "planner.gguf"
    expected = edgeret.load(bundle).task(QUERY).next(policy="planner", masking="none").candidates
    if other == "no file":
        model.unlink()  # what was verified is still open
        assert runtime.task(QUERY).next(policy="planner", masking="none").candidates == expected
        return
    if other == "another model":
        data = bytearray(model.read_bytes())
        data[-100:] = bytes(100)
        with model.open("r+b") as stream:
            stream.write(data)
    else:
        os.truncate(model, 1000)
    for _ in range(2):
        with pytest.raises(PlannerError, match=r"planner\.gguf: changed since the bundle was loaded; copy the bundle"):
            runtime.task(QUERY).next(policy="planner", masking="none")
    plain = runtime.task(QUERY).next(policy="heads")
    assert runtime.task(QUERY).next().tool == plain.tool
    assert "changed since the bundle was loaded" in runtime.task(QUERY).next().reason


def test_a_forged_planner_leaves_the_heads_to_decide(tmp_path: Path) -> None:
    gguf = tiny()
    gguf.metadata["llama.block_count"] = (4, 0)
    runtime = edgeret.load(bundle_with(gguf, tmp_path))
    with pytest.raises(PlannerError, match=r"bundle/planner\.gguf: not a planner that llama\.cpp can be given"):
        runtime.task(QUERY).next(policy="planner", masking="none")
    assert runtime.task(QUERY).next().source == "heads"


def test_messages_name_the_bundle_and_not_its_copy(tmp_path: Path) -> None:
    gguf = tiny()
    gguf.metadata["tokenizer.ggml.tokens"][1][1][2] = "<|no_end|>"
    runtime = edgeret.load(bundle_with(gguf, tmp_path))
    with pytest.raises(PlannerError, match=r"bundle/planner\.gguf: no single token for '<\|im_end\|>'"):
        runtime.task(QUERY).next(policy="planner", masking="none")


def test_an_answer_that_is_no_number_is_one_clear_error(tmp_path: Path) -> None:
    for pattern in (b"\0\0\xc0\x7f", b"\0\0\x80\x7f", b"\xff" * 4):
        gguf = tiny()
        norm = gguf.tensors["output_norm.weight"]
        norm.data = pattern * (len(norm.data) // 4)
        planner = opened(gguf, tmp_path)
        for _ in range(2):
            with pytest.raises(PlannerError, match=r"planner\.gguf: the planner's answer is not a number"):
                planner.score(ask("find"), ["a", "b"])
            with pytest.raises(PlannerError, match=r"planner\.gguf: the planner's answer is not a number"):
                planner.write(ask("find"), 'root ::= "yes"')


def test_a_score_has_a_deadline_and_the_same_value_before_it(planner: Planner) -> None:
    wanted = planner.score(ask("find"), ["a", "b"])
    for answer in (planner.score(ask("find"), ["a", "b"], inf), planner.score(ask("find"), ["a", "b"], 1e12)):
        assert np.allclose(answer.log_likelihood, wanted.log_likelihood, atol=1e-4)
    for _ in range(2):
        with pytest.raises(BusyError):
            planner.score(ask("something else"), ["a", "b"], 0.0)
    assert np.allclose(planner.score(ask("find"), ["a", "b"]).log_likelihood, wanted.log_likelihood, atol=1e-4)


def test_a_grammar_that_the_vocabulary_cannot_write_is_one_clear_error(tmp_path: Path) -> None:
    gguf = tiny()
    tokens = gguf.metadata["tokenizer.ggml.tokens"][1][1]
    tokens[:] = [f"<{i}>" if token in "xyz" else token for i, token in enumerate(tokens)]
    planner = opened(gguf, tmp_path)
    with pytest.raises(PlannerError, match="no token of the planner's vocabulary goes on with what the grammar"):
        planner.write(ask("find"), 'root ::= "xyz"')
    assert planner.write(ask("find"), 'root ::= "yes" | "no"')[0] == "no"


def test_all_that_is_no_plain_text_is_read(planner: Planner) -> None:
    hostile = ["\ud800", "\udfff a", "\0", "\x04\x1b", "\U0010ffff", "ﷺ" * 50, "\u202e!", " ", "\n" * 200, "!" * 20_000]
    for text in hostile:
        if len(text) < MAX_ANSWER_TOKENS:
            scores = planner.score(ask("find"), [text, "a", ""])
            assert np.isfinite(scores.log_likelihood).all()
            assert scores.lengths[-1] == 1  # the token that ends an answer
        try:
            planner.score(ask(text), ["a", "b"])
        except PlannerError as error:
            assert "the prompt has" in str(error)


def test_a_text_with_more_tokens_than_bytes_is_read_whole(tmp_path: Path) -> None:
    gguf = tiny("gemma3")
    kind, (element, tokens) = gguf.metadata["tokenizer.ggml.tokens"]
    gguf.metadata["tokenizer.ggml.tokens"] = (kind, (element, [t if t != "▁" else "<no space>" for t in tokens]))
    planner = opened(gguf, tmp_path, PlannerSpec("gemma", 4096))
    tokens_of_a_space = 3  # its piece is missing, and spelled out in bytes
    assert planner.count(ask("a" + " " * 300))[1] - planner.count(ask("a"))[1] == 300 * tokens_of_a_space


@pytest.mark.parametrize("architecture", ["llama", "gemma3"])
def test_a_long_text_in_parts_has_the_tokens_of_the_whole(
    architecture: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planner = opened(tiny(architecture), tmp_path, PlannerSpec("gemma" if architecture == "gemma3" else "chatml", 4096))
    prompt = ask("find the thing, then send it:\n" * 40 + "\n" * 300)
    planner.score(prompt, ["a", "b"])
    monkeypatch.setattr(llama, "PART", 100)
    again = planner.score(prompt, ["a", "b"]).usage
    assert again.tokens_reused == again.constant_tokens + again.variable_tokens - 1


def test_an_endless_prompt_or_answer_is_refused_before_it_is_read(planner: Planner) -> None:
    with pytest.raises(PlannerError, match=r"the prompt has 1000\d+ characters, far more than the planner's"):
        planner.score(ask("a" * 1_000_000), ["a", "b"])
    with pytest.raises(PlannerError, match=r"the answer 'z+'… has more than 384 tokens; give the tool a short"):
        planner.score(ask("find"), ["a", "z" * 500])


def test_a_context_that_no_memory_is_made_for_is_refused(tmp_path: Path) -> None:
    planner = opened(tiny(), tmp_path, PlannerSpec("chatml", 1 << 24))
    with pytest.raises(PlannerError, match=r"planner\.gguf: a context of 70\d\d\d tokens, at most 65536 are kept"):
        planner.score(ask("z" * 70_000), ["a", "b"])


def test_an_empty_prompt_is_one_clear_error(planner: Planner) -> None:
    with pytest.raises(PlannerError, match="no token for anything in the prompt"):
        planner.save(Prompt((), Turn("user", "find")))


def test_many_long_answers_score_like_few(planner: Planner) -> None:
    answers = [f"{'tool' * 20}_{i}" for i in range(200)]
    together = planner.score(ask("find"), answers).log_likelihood
    few = planner.score(ask("find"), answers[:3]).log_likelihood
    np.testing.assert_allclose(together[:3], few, atol=1.0)


def test_a_state_that_others_could_have_written_is_not_read(planner: Planner, tmp_path: Path) -> None:
    write_state(tmp_path / "states", KEY, b"state")
    (file,) = (tmp_path / "states").iterdir()
    assert read_state(tmp_path / "states", KEY) == b"state"
    assert file.stat().st_mode & 0o777 == 0o600
    for mode in (0o620, 0o602):
        file.chmod(mode)
        assert read_state(tmp_path / "states", KEY) is None
    file.chmod(0o600)
    if os.geteuid() == 0:
        os.chown(file, 12345, -1)
        assert read_state(tmp_path / "states", KEY) is None
    target = file.rename(tmp_path / "elsewhere")
    file.symlink_to(target)
    assert read_state(tmp_path / "states", KEY) is None
    file.unlink()
    os.mkfifo(file)
    assert read_state(tmp_path / "states", KEY) is None


def test_a_state_is_kept_without_following_links_or_filling_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / f"{KEY}.state").symlink_to(victim)
    (tmp_path / f"{KEY}.partial").symlink_to(victim)
    write_state(tmp_path, KEY, b"state")
    assert victim.read_text() == "precious"
    assert read_state(tmp_path, KEY) == b"state"
    monkeypatch.setattr(state_file, "MAX_STATE_BYTES", 200)
    write_state(tmp_path, KEY, b"x" * 200)
    assert read_state(tmp_path, KEY) == b"state"
    (tmp_path / f"{KEY}.state").write_bytes(bytes(201))
    assert read_state(tmp_path, KEY) is None
    assert not list(tmp_path.glob("tmp*"))


def test_a_state_with_more_or_less_than_llama_reads_is_refused(planner: Planner) -> None:
    prompt = ask("find")
    state = planner.save(prompt)
    for broken in (state + b"x", state[:-1], b"", b"\xff" * len(state)):
        assert not planner.restore(prompt, broken)
    assert planner.restore(prompt, state)
