"""The vectors of a request and of its parts, one behind the other. Knows nothing of text and of tools."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgeret.records import dataclass
from edgeret.types import SEGMENTS


@dataclass(frozen=True, slots=True)
class Passages:
    """All that is taken of an encoded query: unit `vectors` (passages, dimension) of the whole and its parts, of its
    windows, so many, and of its clauses, at least one of each; float32, contiguous. A third of the size of its tokens'
    vectors, for whoever keeps it."""

    vectors: NDArray[np.float32]
    n_windows: int

    @staticmethod
    def of(rows: NDArray[np.float32], windows: NDArray[np.float32], clauses: NDArray[np.float32]) -> Passages:
        """Of the whole and its parts (1 + SEGMENTS, dimension), windows and clauses, in order."""
        return Passages(np.concatenate((rows, windows, clauses)), len(windows))

    @property
    def rows(self) -> NDArray[np.float32]:
        """The whole and its parts."""
        return self.vectors[: 1 + SEGMENTS]

    @property
    def windows(self) -> NDArray[np.float32]:
        """The windows."""
        return self.vectors[1 + SEGMENTS : 1 + SEGMENTS + self.n_windows]

    @property
    def clauses(self) -> NDArray[np.float32]:
        """The clauses."""
        return self.vectors[1 + SEGMENTS + self.n_windows :]
