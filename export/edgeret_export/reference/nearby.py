"""Demonstrations near a request: those that a bundle or this device remembers, and what its clusters mostly call.
Knows nothing of decisions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from edgeret.runtime.history import History
from edgeret.types import Demonstrated
from edgeret_export.reference.learned_then import LearnedThen
from edgeret_export.reference.request import Request
from edgeret_export.reference.scorer import Scorer
from edgeret_export.reference.scoring.memory import END, Neighbours

MOST = 3
"""Demonstrations told."""
SAME = 1e-3
"""By how much cosines of one stored plan may differ: it is kept in float16."""


def nearest(request: Request, scorer: Scorer, learned: LearnedThen | None) -> tuple[Demonstrated, ...]:
    """The nearest demonstrations, of the bundle's memory and of what was learned then; their words where these are
    kept still."""
    found = []
    head, memory = scorer.components.head, scorer.components.memory
    if head is not None and memory is not None:
        labels = head.labels
        for calls, cosine in plans(memory.near(request.vector), lambda number: labels[number - 1]):
            found.append(Demonstrated(calls, cosine, None, False))
    if learned is not None:
        told = scorer.learned.nearest(request.vector)
        for calls, cosine in plans(learned.neighbours, learned.names.__getitem__):
            words = (plan.query for plan, now in told if plan.calls == calls and abs(now - cosine) < SAME)
            found.append(Demonstrated(calls, cosine, next(words, None), True))
    return tuple(sorted(found, key=lambda one: -one.cosine)[:MOST])


def plans(neighbours: Neighbours, name_of: Callable[[int], str]) -> list[tuple[tuple[str, ...], float]]:
    """The calls of the nearest plans, with the cosines of their queries, from their steps, which stand plan by plan."""
    found: list[tuple[tuple[str, ...], float]] = []
    cosines, calls = iter(neighbours.cosines.tolist()), list[str]()
    for target in neighbours.labels[neighbours.targets].tolist():
        if target != END:
            calls.append(name_of(target))
            continue
        found.append((tuple(calls), next(cosines)))
        calls.clear()
        if len(found) == MOST:
            break
    return found


def cluster(request: Request, scorer: Scorer, history: History) -> tuple[float | None, Mapping[str, float]]:
    """The cosine to the nearest cluster of demonstrations, and what the nearest few mostly call next, in shares; None
    and nothing without demonstrations."""
    graph = scorer.components.graph
    if graph is None:
        return None, {}
    place = graph.locate(request.vector)
    shares = graph.distribution(place, scorer.numbers(history))
    first = (-shares).argsort(kind="stable")[:MOST].tolist()
    return place.similarity, {graph.labels[label]: shares.item(label) for label in first}
