"""The core tells why a step came out as it did as Python does: each part's word, what is near, and words."""

from __future__ import annotations

import ctypes as c
from collections.abc import Iterator, Sequence
from ctypes import CDLL
from math import isfinite
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from binding import Core, CoreError, Model, Task
from python_reader import by_python
from test_decisions import KINDS, QUERIES, begun, build_kind

import edgeret
from edgeret import END, Call, Demonstration
from edgeret.core.explained import Explained, Told, explained
from edgeret_export.reference.runtime import request_of
from edgeret_export.reference.why import Remembered

WITHIN = 1e-4
ASKED = QUERIES[:2] + QUERIES[6:7] + QUERIES[9:10] + QUERIES[16:18]
HISTORIES = ((), ("find_file",), ("book_meeting", "their_tool", "write_note"))
SHOWN = [
    Demonstration("1", "phone the meeting", (Call("phone_call"),)),
    Demonstration("2", "find the file then call", (Call("find_file"), Call("phone_call"))),
    Demonstration("3", "zebra", ()),
]


@pytest.fixture(scope="module")
def library(core: CDLL) -> Core:
    return Core(core)


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_kind(request.param, tmp_path_factory.mktemp("kind") / "bundle")


@pytest.fixture(scope="module")
def model(library: Core, kind: Path) -> Iterator[Model]:
    found = library.load(kind)
    yield found
    found.close()


def told(task: Task, compared: Sequence[str]) -> Explained:
    numbers = [-1 if name == END else task.model.names.index(name) for name in compared]
    found = Told(c.sizeof(Told))
    room = (c.c_int32 * len(numbers))(*numbers)
    task.core("er_explain", task.handle, room, c.c_size_t(len(numbers)), c.byref(found))
    return explained(found, compared)


def same(found: Explained, wanted: Explained) -> None:
    assert [(vote.part, vote.within) for vote in found.votes] == [(vote.part, vote.within) for vote in wanted.votes]
    prior = next(vote for vote in wanted.votes if vote.part == "prior")
    far = min(share or 0.0 for share in prior.probabilities.values()) < 1e-8
    for vote, other in zip(found.votes, wanted.votes, strict=True):
        assert vote.weight == pytest.approx(other.weight, abs=WITHIN), vote.part
        # Section 19.4 knows no log-score of the bundle's below -30, which the sum in Python leaves out.
        if vote.part == "learned" and far:
            continue
        assert vote.pull == (None if other.pull is None else pytest.approx(other.pull, abs=WITHIN)), vote.part
        for name, share in other.probabilities.items():
            assert vote.probabilities[name] == (None if share is None else pytest.approx(share, abs=WITHIN)), vote.part
    assert found.words == wanted.words
    assert [(d.calls, d.query, d.learned) for d in found.demonstrations] == [
        (d.calls, d.query, d.learned) for d in wanted.demonstrations
    ]
    assert [d.cosine for d in found.demonstrations] == pytest.approx(
        [d.cosine for d in wanted.demonstrations], abs=WITHIN
    )
    assert found.similarity == (None if wanted.similarity is None else pytest.approx(wanted.similarity, abs=WITHIN))
    assert sorted(found.cluster.values()) == pytest.approx(sorted(wanted.cluster.values()), abs=WITHIN)
    assert next(iter(found.cluster), None) == next(iter(wanted.cluster), None)


def both(task: edgeret.Task, other: Task) -> None:
    """Of the step that is next: the best against what comes behind it, and against the end."""
    decision = task.next(policy="heads")
    other.next(policy=1, own=1)
    why = cast(Remembered, decision.why)
    names = [one.tool for one in decision.candidates]
    end = dict(decision.candidates)[END]
    for compared in ([names[0], names[1], END], [names[0], END], names[:1], [names[-1], names[0]]):
        compared = list(dict.fromkeys(compared))
        same(told(other, compared), why.explained(compared, end))


def test_every_part_says_what_it_says_in_python(model: Model, kind: Path) -> None:
    python = by_python(kind)
    for query in ASKED:
        for history in HISTORIES:
            task, other = begun(model, python, query)
            for name in history:
                task.call(name, foreign=True)
                other.call(name)
            both(task, other)
            task.failed("write_note", "")
            other.failed("write_note")
            both(task, other)
            other.end()
        some = ["find_file", "send_mail", "write_note"]
        task, other = begun(model, python, query, some)
        both(task, other)
        other.end()


def test_what_was_learned_has_the_same_word(library: Core, model: Model, kind: Path) -> None:
    python, learner = by_python(kind), c.c_void_p()
    library("er_learner_open", model.handle, None, None, c.byref(learner))
    for plan in SHOWN:
        task = task_of(model, python, plan.query, learner)
        for call in plan.calls:
            task.call(call.tool)
        library("er_learn", task.handle, None, None)
        task.end()
    python.learn(SHOWN)
    for query in ("phone my meeting", "phone the meeting", *ASKED[:2]):
        for history in HISTORIES:
            ours, task = python.task(query), task_of(model, python, query, learner)
            for name in history:
                ours.call(name, foreign=True)
                task.call(name)
            both(ours, task)
            task.end()
    library.library.er_learner_close(learner)


def task_of(model: Model, python: edgeret.Runtime, query: str, learner: c.c_void_p) -> Task:
    encoded = request_of(python.task(query)).encoded
    given = (encoded.vector, encoded.tokens, np.asarray(encoded.spans))
    return model.task(query, None, None if model.encodes else given, learner=learner)


@pytest.fixture(scope="module")
def few(library: Core, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    found = library.load(build_kind("few, a table", tmp_path_factory.mktemp("explain") / "bundle"))
    yield found
    found.close()


def test_to_ask_changes_nothing(few: Model) -> None:
    with few.task("write a note, and play music") as task, few.task("write a note, and play music") as other:
        for name in ("write_note", "play_music"):
            decided = task.next()
            first = told(task, [decided.best, "send_mail"])
            assert told(task, [decided.best, "send_mail"]) == first
            assert task.candidates() == (other.next() and other.candidates())
            with task.fork() as fork:
                fork.next()
                assert told(fork, [decided.best, "send_mail"]) == first
            assert all(isfinite(vote.weight) for vote in first.votes)
            task.call(name)
            other.call(name)


def test_what_cannot_be_explained_is_refused_in_a_line(library: Core, few: Model) -> None:
    with few.task("write a note", ["write_note", "send_mail", "play_music"]) as task:
        with pytest.raises(CoreError, match="ask er_next first"):
            told(task, ["write_note"])
        task.failed("send_mail")
        task.next()
        for name in ("find_file", "send_mail"):
            with pytest.raises(CoreError, match="could not be chosen"):
                told(task, ["write_note", name])
        wrong = [([99], "no tool has the number 99"), ([-2], "number -2"), ([], "1 to 3"), ([0] * 4, "1 to 3")]
        for numbers, words in wrong:
            room = (c.c_int32 * max(len(numbers), 1))(*numbers)
            with pytest.raises(CoreError, match=words):
                library("er_explain", task.handle, room, c.c_size_t(len(numbers)), c.byref(Told(c.sizeof(Told))))
        with pytest.raises(CoreError, match="sizeof"):
            library("er_explain", task.handle, (c.c_int32 * 1)(0), c.c_size_t(1), c.byref(Told(8)))
        for at in range(3):
            given = [task.handle, (c.c_int32 * 1)(0), c.c_size_t(1), c.byref(Told(c.sizeof(Told)))]
            given[at if at < 2 else 3] = None
            with pytest.raises(CoreError, match="is NULL"):
                library("er_explain", *given)
        task.call("write_note")
        with pytest.raises(CoreError, match="ask er_next first"):
            told(task, ["write_note"])


def test_what_came_later_and_what_is_gone_is_told(few: Model) -> None:
    changed = few.with_tools(['{"name": "burn_file", "description": "burn a file"}'], ["find_file"])
    with changed.task("burn my file") as task:
        task.next(policy=1)
        found = told(task, ["burn_file", "send_mail", END])
        assert found.words["burn_file"] == ("burn", "file")
        parts = {vote.part: vote for vote in found.votes}
        assert parts["head"].probabilities["burn_file"] is None and parts["prior"].probabilities["burn_file"]
        assert found.demonstrations and not found.demonstrations[0].learned
    changed.close()
