"""What a request asks for one thing after the other, and which of it no call has answered. Knows nothing of text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from edgeret.records import dataclass

_LEAST = np.float32(-1e30)
DEPTH = np.float32(5.0)
"""Nats behind a wish's best tool from which on all are as far."""
ALONE = np.float32(8.0)
"""The same of a wish that is read as a request of its own."""


KEPT = np.float32(0.7)
"""What all other evidence for a tool still counts while a wish is open: most of it is for the other wishes."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """The clauses of a request that ask for something: `rows` (wishes,) are their places among the clauses of
    `Passages`, `words` bool (wishes, words) says which of the words in `Hits` each one says, `said` is each one's
    text, `spans` where that stands in the request, and `opposed` as in `Evidence`, of each."""

    rows: NDArray[np.intp]
    words: NDArray[np.bool_]
    said: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    opposed: Sequence[NDArray[np.float32] | None]


Alone = Callable[[Wishes], NDArray[np.float32]]
"""From wishes to log-scores of all tools, read as if each were a request of its own: float32 (wishes, n)."""


class WishScores:
    """What each wish makes of every tool, as if it were all that the request says: `behind` (wishes, n) is how far a
    tool is behind the wish's best one, from -DEPTH to 0."""

    def __init__(self, scores: NDArray[np.float32], givers: Callable[[int], Sequence[int]]) -> None:
        """`scores` (wishes, n) are used up; `givers` are the tools that give to one. These are for the wish too."""
        scores -= scores.max(axis=1, keepdims=True)
        self.behind = np.maximum(scores, -DEPTH, out=scores)
        self._shares = _shares(scores)
        for row, best in zip(scores, scores.argmax(axis=1).tolist(), strict=True):
            row[[*givers(best)]] = 0
        self._owners = _shares(scores)

    def open(self, made: Collection[int]) -> list[int]:
        """The wishes that none of the calls `made` is for, in order. A call is for the wish that it is most of."""
        answered = set(self._owners[:, [*made]].argmax(axis=0).tolist())
        return [wish for wish in range(len(self.behind)) if wish not in answered]

    def clearness(self, wish: int, made: Collection[int]) -> float:
        """How much of a wish its best tool is that was not called, from 0 to 1."""
        shares = self._shares[wish].copy()
        shares[[*made]] = 0
        clear: float = shares.max().item()
        return clear


def _shares(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows of scores, the largest 0, as shares of one."""
    shares: NDArray[np.float32] = np.exp(scores)
    shares /= shares.sum(axis=1, keepdims=True)
    return shares


def behind(scores: NDArray[np.float32], depth: np.float32) -> NDArray[np.float32]:
    """How far each of these is behind the best of its row, at most so far: float32 (rows, n)."""
    most = np.maximum(scores.max(axis=1, keepdims=True), _LEAST)
    behind: NDArray[np.float32] = np.maximum(scores - most, -depth)
    return behind
