"""Which tool takes what another one gives, and what that says once some were called. Knows nothing of words and of
vectors."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from edgeret.records import dataclass


@dataclass(frozen=True, slots=True)
class Flow:
    """Which tool takes what another one gives: pairs of positions (pairs,), the taker and the giver. `named` pairs are
    those where the taker's text mentions the giver; in the others a required key's owner stands in the giver's name."""

    taker: NDArray[np.intp]
    giver: NDArray[np.intp]
    named: NDArray[np.bool_]


NO_FLOW = Flow(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0, bool))
"""That of a few tools which a search found among very many."""


class Pairs:
    """Flow of one kind. A tool that mentions its givers needs `every` one; where only a key's words say so, any one
    will do."""

    def __init__(self, taker: NDArray[np.intp], giver: NDArray[np.intp], n: int, every: bool) -> None:
        self.taker, self.giver, self.any, self._every, self._n = taker, giver, len(taker) > 0, every, n

    # Arranged with the first use: every request that a search narrowed down has tools of its own, and no flow.
    @cached_property
    def _givers(self) -> NDArray[np.intp]:
        """How many givers each tool has."""
        return np.bincount(self.taker, minlength=self._n)

    @cached_property
    def _takers(self) -> dict[int, list[int]]:
        takers: dict[int, list[int]] = {}
        for one, other in zip(self.taker.tolist(), self.giver.tolist(), strict=True):
            takers.setdefault(other, []).append(one)
        return takers

    @cached_property
    def _givers_of(self) -> dict[int, list[int]]:
        givers: dict[int, list[int]] = {}
        for one, other in zip(self.taker.tolist(), self.giver.tolist(), strict=True):
            givers.setdefault(one, []).append(other)
        return givers

    def givers(self, taker: int) -> list[int]:
        """The tools that give to one."""
        return self._givers_of.get(taker, [])

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """What one giver of each pair's taker counts for."""
        alone = self._every or not self.any
        return np.ones(len(self.taker)) if alone else 1 / np.maximum(self._givers, 1)[self.taker]

    @cached_property
    def needed(self) -> NDArray[np.float32]:
        """1 for tools that have givers, else 0."""
        return (self._givers > 0).astype(np.float32)

    def gives(self, wanted: NDArray[np.float32]) -> NDArray[np.float32]:
        """How much each tool gives to those that are wanted (n,), float32 (n,); a taker's givers share it where one of
        them will do."""
        return np.bincount(self.giver, wanted[self.taker] * self.shares, self._n).astype(np.float32)

    def served(self, calls: Collection[int]) -> dict[int, bool]:
        """The tools that have a giver among `calls`, and whether they have all that they need."""
        given: dict[int, int] = {}
        for call in calls:
            for taker in self._takers.get(call, ()):
                given[taker] = given.get(taker, 0) + 1
        return {taker: not self._every or count == self._givers[taker] for taker, count in given.items()}

    def unused(self, giver: int, calls: Collection[int]) -> bool:
        """Whether a tool gives to others, none of which is among `calls`."""
        takers = self._takers.get(giver)
        return takers is not None and not any(taker in calls for taker in takers)

    def after(self, calls: Collection[int]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Which tools have a giver that was called, and which still need one, float32 (n,) each."""
        given, needed = np.zeros(self._n, np.float32), self.needed.copy()
        for taker, satisfied in self.served(calls).items():
            given[taker] = 1.0
            needed[taker] *= not satisfied
        return given, needed
