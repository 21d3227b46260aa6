"""Fits what turns distributions into decisions: fusion weights, the confidence map, thresholds. Trains no model.

Everything here is fitted on predictions for plans that the predicting heads had not seen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from edgeret.scoring.calibration import CalibrationParameters
from edgeret_export.fitting.reliability import expected_calibration_error

DEFAULTS = CalibrationParameters()
"""Where searches start, and what holds where nothing could be fitted."""
IN_DISTRIBUTION_QUANTILE = 0.01
"""Share of held-out demonstrations that the "unlike anything demonstrated" threshold gives up."""
ALWAYS_RIGHT_BIAS = -2.0
"""Of search where the nearest description was right every time: how often it is wrong, nobody has seen."""
CALIBRATION_BINS = 25
CONFORMAL_QUANTILES = 401
MIN_ROWS = 200
"""Held-out decisions below which a confidence map would follow noise; probabilities then stay as fused."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Predictions for decisions (rows) that the predicting heads had not seen.

    `head` log-probabilities and `graph` probabilities (rows, labels); `acceptable` (rows, labels); `seen` marks the
    labels that the training part of that row's fold had (rows, labels); `cosines` of the row's query to the labels'
    tools (rows, labels); `called` marks labels in the history (rows, labels).
    """

    head: NDArray[np.float32]
    graph: NDArray[np.float32]
    acceptable: NDArray[np.bool_]
    seen: NDArray[np.bool_]
    cosines: NDArray[np.float32]
    called: NDArray[np.bool_]

    def target(self) -> NDArray[np.float32]:
        """Acceptable labels sharing 1 a row (rows, labels)."""
        shares: NDArray[np.float32] = (self.acceptable / self.acceptable.sum(axis=1, keepdims=True)).astype(np.float32)
        return shares

    def fused_logits(self, weights: tuple[float, float]) -> NDArray[np.float32]:
        """The log-linear fusion before normalisation (rows, labels)."""
        logs: NDArray[np.float32] = np.log(self.graph + np.float32(1e-12))
        return np.float32(weights[0]) * self.head + np.float32(weights[1]) * logs


def nll(log_probabilities: NDArray[np.floating], target: NDArray[np.floating]) -> float:
    """Mean cross-entropy in nats."""
    return -float((log_probabilities * target).sum() / len(target))


def fit_fusion(outcomes: Outcomes) -> tuple[float, float]:
    """Weights of head and graph, each in [0, 2], by cross-entropy; they absorb a temperature, so need not sum to 1."""
    known = ~(outcomes.acceptable & ~outcomes.seen).any(axis=1)
    head, graph = outcomes.head[known].astype(np.float64), np.log(outcomes.graph[known].astype(np.float64) + 1e-12)
    target = outcomes.target()[known]

    def objective(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        logits = weights[0] * head + weights[1] * graph
        logp = log_softmax(logits, axis=1)
        slope = (np.exp(logp) - target) / len(target)
        return nll(logp, target), np.array([(slope * head).sum(), (slope * graph).sum()])

    found = minimize(
        objective,
        np.array([DEFAULTS.head_weight, DEFAULTS.graph_weight]),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, 2), (0, 2)],
    )
    return float(found.x[0]), float(found.x[1])


def fit_unseen(outcomes: Outcomes, weights: tuple[float, float]) -> tuple[float, float, float]:
    """(slope, bias, called) of the score that a tool without demonstrations gets, by cross-entropy.

    `outcomes.seen` must hide tools from the heads; those columns are scored by their descriptions instead.
    """
    fused = outcomes.fused_logits(weights).astype(np.float64)
    fused[~outcomes.seen] = -np.inf
    # Fused scores are comparable with a fixed bias only once they are normalised.
    fused -= logsumexp(fused, axis=1, keepdims=True)
    hidden, target = ~outcomes.seen, outcomes.target()

    def objective(p: NDArray[np.float64]) -> float:
        logits = np.where(hidden, p[0] * outcomes.cosines + p[1] - p[2] * outcomes.called, fused)
        logp = log_softmax(logits, axis=1)
        return -float(np.where(target > 0, logp * target, 0).sum() / len(target))

    start = np.array([DEFAULTS.unseen_slope, DEFAULTS.unseen_bias, DEFAULTS.unseen_called])
    found = minimize(objective, start, method="L-BFGS-B", bounds=[(0, 60), (-40, 20), (0, 30)])
    return float(found.x[0]), float(found.x[1]), float(found.x[2])


def fit_unseen_bias(outcomes: Outcomes, weights: tuple[float, float], unseen: tuple[float, float, float]) -> float:
    """The bias alone, where `seen` shows how rarely tools really go undemonstrated in a set like this one.

    `fit_unseen` hides popular tools, and so learns to expect what is hidden; a tool that none of many demonstrations
    used is seldom the answer. Never above the bias given, and at most 8 nats below.
    """
    slope, bias, called = unseen
    fused = outcomes.fused_logits(weights).astype(np.float64)
    fused[~outcomes.seen] = -np.inf
    fused -= logsumexp(fused, axis=1, keepdims=True)
    score = slope * outcomes.cosines - called * outcomes.called
    target = outcomes.target()

    def loss(candidate: float) -> float:
        logp = log_softmax(np.where(outcomes.seen, fused, score + candidate), axis=1)
        return -float(np.where(target > 0, logp * target, 0).sum() / len(target))

    return float(min(np.linspace(bias - 8, bias, 17), key=loss))


def fit_confidence_map(confidence: NDArray[np.floating], correct: NDArray[np.bool_]) -> tuple[tuple[float, float], ...]:
    """Knots of a rising, piecewise linear map from fused to observed confidence (isotonic over equal-mass bins)."""
    if len(confidence) < MIN_ROWS:
        return ((0.0, 0.0), (1.0, 1.0))
    order = np.argsort(confidence, kind="stable")
    bins = np.array_split(order, min(CALIBRATION_BINS, len(order) // 40))
    x = np.array([confidence[b].mean() for b in bins])
    y = IsotonicRegression(y_min=0, y_max=1).fit_transform(
        x, [correct[b].mean() for b in bins], sample_weight=[len(b) for b in bins]
    )
    points = [(0.0, 0.0)]
    for a, b in zip(x.round(5).tolist(), y.round(5).tolist(), strict=True):
        if points[-1][0] < a < 1:
            points.append((a, b))
    return (*points, (1.0, float(round(y[-1], 5))))


def right_quantiles(probabilities: NDArray[np.floating], acceptable: NDArray[np.bool_]) -> tuple[float, ...]:
    """Evenly spaced quantiles, least first, of the probability that each row gave to its most probable right answer:
    what `Calibration.threshold` reads. Both inputs (rows, labels)."""
    right = np.where(acceptable, probabilities, 0).max(axis=1)
    return tuple(np.quantile(right, np.linspace(0, 1, CONFORMAL_QUANTILES), method="lower").tolist())


def cross_fitted_ece(confidence: NDArray[np.floating], correct: NDArray[np.bool_], fold: NDArray[np.intp]) -> float:
    """ECE after the confidence map, each half of the folds mapped by the map of the other half."""
    mapped = np.empty_like(confidence)
    for parity in (0, 1):
        part = fold % 2 == parity
        points = np.array(fit_confidence_map(confidence[~part], correct[~part]))
        mapped[part] = np.interp(confidence[part], points[:, 0], points[:, 1])
    return expected_calibration_error(mapped, correct)


def fit_search(cosine: NDArray[np.floating], correct: NDArray[np.bool_]) -> tuple[float, float]:
    """(slope, bias): probability that the nearest description is right, given its cosine."""
    if correct.all() or not correct.any():
        return DEFAULTS.search_slope, (ALWAYS_RIGHT_BIAS if correct.any() else DEFAULTS.search_bias)
    model = LogisticRegression(C=10.0).fit(10 * cosine[:, None], correct)
    slope = float(10 * model.coef_[0, 0])
    if slope < 0:  # by chance, on few requests: a nearer description is never less likely right
        share = float(correct.mean())
        return 0.0, float(np.log(share / (1 - share)))
    return slope, float(model.intercept_[0])
