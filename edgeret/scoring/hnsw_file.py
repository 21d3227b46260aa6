"""Is a graph file safe to hand to hnswlib? Knows nothing of search, tools or bundles.

hnswlib believes every number in a file: a link, a count or an entry point beyond the elements makes it read and write
memory that is not its own. So all of them are checked here first. The layout is what hnswlib 0.8 saves on a 64-bit
little-endian machine (docs/FORMAT.md, section 6).
"""

from __future__ import annotations

import math
import struct
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from edgeret.errors import BundleError

M, EF_CONSTRUCTION = 16, 200
"""Links per element and candidates while building: what the format's graphs are built with."""
MAX_LEVEL = 15
"""hnswlib draws a level as ⌊−ln(u) / ln(M)⌋, and its u has 62 random bits, so none is higher."""
_HEADER = struct.Struct("<6QiI3QdQ")
_LIST_WORDS = 1 + M  # a count and its places
_LIST_BYTES = 4 * _LIST_WORDS
_BLOCK = 1024  # elements looked at together: few enough for the caches, and no second copy of all of them


def check(data: bytes, vectors: NDArray[np.float32], where: str) -> None:
    """Refuses a graph that was not built for exactly these rows, float32 (elements, dimension), with M and
    EF_CONSTRUCTION. `where` begins the message.

    What passes can be loaded and searched: every read stays inside the file's own elements, and the worst search
    computes about M distances per element. That the links are good ones is not checked: elements without a way to
    them, links to oneself and repeated links cost recall and nothing else. Raises BundleError.
    """
    rows, dimension = vectors.shape
    element = np.dtype(
        [("count", "<u4"), ("links", "<u4", (2 * M,)), ("vector", "<u4", (dimension,)), ("label", "<u8")]
    )
    lists = _HEADER.size + rows * element.itemsize
    if not 0 <= len(data) - lists - 4 * rows <= rows * MAX_LEVEL * _LIST_BYTES:
        _refuse(where, f"{rows} elements of {dimension} numbers do not fit into {len(data)} bytes")
    highest, entry = _check_header(data, rows, dimension, where)
    elements = np.frombuffer(data, element, rows, _HEADER.size)
    _check_vectors(elements, vectors, where)
    levels, starts = _walk(data, lists, rows, where)
    if not levels[entry] == levels.max() == highest:
        found = f"the entry point has level {levels[entry]}, the highest element {levels.max()}"
        _refuse(where, f"{found}; expected {highest} for both")
    for begin in range(0, rows, _BLOCK):
        lowest = elements[begin : begin + _BLOCK]
        _check_links(lowest["count"], lowest["links"], levels, 0, where)
    words = np.frombuffer(data, "<u4", offset=lists)
    for level in range(1, highest + 1):
        firsts = starts[levels >= level] + (level - 1) * _LIST_WORDS
        for begin in range(0, len(firsts), _BLOCK):
            upper = words[firsts[begin : begin + _BLOCK, None] + np.arange(_LIST_WORDS)]
            _check_links(upper[:, 0], upper[:, 1:], levels, level, where)


def _check_header(data: bytes, rows: int, dimension: int, where: str) -> tuple[int, int]:
    """The highest level and the entry point, once all the rest is what a build writes."""
    links_at, room, count, size, label_at, vector_at, highest, entry, *rest = _HEADER.unpack_from(data)
    upper_links, links, m, multiplier, ef_construction = rest
    link_bytes, vector_bytes, label_bytes = 4 * (1 + 2 * M), 4 * dimension, 8
    for field, found, expected in (
        ("the offset of the links", links_at, 0),
        ("the room for elements", room, rows),
        ("the number of elements", count, rows),
        ("the bytes of an element", size, link_bytes + vector_bytes + label_bytes),
        ("the offset of the label", label_at, link_bytes + vector_bytes),
        ("the offset of the vector", vector_at, link_bytes),
        ("the links on upper levels", upper_links, M),
        ("the links on level 0", links, 2 * M),
        ("M", m, M),
        ("ef of the build", ef_construction, EF_CONSTRUCTION),
    ):
        if found != expected:
            _refuse(where, f"expected {expected} as {field}, found {found}")
    if not math.isclose(multiplier, 1 / math.log(M)):  # logarithms may differ in the last digit between machines
        _refuse(where, f"expected {1 / math.log(M)} as the multiplier of levels, found {multiplier}")
    if not 0 <= highest <= MAX_LEVEL:
        _refuse(where, f"expected a highest level from 0 to {MAX_LEVEL}, found {highest}")
    if entry >= rows:
        _refuse(where, f"the entry point is element {entry} of {rows}")
    return highest, entry


def _check_vectors(elements: NDArray[np.void], vectors: NDArray[np.float32], where: str) -> None:
    """Every element must hold the vector of the row that its label names, byte for byte, and every row have one."""
    rows = len(elements)
    if elements["label"].max() >= rows:
        _refuse(where, f"an element is labelled {elements['label'].max()}, expected a row from 0 to {rows - 1}")
    labels = elements["label"].astype(np.intp)
    if np.bincount(labels, minlength=rows).max() > 1:
        _refuse(where, f"two elements are labelled {np.bincount(labels).argmax()}")
    bits = np.ascontiguousarray(vectors, "<f4").view("<u4")
    for begin in range(0, rows, _BLOCK):
        block = labels[begin : begin + _BLOCK]
        differ = (elements["vector"][begin : begin + _BLOCK] != bits[block]).any(axis=1)
        if differ.any():
            _refuse(where, f"the vector of element {begin + differ.argmax()} is not that of row {block[differ][0]}")


def _walk(data: bytes, position: int, rows: int, where: str) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Each element's level, and where its upper lists begin, in words from `position` on; nothing may follow them."""
    levels, starts = np.zeros(rows, np.intp), np.zeros(rows, np.intp)
    size_of = struct.Struct("<I").unpack_from
    begin, end = position, len(data)
    for row in range(rows):
        size = size_of(data, position)[0] if position + 4 <= end else 0
        position += 4
        if size:
            levels[row], starts[row] = size // _LIST_BYTES, (position - begin) // 4
            position += size
            if size % _LIST_BYTES or size > MAX_LEVEL * _LIST_BYTES:
                expected = f"a multiple of {_LIST_BYTES} up to {MAX_LEVEL * _LIST_BYTES}"
                _refuse(where, f"the upper lists of element {row} have {size} bytes, expected {expected}")
    if position != end:
        _refuse(where, f"expected {position} bytes by its lists, found {end}")
    return levels, starts


def _check_links(
    counts: NDArray[np.uint32], links: NDArray[np.uint32], levels: NDArray[np.intp], level: int, where: str
) -> None:
    """Lists of one level, one a row. hnswlib reads the lower half of a count and, on level 0, a delete mark from the
    upper one; as a whole it must be the number of links."""
    places = links.shape[1]
    if counts.max() > places:
        _refuse(where, f"a link count on level {level} is {counts.max()}, expected at most {places}")
    used = links[np.arange(places) < counts[:, None]]
    if used.size and used.max() >= len(levels):
        _refuse(where, f"a link on level {level} leads to element {used.max()} of {len(levels)}")
    if (levels[used] < level).any():
        _refuse(where, f"a link on level {level} leads to element {used[levels[used] < level][0]}, which ends below it")


def _refuse(where: str, fault: str) -> NoReturn:
    raise BundleError(f"{where}: {fault}; build the bundle again")
