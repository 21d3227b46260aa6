"""Which tools take the kinds of values that a request holds. Knows nothing of how that is weighed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgeret_export.reference.inputs.values import KINDS, values_in
from edgeret_export.reference.scoring.prior import Values


class ToolValues:
    """Tools by the kinds of values that they take. Immutable and thread-safe."""

    def __init__(self, taken: Sequence[Sequence[int]]) -> None:
        """`taken` are each tool's kinds, in the order in which all arrays are."""
        self._takes = np.zeros((len(KINDS), len(taken)), np.float32)
        for tool, kinds in enumerate(taken):
            self._takes[list(kinds), tool] = 1
        self._taken = taken
        # A kind that few tools take tells them from all others.
        self._takes *= np.log((len(taken) + 1) / (self._takes.sum(axis=1, keepdims=True) + 1))

    def taking(self, kind: int) -> list[int]:
        """Where the tools are that take a kind."""
        return [tool for tool, kinds in enumerate(self._taken) if kind in kinds]

    def __call__(self, query: str) -> Values | None:
        """What speaks for each tool by the kinds that a query holds; None for most queries, which hold none."""
        return Values(kinds, self._takes[list(kinds)]) if (kinds := values_in(query)) else None
