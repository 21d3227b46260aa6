"""A loaded bundle with other tools: by the library where that decides, and else by Python. Knows nothing of what is
learned, and of what keeps a change."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from edgeret.runtime.core_tools import CoreTools
from edgeret.runtime.loaded import Loaded
from edgeret.runtime.tool_checks import check_change, unlike
from edgeret.types import Tool


def changed(
    loaded: Loaded,
    add: Sequence[Tool],
    remove: Collection[str],
    substitute: Sequence[Tool],
    vectors: tuple[NDArray[np.float32], NDArray[np.float32]] | None = None,
) -> Loaded:
    """The same with usable tools, as `unlike` gives them, added, removed and replaced by others of the same name;
    what was learned is shared. `vectors` are those of what is added and replaced, in this order, float32 (tools,
    dimension), and those of their examples, (examples, dimension); None has them encoded. Raises InputError."""
    check_change(loaded.tools, add, remove, substitute)
    if loaded.core is None:
        from edgeret.runtime import tool_changes

        components = tool_changes.changed(loaded.components, add, remove, substitute, vectors)
        return Loaded(loaded.path, lambda: components, loaded.learned)
    model = loaded.core.with_tools(written(add), list(remove), written(substitute), vectors)
    assert isinstance(loaded.tools, CoreTools)
    known = loaded.tools.known()
    for name in remove:
        known.pop(name, None)
    return loaded.with_model(
        model, known | {tool.name: tool for tool in (*add, *substitute)}, loaded.alone, loaded.learned
    )


def instead(loaded: Loaded, tools: Sequence[Tool]) -> Loaded:
    """The encoder and the prior for other tools altogether, which are encoded now. Raises InputError."""
    tools, _ = unlike({}, tools, (), ())
    check_change({}, tools, (), ())
    if loaded.core is None:
        from edgeret.runtime import tool_changes

        components = tool_changes.instead(loaded.components, tools)
        return Loaded(loaded.path, lambda: components)
    model = loaded.core.with_tools(written(tools), loaded.core.names(), (), alone=True)
    return loaded.with_model(model, {tool.name: tool for tool in tools}, True, None)


def written(tools: Sequence[Tool]) -> list[str]:
    """As the library takes them."""
    return [json.dumps(tool.to_dict(), ensure_ascii=False, separators=(",", ":")) for tool in tools]
