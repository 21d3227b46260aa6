"""Tools whose descriptions are nearest to the whole request. The plainest strategy, and the floor for all others."""

from __future__ import annotations

from edgeret.encoders.base import Encoder
from edgeret.scoring.index import Index
from edgeret.types import Hit


def by_description(request: str, k: int, encoder: Encoder, index: Index) -> list[Hit]:
    """The `k` tools whose descriptions have the highest cosine to the request, highest first."""
    positions, cosines = index.search(encoder.encode(request), k)
    return [Hit(index.names[i], cosine) for i, cosine in zip(positions.tolist(), cosines.tolist(), strict=True)]
