"""Candidates in the order of their probability, sorted when somebody looks at more than the first. Knows nothing of how
anything is scored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from edgeret.types import Candidate

CROWD = 16
"""Candidates for each one listed from which on selecting those listed is faster than sorting all."""


class Ranking(Sequence[Candidate]):
    """A tuple of candidates, most probable first, of which the first is known. It equals that tuple."""

    __slots__ = ("_first", "_listed", "_sort")

    def __init__(self, first: Candidate, sort: Callable[[], tuple[Candidate, ...]]) -> None:
        """`sort` gives all of them, `first` first; it is called once, if at all."""
        self._first, self._sort = first, sort
        self._listed: tuple[Candidate, ...] | None = None

    def _all(self) -> tuple[Candidate, ...]:
        if self._listed is None:
            self._listed = self._sort()
        return self._listed

    @overload
    def __getitem__(self, place: int) -> Candidate: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Candidate, ...]: ...
    def __getitem__(self, place: int | slice) -> Candidate | tuple[Candidate, ...]:
        """One of them, or some as a tuple."""
        return self._first if place == 0 else self._all()[place]

    def __len__(self) -> int:
        """How many there are."""
        return len(self._all())

    def __iter__(self) -> Iterator[Candidate]:
        """The most probable first."""
        return iter(self._all())

    def __eq__(self, other: object) -> bool:
        """Whether it is the same tuple."""
        if not isinstance(other, Ranking | tuple):
            return NotImplemented
        return self._all() == tuple(other)

    def __hash__(self) -> int:
        """The tuple's."""
        return hash(self._all())

    def __repr__(self) -> str:
        """As the tuple's."""
        return repr(self._all())

    def __reduce__(self) -> tuple[type[tuple[Candidate, ...]], tuple[tuple[Candidate, ...]]]:
        """Copied, pickled and sent as the tuple."""
        return tuple, (self._all(),)


def ranked(
    names: Sequence[str],
    near: NDArray[np.intp] | None,
    allowed: NDArray[np.bool_] | None,
    values: NDArray[np.float32],
    k: int | None,
    blocked: frozenset[str] = frozenset(),
) -> tuple[Candidate, ...]:
    """The first `k` candidates (None: all) by `values` (n,), which measure how well they fit; equal ones keep their
    order. They stand at the positions `near` (n,) of `names`, or are all of these (None). What is not `allowed` (n,),
    or `blocked`, is left out."""
    n, most = len(values), None if k is None else k + len(blocked)
    if allowed is not None:
        chosen = np.flatnonzero(allowed)
        order = chosen[(-values[chosen]).argsort(kind="stable")[:most]]
    elif most is not None and most * CROWD < n:
        least = values.copy()
        least.partition(n - most)
        listed = (values >= least[n - most]).nonzero()[0]
        order = listed[(-values[listed]).argsort(kind="stable")[:most]]
    else:
        order = (-values).argsort(kind="stable")[:most]
    found = [names[place] for place in (order if near is None else near[order]).tolist()]
    candidates = tuple(map(Candidate._make, zip(found, values[order].tolist(), strict=True)))
    return tuple(c for c in candidates if c.tool not in blocked)[:k] if blocked else candidates
