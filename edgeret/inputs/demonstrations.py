"""Demonstrations (queries with the calls that solved them) and retrieval queries: reads, checks, walks step by step."""

from __future__ import annotations

import reprlib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from edgeret.errors import InputError
from edgeret.inputs.jsonl import json_type, list_field, plain, read_objects, refuse_misspelling, text_field
from edgeret.inputs.query import check_query
from edgeret.inputs.tools import read_tools
from edgeret.quoting import quoted, suggestion
from edgeret.records import dataclass
from edgeret.types import END, Call

MAX_CALLS = 256
"""Of one plan; the longest of 7,140 public ones has 6."""
MAX_ARGUMENTS_BYTES = 1 << 20
"""Of one call's arguments as JSON."""


@dataclass(frozen=True, slots=True)
class Step:
    """One decision of a plan: the tools called so far, and the acceptable next ones (`F*_t` of the DTDR paper)."""

    history: tuple[str, ...]
    acceptable: frozenset[str]
    taken: str


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A query with its calls. `links` None: a chain; otherwise pairs (i, j): call j needs the output of call i."""

    id: str
    query: str
    calls: tuple[Call, ...]
    links: tuple[tuple[int, int], ...] | None = None

    def steps(self, order: Sequence[int] | None = None) -> list[Step]:
        """The plan's decisions, teacher-forced, the last one being `<end>` (appendix D of the DTDR paper).

        `order` is a permutation of the calls that respects the links; None takes the calls as written. In a DAG every
        call whose predecessors are done is acceptable; in a chain only the next one is.
        """
        order = range(len(self.calls)) if order is None else order
        steps: list[Step] = []
        done: list[int] = []
        for position in [*order, None]:
            ready = self.ready(done)
            taken = END if position is None else self.calls[position].tool
            acceptable = frozenset(self.calls[i].tool for i in ready) if ready else frozenset((END,))
            steps.append(Step(tuple(self.calls[i].tool for i in done), acceptable, taken))
            if position is not None:
                done.append(position)
        return steps

    def ready(self, done: Collection[int]) -> list[int]:
        """Indices of the calls that may come next once the calls `done` have been made."""
        if self.links is None:
            return [len(done)] if len(done) < len(self.calls) else []
        waiting = {j for i, j in self.links if i not in done}
        return [i for i in range(len(self.calls)) if i not in done and i not in waiting]


def read_demonstrations(path: str | Path, tools: Collection[str]) -> list[Demonstration]:
    """Demonstrations of a JSONL file, in file order. `tools` are the known names.

    Raises InputError at the first line that does not parse, calls an unknown tool, or whose links are no DAG along
    the order of the calls.
    """
    return [demonstration for _, demonstration in placed(Path(path), frozenset(tools))]


def placed(path: Path, known: Collection[str]) -> Iterator[tuple[str, Demonstration]]:
    """A file's demonstrations, each with its place. Raises InputError."""
    number = 0
    for where, value in _read_lines(path):
        query, calls = parse_plan(value, where)
        unknown = next((call.tool for call in calls if call.tool not in known), None)
        if unknown is not None:
            raise InputError(
                f"{where}: unknown tool {quoted(unknown)} in a call; it is not among the tools given"
                + suggestion(unknown, known)
            )
        refuse_misspelling(where, value, "links", list)
        links = _links(where, value["links"], len(calls)) if value.get("links") is not None else None
        yield where, Demonstration(str(value.get("id", number)), query, calls, links)
        number += 1
    if not number:
        raise InputError(f"{path}: no demonstrations in it")


def _read_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a file of demonstrations. Raises InputError; of a file of tools it says that it is one."""
    lines = read_objects(path, "demonstrations as JSONL")
    first, wrong = None, None
    try:
        first = next(lines, None)
    except InputError as error:
        wrong = error
    if (wrong or (first and not first[1].keys() & {"query", "calls"})) and (count := _tools_in(path)):
        raise InputError(
            f"{path}: these are tools ({count}), not demonstrations; give them with --tools. A demonstration is "
            'a "query" and its "calls", one a line'
        )
    if wrong is not None:
        raise wrong
    if first is not None:
        yield first
        yield from lines


def _tools_in(path: Path) -> int:
    """How many tools a file holds; 0 for what is no file of tools."""
    try:
        return len(read_tools(path))
    except InputError:
        return 0


def parse_plan(value: dict[str, Any], where: str) -> tuple[str, tuple[Call, ...]]:
    """The query and the calls of a decoded demonstration, whatever tools there are. Raises InputError."""
    refuse_misspelling(where, value, "query", str)
    refuse_misspelling(where, value, "calls", list, ("tools",))
    query = check_query(text_field(where, value, "query"), where)
    entries = list_field(where, value, "calls")
    if len(entries) > MAX_CALLS:
        raise InputError(f"{where}: {len(entries)} calls, at most {MAX_CALLS} are allowed; split the request")
    return query, tuple(_call(where, entry) for entry in entries)


def _call(where: str, entry: Any) -> Call:
    if not isinstance(entry, dict):
        raise InputError(f'{where}: a call must be {{"tool": …}}, found {json_type(entry)}')
    refuse_misspelling(where, entry, "tool", str, ("name", "function"))
    refuse_misspelling(where, entry, "arguments", object, ("args", "params", "parameters"))
    name = text_field(where, entry, "tool")
    arguments = {} if entry.get("arguments") is None else entry["arguments"]
    if not isinstance(arguments, dict):
        raise InputError(f'{where}: "arguments" must be an object, found {json_type(arguments)}')
    try:
        return Call(name, plain(arguments, MAX_ARGUMENTS_BYTES))
    except ValueError as error:
        raise InputError(f'{where}: "arguments" of {quoted(name)} cannot be taken ({error}); shorten them') from None


def _links(where: str, value: Any, n_calls: int) -> tuple[tuple[int, int], ...]:
    links: list[tuple[int, int]] = []
    for pair in value if isinstance(value, list) else [value]:
        match pair:
            case [int(i), int(j)] if type(i) is type(j) is int and 0 <= i < j < n_calls:
                links.append((i, j))
            case _:
                shown = reprlib.repr(pair)
                raise InputError(f'{where}: "links" must be pairs [i, j] with 0 <= i < j < {n_calls}, found {shown}')
    return tuple(links)
