"""Where the familiar ends: the distance from demonstrations beyond which a request is taken to be nobody's. Fitted
without a single request that no tool fits, from demonstrations held back and from sayings that few assistants serve.
Encodes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from edgeret_export.fitting.spoken import read_lines
from edgeret_export.fitting.training_set import TrainingSet
from edgeret_export.reference.inputs.language_rules import ENGLISH
from edgeret_export.reference.scoring.familiarity import LEAST_EDGE, NEAREST, STEEP, Means

KEPT = 0.96
"""Share of held-back demonstrations that must lie inside."""
ALLOWANCE = 1.07
"""How much further out other people's words for the same wishes lie; where sayings begin sooner, so does the edge."""
BEGIN = 0.1
"""The share of sayings that may lie inside: some assistant serves each of them."""
TRUSTED = 30.0
"""Held-back demonstrations that say as much as the encoder's own scale."""
OF_SAYINGS = 0.86
"""Where the edge lies when nobody demonstrated anything, in what one saying's distance is to the nearest other one."""


def read_sayings(languages: Iterable[str] = (ENGLISH,)) -> list[str]:
    """What people say in these languages to assistants that few tools serve: lines of all kinds, two hundred and fifty
    in English and some hundred and sixty in others."""
    return read_lines("sayings", languages)


def first_calls(training: TrainingSet) -> NDArray[np.intp]:
    """The label of each plan's first call (plans,), -1 where it calls nothing."""
    number = {name: i for i, name in enumerate(training.decisions.labels)}
    plans = training.demonstrations
    return np.array([number[plan.calls[0].tool] if plan.calls else -1 for plan in plans], np.intp)


def means_of(training: TrainingSet) -> Means:
    """What was demonstrated of every tool as a first call."""
    vectors = training.queries.vectors
    return Means.of(vectors, first_calls(training), np.ones(len(vectors), np.float32))


@dataclass(frozen=True, slots=True)
class Edge:
    """The `edge`, and the distances that it was fitted on: of held-back plans (plans,), NaN for those that were not
    held back; and of the sayings, from every fold's demonstrations (folds, sayings)."""

    edge: float
    plans: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    sayings: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0)))

    def fits(self, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        """As `Familiarity.fits`, of many distances."""
        found: NDArray[np.float64] = np.exp(STEEP * (1 - distances / self.edge))
        return found


def usual_edge(sayings: NDArray[np.float32]) -> Edge:
    """The edge that an encoder has where nothing was demonstrated, by its unit vectors of the sayings (sayings,
    dimension)."""
    cosines = sayings @ sayings.T
    np.fill_diagonal(cosines, -1)
    nearest = np.sqrt(np.maximum(0, 2 - 2 * cosines.max(axis=1)))
    return Edge(round(max(LEAST_EDGE, float(OF_SAYINGS * (1 + NEAREST) * np.median(nearest))), 6))


Nearest = Callable[[int, NDArray[np.float32]], NDArray[np.float32]]
"""Cosines of unit rows to the nearest demonstration outside a fold of this number, or to what stands for these."""


def fit_edge(training: TrainingSet, sayings: NDArray[np.float32], nearest: Nearest | None = None) -> Edge:
    """The edge of these demonstrations, by the plans that judge. `nearest` looks for clusters of very many; None for
    demonstrations themselves."""
    vectors, first = training.queries.vectors, first_calls(training)
    judged = np.zeros(len(vectors), bool)
    judged[training.decisions.plan[training.judging_rows]] = True
    plans = np.full(len(vectors), np.nan)
    found = []
    for fold in np.unique(training.folds[judged]).tolist():
        others = training.folds != fold
        if not (others & (first >= 0)).any():
            continue
        means = Means.of(vectors[others], first[others], np.ones(int(others.sum()), np.float32))
        inside = np.flatnonzero(judged & ~others)
        shown = vectors[others & (first >= 0)]
        for rows, take in ((vectors[inside], plans), (sayings, None)):
            cosines = (rows @ shown.T).max(axis=1) if nearest is None else nearest(fold, rows)
            distances = _distances(means, rows, cosines)
            if take is None:
                found.append(distances)
            else:
                take[inside] = distances
    held = plans[~np.isnan(plans) & (first >= 0)]
    usual = usual_edge(sayings)
    if not len(held):
        return usual
    own = (float(np.quantile(held, KEPT)) * len(held) + usual.edge * TRUSTED) / (len(held) + TRUSTED)
    begin = float(np.quantile(found, BEGIN))
    edge = round(max(LEAST_EDGE, min(max(own, begin), own * ALLOWANCE)), 6)
    return Edge(edge, plans, np.array(found))


def _distances(means: Means, rows: NDArray[np.float32], nearest: NDArray[np.float32]) -> NDArray[np.float64]:
    """As `Familiarity.distance`, of many unit rows."""
    squares = 1 + np.einsum("ij,ij->i", means.vectors, means.vectors) - 2 * rows @ means.vectors.T
    to_mean = np.sqrt(np.maximum(0, squares.min(axis=1)))
    found: NDArray[np.float64] = to_mean + NEAREST * np.sqrt(np.maximum(0, 2 - 2 * nearest.astype(np.float64)))
    return found


def no_means(dimension: int) -> Means:
    """Those of no demonstration at all."""
    return Means(np.empty(0, np.intp), np.zeros((0, dimension), np.float32), np.zeros(0, np.float32), 0.0)
