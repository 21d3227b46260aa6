"""What a learner hands over: changes of tools to its overlay, all that it learned to a copy, and to a file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from ctypes import CDLL
from pathlib import Path

import pytest
from binding import Core, CoreError, Model
from core_learning import Learner
from test_core_learn import lessons
from test_decisions import QUERIES, build_kind

from edgeret import Tool
from edgeret.bundle.overlay import scan

BAD_INPUT = 1
SHARED = Tool(
    "share_screen",
    "share the screen of a meeting",
    {"type": "object", "properties": {"n": {"type": "number", "minimum": -3, "maximum": 1e3, "multipleOf": 0.5}}},
    examples=("show them my screen", "let all see it"),
)


@pytest.fixture(scope="module")
def library(core: CDLL) -> Core:
    return Core(core)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_kind("few, a table", tmp_path_factory.mktemp("kind") / "bundle")


@pytest.fixture
def model(library: Core, folder: Path) -> Iterator[Model]:
    made = library.load(folder)
    yield made
    made.close()


def decided(learner: Learner, model: Model | None = None) -> list[list[tuple[str, float]]]:
    """What a learner makes of some requests."""
    found = []
    for query in QUERIES[:6]:
        with (model or learner.model).task(query, learner=learner.handle) as task:
            task.next()
            found.append(task.candidates(100))
    return found


def taught(learner: Learner, count: int, seed: int = 1) -> None:
    for query, calls in lessons(count, seed):
        learner.learn(query, calls)


def test_a_change_of_tools_is_kept_with_its_vectors(model: Model, tmp_path: Path) -> None:
    path, told = tmp_path / "b.overlay", json.dumps(SHARED.to_dict())
    learner = Learner(model, path)
    taught(learner, 5)
    changed = model.with_tools([told], ["find_file"])
    learner.keep(model, changed, [told], ["find_file"])
    with changed.task("share it", learner=learner.handle) as task:
        task.call("share_screen")
        learner.learn_from(task)
    again = Learner(model, path)
    assert again.model.names == changed.names
    assert decided(again) == decided(learner, changed)
    learner.forget(id=3)  # which writes all anew
    last = changed.with_tools([], ["get_day"])
    learner.keep(changed, last, [], ["get_day"])
    learner.keep(last, last)
    assert Learner(model, path).model.names == last.names
    learner.close()


def test_a_kept_tool_is_the_one_that_was_given(model: Model, folder: Path, tmp_path: Path) -> None:
    path, told = tmp_path / "b.overlay", json.dumps(SHARED.to_dict())
    learner, changed = Learner(model, path), model.with_tools([told])
    learner.keep(model, changed, [told])
    encoder = path.read_bytes()[36:68].hex()
    (record,) = scan(path.read_bytes(), encoder, "here").records
    assert record.kind == "tools"
    assert (record.value["added"], record.value["removed"], record.value["replaced"]) == ([SHARED.to_dict()], [], [])
    assert list(record.value) == ["added", "removed", "replaced", "vectors", "examples"]
    learner.close()


def test_other_tools_than_the_overlay_has_are_not_changed(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "b.overlay"
    one, other, nowhere = Learner(model, path), Learner(model, path), Learner(model)
    fewer, fewest = model.with_tools([], ["find_file"]), model.with_tools([], ["get_day"])
    one.keep(model, fewer, [], ["find_file"])
    for learner, before, words in (
        (one, model, "changed since, by another process or from another runtime"),
        (other, model, "changed since, by another process or from another runtime"),
        (nowhere, model, "without an overlay"),
    ):
        with pytest.raises(CoreError, match=words) as told:
            learner.keep(before, fewest, [], ["get_day"])
        assert told.value.status == BAD_INPUT
    with pytest.raises(CoreError, match="not what er_with_tools made"):
        one.keep(fewer, fewest, ['{"name": "find_file", "description": "find it"}'])
    taught(other, 2)
    assert Learner(model, path).model.names == fewer.names
    for learner in (one, other, nowhere):
        learner.close()


def test_a_copy_learns_alone(model: Model, tmp_path: Path) -> None:
    learner = Learner(model, tmp_path / "b.overlay")
    taught(learner, 12)
    before, copied = decided(learner), learner.copy()
    assert decided(copied) == before
    assert copied.plans == learner.plans
    taught(copied, 6, seed=2)
    assert decided(learner) == before
    taught(learner, 6, seed=2)
    assert decided(copied) == decided(learner)
    data = (tmp_path / "b.overlay").read_bytes()
    copied.forget(everything=1)
    assert (tmp_path / "b.overlay").read_bytes() == data
    learner.close()
    assert copied.plans == []
    copied.close()


def test_what_was_learned_in_memory_goes_on_in_a_file(model: Model, tmp_path: Path) -> None:
    learner, path = Learner(model), tmp_path / "b.overlay"
    path.write_bytes(learner.bytes)
    assert Learner(model, path).plans == []
    taught(learner, 12)
    path.write_bytes(learner.bytes)
    other = Learner(model, path)
    assert other.plans == learner.plans
    assert decided(other) == decided(learner)
    taught(learner, 4, seed=2)
    taught(other, 4, seed=2)
    assert decided(other) == decided(learner)
    learner.close()
    other.close()


def test_several_plans_are_forgotten_at_once(model: Model) -> None:
    learner = Learner(model)
    taught(learner, 8)
    ids = [told.id for told in learner.plans]
    assert learner.forget(ids=[ids[1], ids[4], 10**6]) == 2
    assert [told.id for told in learner.plans] == [ids[0], *ids[2:4], *ids[5:]]
    learner.close()
