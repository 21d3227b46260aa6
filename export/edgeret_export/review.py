"""A person goes through the queries that were written for tools, one tool at a time; every answer is in the file before
the next is asked for. Knows nothing of models and vectors."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from edgeret.errors import InputError
from edgeret.inputs.hygiene import without_hidden
from edgeret.inputs.query import check_query
from edgeret.quoting import quoted, shortened, visible
from edgeret.terminal.console import write_whole
from edgeret.types import Tool
from edgeret_export.planner.expand import MAX_QUERY_CHARS, tidy
from edgeret_export.sources.expansions import Line, as_text, origin_hash, recall

HELP = """  Enter   keeps all that are shown; the tool is done
  2 4-6   drops these
  e 3     edits the third; e 3 TEXT puts TEXT in its place
  a       adds one; so does a TEXT
  s       leaves the tool for later
  b       back to the tool before
  q       ends; all answers are in the file already"""
_PROMPT = "Enter, numbers, e N, a, s, b, q, ? > "
_NUMBERS = re.compile(r"[0-9]{1,4}(?:-[0-9]{1,4})?(?:[ ,]+[0-9]{1,4}(?:-[0-9]{1,4})?)*,?")
_EDIT = re.compile(r"e *([0-9]{1,4})(?: (.*))?")
_ADD = re.compile(r"a(?: (.*))?")


class Person(Protocol):
    """Whoever sits at a terminal."""

    def tell(self, text: str) -> None:
        """Shows lines. Raises EOFError where nobody is left to see them."""

    def ask(self, prompt: str, draft: str = "") -> str:
        """A line that is typed, where it can be beginning with a `draft`. Raises EOFError at the end of all input, and
        UnicodeDecodeError for what is no text."""


class _Refused(Exception):
    """An answer that changes nothing, and why. Never leaves this file."""


class _File:
    """The lines of a file, which is written whole with each that changes."""

    def __init__(self, path: Path) -> None:
        self._path, self._seen = path, _state(path)
        self.lines = recall(path)

    def put(self, line: Line) -> None:
        """Keeps the line, if it is another one. Raises InputError where the file cannot be written, or somebody else
        wrote to it: one would take the other's lines away."""
        if self.lines.get(line.tool) == line:
            return
        if _state(self._path) != self._seen:
            raise InputError(
                f"{self._path}: another program wrote to it during the review; wait for its end and start again, all "
                "answers but the last are kept"
            )
        self.lines[line.tool] = line
        write_whole(self._path, as_text(self.lines.values()), "-o")
        self._seen = _state(self._path)


def _state(path: Path) -> tuple[int, ...] | None:
    """What tells that a file is another one, or was written to; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


@dataclass(frozen=True, slots=True)
class _Move:
    """How far to go in the list of tools."""

    by: int


def review(tools: Sequence[Tool], target: Path, person: Person) -> dict[str, Any]:
    """Asks about each tool's line that nobody is done with, or whose tool changed since, until there is none left or
    the person ends it. Returns what to report. Raises InputError for a file without lines of these tools and for one
    that cannot be read or written."""
    if not target.exists():
        raise InputError(f"{target}: no such file; have one written first, with --planner, --endpoint or --demos")
    file = _File(target)
    if not any(tool.name in file.lines for tool in tools):
        raise InputError(
            f"{target}: has no line of these tools; have them written first, with --planner, --endpoint or --demos"
        )
    with contextlib.suppress(EOFError):  # as `q`: the terminal is gone, or its user is done
        _go_through([tool for tool in tools if _is_open(tool, file)], file, person)
    return _report(tools, file)


def _is_open(tool: Tool, file: _File) -> bool:
    line = file.lines.get(tool.name)
    return line is not None and not (line.reviewed and line.fits(tool))


def _report(tools: Sequence[Tool], file: _File) -> dict[str, Any]:
    lines = {tool.name: file.lines[tool.name] for tool in tools if tool.name in file.lines}
    left = sum(_is_open(tool, file) for tool in tools)
    return {
        "tools": len(tools),
        "queries": sum(len(line.queries) for line in lines.values()),
        "without": [tool.name for tool in tools if tool.name not in lines or not lines[tool.name].queries],
        "reviewed": len(lines) - left,
        "to_review": left,
    }


def _go_through(todo: Sequence[Tool], file: _File, person: Person) -> None:
    person.tell(f"{len(todo)} tools to review; ? explains" if todo else "nothing is left to review")
    place = 0
    while place < len(todo):
        tool = todo[place]
        person.tell(f"\n{place + 1} of {len(todo)}  {_shown(tool, file.lines[tool.name])}")
        move = None
        while move is None:
            try:
                answer = person.ask(_PROMPT).strip()
                if answer == "q":
                    return
                move = _answered(answer, tool, file, person)
                if move is not None and place + move.by < 0:
                    raise _Refused("this is the first tool")
            except (_Refused, UnicodeDecodeError) as error:
                move = None
                person.tell(f"  {error if isinstance(error, _Refused) else 'that is no UTF-8 text'}; nothing changed")
        place += move.by


def _shown(tool: Tool, line: Line) -> str:
    rows = [shortened(tool.name), f"  {shortened(tool.description)}"]
    if not line.fits(tool):
        rows.append("  (the tool changed since these were written)")
    rows += [f"{number:4}  {_whole(query)}" for number, query in enumerate(line.queries, 1)]
    return "\n".join(rows if line.queries else [*rows, "      (no queries)"])


def _whole(query: str) -> str:
    """Whoever keeps a query should have seen all of it; only one that no file of ours has is cut."""
    return visible(" ".join(query.split())) if len(query) <= MAX_QUERY_CHARS else shortened(query)


def _answered(answer: str, tool: Tool, file: _File, person: Person) -> _Move | None:
    """Does what the answer asks for; None where the same tool is asked about again without being shown. Raises
    _Refused."""
    line = file.lines[tool.name]
    if answer == "":
        file.put(_tied(line, tool, line.queries, reviewed=True))
        return _Move(1)
    if answer == "s":
        file.put(replace(line, reviewed=False if line.reviewed else line.reviewed))
        return _Move(1)
    if answer == "b":
        return _Move(-1)
    if answer == "?":
        person.tell(HELP)
        return None
    queries = list(line.queries)
    if _NUMBERS.fullmatch(answer):
        dropped = _places(answer, len(queries))
        queries = [query for place, query in enumerate(queries) if place not in dropped]
    elif match := _EDIT.fullmatch(answer):
        (place,) = _places(match[1], len(queries))
        text = person.ask(f"{place + 1:4}  ", _draft(queries[place])) if match[2] is None else match[2]
        others = queries[:place] + queries[place + 1 :]
        queries[place] = _checked(text, others, tool)
    elif match := _ADD.fullmatch(answer):
        text = person.ask("  new  ") if match[1] is None else match[1]
        queries.append(_checked(text, queries, tool))
    else:
        raise _Refused(f"{quoted(answer)} is no answer (? explains)")
    if tuple(queries) != line.queries:
        file.put(_tied(line, tool, queries, reviewed=False))
    return _Move(0)


def _tied(line: Line, tool: Tool, queries: Sequence[str], reviewed: bool) -> Line:
    """The line with these queries. Whoever answers has seen the tool as it is now, so the line belongs to this one."""
    return replace(line, sha256=origin_hash(tool, line.made_by), queries=tuple(queries), reviewed=reviewed)


def _draft(query: str) -> str:
    return without_hidden(" ".join(query.split()))


def _places(answer: str, count: int) -> set[int]:
    """The places, from 0, that numbers and ranges name. Raises _Refused for one that is not there."""
    found = set[int]()
    for part in re.findall(r"[0-9]+(?:-[0-9]+)?", answer):
        first, _, last = part.partition("-")
        low, high = int(first), int(last or first)
        if not 1 <= low <= high <= count:
            raise _Refused(f"there is no query {part}" + (f", but 1 to {count}" if count else ": the tool has none"))
        found.update(range(low - 1, high))
    return found


def _checked(text: str, others: Sequence[str], tool: Tool) -> str:
    """A query as it is kept. Raises _Refused for one that `tidy` would leave out."""
    if not text.strip():
        raise _Refused("nothing was typed")
    found = tidy([text], tool)
    if not found:
        raise _Refused(f"that is no query: more than {MAX_QUERY_CHARS} characters, no word, or the tool's name")
    if any(len(tidy([other, found[0]], tool)) < len(tidy([other], tool)) + 1 for other in others):
        raise _Refused("the tool has this query already")
    try:
        return check_query(found[0])
    except InputError as error:
        raise _Refused(str(error)) from None
