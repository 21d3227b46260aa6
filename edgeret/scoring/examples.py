"""What tools' definitions show by example, as vectors: how near a request comes to any of a tool's sentences. Knows
nothing of text."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgeret.records import dataclass
from edgeret.scoring.familiarity import Means

WEIGHT = 1.0
"""What a tenth of a cosine to a tool, or to the nearest of its sentences, adds to its score, in nats, where any tool of
a set shows some. Half of it finds less, and with more wrong sentences harm: docs/DESIGN.md, decisions."""

COUNT = 0.5
"""Of a demonstration, that a sentence counts for where a request's distance from all that was shown is asked."""


@dataclass(frozen=True, slots=True)
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

    def nearest(self, vector: NDArray[np.float32], least: NDArray[np.float32]) -> tuple[NDArray[np.float32], float]:
        """Each tool's highest cosine of a unit vector (dimension,) to its sentences, at `least` that, float32 (n,); and
        the highest to any sentence."""
        cosines = self.vectors @ vector
        first = np.flatnonzero(np.diff(self.owners, prepend=-1))
        found, owners = least.copy(), self.owners[first]
        found[owners] = np.maximum(found[owners], np.maximum.reduceat(cosines, first))
        return found, cosines.item(cosines.argmax())

    def means(self) -> Means:
        """The same as weak demonstrations."""
        return Means.of(self.vectors, self.owners, np.full(len(self.owners), COUNT, np.float32))

    def at(self, places: NDArray[np.intp]) -> Examples | None:
        """The same where each tool stands at another place, -1 for those that are left out: intp (n,)."""
        moved = places[self.owners]
        kept = moved >= 0
        return Examples.of(self.vectors[kept], moved[kept])
