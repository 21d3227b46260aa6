"""Logs of decisions back into requests, whatever became of the files. Knows nothing of what is made of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edgeret.errors import InputError
from edgeret.types import END
from edgeret.usage.segments import parts_of

MOST_LINE = 1 << 22
"""Bytes of a line; a longer one is none of ours."""
_ANSWERS = ("accepted", "corrected", "own", "planned")


@dataclass(slots=True)
class Step:
    """One decision, and what was called then: `answer` is None where nobody said, `called` then too."""

    time: float
    step: int
    tool: str | None
    best: str | None
    probability: float
    source: str
    stage: str
    reason: str
    nothing: float | None
    ms: float
    tools: str
    answer: str | None = None
    called: str | None = None

    @property
    def is_right(self) -> bool | None:
        """Whether it was what was called; None where nobody said."""
        return None if self.answer is None else self.answer == "accepted"


@dataclass(slots=True)
class Asked:
    """One request: its words where they were kept, its decisions by step, the calls made by step with what they were
    given, and what failed. `learned`: its calls are what solves it; `assumed`: they are a plan's, which nobody
    judged."""

    id: str
    query: str | None = None
    steps: dict[int, Step] = field(default_factory=dict)
    calls: dict[int, tuple[str, Any]] = field(default_factory=dict)
    failed: list[tuple[int, str]] = field(default_factory=list)
    learned: bool = False
    assumed: bool = False

    @property
    def plan(self) -> tuple[str, ...] | None:
        """The calls in order, None where one of them is not known."""
        made = sorted(self.calls)
        return tuple(self.calls[i][0] for i in made) if made == list(range(len(made))) else None

    @property
    def ended(self) -> bool:
        """Whether the calls are known to be all: they were learned, the decision behind the last one was that nothing
        is left or that nothing fits, or there was none."""
        plan = self.plan
        if plan is None:
            return False
        last = self.steps.get(len(plan))
        return self.learned or (not self.assumed and (last is None or last.tool in (None, END)))


@dataclass(slots=True)
class Log:
    """What logs say: requests in order, sets of tools by their names, and what could not be read."""

    asked: list[Asked] = field(default_factory=list)
    sets: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    lines: int = 0
    unread: int = 0


def log_files(places: Sequence[str | Path]) -> list[Path]:
    """The files that places name: logs' folders, or files. Raises InputError for what is neither or holds no log."""
    found: list[Path] = []
    for place in map(Path, places):
        if place.is_dir():
            parts = parts_of(place)
            if not parts:
                raise InputError(f"{place}: no log in it; a log's files are called 000000000.jsonl and on")
            found += parts
        elif place.exists():
            found.append(place)
        else:
            raise InputError(f"{place}: not there; name the folder of a log, or its files")
    return found


def read_log(places: Sequence[str | Path]) -> Log:
    """What the logs say. Half lines, which killed processes leave, and lines of other kinds are counted and left out.
    Raises InputError for places that cannot be read, and where nothing in them is a log's."""
    log, reader = Log(), Reader()
    for file in log_files(places):
        try:
            with file.open("rb") as stream:
                for line in _lines(stream):
                    log.lines += 1
                    record = _record(line)
                    if record is None or not reader.take(record):
                        log.unread += 1
        except OSError as error:
            raise InputError(f"{file}: cannot be read ({error.strerror})") from None
    log.asked, log.sets = list(reader.asked.values()), reader.sets
    if not log.asked:
        told = f"{log.lines} lines, none of them a decision's" if log.lines else "empty"
        raise InputError(f"{', '.join(map(str, places))}: no log of decisions ({told}); docs/LOG.md says what one is")
    return log


def _lines(stream: Any) -> Iterator[bytes]:
    while line := stream.readline(MOST_LINE):
        if not line.endswith(b"\n") and len(line) == MOST_LINE:
            while (more := stream.readline(MOST_LINE)) and not more.endswith(b"\n"):
                pass
        yield line


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


class Reader:
    """Takes records in order. A request that a program asks for anew at each step, as with the server, is one where its
    words were kept: the same words, and the calls of the one before with more behind them."""

    def __init__(self) -> None:
        self.asked: dict[str, Asked] = {}
        self.sets: dict[str, Mapping[str, Any]] = {}
        self._same: dict[str, str] = {}
        self._latest: dict[str, str] = {}

    def take(self, record: Mapping[str, Any]) -> bool:
        """One record; whether it is one of a log's."""
        event = record.get("event")
        try:
            if event == "tools":
                names = record.get("names")
                self.sets[_text(record["set"])] = {
                    "bundle": _text(record["bundle"]),
                    "names": [_text(name) for name in names] if isinstance(names, list) else None,
                }
                return True
            if event == "decided":
                self._decided(record)
            elif event in ("called", "failed", "undone", "learned"):
                self._happened(event, record)
            else:
                return False
        except (KeyError, TypeError, ValueError):
            return False
        return True

    def _decided(self, record: Mapping[str, Any]) -> None:
        step = _step(record)
        query = record.get("query")
        given = record.get("calls", [])
        if not isinstance(given, list):
            raise TypeError(type(given))
        calls = [_text(name) for name in given]
        name = _text(record["task"])
        asked = self.asked.get(self._same.get(name, name))
        if asked is None:
            asked = self._begun(name, query if isinstance(query, str) else None, calls)
        asked.steps[step.step] = step
        for i, tool in enumerate(calls):
            asked.calls.setdefault(i, (tool, None))

    def _begun(self, name: str, query: str | None, calls: Sequence[str]) -> Asked:
        if query is not None and calls and (before := self.asked.get(self._latest.get(query, ""))) is not None:
            plan = before.plan
            if plan is not None and len(plan) < len(calls) and list(plan) == calls[: len(plan)]:
                self._same[name] = before.id
                for i in range(len(plan), len(calls)):
                    _answer(before, i, calls[i])
                return before
        asked = self.asked[name] = Asked(name, query)
        if query is not None:
            self._latest[query] = name
        return asked

    def _happened(self, event: str, record: Mapping[str, Any]) -> None:
        name, step = _text(record["task"]), _whole(record["step"])
        asked = self.asked.setdefault(self._same.get(name, name), Asked(name))
        if event == "called":
            tool, answer = _text(record["tool"]), record["answer"]
            if answer not in _ANSWERS:
                raise ValueError(answer)
            arguments = record.get("arguments")
            asked.calls[step] = tool, arguments if isinstance(arguments, dict) else None
            for later in [later for later in asked.calls if later > step]:
                del asked.calls[later]  # those were taken back
            asked.assumed = asked.assumed or answer == "planned"
            if (decided := asked.steps.get(step)) is not None and answer in ("accepted", "corrected"):
                decided.answer, decided.called = answer, tool
        elif event == "failed":
            asked.failed.append((step, _text(record["tool"])))
        elif event == "learned":
            asked.learned = True
        elif step in asked.calls:
            del asked.calls[step]
            if (decided := asked.steps.get(step)) is not None:
                decided.answer = decided.called = None
        elif asked.failed:
            asked.failed.pop()


def _answer(asked: Asked, step: int, tool: str) -> None:
    asked.calls[step] = tool, None
    if (decided := asked.steps.get(step)) is not None:
        decided.answer, decided.called = "accepted" if tool == decided.tool else "corrected", tool


def _step(record: Mapping[str, Any]) -> Step:
    tool, best, nothing = record["tool"], record.get("best"), record.get("nothing")
    return Step(
        _number(record["time"]),
        _whole(record["step"]),
        None if tool is None else _text(tool),
        None if best is None else _text(best),
        min(max(_number(record["probability"]), 0.0), 1.0),
        _text(record["source"]),
        _text(record["stage"]),
        _text(record["reason"]),
        None if nothing is None else _number(nothing),
        max(_number(record["ms"]), 0.0),
        _text(record["set"]),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(type(value))
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e15:
        raise TypeError(type(value))
    return float(value)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 10_000:
        raise TypeError(type(value))
    return value


def steps_of(asked: Iterable[Asked]) -> Iterator[Step]:
    """All decisions, request by request."""
    for each in asked:
        yield from each.steps.values()
