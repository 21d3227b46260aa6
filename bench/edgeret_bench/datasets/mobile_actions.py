"""Mobile Actions: requests to a phone as conversations of one turn, with seven functions and the calls that are right.
Each says what time it is."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Any

from edgeret_bench.datasets.collect import UNREADABLE, Collector, Dataset, DirtyError, field
from edgeret_bench.datasets.files import decoded, read_lines
from edgeret_bench.datasets.schema import object_of

FILE = "dataset.jsonl"
_CLOCK = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")


def read(folder: Path) -> Dataset:
    """`dataset.jsonl`; plans are called by their part, train or eval. Calls of one answer are free in order. Raises
    InputError."""
    collector = Collector("mobile-actions")
    for number, record in enumerate(read_lines(folder / FILE, "Mobile Actions' requests")):
        with collector.record():
            for tool in field(record, list, "tools"):
                with collector.record():
                    function = field(tool, dict, "function")
                    about = str(function.get("description") or "")
                    collector.tool(field(function, str, "name"), about, object_of(function.get("parameters")))
            _plan(collector, f"{record.get('metadata', 'all')}-{number}", record)
    return collector.dataset()


def _plan(collector: Collector, identity: str, record: Any) -> None:
    said: list[str] = []
    calls: list[tuple[str, dict[str, Any]]] = []
    now = None
    for message in field(record, list, "messages"):
        role = field(message, str, "role")
        if role == "developer":
            now = _clock(field(message, str, "content"))
        elif role == "user":
            said.append(field(message, str, "content"))
        elif role == "assistant":
            calls += map(_call, message.get("tool_calls") or ())
    collector.plan(identity, "\n".join(said), calls, (), now=now)


def _call(call: Any) -> tuple[str, dict[str, Any]]:
    function = field(call, dict, "function")
    given = function.get("arguments")
    arguments = decoded(given) if isinstance(given, str) else given
    if not isinstance(arguments, dict):
        raise DirtyError(UNREADABLE)
    return field(function, str, "name"), {key: value for key, value in arguments.items() if value is not None}


def _clock(text: str) -> datetime | None:
    match = _CLOCK.search(text)
    try:
        return None if match is None else datetime.fromisoformat(match[0])
    except ValueError:
        return None
