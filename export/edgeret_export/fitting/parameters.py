"""Where a head's fit ended, in a form that another fit may start from, of other demonstrations too. Fits nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Parameters:
    """Weights of the query (d, labels), of numbers of calls (counts, labels), biases (labels,), weights of description,
    repetition and prior (3,), of parts (stages, parts), all float32; and how far each pair that was shown is from what
    it is drawn to (features, labels), the others being there."""

    query: NDArray[np.float32]
    pairs: sp.csr_matrix
    counts: NDArray[np.float32]
    bias: NDArray[np.float32]
    shared: NDArray[np.float32]
    parts: NDArray[np.float32]

    @staticmethod
    def mean(found: Sequence[Parameters]) -> Parameters:
        """The mean of at least one. That of the folds is nearly where the fit of all of them ends."""
        share = np.float32(1 / len(found))

        def of(name: str) -> NDArray[np.float32]:
            total: NDArray[np.float32] = getattr(found[0], name).copy()
            for other in found[1:]:
                total += getattr(other, name)
            total *= share
            return total

        pairs = found[0].pairs
        for other in found[1:]:
            pairs = pairs + other.pairs
        return Parameters(of("query"), (pairs * share).tocsr(), of("counts"), of("bias"), of("shared"), of("parts"))
