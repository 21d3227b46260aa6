"""Which demonstrations are kept for a test: whole conversations, and with them all that nearly say the same."""

from __future__ import annotations

import hashlib
import re
from array import array

import numpy as np

from edgeret.inputs.words import words

_LEAST_WORDS = 5
"""Queries of so many words that say something are nearly the same if one word differs; shorter ones if none does."""
_DIGITS = re.compile(r"\b\d+\b")


def signatures(query: str) -> list[int]:
    """Numbers of which two queries share one if they are nearly the same: in the same words but for their order, case,
    endings and digits, and, if they are long enough, in all words but one."""
    found = sorted(set(words(_DIGITS.sub("0", query)))) or [query.strip().lower()]
    without = [found[:i] + found[i + 1 :] for i in range(len(found))] if len(found) >= _LEAST_WORDS else []
    return [_number("words", *some) for some in (found, *without)]


def _number(*texts: str) -> int:
    joined = "\0".join(texts).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(joined, digest_size=8).digest(), "big")


class Split:
    """Collects queries, then chooses. Memory is 16 bytes for each signature."""

    def __init__(self) -> None:
        self._signatures, self._owners = array("Q"), array("q")
        self._count = 0

    def add(self, query: str, group: int) -> None:
        """The next demonstration; `group` is its conversation's number."""
        for number in (_number("group", str(group)), *signatures(query)):
            self._signatures.append(number)
            self._owners.append(self._count)
        self._count += 1

    def families(self) -> list[int]:
        """For each demonstration, the first one that it has to stay with."""
        parent = list(range(self._count))

        def root(node: int) -> int:
            while parent[node] != node:
                parent[node] = node = parent[parent[node]]
            return node

        numbers = np.array(self._signatures, dtype=np.uint64)
        owners = np.array(self._owners, dtype=np.int64)
        order = np.argsort(numbers, kind="stable")
        same = np.flatnonzero(numbers[order][1:] == numbers[order][:-1])
        for i in same:
            one, other = root(int(owners[order[i]])), root(int(owners[order[i + 1]]))
            parent[max(one, other)] = min(one, other)
        return [root(node) for node in range(self._count)]

    def choose(self, share: float, seed: int) -> set[int]:
        """The demonstrations of the test part, by number: families in an order that the seed draws, as long as they fit
        into `share`. So a family that is larger than that is never tested."""
        families = self.families()
        sizes: dict[int, int] = {}
        for family in families:
            sizes[family] = sizes.get(family, 0) + 1
        drawn = np.random.default_rng(seed).permutation(sorted(sizes))
        room, taken = round(share * self._count), set()
        for family in map(int, drawn):
            if sizes[family] <= room:
                room -= sizes[family]
                taken.add(family)
        return {number for number, family in enumerate(families) if family in taken}
