"""Later turns of conversations: the core beside Python, both beside section 9.1, and what callers may do with turns."""

from __future__ import annotations

import ctypes as c
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from binding import BeginOptions, Core, CoreError, Model, Task, Text
from conftest import EXAMPLE, full, make_demonstrations, tiny_bundle
from format_turns import probabilities
from python_reader import by_python
from test_decisions import KINDS, TOOLS, build_kind, check

import edgeret
from edgeret.inputs.conversations import read_conversations
from edgeret.inputs.tools import read_tools
from edgeret.runtime.options import LoadOptions
from edgeret.types import Turn
from edgeret_export.recipe import Recipe
from edgeret_export.reference.components import load_components
from edgeret_export.reference.runtime import request_of, runtime_of
from edgeret_export.reference.scoring.turns import TurnStep, next_probabilities, shipped_weights
from edgeret_export.reference.tool_changes import instead

ROOT = Path(__file__).parents[2]
BASE = ROOT / "edgeret" / "base"
Talk = Sequence[tuple[str, Sequence[str]]]
TALKS: Sequence[Talk] = (
    (("find my file", ("find_file",)), ("and mail it", ("send_mail",)), ("stop", ()), ("to Jonas", ("send_mail",))),
    (("write a note", ("write_note",)), ("no to me", ("write_note",)), ("zebra", ()), ("play it", ("play_music",))),
    (("zebra", ()), ("call a phone", ("getPhone", "phone_call")), ("the same for Ben", ("getPhone", "phone_call"))),
    (("find my file", ("their_tool",)), ("again", ("their_tool", "send_mail")), ("book it", ("other", "find_file"))),
    (("find my file and send a mail", ("find_file", "send_mail")), ("不要", ()), ("note", ("write_note", "closeNote"))),
    (("mail it on Tuesday", ("get_day", "send_mail") * 20), ("and share it", ("send_mail",) * 3), ("do so again", ())),
    (("öffne die note", ("write_note",)), ("n'ouvre pas la note puis appelle le phone", ("phone_call",) * 2)),
)  # fmt: skip


@pytest.fixture(scope="module")
def library(core: c.CDLL) -> Core:
    return Core(core)


def earlier_of(turns: Sequence[Sequence[str]] | None) -> tuple[Sequence[str], int] | None:
    """The calls of turns before, and how many of them the latest one made that made any."""
    if turns is None:
        return None
    return [name for calls in turns for name in calls], len(next((calls for calls in reversed(turns) if calls), ()))


def compare(model: Model, python: edgeret.Runtime, talk: Talk, tools: Sequence[str] | None = None) -> int:
    """How many decisions were the same: before every call of every turn, and behind the last one."""
    conversation, count = python.conversation(tools=tools), 0
    before: list[Sequence[str]] = []
    for query, calls in talk:
        task = conversation.say(query)
        encoded, given = request_of(task).encoded if not model.encodes else None, None
        if encoded is not None:
            given = encoded.vector, encoded.tokens, np.asarray(encoded.spans)
        turn = model.task(query, tools, given, earlier=earlier_of(before) if before else None)
        before.append(calls)
        for name in (None, *calls):
            if name is not None:
                task.call(name, foreign=True)
                turn.call(name)
            check(turn.next(), task.next(k=None), task, turn)
            count += 1
        turn.end()
    return count


@pytest.fixture(scope="module", params=[*KINDS[1::2], *full(*KINDS[::2])])
def kind(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_kind(request.param, tmp_path_factory.mktemp("turns") / "bundle")


def test_turns_are_pythons_in_every_kind_of_bundle(library: Core, kind: Path) -> None:
    model, python = library.load(kind), by_python(kind, threads=1)
    for talk in TALKS:
        compare(model, python, talk)
        compare(model, python, talk, ("find_file", "send_mail", "phone_call"))
    model.close()


def desktop(path: str = "conversations.jsonl") -> Iterator[Sequence[Turn]]:
    names = [tool.name for tool in read_tools(EXAMPLE / "tools.jsonl")]
    return (one.turns for one in read_conversations(EXAMPLE / path, names))


def all_of(model: Model, python: edgeret.Runtime, talks: Iterator[Sequence[Turn]]) -> int:
    plain = ([(turn.query, [call.tool for call in turn.calls]) for turn in talk] for talk in talks)
    return sum(compare(model, python, talk) for talk in plain)


def from_base(library: Core) -> tuple[Model, edgeret.Runtime]:
    """The desktop's tools alone, by the encoder that comes with edgeret."""
    base = library.load(BASE)
    lines = (EXAMPLE / "tools.jsonl").read_text(encoding="utf-8").split("\n")
    model = base.with_tools([line for line in lines if line], base.names)
    base.close()
    held = instead(load_components(BASE, LoadOptions(threads=1)), read_tools(EXAMPLE / "tools.jsonl"))
    return model, runtime_of(held)


def test_the_examples_conversations_are_decided_alike(library: Core) -> None:
    assert all_of(*from_base(library), desktop()) == 523


@pytest.mark.full
def test_so_are_those_that_weights_were_fitted_on(library: Core) -> None:
    assert all_of(*from_base(library), desktop("conversations_train.jsonl")) > 5_000


@pytest.mark.real
def test_so_are_the_examples_where_much_was(library: Core, real: Path) -> None:
    assert all_of(library.load(real), by_python(real, threads=1), desktop()) == 523


# ---- Section 9.1 ----


def steps(count: int) -> Iterator[TurnStep]:
    draw = np.random.default_rng(3)
    for _ in range(count):
        n = int(draw.integers(2, 12))
        p, onward = (draw.dirichlet(np.full(n, 0.3)).astype(np.float32) for _ in range(2))
        allowed = draw.random(n) < draw.choice((0.3, 1.0))
        end = int(draw.integers(n))
        tools = [i for i in (-1, *range(n)) if i != end]
        last, earlier, made = (draw.choice(tools, draw.integers(5)).tolist() for _ in range(3))
        yield TurnStep(p, onward, allowed, end, int(draw.integers(1, 30)), last, earlier, made)


def test_the_reference_computes_what_the_format_says() -> None:
    for demonstrated in (False, True):
        for step in steps(400):
            some = {int(i) for i in np.flatnonzero(step.allowed)} - {step.end}
            wanted = probabilities(
                step.alone.astype(float), step.onward.astype(float), some, step.end, step.words, list(step.last),
                list(step.earlier), list(step.made), demonstrated,
            )  # fmt: skip
            np.testing.assert_allclose(next_probabilities(step, shipped_weights(demonstrated)), wanted, atol=2e-6)


def test_the_cores_weights_are_the_shipped_ones() -> None:
    command = [sys.executable, str(ROOT / "core" / "make_turns.py"), "--check"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'export'}", "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stdout + done.stderr


# ---- What a caller may do ----


@pytest.fixture(scope="module")
def model(library: Core, tmp_path_factory: pytest.TempPathFactory) -> Model:
    recipe = Recipe(precision="fp32", profile="tiny")
    shown = make_demonstrations()
    target = tmp_path_factory.mktemp("turn") / "bundle"
    return library.load(tiny_bundle(target, tools=TOOLS, demonstrations=shown, recipe=recipe))


def turn(model: Model, query: str, calls: Sequence[str] = (), before: Sequence[Sequence[str]] | None = None) -> Task:
    """A turn that made these calls, behind turns that made those; None where it stands alone."""
    task = model.task(query, earlier=earlier_of(before))
    for name in calls:
        task.call(name)
    return task


def told(task: Task) -> dict[str, float]:
    task.next()
    return dict(task.candidates(50))


def test_a_turn_looks_back_whatever_it_does_itself(model: Model) -> None:
    other = turn(model, "no to me", before=[["write_note"]])
    wanted = told(other)
    assert wanted != told(turn(model, "no to me"))
    other.call("write_note")
    other.undo()
    assert told(other) == wanted
    with other.fork() as fork:
        assert told(fork) == wanted
        fork.call("write_note")
        assert told(fork) != wanted
    assert told(other) == wanted
    other.end()


def test_what_failed_is_left_out_of_a_later_turn(model: Model) -> None:
    second = turn(model, "no to me", before=[["write_note"]])
    second.failed("write_note")
    left = told(second)
    assert "write_note" not in left and sum(left.values()) == pytest.approx(1, abs=1e-5)
    for tool in TOOLS:
        second.failed(tool.name)
    assert second.next().reason == 3
    second.end()


def test_only_the_latest_calls_count(model: Model) -> None:
    many, few = (("find_file", *("write_note",) * 32),), (("write_note",) * 32,)
    one, other = (turn(model, "and play music", before=turns) for turns in (many, few))
    assert told(one) == told(other)
    one.end()
    other.end()


def test_a_turn_takes_as_many_calls_as_any_task(model: Model) -> None:
    second = turn(model, "play my song", ("play_music",) * 256, [["write_note"] * 256])
    assert sum(told(second).values()) == pytest.approx(1, abs=1e-5)
    with pytest.raises(CoreError, match="256 calls"):
        second.call("play_music")
    second.end()


def test_a_turn_without_calls_says_nothing_of_the_latest(model: Model) -> None:
    turns = (("find_file",), ("theirs", "write_note"))
    one, other = (turn(model, "no to me", before=before) for before in (turns, (*turns, ())))
    assert told(one) == told(other) != told(turn(model, "no to me", before=((*turns[0], *turns[1]),)))
    one.end()
    other.end()


def test_earlier_calls_that_nobody_can_mean_are_refused(model: Model) -> None:
    with pytest.raises(CoreError, match="last_count is 2, but earlier_count is 1"):
        model.task("no to me", earlier=(["write_note"], 2))
    for options, words in ((BeginOptions(earlier_count=1), "earlier is NULL"), (BeginOptions(), "has no name")):
        options.size, task = c.sizeof(BeginOptions), c.c_void_p()
        if "name" in words:
            options.earlier, options.earlier_count = (Text * 1)(), 1
        with pytest.raises(CoreError, match=words):
            model.core("er_begin", model.handle, Text.of("no to me"), c.byref(options), c.byref(task))
        assert not task


def test_tools_may_come_and_go_between_turns(model: Model) -> None:
    changed = model.with_tools(['{"name": "burn_file", "description": "burn a file"}'], ["write_note"])
    second = turn(changed, "again, for the letter", before=[["write_note", "find_file"]])
    alone, found = turn(changed, "again, for the letter"), told(second)
    assert "burn_file" in found and "write_note" not in found
    assert found["find_file"] > told(alone)["find_file"]
    alone.end()
    second.end()
    changed.close()


def test_a_caller_of_an_older_header_is_served(model: Model) -> None:
    task, short = c.c_void_p(), BeginOptions.earlier.offset
    options = BeginOptions(short, last_count=9)  # what lies behind the size is nobody's
    model.core("er_begin", model.handle, Text.of("find a file"), c.byref(options), c.byref(task))
    Task(model, task).end()
    options.size = short - 1
    with pytest.raises(CoreError, match="size is"):
        model.core("er_begin", model.handle, Text.of("find a file"), c.byref(options), c.byref(task))


def test_the_small_encoder_decides_first_turns_alone(library: Core, tiny_cascade: Path) -> None:
    cascade = library.load(tiny_cascade, most_loss=0.5)
    if cascade.encodes:
        first = turn(cascade, "write a note")
        second = turn(cascade, "and play music", before=[[]])
        assert (first.next(1).stage, second.next(1).stage) == (0, 1)
        first.end()
        second.end()
    cascade.close()
