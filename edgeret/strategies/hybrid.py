"""Tools that a request wants by its words and its parts as well as by its meaning. One encoding, no planner; knows
nothing of how the evidence is weighed."""

from __future__ import annotations

from collections.abc import Iterator

from edgeret.strategies.base import Search, Strategy
from edgeret.strategies.fusion import latest
from edgeret.types import Hit


def _views(search: Search) -> Iterator[list[Hit]]:
    yield search.view(search.request, 0)


HYBRID = Strategy("hybrid", _views, latest)
"""The tools with the most evidence: cosines of the request's parts, and words that it shares with them."""
