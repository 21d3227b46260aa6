"""A row that somebody else published, and the data set it is of. Knows no data set and nothing of what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quoted:
    """A published row: what it calls the method, its metrics as shares of 1, and under which conditions."""

    name: str
    metrics: Mapping[str, float]
    conditions: str


@dataclass(frozen=True, slots=True)
class PublicSet:
    """A data set, how many queries were asked of it, what sets the conditions apart, and its rows."""

    title: str
    n_queries: int
    unlike: str
    rows: Sequence[Quoted]
