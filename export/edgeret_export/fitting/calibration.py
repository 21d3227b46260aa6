"""Fits what turns distributions into decisions: fusion weights, the confidence map, thresholds. Trains no model.

Everything here is fitted on predictions for plans that the predicting heads had not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

from edgeret.usage.reliability import expected_calibration_error
from edgeret_export.reference.scoring.calibration import Map

CALIBRATION_BINS, BIN = 25, 40
"""Bins of a confidence map at most, and decisions of one at least."""
EXPECTED = 10.0
IDENTITY: Map = ((0.0, 0.0), (1.0, 1.0))
CONFORMAL_QUANTILES = 401


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Predictions for decisions (rows) that the predicting heads had not seen, over labels, or over all names where the
    head rests on the prior at every step (rows, n).

    `experts` are log-probabilities of head, graph and (with the prior) memory, each (rows, n); `acceptable` (rows, n);
    `known` marks the rows where the heads had seen some acceptable label (rows,).
    """

    experts: tuple[NDArray[np.float32], ...]
    acceptable: NDArray[np.bool_]
    known: NDArray[np.bool_]

    def target(self) -> NDArray[np.float32]:
        """Acceptable labels sharing 1 a row (rows, n)."""
        shares: NDArray[np.float32] = (self.acceptable / self.acceptable.sum(axis=1, keepdims=True)).astype(np.float32)
        return shares

    def only(self, rows: NDArray[np.bool_]) -> Outcomes:
        """Those of some rows (rows,)."""
        return Outcomes(tuple(expert[rows] for expert in self.experts), self.acceptable[rows], self.known[rows])

    def fused(self, weights: Sequence[float]) -> NDArray[np.float64]:
        """The log-linear fusion, as probabilities (rows, n)."""
        logs = sum(weight * expert.astype(np.float64) for weight, expert in zip(weights, self.experts, strict=True))
        fused: NDArray[np.float64] = np.exp(log_softmax(logs, axis=1))
        return fused


def nll(log_probabilities: NDArray[np.floating], target: NDArray[np.floating]) -> float:
    """Mean cross-entropy in nats."""
    return -float((log_probabilities * target).sum() / len(target))


def fit_fusion(outcomes: Outcomes, start: Sequence[float], pull: float) -> tuple[float, ...]:
    """Weights of the experts, each in [0, 2], by cross-entropy; they absorb a temperature, so need not sum to 1.

    `pull` draws them to `start` as so many decisions would: few held-out decisions say little about three weights.
    Without any decision they are those of the start.
    """
    if not outcomes.known.any():
        return tuple(start)
    experts = [expert[outcomes.known].astype(np.float64) for expert in outcomes.experts]
    target, first = outcomes.target()[outcomes.known], np.array(start)
    share = pull / max(1, len(target))

    def objective(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        logp = log_softmax(sum(w * expert for w, expert in zip(weights, experts, strict=True)), axis=1)
        slope = (np.exp(logp) - target) / len(target)
        away = weights - first
        gradient = np.array([(slope * expert).sum() for expert in experts])
        return nll(logp, target) + share * float(away @ away), gradient + 2 * share * away

    found = minimize(objective, first, jac=True, method="L-BFGS-B", bounds=[(0, 2)] * len(first))
    return tuple(float(weight) for weight in found.x)


def fit_confidence_map(
    confidence: NDArray[np.floating], correct: NDArray[np.bool_], expected: Map = IDENTITY
) -> tuple[tuple[float, float], ...]:
    """Points of a rising, piecewise linear map from fused to observed confidence (isotonic over equal-mass bins).

    Every bin starts from what is `expected`, counted as EXPECTED decisions: few decisions move a map a little.
    """
    if not len(confidence):
        return tuple(expected)
    from sklearn.isotonic import IsotonicRegression

    order = np.argsort(confidence, kind="stable")
    bins = np.array_split(order, max(1, min(CALIBRATION_BINS, len(order) // BIN)))
    x = np.array([confidence[b].mean() for b in bins])
    before = np.interp(x, [point[0] for point in expected], [point[1] for point in expected])
    right, count = np.array([correct[b].sum() for b in bins]), np.array([len(b) for b in bins])
    y = IsotonicRegression(y_min=0, y_max=1).fit_transform(
        x, (right + EXPECTED * before) / (count + EXPECTED), sample_weight=count
    )
    points = [(0.0, 0.0)]
    for a, b in zip(x.round(5).tolist(), y.round(5).tolist(), strict=True):
        if points[-1][0] < a < 1:
            points.append((a, max(b, points[-1][1])))
    return (*points, (1.0, float(max(round(y[-1], 5), points[-1][1]))))


def right_quantiles(probabilities: NDArray[np.floating], acceptable: NDArray[np.bool_]) -> tuple[float, ...]:
    """Evenly spaced quantiles, least first, of the probability that each row gave to its most probable right answer:
    what `Calibration.threshold` reads. Both inputs (rows, labels)."""
    right = np.where(acceptable, probabilities, 0).max(axis=1)
    return tuple(np.quantile(right, np.linspace(0, 1, CONFORMAL_QUANTILES), method="lower").tolist())


def cross_fitted_ece(
    confidence: NDArray[np.floating], correct: NDArray[np.bool_], half: NDArray[np.bool_], expected: Map
) -> float:
    """ECE after the confidence map, each half of the rows mapped by the map of the other half."""
    mapped = np.empty_like(confidence)
    for part in (half, ~half):
        points = np.array(fit_confidence_map(confidence[~part], correct[~part], expected))
        mapped[part] = np.interp(confidence[part], points[:, 0], points[:, 1])
    return expected_calibration_error(mapped, correct)
