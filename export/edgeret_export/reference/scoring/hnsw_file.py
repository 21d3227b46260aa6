"""The links of an HNSW graph, as a bundle keeps them: read, checked, and turned into what hnswlib holds in memory. The
vectors that they join are the index's. Knows nothing of search, tools or bundles.

hnswlib believes every number that it is given: a link, a count or an entry point beyond the elements makes it read and
write memory that is not its own. So all of them are checked here first (docs/FORMAT.md, section 6).
"""

from __future__ import annotations

import math
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
_COUNT_AND_PLACES, _UPPER_LIST = 1 + _PLACES, 1 + _UPPER_PLACES
"""hnswlib's words of 32 bits: a count and its places."""
_LABEL = 2


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


def state_of(links: Links, vectors: NDArray[np.float32]) -> dict[str, Any]:
    """What hnswlib 0.8 takes by `__setstate__` for links that were checked, over rows float32 (elements, dimension)."""
    rows, dimension = vectors.shape
    words = _COUNT_AND_PLACES + dimension + _LABEL
    counts, n_links = np.diff(links.starts), links.starts[rows]
    elements = np.empty((rows, words), "<u4")
    _fill(elements[:, :_COUNT_AND_PLACES], counts[:rows], links.targets[:n_links])
    elements[:, _COUNT_AND_PLACES : _COUNT_AND_PLACES + dimension] = np.ascontiguousarray(vectors, "<f4").view("<u4")
    elements[:, -_LABEL], elements[:, -1] = np.arange(rows), 0
    by_level = np.empty((len(counts) - rows, _UPPER_LIST), "<u4")
    _fill(by_level, counts[rows:], links.targets[n_links:])
    # hnswlib has the lists of one element behind each other, ours are those of one level.
    owner = np.concatenate([np.flatnonzero(links.levels >= level) for level in range(1, int(links.levels.max()) + 2)])
    return {
        "ser_version": 1,
        "space": "ip",
        "dim": dimension,
        "index_inited": True,
        "ep_added": True,
        "normalize": False,
        "num_threads": 1,
        "seed": 0,
        "offset_level0": 0,
        "max_elements": rows,
        "cur_element_count": rows,
        "size_data_per_element": 4 * words,
        "label_offset": 4 * (words - _LABEL),
        "offset_data": 4 * _COUNT_AND_PLACES,
        "max_level": int(links.levels.max()),
        "enterpoint_node": links.entry,
        "max_M": _UPPER_PLACES,
        "max_M0": _PLACES,
        "M": M,
        "mult": 1 / math.log(M),
        "ef_construction": EF_CONSTRUCTION,
        "ef": EF_CONSTRUCTION,
        "has_deletions": False,
        "size_links_per_element": 4 * _UPPER_LIST,
        "allow_replace_deleted": False,
        "label_lookup_external": np.arange(rows, dtype=np.uint64),
        "label_lookup_internal": np.arange(rows, dtype=np.uint32),
        "element_levels": links.levels.astype(np.int32),
        "data_level0": elements.reshape(-1).view(np.int8),
        "link_lists": by_level[np.argsort(owner, kind="stable")].reshape(-1).view(np.int8),
    }


def _fill(lists: NDArray[np.uint32], counts: NDArray[np.integer], targets: NDArray[np.integer]) -> None:
    """Writes counts, and behind each its links; places that are not used are 0."""
    lists[:] = 0
    lists[:, 0] = counts
    lists[:, 1:][np.arange(lists.shape[1] - 1) < counts[:, None]] = targets


def _refuse(where: str, fault: str) -> NoReturn:
    raise BundleError(f"{where}: {fault}; build the bundle again")
