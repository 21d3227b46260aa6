"""Search by Python's own numbers: where the library does not read a bundle, and where another encoder is measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from edgeret.runtime.mixed import mixed
from edgeret.strategies.base import SHOWN, Heard
from edgeret.strategies.clauses import MAX_CLAUSES
from edgeret.types import Hit
from edgeret_export.reference.inputs.clauses import split_clauses
from edgeret_export.reference.scoring.index import Index

WHOLE = 0.25
"""How much of a clause's logarithm the whole request keeps: by itself a clause lacks what stands around it."""
Encode = Callable[[str], NDArray[np.float32]]
"""A text to its unit vector, float32 (dimension,)."""
Ranker = Callable[[str, int], list[Hit]]
"""A text and k to the k best tools for it."""
Decider = Callable[[str], Mapping[str, float] | None]
"""A text to the probability of each tool as the first to be called, by demonstrations; None where none is like it."""


class PythonFinder:
    """An index, searched. Immutable and thread-safe."""

    def __init__(
        self,
        index: Index,
        encode: Encode,
        ranker: Ranker,
        decider: Decider | None = None,
        by_clauses: bool = True,
    ) -> None:
        """`ranker` is hybrid search, `decider` what demonstrations say, None where there are none; `by_clauses` of
        clauses, too."""
        self._index, self._encode, self.hybrid, self._decider = index, encode, ranker, decider
        self._by_clauses = by_clauses

    def nearest(self, text: str, k: int) -> list[Hit]:
        """As `Finder.nearest`."""
        positions, cosines = self._index.search(self._encode(text), k)
        names = self._index.names
        return [Hit(names[i], cosine) for i, cosine in zip(positions.tolist(), cosines.tolist(), strict=True)]

    def mixed(self, text: str, k: int, heard: Heard | None = None) -> list[Hit]:
        """As `Finder.mixed`: by the highest probability for the text, or for one of its clauses and a little for the
        text, and by hybrid search."""
        whole = None if self._decider is None else self._decider(text)
        if self._decider is None or whole is None:
            return self.hybrid(text, k)
        found = self.hybrid(text, len(self._index.names))
        clauses, best = split_clauses(text)[:MAX_CLAUSES] if self._by_clauses else [], dict(whole)
        more = heard is None or heard(text, _most(whole), len(clauses))
        for left, clause in zip(range(len(clauses) - 1, -1, -1), clauses, strict=True):
            if not more:
                break
            if (own := self._decider(clause)) is None:
                continue
            for tool, probability in own.items():
                best[tool] = max(best.get(tool, 0.0), whole.get(tool, 0.0) ** WHOLE * probability ** (1 - WHOLE))
            more = heard is None or heard(clause, _most(own), left)

        return mixed(found, best)[:k]


def _most(told: Mapping[str, float]) -> list[Hit]:
    return [Hit(tool, share) for tool, share in sorted(told.items(), key=lambda item: -item[1])[:SHOWN]]
