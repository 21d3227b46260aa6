"""What all peers have in common: how one is made, asked and timed."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import ClassVar

from edgeret.errors import InputError
from edgeret.types import Tool
from edgeret_bench.peers import PEERS

NONE = -1
"""Stands in a ranking for a place that a system left empty; no tool has this position."""


class Peer(ABC):
    """A library that finds tools for a query. Its constructor imports it, and loads its model if it has one."""

    name: ClassVar[str]
    distribution: ClassVar[str]
    """What the package index calls it."""
    needs_model: ClassVar[bool] = False
    """Whether it embeds texts, with the model in the folder that the constructor is given."""

    @abstractmethod
    def __init__(self, model: Path | None, threads: int) -> None:
        """`threads` is the CPU budget, the same for all. Raises ImportError if the library is not installed."""

    def version(self) -> str:
        """The installed version."""
        return version(self.distribution)

    @abstractmethod
    def prepare(self, tools: Sequence[Tool], texts: Sequence[str]) -> None:
        """Builds the index. `texts` stand for the tools, in their order, where a peer takes one text a tool."""

    @abstractmethod
    def rank(self, query: str, k: int) -> list[int]:
        """Positions of at most `k` tools, best first; fewer where the peer finds fewer."""


def peer_class(name: str) -> type[Peer]:
    """The class of a peer; its library need not be installed. Raises InputError for an unknown name."""
    if name not in PEERS:
        raise InputError(f"unknown peer '{name}'; choose among: {', '.join(PEERS)}")
    module, _, attribute = PEERS[name].partition(":")
    found: type[Peer] = getattr(importlib.import_module(module), attribute)
    return found


def pad(ranking: Sequence[int], k: int) -> list[int]:
    """A ranking of exactly `k` places; those left empty hold NONE, so that they count as wrong."""
    return [*ranking[:k], *[NONE] * (k - len(ranking))]


def timed(
    rank: Callable[[str, int], Sequence[int]], queries: Sequence[str], k: int
) -> tuple[list[float], list[list[int]]]:
    """The time of every answer in ms, and the answers, padded to `k`. All systems are timed here and nowhere else."""
    times: list[float] = []
    rankings: list[list[int]] = []
    for query in queries:
        started = perf_counter()
        found = rank(query, k)
        times.append((perf_counter() - started) * 1e3)
        rankings.append(pad(found, k))
    return times, rankings
