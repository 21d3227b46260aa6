"""What tools' definitions show by example, as vectors: how near a request comes to any of a tool's sentences. Knows
nothing of text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from edgeret_export.reference.scoring.familiarity import Means
from edgeret_export.reference.scoring.passages import Passages
from edgeret_export.reference.scoring.products import cosines, product

WEIGHT = np.float32(10.0)
"""What a cosine to a tool, or to the nearest of its sentences, adds to its score, in nats, where any tool of a set
shows some. Half of it finds less, and with more wrong sentences harm: docs/decisions."""

COUNT = 0.5
"""Of a demonstration, that a sentence counts for where a request's distance from all that was shown is asked."""


@dataclass(frozen=True)
class Examples:
    """Unit vectors of sentences, float32 (sentences, dimension), and the position of the tool that shows each,
    intp (sentences,), never falling."""

    vectors: NDArray[np.float32]
    owners: NDArray[np.intp]

    @staticmethod
    def of(vectors: NDArray[np.float32], owners: NDArray[np.intp]) -> Examples | None:
        """The same with the owners in any order; None for no sentence at all."""
        if not len(owners):
            return None
        order = owners.argsort(kind="stable")
        return Examples(np.ascontiguousarray(vectors[order], np.float32), owners[order])

    @cached_property
    def _shared(self) -> NDArray[np.float32]:
        """What a sentence counts less where several tools show it, as if each had a part: cosines (sentences,)."""
        rows = np.ascontiguousarray(self.vectors).view(np.dtype((np.void, self.vectors.shape[1] * 4))).ravel()
        _, number, count = np.unique(rows, return_inverse=True, return_counts=True)
        shared: NDArray[np.float32] = (np.log(count[number]) / WEIGHT).astype(np.float32)
        return shared

    @cached_property
    def _first(self) -> NDArray[np.intp]:
        """Where each tool's sentences begin."""
        return np.flatnonzero(np.diff(self.owners, prepend=-1))

    def gained(self, passages: Passages, own: NDArray[np.float32]) -> NDArray[np.float32]:
        """What they add to the tools' scores, float32 (n,): how near the whole request or one of its clauses comes to
        each tool, `own` (n,), or to a sentence of it, less what comes nearest. So nothing gains, and whether any tool
        fits is not moved."""
        asked = np.vstack((passages.vectors[:1], passages.clauses))
        near = product(whole(asked), self.vectors).max(axis=0) - self._shared
        found, owners = own.copy(), self.owners[self._first]
        found[owners] = np.maximum(found[owners], np.maximum.reduceat(near, self._first))
        gained: NDArray[np.float32] = WEIGHT * (found - found.max())
        return gained

    def nearest(self, vector: NDArray[np.float32]) -> float:
        """The highest cosine of a unit vector (dimension,) to any sentence."""
        found = cosines(self.vectors, whole(vector[None])[0])
        return found.item(found.argmax())

    def means(self) -> Means:
        """The same as weak demonstrations."""
        return Means.of(self.vectors, self.owners, np.full(len(self.owners), COUNT, np.float32))

    def at(self, places: NDArray[np.intp]) -> Examples | None:
        """The same where each tool stands at another place, -1 for those that are left out: intp (n,)."""
        moved = places[self.owners]
        kept = moved >= 0
        return Examples.of(self.vectors[kept], moved[kept])


def whole(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Vectors (n, dimension) as whole numbers times a step each, float32, whose products with bytes a CPU has
    instructions for: 16 bits of a number, or as many as their sums in 32 bits have room for."""
    most = min(32767, (2**31 - 1) // (128 * vectors.shape[1]))
    steps = np.maximum(np.abs(vectors).max(axis=1, keepdims=True), np.float32(1e-12)) / np.float32(most)
    rounded: NDArray[np.float32] = np.rint(vectors / steps) * steps
    return rounded
