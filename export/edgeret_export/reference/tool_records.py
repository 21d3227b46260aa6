"""Changes of tools as an overlay keeps them (FORMAT.md 15.6). Encodes nothing: vectors are kept with the tools."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from edgeret.bundle.codec import get_array
from edgeret.bundle.overlay import Record, senseless
from edgeret.errors import BundleError, InputError
from edgeret.fields import get, get_strings
from edgeret.inputs.tools import check_tools, stored_tool
from edgeret.runtime.kept import CHANGE
from edgeret.runtime.loaded import Loaded
from edgeret.types import Tool


def recorded(
    after: Loaded, add: Sequence[Tool], remove: Collection[str], substitute: Sequence[Tool]
) -> tuple[str, dict[str, Any]]:
    """A change as an overlay keeps it: its kind, and the tools with their vectors, of what was made by it."""
    vectors, shown = after.vectors_of([tool.name for tool in (*add, *substitute)])
    return CHANGE, {
        "added": [tool.to_dict() for tool in add],
        "removed": list(remove),
        "replaced": [tool.to_dict() for tool in substitute],
        "vectors": vectors,
        "examples": shown,
    }


def replayed(loaded: Any, records: Sequence[Record], where: str) -> Any:
    """The bundle after the changes that an overlay holds. Raises OverlayError for changes that make no sense, for
    instance to a bundle with other tools."""
    for record in records:
        if record.kind != CHANGE:
            continue
        try:
            parts = {key: get(dict(record.value), key, list, where) for key in ("added", "replaced")}
            add, substitute = ([stored_tool(entry, where) for entry in parts[key]] for key in ("added", "replaced"))
            for key, tools in (("add", add), ("replace", substitute)):
                if tools:
                    check_tools([(f"{key}, item {i}", tool) for i, tool in enumerate(tools, 1)], key)
            shown = sum(len(tool.examples) for tool in (*add, *substitute))
            counts = (("vectors", "tools", len(add) + len(substitute)), ("examples", "examples", shown))
            vectors, examples = (
                get_array(record.value, key, "<f4", (n, loaded.dimension), where) for key, _, n in counts
            )
            for (_, of, _), rows in zip(counts, (vectors, examples), strict=True):
                if not np.allclose(np.einsum("ij,ij->i", rows, rows), 1, atol=1e-2):
                    raise BundleError(f"{where}: vectors of {of} that are not of length 1")
            removed = get_strings(dict(record.value), "removed", where)
            loaded = loaded.changed(add, removed, substitute, (vectors, examples))
        except (BundleError, InputError) as error:
            raise senseless(error, where) from None
    return loaded
