"""What a task tells beside its decisions: where its time goes, open wishes, whether what was learned counts."""

from __future__ import annotations

import ctypes as c
from collections.abc import Sequence
from ctypes import CDLL
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from binding import STAGES, Clock, Core, CoreError, Seconds
from numpy.typing import NDArray
from test_decisions import QUERIES, build_kind

import edgeret
from edgeret_export.reference.runtime import request_of

READS = {"tokenize", "encode", "search", "graph", "head"}
LEARNED = 16
STEPS = {"graph", "head", "fuse", "decide"}


class Ticks:
    """A clock on which a second passes whenever somebody looks."""

    def __init__(self) -> None:
        self.looks = 0
        self.clock = Clock(self._look)

    def _look(self, _: object) -> float:
        self.looks += 1
        return float(self.looks)


@pytest.fixture(scope="module")
def library(core: CDLL) -> Core:
    return Core(core)


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_kind("few, a table", tmp_path_factory.mktemp("told") / "bundle")


def met(times: dict[str, float]) -> set[str]:
    assert set(times) == set(STAGES) and min(times.values()) >= 0
    return {name for name, seconds in times.items() if seconds}


def test_every_moment_belongs_to_one_stage(library: Core, few: Path) -> None:
    model, ticks = library.load(few), Ticks()
    with model.task(QUERIES[0], clock=ticks.clock) as task:
        begun = task.times()
        assert met(begun) == READS and sum(begun.values()) == ticks.looks - 1
        assert not met(task.times())
        for name in ("find_file", "their_tool", "send_mail"):
            before = ticks.looks
            task.next()
            step = task.times()
            assert met(step) == STEPS and sum(step.values()) == ticks.looks - before - 1
            task.candidates()
            task.call(name)
        fork = task.fork()
        assert not met(fork.times())
        fork.next()
        assert met(fork.times()) == STEPS and not met(task.times())
        fork.end()
    with model.task(QUERIES[0]) as task:
        task.next()
        assert not met(task.times())
    model.close()


def test_the_second_encoders_time_is_the_steps_that_asked_it(library: Core, tmp_path: Path) -> None:
    folder, ticks = build_kind("many, with a first stage", tmp_path / "bundle"), Ticks()
    model = library.load(folder)
    with model.task("zebra", clock=ticks.clock) as task:
        assert met(task.times()) == READS
        if model.encodes:
            assert task.next().stage == 1
            assert met(task.times()) == READS | STEPS
        else:
            with pytest.raises(CoreError, match="er_begin_with"):
                task.next()
    model.close()


def test_what_was_learned_has_a_stage_and_learning_none(library: Core, few: Path) -> None:
    model, ticks, learner = library.load(few), Ticks(), c.c_void_p()
    library("er_learner_open", model.handle, None, None, c.byref(learner))
    for learned in (False, True):
        with model.task("zebra", learner=learner, clock=ticks.clock) as task:
            assert bool(task.next().parts & LEARNED) == learned
            assert met(task.times()) == READS | STEPS | ({"learned"} if learned else set())
            task.call("play_music")
            before = ticks.looks
            library("er_learn", task.handle, None, None)
            assert not met(task.times()) and ticks.looks == before
            task.next()
            assert met(task.times()) == STEPS | {"learned"}
    library.library.er_learner_close(learner)
    model.close()


def test_open_wishes_are_the_users_words(library: Core, few: Path) -> None:
    model = library.load(few)
    with model.task("Find my file, and then send a mail") as task:
        assert task.left_aside() == ("Find my file", "send a mail")
        task.call("find_file")
        fork = task.fork()
        assert task.left_aside() == ("send a mail",)
        count = c.c_size_t(0)
        library("er_left_aside", task.handle, None, c.byref(count))
        assert count.value == 1
        task.call("send_mail")
        assert (task.left_aside(), fork.left_aside()) == ((), ("send a mail",))
        task.undo()
        assert task.left_aside() == ("send a mail",)
        fork.end()
    with model.task("find my file") as task:
        assert not task.left_aside()
    model.close()


def same(found: Sequence[NDArray[Any]], wanted: Sequence[NDArray[Any]]) -> bool:
    return all(np.array_equal(one, other) for one, other in zip(found, wanted, strict=True))


def test_a_tasks_own_vectors_begin_the_same_task(library: Core, few: Path) -> None:
    model, python = library.load(few), edgeret.load(few)
    for query in QUERIES:
        with model.task(query) as task:
            found, encoded = task.encoding(), request_of(python.task(query)).encoded
            assert found[0] == pytest.approx(encoded.vector, abs=1e-6) and same(found[2:], [encoded.spans])
            assert found[1] == pytest.approx(encoded.tokens, abs=1e-6)
            with model.task(query, encoding=found) as other:
                assert same(other.encoding(), found) and other.next() == task.next()
    model.close()


def test_the_bundles_own_encoder_is_told_whoever_decides(library: Core, real: Path) -> None:
    model = library.load(real)
    assert model.stages == 2
    with model.task("mute the speakers") as task, model.task("mute the speakers", list(model.names)[:-1]) as whole:
        decided = task.next()
        assert decided.stage == 0
        found = task.encoding()
        assert same(found, whole.encoding()) and same(found, task.encoding())
        assert task.next() == decided, "what is told changes nothing of who decides"
        with task.fork() as fork:
            for one in (task, fork):
                one.failed(decided.tool or "")
            handed = task.next()
            assert handed.stage == 1 and handed == fork.next(), "it goes on with the vectors that it has"
            assert same(fork.encoding(), found) and same(found, task.encoding())
    model.close()


def test_a_struct_of_another_size_is_refused(library: Core, tiny_table: Path) -> None:
    model = library.load(tiny_table)
    with model.task("a file") as task, pytest.raises(CoreError, match="sizeof"):
        library("er_times", task.handle, c.byref(Seconds(8)))
    model.close()
