"""Which tools may come and go: changes as they are asked for, checked before anything is made of them. Knows nothing of
vectors and of what is learned."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from edgeret.errors import InputError
from edgeret.inputs.jsonl import text_field
from edgeret.inputs.tool_examples import check_examples
from edgeret.inputs.tool_text import name_in_words
from edgeret.inputs.tools import check_tools, stored_tool
from edgeret.quoting import quoted, suggestion
from edgeret.types import Tool


def unlike(
    old: Mapping[str, Tool], add: Sequence[Tool], remove: Collection[str], substitute: Sequence[Tool]
) -> tuple[list[Tool], list[Tool]]:
    """What of `add` and `substitute` is not there as it is given, so an assistant may add its own at every start; as a
    bundle would hold it. What is removed is not there either, and may come back at once. Raises InputError."""

    def is_new(tool: Tool) -> bool:
        name = getattr(tool, "name", None)
        return not isinstance(name, str) or name in remove or old.get(name) != tool

    if isinstance(remove, str):
        raise InputError("remove must be a list of tools' names, found text")
    lists = (("add", add), ("replace", substitute))
    added, replaced = (list(filter(is_new, _usable(kind, list(filter(is_new, given))))) for kind, given in lists)
    return added, replaced


def _usable(kind: str, given: Sequence[Tool]) -> list[Tool]:
    """The tools, each as it is read back where it is kept. Raises InputError for those that none can be made of."""
    if not all(isinstance(tool, Tool) for tool in given):
        raise InputError(f"{kind} must be a list of edgeret.Tool, as edgeret.read_tools gives them")
    places = [f"{kind}, item {i}" for i in range(1, len(given) + 1)]
    found = [(place, _stored(tool, place)) for place, tool in zip(places, given, strict=True)]
    return check_tools(found, kind) if found else []


def _stored(tool: Tool, place: str) -> Tool:
    check_examples(tool.examples, text_field(place, {"name": tool.name}, "name"), place)
    if isinstance(tool.description, str) and not tool.description.strip():  # as edgeret.read_tool has it
        tool = replace(tool, description=name_in_words(tool.name) or tool.name)
    told: dict[str, Any] = tool.to_dict()
    if isinstance(tool.parameters, Mapping):
        told["parameters"] = dict(tool.parameters)
    return stored_tool({**told, "confirm": tool.confirm}, place)


def check_change(
    old: Mapping[str, Tool], add: Sequence[Tool], remove: Collection[str], substitute: Sequence[Tool]
) -> None:
    """Raises InputError unless usable tools, as `unlike` gives them, can be added, removed and replaced by others of
    the same name."""
    for name in remove:
        _known(name, old, "remove")
    for tool in substitute:
        _known(tool.name, old, "replace")
    for tool in add:
        if tool.name in old and tool.name not in remove:
            raise InputError(f"{quoted(tool.name)} is among the tools already; replace it instead of adding it")
    both = set(remove) & {tool.name for tool in substitute}
    if both:
        raise InputError(f"{quoted(min(both))} is to be removed and replaced; choose one")
    if len(old) + len(add) - len(set(remove)) < 1:
        raise InputError("no tool would be left; keep or add at least one")


def _known(name: object, old: Mapping[str, Tool], kind: str) -> None:
    if not isinstance(name, str) or name not in old:
        shown = quoted(name) if isinstance(name, str) else type(name).__name__
        near = suggestion(name, old) if isinstance(name, str) else ""
        raise InputError(f"{kind}: unknown tool {shown}; list the tools with: edgeret inspect{near}")
