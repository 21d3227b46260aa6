"""Without memory something is learned and kept or nothing was, whichever allocation fails; and nothing leaks."""

from __future__ import annotations

import ctypes as c
from contextlib import closing
from pathlib import Path

import pytest
from binding import Core, CoreError
from core_learning import Learner, explained
from test_decisions import build_kind

NO_MEMORY = 4
LESSONS = (("find my file", ["find_file"]), ("zebra", []), ("find my file", ["send_mail", "get_day"]))


@pytest.fixture(scope="module")
def core(failing_core: c.CDLL) -> Core:
    return Core(failing_core)


TOOL = '{"name": "lock_door", "description": "lock the door", "examples": ["is it so"]}'


def core_bytes_are_read(learner: Learner, told: bytes) -> bool:
    """Whether another learner goes on from what this one told."""
    again = Learner(learner.model, kept=told)
    try:
        return again.plans == learner.plans
    finally:
        again.close()


def test_a_change_of_tools_is_kept_or_refused(core: Core, tmp_path: Path) -> None:
    model = core.load(build_kind("few, a table", tmp_path / "bundle"))
    path, probe_fail = tmp_path / "b.overlay", core.library.probe_fail

    def everything() -> list[str]:
        learner = Learner(model, path)
        try:
            with closing(learner.model.with_tools([TOOL])) as after:
                learner.keep(learner.model, after, [TOOL])
                return after.names
        finally:
            learner.close()

    probe_fail(-1)
    wanted = everything()
    path.unlink()
    probe_fail(-1)
    everything()
    count = probe_fail(-1)
    for failing in range(count):
        path.unlink(missing_ok=True)
        probe_fail(failing)
        try:
            assert everything() == wanted
        except CoreError as error:
            assert error.status == NO_MEMORY, failing
    probe_fail(-1)
    model.close()


def test_every_allocation_may_fail(core: Core, tmp_path: Path) -> None:
    model = core.load(build_kind("few, a table", tmp_path / "bundle"))
    path, probe_fail = tmp_path / "b.overlay", core.library.probe_fail

    def everything() -> list[tuple[str, tuple[str, ...]]]:
        learner = Learner(model, path)
        try:
            for query, calls in LESSONS:
                learner.learn(query, calls)
            learner.forget(tool="find_file")
            with learner.task("find my file") as task:
                task.next()
                explained(task)
            told = learner.bytes
            copy = learner.copy()
            try:
                assert len(copy.plans) == len(learner.plans)
                assert core_bytes_are_read(learner, told)
            finally:
                copy.close()
            return [(told.query, told.calls) for told in learner.plans]
        finally:
            learner.close()

    def stored() -> list[tuple[str, tuple[str, ...]]]:
        probe_fail(-1)
        learner = Learner(model, path)
        found = [(told.query, told.calls) for told in learner.plans]
        learner.close()
        return found

    probe_fail(-1)
    wanted = everything()
    path.unlink()
    probe_fail(-1)
    assert everything() == wanted
    count = probe_fail(-1)
    assert count > 40
    for after in range(count):
        path.unlink(missing_ok=True)
        probe_fail(after)
        try:
            found = everything()
        except CoreError as error:
            assert error.status == NO_MEMORY, after
            # What is on disk is a beginning of what was learned, or what is left of all of it.
            learned = [(query, tuple(calls)) for query, calls in LESSONS]
            assert stored() in [wanted, *(learned[:kept] for kept in range(4))], after
            continue
        assert found == wanted == stored(), f"allocation {after} of {count} is not missed"
    model.close()
