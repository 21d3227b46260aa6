"""Which public data set queries are of, told by what they search. Knows nothing of originals, papers and results."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence

from edgeret.inputs.queries import RetrievalQuery

_TOOLS: Mapping[str, str] = {"96c307b2b94201f3": "toole", "4c24161382788d78": "ultratool"}
"""The beginning of the sha256 of all tools' names in order, each but the last with a NUL after it, to the data set."""
_MANY: Mapping[str, tuple[range, frozenset[str]]] = {
    "toolret-whole": (range(44_000, 44_454), frozenset(("apigen_tool_272",))),
    "livemcpbench": (range(515, 528), frozenset(("find_parking_facilities", "get_earning_dates", "npmVersions"))),
}
"""Sets that could not be had whole yet: how many tools they have, a few being left out, and names of some."""
_TOOLE: Mapping[frozenset[int], str] = {frozenset((1,)): "toole-single", frozenset((2,)): "toole-multi"}
"""ToolE's two sets, by how many tools their queries name."""


def recognised(names: Collection[str], queries: Sequence[RetrievalQuery]) -> str | None:
    """`toole-single`, `toole-multi` or `ultratool`, whichever has tools of exactly these names and such queries; or
    `toolret-whole` or `livemcpbench`, by how many tools there are and some of their names. None for any other set, for
    another choice of tools, and for both of ToolE's sets in one file."""
    for name, (sizes, some) in _MANY.items():
        if len(names) in sizes and some <= set(names):
            return name
    found = _TOOLS.get(hashlib.sha256("\0".join(sorted(names)).encode()).hexdigest()[:16])
    if found != "toole":
        return found
    return _TOOLE.get(frozenset(len(query.tools) for query in queries if query.tools))
