"""Files of queries written for tools: a line of JSON a tool, tied by a hash to what the queries were made from. Knows
nothing of models and vectors."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.inputs.jsonl import json_type, list_field, parse_objects, text_field
from edgeret.inputs.query import check_query
from edgeret.quoting import quoted, suggestion
from edgeret.terminal.console import warn
from edgeret.types import Tool

DEMONSTRATIONS = "demonstrations"
"""The key of `made_by` that tells people's queries from a model's."""


@dataclass(frozen=True, slots=True)
class Line:
    """The `queries` of one `tool`; what they were `made_by`, as plain data; and the `sha256` of both the tool and
    that. `reviewed`: whether a person is done with them, False where one has begun; None where nobody looked yet."""

    tool: str
    made_by: Mapping[str, Any]
    sha256: str
    queries: tuple[str, ...]
    reviewed: bool | None = None

    @property
    def said(self) -> bool:
        """Whether people stand for the queries: they said them, in demonstrations, or reviewed what a model made up."""
        return DEMONSTRATIONS in self.made_by or self.reviewed is True

    def fits(self, tool: Tool) -> bool:
        """Whether the tool is still the one that the queries were made for."""
        return self.sha256 == origin_hash(tool, self.made_by)


@dataclass(frozen=True, slots=True)
class Expansion:
    """A file of written queries: its `lines` by their tools' names, and its own `sha256`."""

    lines: Mapping[str, Line]
    sha256: str

    def of(self, tools: Sequence[Tool]) -> list[Line]:
        """The line of each of the tools; one without queries for those that the file does not have."""
        return [self.lines.get(tool.name, Line(tool.name, {}, "", ())) for tool in tools]


def origin_hash(tool: Tool, made_by: Mapping[str, Any]) -> str:
    """The hash of what a tool's queries are made from, as 64 hexadecimal digits."""
    origin = (tool.name, tool.description, tool.parameters, made_by)
    text = json.dumps(origin, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=dict)
    return hashlib.sha256(text.encode()).hexdigest()


def as_text(lines: Iterable[Line]) -> str:
    """The lines as they stand in a file, each with its end; a mark of review only where there is one."""
    return "".join(
        json.dumps({key: value for key, value in asdict(line).items() if value is not None}, ensure_ascii=False) + "\n"
        for line in lines
    )


def recall(path: Path) -> dict[str, Line]:
    """The lines of an unfinished file by their tools' names; none where there is no file yet. What a killed writer left
    of its last line is left out. Raises InputError for a file of another kind: it would be written over."""
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: no plain file, which written queries are kept in; give another place with -o")
    data = _read(path) if path.exists() else b""
    try:
        return {line.tool: line for _, line in _lines(data[: data.rfind(b"\n") + 1], path)}
    except InputError as error:
        raise InputError(f"{error}; it would be written over: give another place with -o, or delete it") from None


def read_expansion(path: str | Path, tools: Sequence[Tool]) -> Expansion:
    """The queries of a file. It need not have all tools; a tool that changed since its queries were written is warned
    of. Raises InputError for a line that is none, a tool that is not among `tools` and one that comes twice."""
    path = Path(path)
    data, by_name, stale = _read(path), {tool.name: tool for tool in tools}, []
    found: dict[str, Line] = {}
    for where, line in _lines(data, path):
        if line.tool not in by_name:
            raise InputError(
                f"{where}: unknown tool {quoted(line.tool)}; it is not among the tools given"
                f"{suggestion(line.tool, by_name)}; take out the line, or run again: edgeret-export lab expand"
            )
        if line.tool in found:
            raise InputError(f"{where}: {quoted(line.tool)} has a line already; take one of them out")
        if not line.fits(by_name[line.tool]):
            stale.append(line.tool)
        found[line.tool] = line
    if stale:
        warn(
            f"{path}: {len(stale)} tools changed since their queries were written (first: {quoted(stale[0])}); "
            "write them anew with: edgeret-export lab expand"
        )
    return Expansion(found, hashlib.sha256(data).hexdigest())


def demonstrated(expansion: Expansion, demonstrations: Sequence[Demonstration]) -> int:
    """How many of an expansion's queries are demonstrations' too, but for spaces."""
    known = {" ".join(demonstration.query.split()) for demonstration in demonstrations}
    return sum(" ".join(query.split()) in known for line in expansion.lines.values() for query in line.queries)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}); expected queries written by edgeret-export lab expand"
        ) from None


def _lines(data: bytes, path: Path) -> Iterable[tuple[str, Line]]:
    """The lines, each with its place. Raises InputError."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start}); expected JSONL of written queries") from None
    for where, value in parse_objects(text, path):
        name, made_by, sha256 = (
            text_field(where, value, "tool"),
            value.get("made_by"),
            text_field(where, value, "sha256"),
        )
        if not isinstance(made_by, dict):
            raise InputError(f'{where}: "made_by" must be an object; expected what edgeret-export lab expand wrote')
        reviewed = value.get("reviewed")
        if "reviewed" in value and not isinstance(reviewed, bool):
            raise InputError(
                f'{where}: "reviewed" must be true or false, found {json_type(reviewed)}; take it out to review anew'
            )
        queries = tuple(check_query(query, where) for query in list_field(where, value, "queries"))
        yield where, Line(name, made_by, sha256, queries, reviewed)
