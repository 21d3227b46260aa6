"""Where a head's fit ended, in a form that another fit may start from, of other demonstrations too. Fits nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Parameters:
    """Weights of the query (d, labels), float16, since of very many labels they are tens of megabytes and a start need
    not be exact; of numbers of calls (counts, labels), biases (labels,), weights of description, repetition and prior
    (3,), of parts (stages, parts), all float32; and how far each pair that was shown is from what it is drawn to
    (features, labels), the others being there."""

    query: NDArray[np.float16]
    pairs: sp.csr_matrix
    counts: NDArray[np.float32]
    bias: NDArray[np.float32]
    shared: NDArray[np.float32]
    parts: NDArray[np.float32]

    def turned(self, by: NDArray[np.float32]) -> Parameters:
        """For an encoder whose queries' vectors (n, its dimension) times `by` (its dimension, dimension) are about
        those of this one; what else a query's weights are for comes behind and stays."""
        dimension = by.shape[1]
        query = np.concatenate((by @ self.query[:dimension].astype(np.float32), self.query[dimension:]))
        return replace(self, query=query.astype(np.float16))

    @staticmethod
    def mean(found: Sequence[Parameters]) -> Parameters:
        """The mean of at least one. That of the folds is nearly where the fit of all of them ends."""

        def of(name: str) -> NDArray[Any]:
            every = [getattr(each, name) for each in found]
            return every[0] if len(every) == 1 else np.mean(every, axis=0, dtype=np.float32).astype(every[0].dtype)

        pairs = found[0].pairs
        for other in found[1:]:
            pairs = pairs + other.pairs
        pairs = (pairs / np.float32(len(found))).tocsr()
        return Parameters(of("query"), pairs, of("counts"), of("bias"), of("shared"), of("parts"))
