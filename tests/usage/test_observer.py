"""Whoever watches a runtime is told of every decision and of what became of it, and can break nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import edgeret
from edgeret.usage.observer import Observer, Seen, corrects


class Notes(Observer):
    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def decided(self, seen: Seen, decision: edgeret.Decision) -> None:
        self.told.append(("decided", seen.task, len(seen.calls), decision.tool))

    def called(self, seen: Seen, call: edgeret.Call, decision: edgeret.Decision | None) -> None:
        self.told.append(("called", call.tool, None if decision is None else corrects(call, decision)))

    def failed(self, seen: Seen, tool: str) -> None:
        self.told.append(("failed", tool))

    def undone(self, seen: Seen) -> None:
        self.told.append(("undone", len(seen.calls)))

    def learned(self, seen: Seen) -> None:
        self.told.append(("learned", tuple(call.tool for call in seen.calls)))


class Broken(Observer):
    def decided(self, seen: Seen, decision: edgeret.Decision) -> None:
        raise RuntimeError("full")


def test_an_observer_is_told_what_was_decided_and_what_became_of_it(tiny_original: Path) -> None:
    runtime, notes = edgeret.load(tiny_original), Notes()
    runtime.observe(notes)
    task = runtime.task("write a note")
    decision = task.next(policy="heads")
    assert task.accept(decision)
    task.undo()
    other = next(name for name in runtime.tools if name != decision.tool)
    task.failed(other, "no")
    task.correct(other)
    task.call(other)  # nobody decided that
    task.learn()
    number = notes.told[0][1]
    assert notes.told == [
        ("decided", number, 0, decision.tool),
        ("called", decision.tool, False),
        ("undone", 0),
        ("failed", other),
        ("called", other, True),
        ("called", other, None),
        ("learned", (other, other)),
    ]


def test_forks_and_other_generations_of_tools_are_watched_too(tiny_original: Path) -> None:
    runtime, notes = edgeret.load(tiny_original), Notes()
    runtime.observe(notes)
    task = runtime.task("write a note")
    task.next()
    task.fork().next()
    runtime.with_tools(add=[edgeret.Tool("wash_car", "Washes the car")]).task("wash the car").next()
    numbers = [told[1] for told in notes.told]
    assert len(numbers) == len(set(numbers)) == 3


def test_an_observer_that_fails_is_told_of_once_and_watches_no_more(tiny_original: Path) -> None:
    runtime, notes = edgeret.load(tiny_original), Notes()
    runtime.observe(Broken())
    runtime.observe(notes)
    with pytest.warns(RuntimeWarning, match="Broken watches no more: RuntimeError: full"):
        assert runtime.task("write a note").next().candidates
    runtime.task("write a note").next()
    assert len(notes.told) == 2


def test_only_observers_observe(tiny_original: Path) -> None:
    with pytest.raises(edgeret.InputError, match="found str"):
        edgeret.load(tiny_original).observe("log")  # type: ignore[arg-type]
