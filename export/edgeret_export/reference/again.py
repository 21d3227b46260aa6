"""A request without its numbers, so that it can be read anew. Knows nothing of what reading is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from edgeret_export.reference.stopwatch import Stopwatch

Read = TypeVar("Read")


class Again(NamedTuple, Generic[Read]):
    """Of which `kind` a request is, read by which `scorer`, the query's own words, what was `allowed` (names,), and
    what a kind takes beside that; the request itself as long as somebody else keeps it; and what it decides `among`, as
    `edgeret.runtime.ranking.ranked` takes it."""

    kind: Callable[..., Read]
    scorer: Any
    query: str
    allowed: NDArray[np.bool_] | None
    beside: Mapping[str, Any]
    kept: ref[Read]
    among: tuple[tuple[str, ...], NDArray[np.intp] | None, NDArray[np.bool_] | None]

    def read(self, scorer: Any = None) -> Read:
        """The request by the same scorer, or by another one that decides between the same names."""
        if scorer is None and (kept := self.kept()) is not None:
            return kept
        reader = self.scorer if scorer is None else scorer
        return self.kind(reader, self.query, Stopwatch(), self.allowed, **self.beside)
