"""Fits DTDR-L: the factored head that decides."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import minimize

from edgeret.scoring.head import FactoredHead, HeadArrays
from edgeret.types import SEGMENTS
from edgeret_export.fitting.decisions import Decisions
from edgeret_export.fitting.options import HeadOptions
from edgeret_export.fitting.training_set import TrainingSet

MAX_COUNT = 6
STAGES = 3
"""First call, second call, all later ones: how finely the weights of a query's parts follow the plan."""
GRADIENT_TOLERANCE = 3e-4  # 1e-3 stops too early (0.6 points of top-1 lost), 1e-4 takes three times as long for nothing


def fit_factored(training: TrainingSet, options: HeadOptions, max_iterations: int = 200) -> FactoredHead:
    """Multinomial logistic regression by L-BFGS on soft targets (all acceptable tools share the likelihood)."""
    problem = _Problem(training, options)
    found = minimize(
        problem.objective,
        np.zeros(problem.bounds[-1]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iterations, "gtol": GRADIENT_TOLERANCE, "ftol": 1e-9},
    )
    w, v, b, (described, repeated), u = problem.split(found.x.astype(np.float32))
    scaled, n_labels = v * np.float32(options.history_scale), problem.n_labels
    return FactoredHead(
        HeadArrays(
            labels=training.decisions.labels,
            weights=np.ascontiguousarray(w.T),
            bias=b.copy(),
            called=scaled[:n_labels] + repeated * np.eye(n_labels, dtype=np.float32),
            last=scaled[n_labels : 2 * n_labels].copy(),
            count=scaled[2 * n_labels :].copy(),
            description_weight=float(described),
            segment_weights=u.copy(),
        )
    )


class _Problem:
    """The regression's data, loss and gradient.

    Every query is multiplied once an iteration, however many steps its plan has. Weights of description and parts are
    global, a dozen numbers, and so are not regularised.
    """

    def __init__(self, training: TrainingSet, options: HeadOptions) -> None:
        decisions, queries, smoothing = training.decisions, training.queries, options.label_smoothing
        n, self.n_labels, self.dimension = len(decisions), len(decisions.labels), queries.vectors.shape[1]
        used, self.plan = np.unique(decisions.plan, return_inverse=True)
        self.x, self.whole = queries.vectors[used], queries.cosines()[used]
        self.parts = queries.segment_cosines()[:, used]
        stage = np.array([min(len(h), STAGES - 1) for h in decisions.histories])
        self.staged = [np.flatnonzero(stage == s) for s in range(STAGES)]
        self.gather = [
            sp.csr_matrix((np.ones(len(rows), np.float32), (self.plan[rows], rows)), shape=(len(used), n))
            for rows in self.staged
        ]
        self.history, self.called = history_features(decisions, options.history_scale)
        self.history_t = self.history.T.tocsr()
        target = sp.csr_matrix(
            (decisions.target_share, (decisions.target_row, decisions.target_label)), shape=(n, self.n_labels)
        )
        target = np.asarray(target.todense(), np.float32)
        self.target = (1 - smoothing) * target + np.float32(smoothing / self.n_labels)
        self.weight = (decisions.weight / decisions.weight.sum()).astype(np.float32)[:, None]
        features = (self.dimension, self.history.shape[1])
        sizes = (*(size * self.n_labels for size in features), self.n_labels, 2 + STAGES * SEGMENTS)
        self.bounds = np.cumsum((0, *sizes))
        self.penalty = np.zeros(self.bounds[-1])
        self.penalty[: self.bounds[2]] = 1 / (options.inverse_regularisation * float(decisions.weight.sum()))

    def split(self, theta: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        """The parameters in their shapes: W, rows of the history, b, weights of description and repetition, U."""
        w, v, b, shared = (theta[i:j] for i, j in pairwise(self.bounds))
        return (
            w.reshape(self.dimension, self.n_labels),
            v.reshape(-1, self.n_labels),
            b,
            shared[:2],
            shared[2:].reshape(STAGES, SEGMENTS),
        )

    def objective(self, theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Regularised cross-entropy in nats, and its gradient."""
        w, v, b, (described, repeated), u = self.split(theta.astype(np.float32))
        base = self.x @ w + b + described * self.whole
        logits = np.empty((len(self.plan), self.n_labels), np.float32)
        for s, rows in enumerate(self.staged):
            logits[rows] = (base + np.tensordot(u[s], self.parts, 1))[self.plan[rows]]
        logits += self.history @ v
        logits[self.called] += repeated
        logits -= logits.max(axis=1, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(axis=1, keepdims=True)
        loss = -float((self.weight * self.target * np.log(np.maximum(logits, 1e-30))).sum())
        logits -= self.target
        logits *= self.weight
        by_stage = [matrix @ logits for matrix in self.gather]
        per_plan = sum(by_stage)
        gradient = np.concatenate(
            (
                (self.x.T @ per_plan).ravel(),
                (self.history_t @ logits).ravel(),
                logits.sum(axis=0),
                ((per_plan * self.whole).sum(), logits[self.called].sum()),
                np.ravel([[(slope * part).sum() for part in self.parts] for slope in by_stage]),
            )
        ).astype(np.float64)
        return loss + 0.5 * float((self.penalty * theta * theta).sum()), gradient + self.penalty * theta


def history_features(
    decisions: Decisions, scale: float
) -> tuple[sp.csr_matrix, tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Sparse features of histories, each `scale` (rows, 2·labels + MAX_COUNT + 1): bag of tools called, last tool,
    number of calls; and the bag's positions."""
    n_labels = len(decisions.labels)
    bag = [(row, tool) for row, h in enumerate(decisions.histories) for tool in sorted(set(h))]
    last = [(row, n_labels + h[-1]) for row, h in enumerate(decisions.histories) if h]
    count = [(row, 2 * n_labels + min(len(h), MAX_COUNT)) for row, h in enumerate(decisions.histories)]

    rows, columns = np.array(bag + last + count, np.intp).T
    values = np.full(len(rows), scale, np.float32)
    features = sp.csr_matrix((values, (rows, columns)), shape=(len(decisions), 2 * n_labels + MAX_COUNT + 1))
    return features, (rows[: len(bag)], columns[: len(bag)])
