"""Searches a request and each of its clauses: a tool counts by the best of them. Knows nothing of tasks."""

from __future__ import annotations

from collections.abc import Iterator

from edgeret.core.understood import words_of
from edgeret.strategies.base import Search, Strategy
from edgeret.strategies.fusion import peak_rank
from edgeret.types import Hit

MAX_CLAUSES = 16
"""Clauses that are searched; each costs a run of the encoder."""


def _by_clauses(search: Search) -> Iterator[list[Hit]]:
    """The views of a request and of its first MAX_CLAUSES clauses."""
    for part in (search.request, *words_of(search.request).parts[:MAX_CLAUSES]):
        yield search.nearest(part)


CLAUSES = Strategy("clauses", _by_clauses, peak_rank)
"""The tools that the request or one of its clauses finds."""
