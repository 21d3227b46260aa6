"""What is learned by the library decides, is kept and explained as what Python learns."""

from __future__ import annotations

import random
import shutil
from operator import attrgetter
from pathlib import Path

import pytest
from conftest import TOOLS, WORDS, tiny_bundle
from kill_learning import kill_at_random
from learned_states import chances, plan, state, stored
from python_reader import by_python

import edgeret
from edgeret import InputError, OverlayError, Runtime, Tool
from edgeret.bundle.overlay_file import overlay_path
from edgeret.runtime import learned as learned_module
from edgeret_export.recipe import Recipe

QUERY = "open my letter and read it"
EXTRA = Tool("lock_door", "close it", examples=("shut the door",))
WITHIN = 1e-4
"""Probabilities after hundreds of lessons, each of which rounds what the next one rests on."""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle that decides by a table of token vectors; not to be changed."""
    return tiny_bundle(tmp_path_factory.mktemp("table") / "bundle", recipe=Recipe(precision="fp32", profile="tiny"))


@pytest.fixture
def bundle(table: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(table, tmp_path / "bundle"))


def load(bundle: Path) -> Runtime:
    return edgeret.load(bundle, overlay=True)


def lessons(count: int, seed: int = 3) -> list[tuple[str, list[str]]]:
    dice, names = random.Random(seed), [tool.name for tool in TOOLS]
    return [(" ".join(dice.choices(WORDS, k=3)), dice.choices(names, k=dice.randrange(3))) for _ in range(count)]


def agree(mine: Runtime, theirs: Runtime, query: str) -> None:
    one, other = (runtime.task(query).next(k=None) for runtime in (mine, theirs))
    assert (one.tool, one.abstained, one.stage) == (other.tool, other.abstained, other.stage)
    assert dict(one.candidates) == pytest.approx(dict(other.candidates), abs=WITHIN)


def test_hundreds_of_plans_are_learned_as_python_learns_them(bundle: Path) -> None:
    mine, theirs = load(bundle), by_python(bundle)
    for number, (query, calls) in enumerate(lessons(300)):
        agree(mine, theirs, query)
        for runtime in (mine, theirs):
            task = runtime.task(query)
            for name in calls:
                task.call(name)
            task.learn(keep_words=number % 5 > 0)
    one, other = mine.learned.report(), theirs.learned.report()
    assert (one.stored, one.used, one.size_bytes) == (other.stored, other.used, other.size_bytes)
    assert one.status.partition(": ")[0] == other.status.partition(": ")[0]
    assert stored(mine) == stored(theirs)
    assert mine.forget(tool="find_file") == theirs.forget(tool="find_file")
    for query, _ in lessons(40, seed=4):
        agree(mine, theirs, query)
    assert chances(load(bundle), QUERY) == chances(mine, QUERY)


def test_tools_share_what_was_learned_whoever_came_when(bundle: Path) -> None:
    runtime = load(bundle)
    grown = runtime.with_tools(add=[EXTRA])
    grown.learn([plan("close it", "lock_door")])
    runtime.learn([plan(QUERY, "phone_call")])
    later = runtime.with_tools(add=[EXTRA])
    assert later.learned is grown.learned is runtime.learned
    assert chances(later, "close it") == chances(grown, "close it")
    assert chances(grown, "close it")["lock_door"] > 0.5
    with pytest.raises(InputError, match='unknown tool "lock_door"'):
        runtime.learn([plan("close it", "lock_door")])


def test_kept_tools_come_back_and_two_do_not_keep_at_once(bundle: Path) -> None:
    first, second = load(bundle), load(bundle)
    with pytest.raises(InputError, match="keep needs an overlay; load the bundle with overlay=True"):
        edgeret.load(bundle).with_tools(add=[EXTRA], keep=True)
    kept = first.with_tools(add=[EXTRA], remove=["play_music"], keep=True)
    kept.learn([plan("close it", "lock_door")])
    assert kept.with_tools(add=[EXTRA], keep=True) is kept
    for stale in (first, second):
        with pytest.raises(InputError, match="by another process or from another runtime; load the bundle again"):
            stale.with_tools(remove=["find_file"], keep=True)
    again = load(bundle)
    assert dict(again.tools) == dict(kept.tools)
    assert chances(again, "close it") == chances(kept, "close it")
    assert state(again) == state(kept)
    assert dict(load(bundle).tools) == dict(by_python(bundle, overlay=True).tools)


def test_a_decision_is_explained_by_what_was_known_then(bundle: Path) -> None:
    runtime = load(bundle)
    before = runtime.task(QUERY).next()
    told = runtime.task(QUERY).next().explain().lines
    runtime.learn([plan(QUERY, "phone_call")])
    between = runtime.task(QUERY).next()
    known = runtime.task(QUERY).next().explain().lines
    runtime.learn([plan(QUERY, "play_music", "find_file")] * 3)
    runtime.forget(everything=True)
    assert before.explain().lines == told
    forgotten = tuple(line.replace(f'"{QUERY}", learned here', "a request, learned here") for line in known)
    assert between.explain().lines == forgotten != known
    assert not any("learned here" in line for line in runtime.task(QUERY).next().explain().lines)


def test_what_is_remembered_for_old_decisions_is_bounded(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = load(bundle)
    runtime.learn([plan(query, *calls) for query, calls in lessons(5)])
    monkeypatch.setattr(learned_module, "MOST_REMEMBERED", 3 * runtime.learned.size_bytes)
    decisions = []
    for query, calls in lessons(8, seed=5):
        decisions.append(runtime.task(query).next())
        runtime.learn([plan(query, *calls)])
    assert all(decision.explain().lines for decision in decisions)
    learned = runtime.learned
    assert isinstance(learned, learned_module.Learned)
    assert len(attrgetter("_remembered")(learned)) <= 3


def test_what_another_one_learned_is_taken_up_and_forgotten_by_its_words(bundle: Path) -> None:
    first, second = load(bundle), load(bundle)
    first.learn([plan(QUERY, "phone_call")])
    second.learn([plan("zip it", "find_file")])
    assert first.forget("ZIP   it") == 1
    second.learn([plan("share it", "send_mail")])
    assert [query for query, _ in stored(second)] == [QUERY, "share it"]
    assert second.forget(" ") == second.forget(tool="") == second.forget(id=2**70) == 0
    assert state(load(bundle)) == state(second)


def test_words_of_refusals_are_pythons(bundle: Path) -> None:
    runtime, task = load(bundle), by_python(bundle).task(QUERY)
    other = runtime.task(QUERY)
    said = []
    for each in (task, other):
        each.call("ask_the_user", foreign=True)
        with pytest.raises(InputError) as error:
            each.learn()
        said.append(str(error.value))
    assert said[0] == said[1]
    conversation = runtime.conversation()
    conversation.say(QUERY)
    turn = conversation.say("and close it")
    with pytest.raises(InputError, match=r"later turn of a conversation .* with runtime\.learn"):
        turn.learn()
    overlay_path(bundle).write_bytes(b"hello")
    with pytest.raises(OverlayError, match="not an edgeret overlay"):
        load(bundle)


@pytest.mark.full
def test_who_is_killed_has_learned_what_was_acknowledged(tmp_path: Path) -> None:
    assert kill_at_random(tmp_path, 2, seed=4, profile="tiny")["lost"] == []
