"""The core decides as Python does: bundles of every kind, histories, subsets, failures, floors, the first stage."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from ctypes import CDLL
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from binding import Core, CoreError, Decided, Model, Task, Text
from conftest import make_demonstrations, tiny_bundle
from python_reader import by_python

import edgeret
from edgeret import Decision, Tool
from edgeret.inputs.demonstrations import Demonstration
from edgeret_export.recipe import Recipe
from edgeret_export.reference.runtime import request_of
from edgeret_export.reference.why import Remembered

TOOLS = [
    Tool("find_file", "find a file", {"type": "object", "properties": {"name": {"description": "of the file"}}}),
    Tool("send_mail", "send a mail, with what find_file found", {"properties": {"mailAddress": {}, "text": 5}}),
    Tool("write_note", "write a note", examples=("jot this down", "keep that in my notes")),
    Tool("play_music", "play music", {"properties": {"file_id": {}}, "required": ["file_id"]}),
    Tool("book_meeting", "book a meeting", {"properties": {"day": {"description": "as Get_Day gives it"}}}),
    Tool("phone_call", "call a phone", {"properties": {"address": {}}, "required": ["address", "phone_number", 5]}),
    Tool("get_day", "find free days of the calendar", risk=0.05),
    Tool("getPhone", "look a phone up"),
    Tool("closeNote", "close it", {"properties": [], "required": "note_id"}, confirm=True),
]
QUERIES = (
    "find my file and send a mail", "book the meeting then send a mail", "play", "open calendar day", "call a phone",
    "close note", "closeNote", "zebra", "any mail from a phone?", "mail my file to a@b.org on Tuesday", " ?!\n",
    "Anruf um 9 Uhr: 0123 456 789", "明天 9点", "call the phone in 20 minutes, 15% off or 30 euros",
    "is the note open?",
    "find '/tmp/my file.pdf' and book the meeting for 2026-12-01", "don't open the note, close it",
    "write a note, and also play the music; then find me free days. Call the phone after that",
    "öffne die note nicht, dann spiel music", "n'ouvre pas la note puis appelle le phone",
    "no cierres la note y luego pon la music, por favor", "不要打开 note，然后播放 music，再给我打电话",
    "mail " * 120 + "and then send it, or share it", "İSTANBUL ẞ ﬁ notes", "a\u0301 note\u200b of mine",
)  # fmt: skip
HISTORIES = (
    (), ("find_file",), ("find_file", "send_mail"), ("phone_call",), ("their_tool",), ("find_file", "their_tool"),
    ("book_meeting", "phone_call", "book_meeting", "write_note"), ("write_note",) * 9,
)  # fmt: skip
WITHIN = 1e-5
"""How far apart readers may be in a probability (FORMAT.md, 9)."""
KINDS = ("alone", "few", "many", "many, with a first stage", "few, a table", "alone, a table")


_BUILT = tempfile.TemporaryDirectory(prefix="edgeret-kinds-")


def build_kind(kind: str, target: Path) -> Path:
    """A bundle of a test's own; many files ask for each kind, which a process builds once."""
    return Path(shutil.copytree(_built(kind), target))


@cache
def _built(kind: str) -> Path:
    target = Path(_BUILT.name) / str(KINDS.index(kind))
    shown: Sequence[Demonstration] = () if kind.startswith("alone") else make_demonstrations()
    profile = "tiny" if "a table" in kind else "default" if "stage" in kind else "full"
    few = 0 if kind.startswith("many") else 1500
    return tiny_bundle(
        target, tools=TOOLS, demonstrations=shown, few=few, recipe=Recipe(precision="fp32", profile=profile)
    )


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_kind(request.param, tmp_path_factory.mktemp("kind") / "bundle")


@pytest.fixture(scope="module")
def python(kind: Path) -> edgeret.Runtime:
    return by_python(kind)


@pytest.fixture(scope="module")
def model(library: Core, kind: Path) -> Model:
    return library.load(kind)


@pytest.fixture(scope="module")
def library(core: CDLL) -> Core:
    return Core(core)


def begun(
    model: Model, python: edgeret.Runtime, query: str, tools: Sequence[str] | None = None
) -> tuple[edgeret.Task, Task]:
    """The same request here and there; where the core has no encoder, Python's vectors are given."""
    task = python.task(query, tools=tools)
    if model.encodes:
        return task, model.task(query, tools)
    encoded = request_of(task).encoded
    return task, model.task(query, tools, (encoded.vector, encoded.tokens, np.asarray(encoded.spans)))


PARTS = {"the tools'": 1, "head": 2, "graph": 4, "stored demonstrations": 8, "what was learned here": 16, "turns": 32}


def parts_told(reason: str) -> int:
    """What a reason says that a decision rests on, as er_decision.parts."""
    words = reason.partition("most probable by ")[2]
    return sum(bit for name, bit in PARTS.items() if name in words)


def check(found: Decided, wanted: Decision, task: edgeret.Task, other: Task) -> None:
    chosen = None if wanted.tool == "<end>" else wanted.tool
    assert (found.tool, found.abstained, found.confirm) == (chosen, wanted.abstained, wanted.confirm)
    assert found.stage == {"static": 0, "full": 1}[wanted.stage]
    assert found.probability == pytest.approx(wanted.probability, abs=WITHIN)
    assert found.named == ("the request names it" in wanted.reason)
    listed = dict(other.candidates(50))
    assert set(listed) == {candidate.tool for candidate in wanted.candidates}
    for candidate in wanted.candidates:
        assert listed[candidate.tool] == pytest.approx(candidate.probability, abs=WITHIN)
    assert list(listed.values()) == sorted(listed.values(), reverse=True)
    assert found.best == wanted.candidates[0].tool
    assert found.best_number == (-1 if found.best == "<end>" else other.model.names.index(found.best))
    assert wanted.abstained or parts_told(wanted.reason) == found.parts
    if found.stage:
        why = cast(Remembered, wanted.why)
        assert other.left_aside() == why.request.left_aside(why.history())
    every = dict(zip((*other.model.names, "<end>"), other.probabilities().tolist(), strict=True))
    assert {name: value for name, value in every.items() if value} == {k: v for k, v in other.candidates(10**5) if v}


def test_decisions_are_pythons(model: Model, python: edgeret.Runtime) -> None:
    for query in QUERIES:
        for history in HISTORIES:
            task, other = begun(model, python, query)
            with other:
                for name in history:
                    task.call(name, foreign=True)
                    other.call(name)
                check(other.next(), task.next(k=None), task, other)


def test_walking_on_is_as_coming_from_nowhere(model: Model, python: edgeret.Runtime) -> None:
    """Every step of one task, as a device asks; and a fork goes its own way."""
    task, other = begun(model, python, QUERIES[0])
    for name in ("find_file", "send_mail", "phone_call"):
        check(other.next(), task.next(k=None), task, other)
        fork = other.fork()
        fork.call("closeNote")
        fork.next()
        fork.end()
        task.call(name)
        other.call(name)
    other.undo()
    task.undo()
    check(other.next(), task.next(k=None), task, other)
    other.end()


def test_subsets_failures_and_floors(model: Model, python: edgeret.Runtime) -> None:
    for query in QUERIES[:12]:
        for tools in (("phone_call", "get_day"), ("closeNote",)):
            task, other = begun(model, python, query, tools)
            with other:
                check(other.next(), task.next(k=None), task, other)
        task, other = begun(model, python, query)
        with other:
            for policy, options in ((1, {"policy": "heads"}), (0, {"min_probability": 0.6}), (0, {"risk": 0.02})):
                asked = {name: value for name, value in options.items() if name != "policy"}
                check(other.next(policy, **asked), task.next(k=None, **options), task, other)
            for name in ("find_file", "write_note", "phone_call"):
                task.failed(name, "no")
                other.failed(name)
            check(other.next(), task.next(k=None), task, other)
            task.retry("write_note")
            other.retry("write_note")
            check(other.next(), task.next(k=None), task, other)
            for tool in TOOLS:
                task.failed(tool.name, "no")
                other.failed(tool.name)
            decided, wanted = other.next(), task.next(k=None)
            assert decided.tool is None and decided.abstained and wanted.abstained and decided.reason == 3


def test_search_is_pythons(model: Model, python: edgeret.Runtime) -> None:
    if not model.encodes:
        with pytest.raises(CoreError, match="encod"):
            model.search("a mail")
        return
    for query in QUERIES:
        wanted = python.search(query, k=len(TOOLS), strategy="hybrid")
        found = model.search(query, len(TOOLS))
        assert [name for name, _, _ in found] == [hit.tool for hit in wanted]
        assert [share for *_, share in found] == pytest.approx([hit.share for hit in wanted], abs=WITHIN)


def test_the_small_encoder_decides_alone(library: Core, tmp_path: Path) -> None:
    recipe = Recipe(precision="fp32", profile="default")
    target = tiny_bundle(tmp_path / "b", tools=TOOLS, demonstrations=make_demonstrations(), few=0, recipe=recipe)
    python, model = by_python(target, profile="tiny"), library.load(target, first_stage_alone=1)
    for query in QUERIES:
        task, other = python.task(query), model.task(query)
        with other:
            check(other.next(), task.next(k=None), task, other)
    model.close()


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", "empty"),
        (" \n\u00a0", "empty"),
        ("a" * 20_001, "20001 characters"),
        (b"\xff", "UTF-8"),
        (b"\xed\xa0\x80", "UTF-8"),
    ],
)
def test_what_is_no_query_is_refused(library: Core, tiny_table: Path, query: str | bytes, said: str) -> None:
    model = library.load(tiny_table)
    with pytest.raises(CoreError, match=said) as told:
        model.task(query)
    assert told.value.status == 1
    model.close()


def test_what_does_not_fit_is_refused_by_name(library: Core, tiny_table: Path) -> None:
    model = library.load(tiny_table)
    with model.task("find a file") as task:
        for ask in (task.candidates, task.probabilities):
            with pytest.raises(CoreError, match="ask er_next first"):
                ask()
        task.next()
        every = task.probabilities()
        assert every.sum() == pytest.approx(1, abs=1e-5)
        assert [len(task.probabilities(0)), task.probabilities(2).tolist()] == [0, every[:2].tolist()]
        larger = task.probabilities(model.tools + 3)
        assert larger[:-2].tolist() == every.tolist() and np.isnan(larger[-2:]).all()
        for what in (task.failed, task.retry):
            with pytest.raises(CoreError, match='unknown tool "nobody"'):
                what("nobody")
        with pytest.raises(CoreError, match="nothing to undo"):
            task.undo()
        with pytest.raises(CoreError, match="risk"):
            task.next(risk=0.9)
        with pytest.raises(CoreError, match="min_probability"):
            task.next(min_probability=1.5)
        for _ in range(256):
            task.call("find_file")
        with pytest.raises(CoreError, match="256 calls") as told:
            task.call("find_file")
        assert told.value.status == 6
        assert task.next().probability > 0
    wrong = replace(request_of(edgeret.load(tiny_table).task("a file")).encoded)
    with pytest.raises(CoreError, match="length"):
        model.task("a file", encoding=(wrong.vector * 2, wrong.tokens, np.asarray(wrong.spans)))
    model.close()


def test_a_running_task_holds_its_model(library: Core, tiny_table: Path) -> None:
    model = library.load(tiny_table)
    task = model.task("find a file")
    fork = task.fork()
    wanted = task.next()
    model.close()
    assert task.next() == wanted
    task.end()
    assert fork.next() == wanted
    fork.end()


def test_zeros_are_the_usual_options(library: Core, tiny_table: Path) -> None:
    model = library.load(tiny_table)
    with model.task("zebra") as task:
        usual = task.next()
        assert usual.abstained == task.next(min_probability=0.0, risk=0.0).abstained
        assert task.next(min_probability=1.0).abstained
    with model.task("find a file") as task:
        for name in ("<end>", "\xff"):
            with pytest.raises(CoreError, match="no name of a tool"):
                task.core("er_call", task.handle, Text.of(name.encode("latin-1")))
    model.close()
