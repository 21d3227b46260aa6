"""Tools that came and went over a store's bundles, whichever version is active: kept by what they mean, so that the
next version can have them, too. Encodes nothing itself.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeret.errors import BundleError
from edgeret.fields import get, get_strings
from edgeret.inputs.jsonl import decode
from edgeret.inputs.tools import stored_tool
from edgeret.records import dataclass
from edgeret.runtime.runtime import Runtime
from edgeret.store.state import replace_file
from edgeret.types import Tool

FILE = "tools.json"
MAX_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class ToolChanges:
    """Tools that are not the bundle's: `added` and `replaced` by name, and the names of `removed` ones."""

    added: Mapping[str, Tool]
    replaced: Mapping[str, Tool]
    removed: frozenset[str]

    def then(self, add: Sequence[Tool], remove: Collection[str], replace: Sequence[Tool]) -> ToolChanges:
        """These changes and others after them, as one."""
        added, replaced, removed = dict(self.added), dict(self.replaced), set(self.removed)
        for name in remove:
            if added.pop(name, None) is None:
                removed.add(name)
            replaced.pop(name, None)
        for tool in add:
            (replaced if tool.name in removed else added)[tool.name] = tool
            removed.discard(tool.name)
        for tool in replace:
            (added if tool.name in added else replaced)[tool.name] = tool
        return ToolChanges(added, replaced, frozenset(removed))

    def without(self, names: Collection[str]) -> ToolChanges:
        """These changes but for tools of these names."""
        added, replaced = (
            {name: tool for name, tool in tools.items() if name not in names} for tools in (self.added, self.replaced)
        )
        return ToolChanges(added, replaced, self.removed.difference(names))

    def over(self, others: ToolChanges) -> ToolChanges:
        """`others`, and these after them."""
        both = others.then((), self.removed, tuple(self.replaced.values()))
        return both.then(tuple(self.added.values()), (), ())

    def applied(self, runtime: Runtime) -> tuple[Runtime, list[str]]:
        """The runtime with these changes as far as its bundle allows, and what it does not, a line for each tool. What
        a bundle brings itself goes before what was added to an older one. Raises InputError as `with_tools` does."""
        here, left = runtime.tools, []
        add, replace = [], []
        for name, tool in self.added.items():
            if name not in here:
                add.append(tool)
            elif here[name] != tool:
                left.append(f"{name}: was added, and this version brings its own; that one counts")
        for name, tool in self.replaced.items():
            if name in here:
                replace.append(tool)
            else:
                left.append(f"{name}: was replaced, and this version has no such tool; add it if it is still needed")
        remove = [name for name in sorted(self.removed) if name in here]
        if len(remove) == len(here) and not add:
            return runtime, [*left, "all tools of this version were removed from an older one; they are here again"]
        return runtime.with_tools(add=add, remove=remove, replace=replace), left

    def to_dict(self) -> dict[str, Any]:
        """The changes as JSON-ready data."""
        return {
            "added": [tool.to_dict() for tool in self.added.values()],
            "replaced": [tool.to_dict() for tool in self.replaced.values()],
            "removed": sorted(self.removed),
        }


NO_CHANGES = ToolChanges({}, {}, frozenset())


def read_changes(folder: Path) -> ToolChanges:
    """What the store at `folder` keeps. Raises BundleError for what is damaged."""
    where = folder / FILE
    try:
        if where.stat().st_size > MAX_BYTES:
            raise BundleError(f"{where}: more than {MAX_BYTES} bytes; move it away")
        value = decode(where.read_bytes())
    except FileNotFoundError:
        return NO_CHANGES
    except (OSError, ValueError) as error:
        raise BundleError(f"{where}: damaged ({error}); move it away, and change the tools again") from None
    if not isinstance(value, dict):
        raise BundleError(f"{where}: damaged (no map); move it away, and change the tools again")
    added, replaced = (
        {(tool := stored_tool(entry, str(where))).name: tool for entry in get(value, key, list, str(where))}
        for key in ("added", "replaced")
    )
    return ToolChanges(added, replaced, frozenset(get_strings(value, "removed", str(where))))


def write_changes(folder: Path, changes: ToolChanges) -> None:
    """Keeps these changes, on disk when it returns. Hold the store locked. Raises InputError; then what was there
    stays."""
    replace_file(folder / FILE, json.dumps(changes.to_dict(), ensure_ascii=False, indent=1).encode())
