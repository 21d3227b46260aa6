"""A tiny Llama of two layers, taught end to end on the CPU: trajectories, SFT with a break, GRPO; what is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeret.errors import InputError, MissingExtraError
from edgeret.planner.answers import Answer, Limits, Shape
from edgeret.planner.chat import Prompt
from edgeret.types import Hit, Tool, Usage
from edgeret_export.planner.judge import Judge
from edgeret_export.planner.lessons import conversation, states
from edgeret_export.planner.teach import CARD, PICTURE, Grpo, Library, Sft, Task, teach_grpo, teach_sft
from edgeret_export.planner.teacher import Teacher
from edgeret_export.planner.trajectories import Maker, Request, Trajectory, TrajectoryOptions
from edgeret_export.planner.trajectory_file import read_trajectories, write_trajectories
from edgeret_export.sources.fetch import sha256_of

pytestmark = pytest.mark.real
THINGS = ("mail", "file", "note", "song", "room", "call")
TOOLS = {f"tool_{thing}": Tool(f"tool_{thing}", f"handles a {thing}") for thing in THINGS}
REQUESTS = [Request(f"r{i}", f"do the {thing}", (f"tool_{thing}",)) for i, thing in enumerate(THINGS)]
CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SHORT = Sft(epochs=30, batch=8, learning_rate=3e-3)


def ranker(text: str, k: int) -> list[Hit]:
    """Tools by how often the text has their word; the request's own is not counted, as of a weak search."""
    words = re.findall(r"\w+", re.sub("^do the [a-z]+", "", text))
    return [Hit(f"tool_{thing}", 0.1) for thing in sorted(THINGS, key=lambda thing: -words.count(thing))][:k]


class Sayer:
    """A teacher that knows."""

    def answer(self, prompt: Prompt, shape: Shape, limits: Limits) -> Answer:
        thing = re.findall(r"do the ([a-z]+)", prompt.variable.text)[-1]
        assert isinstance(shape, dict)
        return Answer(dict.fromkeys(shape, f"handle {thing}"), Usage(0, 0, 0, 0, 0.0))


def library() -> Library:
    def similarity(first: str, second: str) -> float:
        return float(first == second)

    return Library(TOOLS, Judge(ranker, similarity), {"tools": "six"})


@pytest.fixture(scope="module")
def trajectories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("trajectories") / "t.jsonl"
    maker = Maker(Teacher(Sayer(), TOOLS), ranker, TrajectoryOptions(1))
    made = write_trajectories(file, REQUESTS, "x", maker.make)
    assert [each.problem for each in made] == [None] * len(REQUESTS)
    return file


@pytest.fixture(scope="module")
def model(trajectories: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a random Llama of 2 layers and a tokenizer that was trained on the lessons."""
    import torch

    torch.set_num_threads(1)  # so small a model only waits for a second one
    from tokenizers import ByteLevelBPETokenizer
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("model") / "tiny-llama"
    lessons = [conversation(state) for each in read_trajectories(trajectories) for state in states(each)]
    texts = [said["content"] for lesson in lessons for said in (*lesson["prompt"], *lesson["completion"])]
    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator(
        texts, vocab_size=600, min_frequency=1, special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=trained._tokenizer,  # noqa: SLF001 # transformers' own way from one to the other
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        chat_template=CHATML,
    )
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=1024,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(autouse=True)
def unreported() -> Iterator[None]:
    """Fails a test in which TRL tells its makers of a training."""

    def tell(*_: Any, **__: Any) -> None:
        raise AssertionError("a training was reported")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trl.trainer.base_trainer.send_telemetry", tell)
        yield


class BrokenOffError(Exception):
    """As a power cut."""


@pytest.fixture
def broken_after(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Lets a training end after so many steps."""
    from edgeret_export.planner.courses import _Curve

    real = _Curve.on_step_end

    def install(steps: int) -> None:
        def end(self: Any, args: Any, state: Any, control: Any, **rest: Any) -> Any:
            if state.global_step > steps:
                raise BrokenOffError
            return real(self, args, state, control, **rest)

        monkeypatch.setattr(_Curve, "on_step_end", end)

    yield install
    monkeypatch.undo()


def thirds(curve: list[dict[str, float]], key: str) -> tuple[float, float]:
    values = [point[key] for point in curve]
    third = len(values) // 3
    return float(np.mean(values[:third])), float(np.mean(values[-third:]))


@pytest.mark.full
def test_a_tiny_model_is_taught_by_heart_with_a_break_and_then_by_trying_out(
    model: Path, trajectories: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken_after: Any
) -> None:
    whole = teach_sft(Task(model, trajectories, tmp_path / "whole"), SHORT)
    first, last = thirds(whole["curve"], "loss")
    assert last < first / 4

    broken_after(40)
    target = tmp_path / "taught"
    with pytest.raises(BrokenOffError):
        teach_sft(Task(model, trajectories, target), SHORT)
    monkeypatch.undo()
    assert not target.exists()
    with pytest.raises(InputError, match=r"an interrupted teaching lies here; go on with --resume"):
        teach_sft(Task(model, trajectories, target), SHORT)
    with pytest.raises(InputError, match=r"was one of other models, trajectories or options"):
        teach_sft(Task(model, trajectories, target, resume=True), Sft(epochs=2, batch=8))
    taught = teach_sft(Task(model, trajectories, target, resume=True), SHORT)
    assert taught["curve"] == whole["curve"] and taught["files"] == whole["files"]  # as if it had not been broken off
    assert sorted(path.name for path in tmp_path.iterdir()) == ["taught", "whole"]
    names = {path.name for path in target.iterdir()}
    assert {"model.safetensors", "config.json", "tokenizer.json", "chat_template.jinja", CARD, PICTURE} <= names
    card = json.loads((target / CARD).read_text(encoding="utf-8"))
    assert card["chat"] == "chatml" and card["base"]["folder"] == "tiny-llama"
    assert card["files"]["model.safetensors"] == sha256_of(target / "model.safetensors")
    assert card["trajectories"]["states"] == 18 and str(tmp_path) not in json.dumps(card)
    assert str(model) not in (target / "config.json").read_text(encoding="utf-8")

    method = Grpo(steps=36, batch=32, group=8, learning_rate=1e-3)
    tried = teach_grpo(Task(target, trajectories, tmp_path / "tried"), method, library())
    first, last = thirds(tried["curve"], "reward")
    assert last > first and tried["steps"] == 36
    assert set(tried["curve"][0]) >= {"reward", "kl", "ndcg", "recall", "format", "stop", "plan"}
    assert "Terms of the reward" in (tmp_path / "tried" / PICTURE).read_text(encoding="utf-8")


def test_what_cannot_be_taught_is_refused_in_one_line(model: Path, trajectories: Path, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    target = tmp_path / "x"
    with pytest.raises(InputError, match=r"no config\.json in it; give the folder of a language model"):
        teach_sft(Task(tmp_path, trajectories, target), Sft())
    with pytest.raises(InputError, match=r"exists already; remove it"):
        teach_sft(Task(model, trajectories, tmp_path), Sft())
    with pytest.raises(InputError, match=r"cannot be written \(.* is no folder\)"):
        teach_sft(Task(model, trajectories, trajectories / "b"), Sft())
    failed = tmp_path / "failed.jsonl"
    write_trajectories(failed, REQUESTS[:2], "x", lambda request: Trajectory(request, problem="the teacher slept"))
    with pytest.raises(InputError, match=r"none of its 2 trajectories can be learned from, the first because the"):
        teach_sft(Task(model, failed, target), Sft())
    with pytest.raises(InputError, match=r"'tool_mail' is not among --tools; give the tools"):
        teach_grpo(Task(model, trajectories, target), Grpo(), Library((), library().judge, {}))
    other = tmp_path / "other"
    tokenizer: Any = AutoTokenizer.from_pretrained(str(model))
    for template in (None, "{% for m in messages %}[{{ m.content }}]{% endfor %}", "{{ raise_exception('no') }}"):
        tokenizer.chat_template = template
        for file in ("config.json", "model.safetensors"):
            other.mkdir(exist_ok=True)
            (other / file).write_bytes((model / file).read_bytes())
        (other / "chat_template.jinja").unlink(missing_ok=True)
        tokenizer.save_pretrained(other)
        with pytest.raises(InputError, match=r"has no chat template, or one of a format in which edgeret asks no"):
            teach_sft(Task(other, trajectories, target), Sft())
    (other / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(InputError, match=r"no language model that can be loaded"):
        teach_sft(Task(other, trajectories, target), Sft())
    config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    tokenizer.chat_template = CHATML
    tokenizer.save_pretrained(other)
    (other / "model.safetensors").write_bytes((model / "model.safetensors").read_bytes())
    (other / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 20}), encoding="utf-8")
    with pytest.raises(InputError, match=r"no conversation is short enough for the model's context of 20 tokens"):
        teach_sft(Task(other, trajectories, target), Sft())
    assert not target.exists() and not list(tmp_path.glob(".x*"))


def test_without_the_extra_it_is_named_with_its_command(
    model: Path, trajectories: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("edgeret_export.planner.teach.version", missing)
    with pytest.raises(MissingExtraError, match=r"teaching a planner requires extra 'train'\. Install it with"):
        teach_sft(Task(model, trajectories, tmp_path / "x"), Sft())


@pytest.mark.parametrize(("batch", "group"), [(8, 1), (2, 4), (9, 4)])
def test_groups_that_make_no_batch_are_refused(batch: int, group: int) -> None:
    with pytest.raises(InputError, match=r"expected groups of at least 2, and a batch that is whole groups"):
        Grpo(batch=batch, group=group)


@pytest.mark.parametrize("change", [{"epochs": 0}, {"batch": -1}, {"learning_rate": float("nan")}])
def test_numbers_that_make_no_training_are_refused(change: dict[str, float]) -> None:
    with pytest.raises(InputError, match=r"expected a positive number"):
        Sft(**change)  # type: ignore[arg-type] # whatever a command line gives


@pytest.mark.parametrize(
    ("template", "chat"), [("qwen2_5", "chatml"), ("qwen3", "qwen3"), ("gemma3", "gemma"), ("llama3", None)]
)
def test_a_published_chat_template_is_known_by_what_it_writes(template: str, chat: str | None) -> None:
    """TRL carries the templates of model families."""
    import trl
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    from edgeret.strategies.toolqp import planning, searching
    from edgeret_export.planner.templates import THOUGHTLESS, chat_format

    text = (Path(trl.__file__).parent / "chat_templates" / f"{template}.jinja").read_text(encoding="utf-8")
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel({"a": 0}, unk_token="a")),
        bos_token={"gemma3": "<bos>", "llama3": "<|begin_of_text|>"}.get(template),
        chat_template=text,
    )
    assert chat_format(tokenizer, (planning("words"), searching(("words",)))) == chat
    for prompt in (planning("words"), searching(("words",))):  # what is learned stands right behind what is asked
        asked, learned = (
            tokenizer.apply_chat_template(said, tokenize=False, add_generation_prompt=ask, **THOUGHTLESS)
            for said, ask in (
                (prompt.messages, True),
                ([*prompt.messages, {"role": "assistant", "content": "{}"}], False),
            )
        )
        assert str(learned).startswith(f"{asked}{{}}")
