"""Tools whose descriptions are nearest to the whole request. The plainest strategy, and the floor for all others."""

from __future__ import annotations

from collections.abc import Iterator

from edgeret.strategies.base import Search, Strategy
from edgeret.strategies.fusion import peak_rank
from edgeret.types import Hit


def _views(search: Search) -> Iterator[list[Hit]]:
    yield search.nearest(search.request, 0)  # nothing is fused, so no more tools are wanted than were asked for


DESCRIPTION = Strategy("description", _views, peak_rank)
"""The tools whose descriptions have the highest cosine to the request."""
