"""Other people's tools and plans, as given on the command line. Reads and checks; fits nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.inputs.jsonl import parse_objects, read_text
from edgeret.inputs.query import check_query
from edgeret.inputs.tools import read_tools
from edgeret.types import Call, Tool


@dataclass(frozen=True, slots=True)
class Source:
    """Tools and plans of one origin, as given on the command line."""

    name: str
    tools: tuple[Tool, ...]
    demonstrations: tuple[Demonstration, ...]


def read_source(told: str, leave_out: Sequence[str] = ()) -> Source:
    """A source from `[NAME=]FOLDER` or `[NAME=]TOOLS:PLANS`; plans whose ids begin with one of `leave_out` are left
    out, and the calls of plans that list only `tools` are these, in order. Raises InputError."""
    name, _, place = told.rpartition("=")
    tools_file, _, plans_file = place.partition(":")
    if not plans_file:
        folder = Path(place)
        tools_file, plans_file = str(folder / "tools.jsonl"), str(folder / "demonstrations.jsonl")
    tools = read_tools(tools_file)
    known = {tool.name for tool in tools}
    found: list[Demonstration] = []
    for where, value in parse_objects(read_text(Path(plans_file), "plans as JSONL"), Path(plans_file)):
        listed = value.get("calls", value.get("tools"))
        if not isinstance(listed, list):
            raise InputError(f'{where}: expected "calls" or "tools", found neither')
        names = [call.get("tool") if isinstance(call, dict) else call for call in listed]
        identity = str(value.get("id", len(found)))
        if not identity.startswith(tuple(leave_out)) and all(name in known for name in names):
            query = check_query(value.get("query", ""), where)
            found.append(Demonstration(identity, query, tuple(Call(str(name)) for name in names)))
    if not found:
        raise InputError(f"{plans_file}: no plan over these tools is left in it")
    return Source(name or Path(tools_file).parent.name, tuple(tools), tuple(found))
