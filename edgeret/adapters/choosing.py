"""What every adapter of a message format does with it: the tools that are kept, of a list that came with a request."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from edgeret import InputError, Runtime
from edgeret.adapters.plain import tool
from edgeret.adapters.selection import Amount, Shape, keep
from edgeret.adapters.tool_sets import Definitions, ToolSets, either, read_definitions
from edgeret.quoting import few


def chosen(
    shape: Shape,
    messages: Any,
    tools: Sequence[Any],
    tool_choice: Any,
    base: str | Path | Runtime | ToolSets | None,
    runtime: Runtime | None,
    amount: Amount,
    queries: str | Sequence[str] | None = None,
) -> dict[int, Any]:
    """The given tools that are kept, by their places in the list. A dict in which something hides gives way to a copy
    without it; objects of an SDK stay as they are. Raises InputError for options that do not fit, and what
    `edgeret.load` raises."""
    sets = either(base, runtime)
    if isinstance(tools, str) or not isinstance(tools, Sequence):
        raise InputError(f"tools must be a list, found {type(tools).__name__}")
    said = shape.conversation(messages)
    described = [tool(entry) for entry in tools]
    if sets is not None:
        definitions = sets.definitions(described, shape.definition)
        if said.wanted is None or not definitions.tools:
            return _shown(range(len(tools)), tools, definitions)
        runtime = sets.runtime(definitions)
    else:
        definitions = read_definitions(described, shape.definition)
    assert runtime is not None
    return _shown(keep(shape, definitions, runtime, said, tool_choice, amount, queries), tools, definitions)


def _shown(kept: Iterable[int], tools: Sequence[Any], definitions: Definitions) -> dict[int, Any]:
    """What is given back of those that are kept; that something hid is told once, as warnings are."""
    clean = definitions.clean
    if clean:
        names = few([definitions.names[i] or "(no function)" for i in clean])
        warnings.warn(f"{len(clean)} of {len(tools)} tools held characters that nobody sees: {names}", stacklevel=4)
    return {i: deepcopy(clean[i]) if i in clean and isinstance(tools[i], dict) else tools[i] for i in kept}
