"""What two files have in common: steps by which the newer one is made of the older one. Knows nothing of bundles.

Exact stretches are found by the hashes of blocks, as rsync finds them, and grown over bytes that nearly agree, as
bsdiff grows them: a table that was fitted anew differs by one here and there, and such differences pack to little.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

BLOCK = 16
"""Bytes that must agree for a stretch to begin."""
NEAR = 2
"""Bytes that differ by no more count as alike: quantised numbers of two fits do."""
MANY = 4 << 20
"""Places that are hashed at once: 8 bytes each, and as much again."""
LOOK = 1 << 20
"""Bytes that a stretch is grown by at once."""
_FACTOR = 0x9E3779B97F4A7C15 | 1
Bytes = NDArray[np.uint8]


class Stretch(NamedTuple):
    """Bytes of the newer file from `begin` to `end` that are much like those of the older one, `shift` further on."""

    begin: int
    end: int
    shift: int


def steps(old: bytes, new: bytes) -> NDArray[np.int64]:
    """Steps (count, 3), int64: a place in `old`, how many bytes are nearly those from there on, how many others follow.
    They make `new`, and there is at least one."""
    before, after = np.frombuffer(old, np.uint8), np.frombuffer(new, np.uint8)
    found: list[tuple[int, int, int]] = []
    place = same = done = 0
    for stretch in _grown(before, after):
        if stretch.begin > done or found or same:
            found.append((place, same, stretch.begin - done))
        place, same, done = stretch.begin + stretch.shift, stretch.end - stretch.begin, stretch.end
    found.append((place, same, len(new) - done))
    return np.array(found, np.int64)


def _grown(old: Bytes, new: Bytes) -> Iterator[Stretch]:
    """Stretches in order, apart from each other."""
    done, last = 0, None
    for seed in _seeds(old, new):
        begin = max(seed.begin, done)
        if seed.end - begin < BLOCK and (last is None or last.shift != seed.shift):
            continue
        if last is not None and begin > last.end:
            last, begin = _met(old, new, last, Stretch(begin, seed.end, seed.shift))
        elif last is None:
            begin = begin - _backward(old, new, begin, seed.shift, begin)
        if last is not None and last.shift == seed.shift and begin == last.end:
            last = Stretch(last.begin, seed.end, seed.shift)
        else:
            if last is not None:
                yield last
            last = Stretch(begin, seed.end, seed.shift)
        done = seed.end
    if last is not None:
        end = last.end + _forward(old, new, last.end, last.shift, len(new) - last.end)
        yield last._replace(end=end)


def _met(old: Bytes, new: Bytes, left: Stretch, right: Stretch) -> tuple[Stretch, int]:
    """The left stretch grown to the right, and where the right one begins, grown to the left; they do not overlap."""
    room = right.begin - left.end
    ahead = _forward(old, new, left.end, left.shift, room)
    back = _backward(old, new, right.begin, right.shift, room)
    if (both := ahead + back - room) > 0:
        begin = left.end + ahead - both
        gains = np.cumsum(_alike(old, new, begin, left.shift, both).astype(int)) - np.cumsum(
            _alike(old, new, begin, right.shift, both).astype(int)
        )
        given = int(np.argmax(gains)) + 1 if gains.max() > 0 else 0
        ahead, back = ahead - both + given, back - given
    return left._replace(end=left.end + ahead), right.begin - back


def _forward(old: Bytes, new: Bytes, begin: int, shift: int, room: int) -> int:
    """How many bytes from `begin` on are more alike than not."""
    room = min(room, len(old) - shift - begin)
    best = best_at = score = at = 0
    while at < room and score > best - LOOK // 2:
        alike = _alike(old, new, begin + at, shift, min(LOOK, room - at))
        scores = score + np.cumsum(2 * alike.astype(np.int64) - 1)
        top = int(np.argmax(scores))
        if scores[top] > best:
            best, best_at = int(scores[top]), at + top + 1
        score, at = int(scores[-1]), at + len(alike)
    return best_at


def _backward(old: Bytes, new: Bytes, end: int, shift: int, room: int) -> int:
    """The same for the bytes before `end`, of the nearest `LOOK`."""
    room = min(room, end + shift, LOOK)
    if room <= 0:
        return 0
    alike = _alike(old, new, end - room, shift, room)[::-1]
    scores = np.cumsum(2 * alike.astype(np.int64) - 1)
    top = int(np.argmax(scores))
    return top + 1 if scores[top] > 0 else 0


def _alike(old: Bytes, new: Bytes, begin: int, shift: int, count: int) -> NDArray[np.bool_]:
    difference = new[begin : begin + count] - old[begin + shift : begin + shift + count]
    return (difference + np.uint8(NEAR)) <= 2 * NEAR


def _seeds(old: Bytes, new: Bytes) -> Iterator[Stretch]:
    """Stretches that agree exactly, in order of the newer file; they may overlap. Blocks that the older file has twice
    say nothing of a place and begin none."""
    if len(old) < BLOCK or len(new) < BLOCK:
        return
    wanted, places, counts = np.unique(
        _hashes(old, 0, len(old) - BLOCK + 1)[::BLOCK], return_index=True, return_counts=True
    )
    wanted, places = wanted[counts == 1], places[counts == 1] * BLOCK
    if not len(wanted):
        return
    last: Stretch | None = None
    for begin in range(0, len(new) - BLOCK + 1, MANY):
        hashes = _hashes(new, begin, min(MANY, len(new) - BLOCK + 1 - begin))
        at = np.minimum(np.searchsorted(wanted, hashes), len(wanted) - 1)
        hits = np.flatnonzero(wanted[at] == hashes)
        for hit, place in zip((hits + begin).tolist(), places[at[hits]].tolist(), strict=True):
            shift = place - hit
            if last is not None and shift == last.shift and hit <= last.end + BLOCK:
                last = last._replace(end=hit + BLOCK)
                continue
            if not np.array_equal(new[hit : hit + BLOCK], old[place : place + BLOCK]):
                continue
            if last is not None:
                yield last
            last = Stretch(hit, hit + BLOCK, shift)
    if last is not None:
        yield last


def _hashes(data: Bytes, begin: int, count: int) -> NDArray[np.uint64]:
    """A hash of the block at each of `count` places."""
    found = np.zeros(count, np.uint64)
    with np.errstate(over="ignore"):
        for i in range(BLOCK):
            found *= np.uint64(_FACTOR)
            found += data[begin + i : begin + i + count]
    return found
