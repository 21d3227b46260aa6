"""Tasks as data: what is kept comes back, and anything else is refused by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import TOOLS, tiny_bundle

import edgeret
from edgeret import Call, InputError, Runtime, Task
from edgeret.core.model import Model

QUERY = "book the meeting then send a mail"


@pytest.fixture(scope="module")
def runtime(tiny_original: Path) -> Runtime:
    return edgeret.load(tiny_original, threads=1)


def begun(runtime: Runtime) -> Task:
    """A task in which a bit of everything happened."""
    task = runtime.task(QUERY)
    task.failed("book_meeting", "no room\nleft")
    task.call("their_tool", {"a": [1, {"b": None}]}, {"é": 1.5}, foreign=True)
    task.call("book_meeting", result="9:00")
    task.failed("find_file", "")
    task.retry("find_file")
    task.failed("write_note", "full")
    return task


def deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


def test_a_task_is_kept_as_plain_json(runtime: Runtime) -> None:
    task = begun(runtime)
    assert task.to_dict() == {
        "query": QUERY,
        "content_hash": runtime.manifest.content_hash,
        "calls": [
            {"tool": "their_tool", "arguments": {"a": [1, {"b": None}]}, "result": {"é": 1.5}, "foreign": True},
            {"tool": "book_meeting", "arguments": {}, "result": "9:00", "foreign": False},
        ],
        "failures": [
            {"tool": "book_meeting", "reason": "no room\nleft", "after": 0, "retried": False},
            {"tool": "find_file", "reason": "", "after": 2, "retried": True},
            {"tool": "write_note", "reason": "full", "after": 2, "retried": False},
        ],
    }
    task.to_dict()["calls"][0]["arguments"]["a"].clear()
    assert task.calls[0].arguments == {"a": [1, {"b": None}]}


def test_a_task_goes_on_where_it_was(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    task = begun(runtime)
    encoded: list[str] = []
    begin = Model.begin
    monkeypatch.setattr(Model, "begin", lambda self, *a: (encoded.append(a[0]), begin(self, *a))[1])
    resumed = runtime.resume(json.loads(json.dumps(task.to_dict(), allow_nan=False)))
    assert encoded == [QUERY]
    assert resumed.to_dict() == task.to_dict()
    assert (resumed.calls, resumed.failures) == (task.calls, task.failures)
    assert resumed.probabilities().tobytes() == task.probabilities().tobytes()
    ours, theirs = task.next(), resumed.next()
    assert (theirs.tool, theirs.candidates, theirs.reason) == (ours.tool, ours.candidates, ours.reason)
    assert [resumed.undo() for _ in range(5)] == [task.undo() for _ in range(5)]


def test_what_is_resumed_is_a_copy(runtime: Runtime) -> None:
    saved = begun(runtime).to_dict()
    task = runtime.resume(saved)
    saved["calls"][0]["arguments"]["a"].clear()
    saved["calls"].clear()
    assert task.calls[0] == Call("their_tool", {"a": [1, {"b": None}]}, {"é": 1.5})


def test_another_bundle_resumes_what_its_tools_allow(runtime: Runtime, tmp_path: Path) -> None:
    saved = runtime.task(QUERY, ["phone_call"]).to_dict()
    newer = edgeret.load(tiny_bundle(tmp_path / "newer", seed=1), threads=1)
    assert newer.manifest.content_hash != saved["content_hash"]
    assert newer.resume(saved).calls == (Call("phone_call"),)
    smaller = edgeret.load(tiny_bundle(tmp_path / "smaller", tools=TOOLS[:-1]), threads=1)
    with pytest.raises(InputError) as caught:
        smaller.resume(saved)
    assert str(caught.value) == (
        'saved task, call 1: this bundle has no tool "phone_call"; load the bundle that the task was saved with '
        f"(content hash {saved['content_hash']}), or open a new task"
    )
    failed = runtime.task(QUERY)
    failed.failed("phone_call", "no line")
    with pytest.raises(InputError, match='saved task, failure 1: this bundle has no tool "phone_call"'):
        smaller.resume(failed.to_dict())


def changed(key: str, value: object) -> Callable[[dict[str, Any]], object]:
    return lambda saved: {**saved, key: value}


def in_call(**fields: object) -> Callable[[dict[str, Any]], object]:
    return lambda saved: {**saved, "calls": [{**saved["calls"][0], **fields}, *saved["calls"][1:]]}


def in_failure(**fields: object) -> Callable[[dict[str, Any]], object]:
    return lambda saved: {**saved, "failures": [*saved["failures"][:-1], {**saved["failures"][-1], **fields}]}


@pytest.mark.parametrize(
    ("forge", "words"),
    [
        (json.dumps, "saved task: expected an object as task.to_dict() writes it, found text"),
        (lambda _: None, "saved task: expected an object as task.to_dict() writes it, found null"),
        (lambda _: deep(10_000), "saved task: expected an object as task.to_dict() writes it, found an array"),
        (lambda _: {}, 'saved task: "query" is missing; give all that task.to_dict() wrote'),
        (changed("version", 2), 'saved task: unknown key "version"'),
        (changed(5, 2), "saved task: unknown key of type int"),  # type: ignore[arg-type]
        (changed("query", 5), 'saved task: "query" must be text, found a number'),
        (changed("query", " "), "saved task: query: empty"),
        (changed("query", "x" * 10_000_000), "saved task: query: 10000000 characters, at most 20000 are allowed"),
        (changed("content_hash", "x"), '"content_hash" must have 64 hexadecimal digits, found "x"'),
        (changed("content_hash", None), '"content_hash" must be text, found null'),
        (changed("calls", {}), '"calls" must be an array, found an object'),
        (changed("calls", [{}] * 1_000_000), "saved task: 1000000 calls, at most 256 are allowed"),
        (changed("failures", [{}] * 257), "saved task: 257 failures, at most 256 are allowed"),
        (changed("calls", deep(10_000)), "saved task, call 1: expected an object"),
        (changed("failures", [None]), "saved task, failure 1: expected an object"),
        (in_call(tool=None), 'saved task, call 1: "tool" must be text, found null'),
        (in_call(tool="<end>"), 'saved task, call 1: a foreign tool: the name "<end>" is reserved'),
        (in_call(tool="a\nb"), "saved task, call 1: a foreign tool: the name"),
        (in_call(tool=""), "saved task, call 1: a foreign tool needs a name"),
        (in_call(foreign=False), 'saved task, call 1: this bundle has no tool "their_tool"'),
        (in_call(foreign=1), 'saved task, call 1: "foreign" must be true or false, found a number'),
        (in_call(arguments=[]), 'saved task, call 1: "arguments" must be an object, found an array'),
        (in_call(arguments={"a": float("nan")}), "saved task, call 1: arguments cannot be taken (nan is not a number"),
        (in_call(arguments={"a": deep(10_000)}), "saved task, call 1: arguments cannot be taken (nested more than 32"),
        (in_call(arguments={"a": "x" * 2_000_000}), "call 1: arguments cannot be taken (more than 1048576 bytes"),
        (in_call(result=deep(10_000)), "saved task, call 1: the result cannot be taken (nested more than 32 deep)"),
        (in_call(result="x" * 2_000_000), "saved task, call 1: the result cannot be taken (more than 20000 bytes"),
        (in_call(result=10**400), "saved task, call 1: the result cannot be taken (an integer of more than 300"),
        (in_call(evil=1), 'saved task, call 1: unknown key "evil"'),
        (in_failure(tool="nobody"), 'saved task, failure 3: this bundle has no tool "nobody"'),
        (in_failure(tool="their_tool"), 'saved task, failure 3: this bundle has no tool "their_tool"'),
        (in_failure(after=True), '"after" must be a whole number, found true or false'),
        (in_failure(after=1.0), '"after" must be a whole number, found a number'),
        (in_failure(after=1), '"after" must count calls, from 2 to 2 here'),
        (in_failure(after=10**5000), '"after" must count calls, from 2 to 2 here'),
        (in_failure(after=-1), '"after" must count calls'),
        (in_failure(reason=None), 'failure 3: "reason" must be text, found null'),
        (in_failure(reason="x" * 1001), 'failure 3: "reason" has more than 1000 characters'),
        (in_failure(reason="\ud800"), "failure 3: the reason of a failure holds half a surrogate pair"),
        (in_failure(retried=None), 'failure 3: "retried" must be true or false, found null'),
    ],
)
def test_what_no_task_wrote_is_refused_by_name_before_anything_is_encoded(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch, forge: Callable[[dict[str, Any]], Any], words: str
) -> None:
    forged = forge(begun(runtime).to_dict())
    monkeypatch.setattr(Model, "begin", lambda *_: pytest.fail("encoded"))
    with pytest.raises(InputError) as caught:
        runtime.resume(forged)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
