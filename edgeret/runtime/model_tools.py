"""A bundle's tools as the library has them: each is read with its first use. Knows nothing of decisions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

from edgeret.bundle.codec import unpack_json
from edgeret.core.model import Model
from edgeret.errors import BundleError, InputError
from edgeret.inputs.tools import check_tools, stored_tool
from edgeret.types import Tool


class ModelTools(Mapping[str, Tool]):
    """Tools by name, in the index's order. Safe to use from several threads.

    Looking one up raises BundleError if what the bundle says of it is no tool."""

    def __init__(self, model: Model, where: str, known: Mapping[str, Tool] = MappingProxyType({})) -> None:
        """`where` begins the messages; `known` are tools of the model that need not be read."""
        self._model, self._where = model, where
        self._read = dict(known)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """By number."""
        return tuple(self._model.names())

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """By name."""
        return {name: number for number, name in enumerate(self.names)}

    def known(self) -> dict[str, Tool]:
        """Those that were read by now."""
        return self._read.copy()

    def __getitem__(self, name: str) -> Tool:
        found = self._read.get(name)
        if found is None:
            # Two threads may both read it; they get the same.
            found = self._read[name] = parsed(self._model.definition(self.numbers[name]), f"{self._where} (tools)")
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.numbers


def parsed(line: bytes, where: str) -> Tool:
    """A tool as a bundle has it. Raises BundleError, which begins with `where`."""
    entry = unpack_json(line, where)
    try:
        tool = stored_tool(entry, where)
        check_tools([(where, tool)], where)
    except InputError as error:
        raise BundleError(f"{error}; build the bundle again") from None
    return tool


def written(tools: Sequence[Tool]) -> list[str]:
    """As the library takes them."""
    return [json.dumps(tool.to_dict(), ensure_ascii=False, separators=(",", ":")) for tool in tools]
