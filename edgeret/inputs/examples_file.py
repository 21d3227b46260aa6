"""Files of example requests for tools, written by people or by `edgeret-export lab expand`. They are what a tool's own
definition might show, and bounded in the same way. Knows nothing of vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from edgeret.errors import InputError
from edgeret.inputs.jsonl import list_field, read_objects
from edgeret.inputs.tool_examples import MAX_EXAMPLE_CHARS, MOST_EXAMPLES, examples_of
from edgeret.quoting import few, quoted
from edgeret.types import Tool

Tell = Callable[[str], None]
_WHAT = 'examples as JSONL {"name": tool, "examples": [requests]}'
_MOST_BYTES = 64 << 20


def read_examples(path: str | Path, tell: Tell | None = None) -> dict[str, tuple[str, ...]]:
    """What a file shows of tools, at most MOST_EXAMPLES of each, by their names. A line of `edgeret-export lab expand`
    (`tool`, `queries`) counts too. `tell` is given a line where some are left out. Raises InputError for a line that is
    none, a tool that comes twice, and an empty or too large file."""
    path = Path(path)
    if path.is_file() and path.stat().st_size > _MOST_BYTES:
        raise InputError(f"{path}: more than {_MOST_BYTES >> 20} MB, which no tools' examples have; expected {_WHAT}")
    found: dict[str, tuple[str, ...]] = {}
    cut: list[str] = []
    for where, entry in read_objects(path, _WHAT):
        name, key = entry.get("name", entry.get("tool")), "queries" if "queries" in entry else "examples"
        if not isinstance(name, str):
            raise InputError(f"{where}: expected {_WHAT}")
        if name in found:
            raise InputError(f"{where}: {quoted(name)} stands there twice; give all its examples in one line")
        said, _, incomplete = examples_of({"examples": list_field(where, entry, key)})
        found[name] = said
        if incomplete:
            cut.append(name)
    if not found:
        raise InputError(f"{path}: has examples of none of the tools; expected {_WHAT}, by the tools' names")
    if cut and tell is not None:
        tell(
            f"{path}: {len(cut)} tools show more than {MOST_EXAMPLES} examples, or some that are no sentence of at "
            f"most {MAX_EXAMPLE_CHARS} characters, which are left out: {few(cut)}"
        )
    return found


def with_examples_of(tools: Sequence[Tool], path: str | Path, tell: Tell | None = None) -> list[Tool]:
    """The tools with what a file shows of them behind their own examples, at most MOST_EXAMPLES of each. `tell` is
    given a line for each kind of what is left out. Raises InputError as `read_examples` does, and for a file in which
    no tool is known."""
    found = read_examples(path, tell)
    known = {tool.name for tool in tools}
    if not known.intersection(found):
        raise InputError(f"{path}: has examples of none of the tools; expected {_WHAT}, by the tools' names")
    if tell is not None and (unknown := [name for name in found if name not in known]):
        tell(f"{path}: {len(unknown)} tools are not among these, and count for nothing: {few(unknown)}")
    return [showing(tool, found.get(tool.name, ())) for tool in tools]


def showing(tool: Tool, more: Sequence[str]) -> Tool:
    """A tool that shows these behind its own, as many as are allowed."""
    own = {said.lower() for said in tool.examples}
    shown = (*tool.examples, *(said for said in more if said.lower() not in own))
    return replace(tool, examples=shown[:MOST_EXAMPLES]) if more else tool
