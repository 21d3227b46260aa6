"""What `edgeret-export lab planner` refuses before anything is converted, what its gate says, and cards of weights."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import TOOLS, build_tiny, make_demonstrations
from gguf_forge import tiny

from edgeret.bundle.reader import verify_bundle
from edgeret.errors import InputError, MissingExtraError
from edgeret_export.cli import main
from edgeret_export.planner import convert
from edgeret_export.planner.gguf_limits import Limits
from edgeret_export.planner.gguf_parity import Answers, Examination, compare, examination, problems
from edgeret_export.planner.package import PlannerModel, fetch_planner
from edgeret_export.planner.quantise import check_type
from edgeret_export.planner.weights import check_adapter, read_weights
from edgeret_export.recipe import Recipe
from edgeret_export.sources import converter
from edgeret_export.sources.cards import Card, PlannerCard, WeightsCard, read_card

CARD = """
name = "own"
kind = "weights"
summary = "for tests"
licence = "MIT"
sources = ["path:weights"]

[weights]
chat = "chatml"
base_model = "other"
licence_files = ["LICENSE"]

[files]
"config.json" = "unpinned"
"LICENSE" = "unpinned"
"""
LLAMA = {"architectures": ["LlamaForCausalLM"], "max_position_embeddings": 64}


def folder_of(folder: Path, config: dict[str, Any]) -> Path:
    """A folder that looks like a model's."""
    folder.mkdir()
    for name in ("model.safetensors", "tokenizer.json", "LICENSE"):
        (folder / name).write_bytes(b"{}")
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    return folder_of(tmp_path / "weights", LLAMA)


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one line that a refused command leaves."""
    try:
        code = main(["lab", "planner", *map(str, arguments)])
    except SystemExit as left:  # argparse's own refusals
        code = int(left.code or 0)
    error = capsys.readouterr().err
    assert code == 2
    assert error.count("\n") == 1
    return error


@pytest.mark.parametrize("named", [["BertForMaskedLM"], [], None])
def test_an_unknown_architecture_is_one_clear_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], named: list[str] | None
) -> None:
    folder = folder_of(tmp_path / "odd", {"architectures": named})
    error = refused(capsys, folder, "-o", tmp_path / "x.gguf", "--licence", "MIT", "--chat", "plain")
    found = named[0] if named else "none"
    assert f"the architecture {found} cannot be a planner; expected one of LlamaForCausalLM, Qwen2ForCausalLM" in error
    assert [path.name for path in tmp_path.iterdir()] == ["odd"]


def test_a_type_that_there_is_not_is_refused_by_its_name(
    tmp_path: Path, weights: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    error = refused(capsys, weights, "-o", tmp_path / "x.gguf", "--licence", "MIT", "--quantize", "q4_k")
    assert "'Q4_K'" in error
    assert "Did you mean 'Q4_K_M'" in error or "did you mean" in error.lower()
    with pytest.raises(InputError, match="no type 'IQ1_S' to quantise to; expected one of Q8_0"):
        check_type("IQ1_S")
    assert check_type("q4_k_m") == "Q4_K_M"


def test_a_licence_is_needed_by_name_and_by_text(
    tmp_path: Path, weights: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = ("-o", tmp_path / "x.gguf", "--chat", "plain")
    assert "whose licence? Name that of the weights with --licence" in refused(capsys, weights, *output)
    missing = refused(capsys, weights, *output, "--licence", "MIT", "--licence-file", tmp_path / "none")
    assert "none: no such file; --licence-file is the licence's text" in missing
    (tmp_path / "LICENSE").touch()
    twice = ("--licence", "MIT", "--licence-file", weights / "LICENSE", "--licence-file", tmp_path / "LICENSE")
    assert "two files of one name" in refused(capsys, weights, *output, *twice)
    (weights / "LICENSE").unlink()
    error = refused(capsys, weights, *output, "--licence", "MIT")
    assert "no LICENSE in it; give the licence's text with --licence-file" in error


def test_a_place_that_is_taken_and_options_that_do_not_go_together_are_refused(
    tmp_path: Path, weights: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "taken.toml").touch()
    assert "taken.toml: exists already" in refused(capsys, weights, "-o", tmp_path / "taken.gguf", "--licence", "MIT")
    assert "expected a name like" in refused(capsys, weights, "-o", tmp_path / "x.bin", "--licence", "MIT")
    about = (weights, "-o", tmp_path / "x.gguf", "--licence", "MIT", "--chat", "plain")
    assert "give it with --adapter" in refused(capsys, *about, "--adapter-beside")
    assert "--tools and --demos go together" in refused(capsys, *about, "--tools", "t.jsonl")
    assert "is of the kind planner; give one of the kind weights" in refused(
        capsys, "smollm2-135m-instruct", "-o", tmp_path / "x.gguf"
    )


def test_weights_that_lack_something_are_refused(weights: Path) -> None:
    assert read_weights(weights).architecture == "llama"
    (weights / "config.json").write_text(json.dumps({**LLAMA, "max_position_embeddings": "many"}), encoding="utf-8")
    with pytest.raises(InputError, match="max_position_embeddings must be a number of tokens, found 'many'"):
        read_weights(weights)
    (weights / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    for name, said in (
        ("tokenizer.json", r"no tokenizer\.json or tokenizer\.model in it"),
        ("model.safetensors", "no "),
    ):
        (weights / name).unlink()
        with pytest.raises(InputError, match=said):
            read_weights(weights)
    for text, said in (("{", "not JSON"), ("[]", "not a JSON object")):
        (weights / "config.json").write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=said):
            read_weights(weights)
    with pytest.raises(InputError, match="no such folder"):
        read_weights(weights / "none")


def test_an_adapter_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text('{"peft_type": "IA3"}', encoding="utf-8")
    with pytest.raises(InputError, match="an adapter of the kind 'IA3', expected LORA"):
        check_adapter(tmp_path)
    (tmp_path / "adapter_config.json").write_text('{"peft_type": "LORA"}', encoding="utf-8")
    with pytest.raises(InputError, match=r"no adapter_model\.safetensors in it"):
        check_adapter(tmp_path)


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convert, "find_spec", lambda name: None)
    with pytest.raises(
        MissingExtraError, match=r"requires extra 'gguf'. Install it with: pip install 'edgeret-export\[gguf\]'"
    ):
        convert.check_modules()


def test_a_card_of_weights_says_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(CARD, encoding="utf-8")
    card = read_card(tmp_path / "own.toml")
    assert card.weights == WeightsCard("chatml", "other", ("LICENSE",))
    assert (card.encoder, card.planner) == (None, None)
    with pytest.raises(
        InputError, match=r"no planner yet; make one with: edgeret-export lab planner .*own\.toml -o X\.gguf"
    ):
        fetch_planner(card)
    (tmp_path / "own.toml").write_text(CARD.replace("chatml", "morse"), encoding="utf-8")
    with pytest.raises(InputError, match='"chat" must be one of chatml'):
        read_card(tmp_path / "own.toml")
    (tmp_path / "own.toml").write_text(CARD.replace('["LICENSE"]', '["none"]'), encoding="utf-8")
    with pytest.raises(InputError, match=r'"weights\.licence_files" must name one of "files"'):
        read_card(tmp_path / "own.toml")


def test_what_quantising_cost_stands_in_the_bundles_report(tmp_path: Path) -> None:
    (tmp_path / "weights.gguf").write_bytes(tiny().pack())
    measured = {"type": "Q8_0", "perplexity_ratio": 1.01, "allowed_perplexity_ratio": 1.1}
    planner = PlannerCard("weights.gguf", "chatml", 4096, (), "its weights", measured)
    card = Card("tiny", "planner", "for tests", "MIT", ("path:.",), {}, None, Path(), planner)
    recipe = Recipe(precision="fp32", planner_questions=0, profile="full")
    manifest = verify_bundle(build_tiny(tmp_path / "b", recipe=recipe, model=PlannerModel(card, planner, tmp_path)))
    assert manifest.info["report"]["planner"]["quantised"] == measured
    assert {file.source for file in manifest.files if file.role == "planner"} == {"tiny: its weights"}


def answers(shift: float, chosen: tuple[str, ...]) -> Answers:
    return Answers(np.array([-50.0, -60.0, -40.0]) - 10 * shift, np.array([10, 10, 10]), chosen)


def test_the_gate_compares_tokens_and_choices() -> None:
    asked = examination(TOOLS, make_demonstrations(8))
    assert len(asked.questions) == 40
    assert all(len(question.names) == len(set(question.names)) == 7 for question in asked.questions)
    assert all(question.right in question.names for question in asked.questions)
    assert all(0 < len(passage.encode()) <= 360 for passage in asked.passages)
    assert asked == examination(TOOLS, make_demonstrations(8))
    assert asked != examination(TOOLS, make_demonstrations(8), seed=1)
    few = Examination(asked.questions[:4], asked.passages[:3])
    before = answers(0.0, ("a", "b", "c", "d"))
    same = compare(few, before, before, Limits())
    assert (same["perplexity_ratio"], same["choices_kept"], problems(same, Limits())) == (1.0, 4, [])
    worse = compare(few, before, answers(0.2, ("a", "x", "x", "d")), Limits())
    assert worse["perplexity_ratio"] == pytest.approx(np.exp(0.2), abs=1e-4)
    assert worse["perplexity_ratio_at_most"] == worse["perplexity_ratio"]  # each passage lost the same
    assert worse["share_kept_at_least"] < 0.5
    assert [problem.split(",")[0] for problem in problems(worse, Limits())] == [
        "perplexity grew to 1.221 of what it was",
        "2 of 4 masked choices stayed (0.50)",
    ]
    assert problems(worse, Limits(1.3, 0.5)) == []
    nothing = compare(few, before, answers(float("nan"), ("a", "b", "c", "d")), Limits())
    assert problems(nothing, Limits())


def test_nothing_stays_where_one_of_the_files_cannot_be_placed(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(InputError, match="cannot be written"):
        convert._place({"x.gguf": tmp_path / "a", "x.toml": tmp_path / "none"}, tmp_path)  # noqa: SLF001
    assert not list(tmp_path.glob("x.*"))


def test_a_converter_is_fetched_by_its_hash_and_no_other_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tarfile

    monkeypatch.setenv("EDGERET_CACHE", str(tmp_path / "cache"))
    with pytest.raises(InputError, match="converter is not in the cache"):
        converter.converter_folder(offline=True)
    root = tmp_path / f"llama_cpp_python-{converter.VERSION}" / "vendor" / "llama.cpp"
    for name in (
        converter.WEIGHTS_SCRIPT,
        "conversion/base.py",
        "gguf-py/gguf/gguf.py",
        "src/llama.cpp",
        "conversion/a/b.py",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name, encoding="utf-8")

    def download(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        assert "--require-hashes" in command
        with tarfile.open(Path(command[command.index("--dest") + 1]) / "x.tar.gz", "w:gz") as archive:
            archive.add(tmp_path / root.relative_to(tmp_path).parts[0], root.relative_to(tmp_path).parts[0])
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", download)
    with pytest.raises(InputError, match="expected a converter of sha256 "):
        converter.converter_folder()
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    with pytest.raises(InputError) as told:
        converter.converter_folder()
    monkeypatch.setattr(converter, "FILES_SHA256", str(told.value).rpartition(" ")[2])
    folder = converter.converter_folder()
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert found == {converter.WEIGHTS_SCRIPT, "conversion/base.py", "gguf-py/gguf/gguf.py"}
    assert converter.converter_folder(offline=True) == folder
    (folder / "conversion" / "base.py").write_text("altered", encoding="utf-8")
    assert (converter.converter_folder() / "conversion" / "base.py").read_text(encoding="utf-8") == "conversion/base.py"


@pytest.mark.parametrize("opens", ["<|im_start|>", "<s>", None])
def test_a_template_is_known_whatever_token_opens_its_prompts(opens: str | None) -> None:
    """SmolLM2's opens a prompt with what begins a turn."""
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    from edgeret.planner.chat import Prompt, Turn
    from edgeret_export.planner.templates import chat_format

    template = (
        "{{ bos_token if bos_token == '<s>' else '' }}{% for message in messages %}<|im_start|>{{ message.role }}\n"
        "{{ message.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    words = Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, bos_token=opens, chat_template=template)
    assert chat_format(tokenizer, [Prompt((Turn("system", "a"),), Turn("user", "b"))]) == "chatml"
