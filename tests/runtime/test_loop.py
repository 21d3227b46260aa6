"""An agent's loop: results, foreign calls, undo, forks, and one call for one decision."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import TOOLS
from hypothesis import given
from hypothesis import strategies as st

import edgeret
from edgeret import END, Call, Failure, InputError, Runtime, Task
from edgeret.core.model import Model

QUERY = "find my file and send a mail"
NAMES = [tool.name for tool in TOOLS]


@pytest.fixture(scope="module")
def runtime(tiny_original: Path) -> Runtime:
    return edgeret.load(tiny_original, threads=1)


def state(task: Task) -> Any:
    """All that a task has to tell."""
    return task.calls, task.failures, task.probabilities().tobytes(), task.candidates(), task.prompt(), task.to_dict()


def test_a_call_keeps_its_result_and_hands_out_copies(runtime: Runtime) -> None:
    task, given_result = runtime.task(QUERY), {"path": "/a", "sizes": [1, 2]}
    task.call("find_file", {"name": "x"}, result=given_result)
    given_result["path"] = "/b"
    task.calls[0].result["path"] = "/c"
    assert task.calls == (Call("find_file", {"name": "x"}, {"path": "/a", "sizes": [1, 2]}),)
    task.call("send_mail", result="sent")
    assert task.calls[1].result == "sent"
    assert Call("send_mail").result is None


def test_a_decision_does_not_look_at_results(runtime: Runtime) -> None:
    plain, told = runtime.task(QUERY, ["find_file"]), runtime.task(QUERY)
    told.call("find_file", result="play my song")
    assert told.probabilities().tobytes() == plain.probabilities().tobytes()


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda task: task.call("find_file", result=float("nan")), "the result cannot be taken (nan is not a number"),
        (lambda task: task.call("find_file", result="x" * 20_001), "more than 20000 bytes as JSON); give what matters"),
        (lambda task: task.call("find_file", result=object()), "a object is nothing that JSON can hold"),
        (lambda task: task.accept(task.next(), result=b"x"), "a bytes is nothing that JSON can hold"),
        (lambda task: task.call("find_file", result={"a": "\ud800"}), "half a surrogate pair"),
        (lambda task: task.call("nobody"), 'unknown tool "nobody"; list the bundle\'s tools with: edgeret inspect; '),
        (lambda task: task.call("nobody"), "call one that is not the bundle's with foreign=True"),
        (lambda task: task.call("find_fiel"), 'foreign=True; did you mean "find_file"?'),
        (lambda task: task.call(5, foreign=True), "unknown tool of type int"),
        (lambda task: task.call("x", foreign="yes"), "foreign must be True or False, found str"),
        (lambda task: task.call("", foreign=True), "a foreign tool needs a name"),
        (lambda task: task.call(END, foreign=True), 'a foreign tool: the name "<end>" is reserved'),
        (lambda task: task.call("a\n- b", foreign=True), "the invisible character U+000A"),
        (lambda task: task.call("a" * 257, foreign=True), "is no name"),
        (lambda task: task.failed("nobody", "why"), 'unknown tool "nobody"'),
        (lambda task: task.failed("find_file", None), "reason of a failure must be text, found NoneType; give str("),
        (lambda task: task.failed("find_file", OSError("x")), "must be text, found OSError"),
        (lambda task: task.failed("find_file", "\ud800"), "half a surrogate pair"),
        (lambda task: task.retry("nobody"), 'unknown tool "nobody"'),
        (lambda task: task.undo(), "nothing to undo: no call was made, and no tool failed"),
    ],
)
def test_what_is_no_result_tool_or_reason_is_refused_and_changes_nothing(
    runtime: Runtime, act: Callable[[Any], object], words: str
) -> None:
    task = runtime.task(QUERY)
    before = state(task)
    with pytest.raises(InputError) as caught:
        act(task)
    assert words in str(caught.value)
    assert state(task) == before


def test_a_foreign_call_is_a_step_that_nobody_demonstrated(runtime: Runtime, tiny_many: Path) -> None:
    # Many demonstrations: what they say of the labels does not rest on what the prior says of the tool called.
    foreign, unlabelled = (edgeret.load(tiny_many, threads=1).task(QUERY) for _ in range(2))
    foreign.call("their_tool", foreign=True)
    unlabelled.call("phone_call")
    ours, theirs = (t.probabilities()[: len(NAMES)] for t in (unlabelled, foreign))
    np.testing.assert_allclose(theirs / theirs[0], ours / ours[0], rtol=1e-4)


def test_a_foreign_call_stands_in_the_history_like_any_other(runtime: Runtime) -> None:
    task = runtime.task(QUERY)
    task.call("their_tool", {"a": 1}, "ok", foreign=True)
    assert task.calls == (Call("their_tool", {"a": 1}, "ok"),)
    assert "their_tool" not in task.names
    assert "their_tool gave" in task.prompt().variable.text
    ours, theirs = runtime.task(QUERY), runtime.task(QUERY)
    ours.call("find_file")
    theirs.call("find_file", foreign=True)
    assert state(theirs) == state(ours)


def test_undo_takes_back_what_came_last(runtime: Runtime) -> None:
    task = runtime.task(QUERY)
    task.call("find_file", {"name": "x"}, 7)
    task.failed("send_mail", "no server")
    task.call("write_note")
    task.failed("play_music", "no sound")
    undone = [task.undo() for _ in range(4)]
    assert undone == [
        Failure("play_music", "no sound", 2),
        Call("write_note"),
        Failure("send_mail", "no server", 1),
        Call("find_file", {"name": "x"}, 7),
    ]
    assert state(task) == state(runtime.task(QUERY))


EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("call"), st.sampled_from([*NAMES, "their_tool"])),
        st.tuples(st.just("failed"), st.sampled_from(NAMES)),
        st.tuples(st.just("undo"), st.just("")),
    ),
    max_size=12,
)


def act(task: Task, what: str, name: str) -> None:
    if what == "call":
        task.call(name, {"n": 1}, result=name, foreign=True)
    else:
        task.failed(name, f"{name} is down")


@given(EVENTS)
def test_what_was_undone_never_happened(runtime: Runtime, events: list[tuple[str, str]]) -> None:
    task, kept = runtime.task(QUERY), list[tuple[str, str]]()
    for what, name in events:
        if what != "undo":
            act(task, what, name)
            kept.append((what, name))
        elif kept:
            undone = task.undo()
            expected, name = kept.pop()
            assert (isinstance(undone, Call), undone.tool) == (expected == "call", name)
        else:
            with pytest.raises(InputError, match="nothing to undo"):
                task.undo()
    shorter = runtime.task(QUERY)
    for what, name in kept:
        act(shorter, what, name)
    assert state(task) == state(shorter)
    assert state(task.fork()) == state(shorter)
    assert state(runtime.resume(task.to_dict())) == state(shorter)


def test_undo_and_redo_leave_nothing_behind(runtime: Runtime) -> None:
    task = runtime.task(QUERY)

    def again(times: int) -> None:
        for _ in range(times):
            task.call("find_file", {"name": "x" * 100}, "y" * 100)
            task.failed("send_mail", "z" * 100)
            task.retry("send_mail")
            task.undo()
            task.undo()

    again(100)
    tracemalloc.start()
    again(10_000)
    gc.collect()
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 50_000
    assert state(task) == state(runtime.task(QUERY))


def test_calls_and_failures_are_bounded(runtime: Runtime) -> None:
    task = runtime.task(QUERY, ["find_file"] * 256)
    with pytest.raises(InputError, match="256 calls were made already"):
        task.call("find_file")
    assert task.accept(task.next(policy="heads")) is False
    for _ in range(256):
        task.failed("find_file", "no")
    with pytest.raises(InputError, match="256 tools failed already"):
        task.failed("find_file", "no")
    for _ in range(512):
        task.undo()
    assert state(task) == state(runtime.task(QUERY))
    with pytest.raises(InputError, match="history, item 257: 256 calls were made already"):
        runtime.task(QUERY, ["find_file"] * 10_000)


def test_a_fork_goes_on_alone_and_encodes_nothing(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    task = runtime.task(QUERY)
    task.call("find_file", {"name": "x"})
    monkeypatch.setattr(Model, "begin", lambda *_: pytest.fail("encoded again"))
    fork = task.fork()
    before = state(task)
    assert state(fork) == before
    fork.call("send_mail")
    fork.failed("write_note", "no")
    assert state(task) == before
    assert "encode" not in fork.next().timings_ms
    assert "encode" in task.next().timings_ms
    fork.undo()
    fork.undo()
    undone = fork.undo()
    assert isinstance(undone, Call)
    undone.arguments["name"] = "y"  # type: ignore[index]
    assert state(task) == before


def test_a_task_begins_with_names_or_calls(runtime: Runtime) -> None:
    begun = runtime.task(QUERY, history=["find_file", Call("write_note", {"a": [1]}, "done")])
    task = runtime.task(QUERY)
    task.call("find_file")
    task.call("write_note", {"a": [1]}, "done")
    assert state(begun) == state(task)
    assert state(runtime.task(QUERY, begun.calls)) == state(task)


@pytest.mark.parametrize(
    ("history", "words"),
    [
        ("find_file", "history must be a list of tools' names or calls, found str"),
        (None, "history must be a list of tools' names or calls, found NoneType"),
        (["find_file", "nobody"], 'history, item 2: unknown tool "nobody"'),
        ([5], "history, item 1: unknown tool of type int"),
        ([Call("find_file", None)], "history, item 1: arguments must be an object, found NoneType"),  # type: ignore[arg-type]
        ([Call("find_file", {}, float("inf"))], "history, item 1: the result cannot be taken (inf is not a number"),
        ([END], 'history, item 1: unknown tool "<end>"'),
    ],
)
def test_a_history_that_is_none_is_refused_before_anything_is_encoded(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch, history: Any, words: str
) -> None:
    monkeypatch.setattr(Model, "begin", lambda *_: pytest.fail("encoded"))
    with pytest.raises(InputError) as caught:
        runtime.task(QUERY, history)
    assert words in str(caught.value)


def test_a_decision_is_taken_once(runtime: Runtime) -> None:
    task = runtime.task(QUERY)
    decision = task.next()
    assert task.accept(decision, {"name": "x"}, "found")
    assert task.calls == (Call("find_file", {"name": "x"}, "found"),)
    for which in (task, task.fork()):
        with pytest.raises(InputError, match=r"this decision was taken already; ask task\.next\(\) again"):
            which.accept(decision)
    task.undo()
    assert task.accept(decision)
    assert task.accept(task.next())
    assert [call.tool for call in task.calls] == ["find_file", "send_mail"]


def test_a_decision_that_was_refused_can_still_be_taken(runtime: Runtime) -> None:
    task = runtime.task(QUERY)
    decision = task.next()
    with pytest.raises(InputError, match="the result cannot be taken"):
        task.accept(decision, result={1})
    task.call("write_note")
    assert task.accept(decision)
    task.undo()
    assert task.accept(decision)


def test_the_loop_with_failures_ends(runtime: Runtime) -> None:
    task, tried = runtime.task(QUERY), 0
    while (decision := task.next(policy="heads")).is_call:
        tried += 1
        task.failed(str(decision.tool), "down")
        assert tried <= len(TOOLS)
    assert task.calls == ()
    assert task.next(policy="heads").tool in (None, END)


def test_calls_and_failures_are_plain_data() -> None:
    assert asdict(Call("a", {"b": 1}, [2])) == {"tool": "a", "arguments": {"b": 1}, "result": [2]}
    assert asdict(Failure("a", "b", 3)) == {"tool": "a", "reason": "b", "after": 3, "retried": False}
