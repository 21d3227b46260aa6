"""What every adapter of a message format does with it: the tools that are kept, of a list that came with a request."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from edgeret import InputError, Runtime
from edgeret.adapters.plain import tool
from edgeret.adapters.selection import Amount, Shape, keep
from edgeret.adapters.tool_sets import ToolSets, read_definitions, shared


def choose(
    shape: Shape,
    messages: Any,
    tools: Sequence[Any],
    tool_choice: Any,
    base: str | Path | Runtime | ToolSets | None,
    runtime: Runtime | None,
    amount: Amount,
) -> list[Any]:
    """The given tools that are kept. Raises InputError for options that do not fit, and what `edgeret.load` raises."""
    if (base is None) == (runtime is None):
        raise InputError("give base, a bundle whose encoder reads the tools, or runtime, one that was made for them")
    if isinstance(tools, str) or not isinstance(tools, Sequence):
        raise InputError(f"tools must be a list, found {type(tools).__name__}")
    said = shape.conversation(messages)
    described = [tool(entry) for entry in tools]
    if base is not None:
        sets = shared(base)
        definitions = sets.definitions(described, shape.definition)
        if said.wanted is None or not definitions.tools:
            return list(tools)
        runtime = sets.runtime(definitions)
    else:
        definitions = read_definitions(described, shape.definition)
    assert runtime is not None
    return [tools[i] for i in keep(shape, definitions, runtime, said, tool_choice, amount)]
