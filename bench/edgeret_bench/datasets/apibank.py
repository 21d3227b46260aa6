"""API-Bank: dialogues with calls (level 1), and requests that need several (level 3). Calls to find an API are dropped.

An argument that is found in the result of an earlier call and nowhere in the user's words is taken as a reference.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from edgeret_bench.datasets.collect import UNREADABLE, Collector, Dataset, DirtyError, field
from edgeret_bench.datasets.files import read_list
from edgeret_bench.datasets.plans import parse_call
from edgeret_bench.datasets.schema import make_object

SEARCHER = "ToolSearcher"
MIN_CHARS = 4
"""Shorter values, such as numbers of one digit, are too often in a result by chance."""
_REQUEST = re.compile(r"API-Request:\s*\[(.*?)\]?\s*")
Made = list[tuple[str, dict[str, Any], str]]
"""Calls as (tool, arguments, result as text)."""


def read(folder: Path) -> Dataset:
    """`level-1-api.json` and `level-3.json`. Raises InputError."""
    collector = Collector("api-bank")
    turns = read_list(folder / "level-1-api.json", "API-Bank's turns")
    requests = read_list(folder / "level-3.json", "API-Bank's requests")
    for turn in turns:
        with collector.record():
            for line in field(turn, str, "instruction").split("\n"):
                if line.startswith('{"name"'):
                    _tool(collector, _decode(line))
    for request in requests:
        with collector.record():
            for api in field(request, list, "apis"):
                if field(api, str, "api_name") == SEARCHER:
                    found = api.get("output")
                    _tool(collector, found.get("output") if isinstance(found, dict) else None)
    last: dict[str, Any] = {}
    for turn in turns:
        with collector.record():
            name, text = field(turn, str, "file"), field(turn, str, "input")
            if name not in last or len(text) > len(last[name]["input"]):
                last[name] = turn
    for name, turn in last.items():
        with collector.record():
            _dialogue(collector, name.removesuffix(".jsonl"), turn)
    for number, request in enumerate(requests):
        with collector.record():
            _request(collector, f"level-3-{number}", request)
    return collector.dataset()


def _dialogue(collector: Collector, identity: str, turn: Any) -> None:
    """The dialogue up to its last call, with all turns before it; what the user said, line by line, is the query."""
    parameters = {name: tool.parameters["properties"] for name, tool in collector.tools.items()}
    expected = field(turn, str, "expected_output", "output")
    said: list[str] = []
    made: Made = []
    for line in [*turn["input"].split("\n"), expected]:
        if line.startswith("User:"):
            said.append(line.removeprefix("User:").strip())
        elif line.startswith("API-Request:"):
            text, _, result = line.partition("]->")
            match = _REQUEST.fullmatch(text)
            if match is None:
                raise DirtyError(UNREADABLE)
            name, arguments = parse_call(match[1], parameters)
            made.append((name, arguments, result))
    query = "\n".join(said)
    collector.plan(identity, query, _refer([call for call in made if call[0] != SEARCHER], query))


def _request(collector: Collector, identity: str, request: Any) -> None:
    made: Made = []
    for api in field(request, list, "apis"):
        name, output = field(api, str, "api_name"), api.get("output")
        if isinstance(output, dict) and output.get("exception"):
            raise DirtyError("a call that failed")
        if name != SEARCHER:
            result = output.get("output") if isinstance(output, dict) else output
            made.append((name, field(api, dict, "input"), json.dumps(result, ensure_ascii=False)))
    query = field(request, str, "requirement")
    collector.plan(identity, query, _refer(made, query))


def _refer(made: Made, query: str) -> Sequence[tuple[str, dict[str, Any]]]:
    """The calls with values that only an earlier result can have given, the latest one, as references to it."""

    def find(value: Any, earlier: Made) -> Any:
        if not isinstance(value, str) or len(value) < MIN_CHARS or value in query:
            return value
        whole = re.compile(rf"""(?:^|['"]){re.escape(value)}(?:$|['"])""")
        return next((f"$out_{k}" for k in range(len(earlier), 0, -1) if whole.search(earlier[k - 1][2])), value)

    return [
        (name, {key: find(value, made[:position]) for key, value in arguments.items()})
        for position, (name, arguments, _) in enumerate(made)
    ]


def _tool(collector: Collector, tool: Any) -> None:
    for one in tool if isinstance(tool, list) else [tool]:
        name = field(one, str, "name", "api_name")
        if name != SEARCHER:
            properties = field(one, dict, "input_parameters")
            collector.tool(name, str(one.get("description", "")), make_object(properties, properties))


def _decode(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        raise DirtyError("a description of a tool that is no JSON") from None
