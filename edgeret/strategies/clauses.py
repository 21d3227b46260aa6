"""Searches a request and each of its clauses: a tool counts by the best of them. Knows nothing of tasks."""

from __future__ import annotations

from edgeret.encoders.base import Encoder
from edgeret.inputs.clauses import split_clauses
from edgeret.scoring.index import Index
from edgeret.types import Hit

MAX_CLAUSES = 16
"""Clauses that are searched; each costs a run of the encoder."""


def by_clauses(request: str, k: int, encoder: Encoder, index: Index) -> list[Hit]:
    """The `k` tools that the request or one of its first MAX_CLAUSES clauses finds: a tool counts by its best rank,
    then by its best cosine (peak rank, as ToolQP joins its turns)."""
    best: dict[int, tuple[int, float]] = {}
    for part in (request, *split_clauses(request)[:MAX_CLAUSES]):
        positions, cosines = index.search(encoder.encode(part), k)
        for rank, (position, cosine) in enumerate(zip(positions.tolist(), cosines.tolist(), strict=True)):
            old_rank, old_cosine = best.get(position, (rank, cosine))
            best[position] = (min(rank, old_rank), max(cosine, old_cosine))
    ordered = sorted(best.items(), key=lambda item: (item[1][0], -item[1][1]))[:k]
    return [Hit(index.names[position], cosine) for position, (_, cosine) in ordered]
