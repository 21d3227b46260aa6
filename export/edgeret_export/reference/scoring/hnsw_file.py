"""The links of an HNSW graph, as a bundle keeps them: taken from hnswlib, read and checked (docs/FORMAT.md, section 6).
The vectors that they join are the index's. Knows nothing of search, tools or bundles.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle.codec import get_array, pack
from edgeret.errors import BundleError
from edgeret.fields import get
from edgeret.records import dataclass

M, EF_CONSTRUCTION = 16, 200
"""Links per element and candidates while building: what the format's graphs are built with."""
MAX_LEVEL = 15
"""hnswlib draws a level as ⌊−ln(u) / ln(M)⌋, and its u has 62 random bits, so none is higher."""
_PLACES, _UPPER_PLACES = 2 * M, M


@dataclass(frozen=True, slots=True)
class Links:
    """Who leads to whom. Element i is row i of the vectors; `levels` (elements,) says on which levels above 0 it is
    too, `entry` is the element that a search begins with. There is a list for every element on level 0, then one for
    every element on level 1, and so on: list j leads to `targets[starts[j] : starts[j + 1]]`."""

    levels: NDArray[np.integer]
    entry: int
    starts: NDArray[np.integer]
    targets: NDArray[np.integer]

    def level_of_list(self) -> NDArray[np.intp]:
        """The level of each list, intp (lists,)."""
        above = range(int(self.levels.max()) + 1)
        return np.repeat(np.arange(len(above)), [int((self.levels >= level).sum()) for level in above])


def pack_links(links: Links, fingerprint: str) -> bytes:
    """The file with the role `hnsw`, tied to the encoder that made the vectors."""
    return pack(
        {
            "encoder": fingerprint,
            "entry": links.entry,
            "levels": links.levels.astype("|i1"),
            "starts": links.starts.astype("<i4"),
            "links": links.targets.astype("<i4"),
        }
    )


def read_links(value: Mapping[str, Any], rows: int, where: str) -> Links:
    """The links among so many rows. `where` begins messages.

    What passes can be searched: every link stays among the elements, and the worst search computes about M distances
    per element. That the links are good ones is not checked: elements without a way to them, links to oneself and
    repeated links cost recall and nothing else. Raises BundleError.
    """
    levels = get_array(value, "levels", "|i1", (rows,), where)
    if levels.min() < 0 or levels.max() > MAX_LEVEL:
        _refuse(where, f"levels from {levels.min()} to {levels.max()}, expected 0 to {MAX_LEVEL}")
    entry = get(dict(value), "entry", int, where)
    if not 0 <= entry < rows or levels[entry] != levels.max():
        _refuse(where, f"the entry point is element {entry} of {rows}; expected one of the highest level")
    starts = get_array(value, "starts", "<i4", (rows + int(levels.sum(dtype=np.int64)) + 1,), where)
    targets = get_array(value, "links", "<i4", (None,), where)
    counts = np.diff(starts)
    if starts[0] != 0 or starts[-1] != len(targets) or counts.min() < 0:
        _refuse(where, f"its starts do not go from 0 to its {len(targets)} links")
    for level, found, places in ((0, counts[:rows], _PLACES), (1, counts[rows:], _UPPER_PLACES)):
        if found.size and found.max() > places:
            above = " or above" * level
            _refuse(where, f"a list on level {level}{above} has {found.max()} links, expected at most {places}")
    if targets.size and not 0 <= targets.min() <= targets.max() < rows:
        bad = targets.min() if targets.min() < 0 else targets.max()
        _refuse(where, f"a link leads to element {bad} of {rows}")
    links = Links(levels, entry, starts, targets)
    upper = np.repeat(links.level_of_list()[rows:], counts[rows:])
    if (low := levels[targets[starts[rows] :]] < upper).any():
        at = int(low.argmax())
        _refuse(
            where, f"a link on level {upper[at]} leads to element {targets[starts[rows] + at]}, which ends below it"
        )
    return links


def links_of(state: Mapping[str, Any]) -> Links:
    """The links of an hnswlib index of rows that were added in order, from its `__getstate__`."""
    rows, most = state["cur_element_count"], state["M"]
    levels = np.asarray(state["element_levels"][:rows], np.intp)
    highest = int(levels.max())
    elements = np.frombuffer(state["data_level0"].tobytes(), "<u4").reshape(rows, -1)[:, : 1 + 2 * most]
    upper = np.frombuffer(state["link_lists"].tobytes(), "<u4").reshape(-1, 1 + most)
    begins = np.cumsum(levels) - levels
    lists = [upper[begins[levels >= level] + level - 1] for level in range(1, highest + 1)]
    counts = np.concatenate([elements[:, 0], *(found[:, 0] for found in lists)]).astype(np.intp)
    targets = [found[:, 1:][np.arange(found.shape[1] - 1) < found[:, :1]] for found in (elements, *lists)]
    starts = np.concatenate(([0], np.cumsum(counts)))
    return Links(levels, int(state["enterpoint_node"]), starts, np.concatenate(targets).astype(np.intp))


def _refuse(where: str, fault: str) -> NoReturn:
    raise BundleError(f"{where}: {fault}; build the bundle again")
