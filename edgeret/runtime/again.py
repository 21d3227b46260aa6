"""A request without its numbers, so that it can be read anew. Knows nothing of what reading is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from edgeret.records import dataclass
from edgeret.stopwatch import Stopwatch

Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class Again(Generic[Read]):
    """Of which `kind` a request is, read by which `scorer`, the query's own words, what was `allowed` (names,), and
    what a kind takes beside that."""

    kind: Callable[..., Read]
    scorer: Any
    query: str
    allowed: NDArray[np.bool_] | None
    beside: Mapping[str, Any]

    def read(self, scorer: Any = None) -> Read:
        """The request by the same scorer, or by another one that decides between the same names."""
        reader = self.scorer if scorer is None else scorer
        return self.kind(reader, self.query, Stopwatch(), self.allowed, **self.beside)
