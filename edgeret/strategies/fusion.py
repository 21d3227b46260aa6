"""Several rankings of tools into one. Pure functions; knows nothing of where a ranking comes from."""

from __future__ import annotations

from collections.abc import Sequence

from edgeret.types import Hit

RRF_CONSTANT = 60
"""Of Cormack's reciprocal rank fusion: how little the first places count for more than those behind."""


def latest(rankings: Sequence[Sequence[Hit]]) -> list[Hit]:
    """The last ranking, of those that each take the place of the one before."""
    return list(rankings[-1])


def peak_rank(rankings: Sequence[Sequence[Hit]]) -> list[Hit]:
    """Tools by their best rank in any ranking, then by the similarity that they have there: Re-Invoke's multi-view
    ranking (section 3.3, algorithm 2, figure 8), and how ToolQP joins its turns."""
    if len(rankings) == 1:
        return list(rankings[0])  # shares and all
    best: dict[str, tuple[int, float]] = {}
    for ranking in rankings:
        for rank, hit in enumerate(ranking):
            score = (-rank, hit.similarity)
            best[hit.tool] = max(score, best.get(hit.tool, score))
    ordered = sorted(best.items(), key=lambda item: item[1], reverse=True)
    return [Hit(tool, similarity) for tool, (_, similarity) in ordered]


def added(rankings: Sequence[Sequence[Hit]]) -> list[Hit]:
    """Tools by the mean of their shares in rankings of several texts that belong together, so each text says as much;
    by `reciprocal_rank` where any of them has no shares. The similarity is the best one."""
    if any(hit.share is None for ranking in rankings for hit in ranking):
        return reciprocal_rank(rankings)
    share: dict[str, float] = {}
    similarity: dict[str, float] = {}
    for ranking in rankings:
        for hit in ranking:
            share[hit.tool] = share.get(hit.tool, 0.0) + (hit.share or 0.0) / len(rankings)
            similarity[hit.tool] = max(hit.similarity, similarity.get(hit.tool, hit.similarity))
    return [Hit(tool, similarity[tool], share[tool]) for tool in sorted(share, key=lambda tool: -share[tool])]


def reciprocal_rank(rankings: Sequence[Sequence[Hit]]) -> list[Hit]:
    """Tools by the sum of 1 / (RRF_CONSTANT + rank), ranks from 1, over all rankings; equal ones by their best
    similarity, which a hit has."""
    score: dict[str, float] = {}
    similarity: dict[str, float] = {}
    for ranking in rankings:
        for rank, hit in enumerate(ranking, 1):
            score[hit.tool] = score.get(hit.tool, 0.0) + 1 / (RRF_CONSTANT + rank)
            similarity[hit.tool] = max(hit.similarity, similarity.get(hit.tool, hit.similarity))
    return [Hit(tool, similarity[tool]) for tool in sorted(score, key=lambda tool: (-score[tool], -similarity[tool]))]
