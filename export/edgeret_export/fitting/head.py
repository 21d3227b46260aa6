"""Fits DTDR-L: the factored head that decides."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import minimize

from edgeret.scoring.head import FactoredHead
from edgeret.types import SEGMENTS
from edgeret_export.fitting.decisions import StepTable

MAX_COUNT = 6
STAGES = 3
"""First call, second call, all later ones: how finely the weights of a query's parts follow the plan."""
GRADIENT_TOLERANCE = 3e-4  # 1e-3 stops too early (0.6 points of top-1 lost), 1e-4 takes three times as long for nothing


@dataclass(frozen=True, slots=True)
class HeadOptions:
    """`inverse_regularisation` is scikit-learn's C, `history_scale` the weight a of history features beside the
    query's unit vector, `label_smoothing` the share of the target spread over all labels."""

    inverse_regularisation: float = 5.0
    history_scale: float = 0.5
    label_smoothing: float = 0.02


@dataclass(frozen=True, slots=True)
class Queries:
    """What the head sees of all plans' queries: unit vectors (plans, dimension), the unit vectors of their parts
    (plans, SEGMENTS, dimension), and the vectors of the labels' tools (labels - 1, dimension)."""

    vectors: NDArray[np.float32]
    segments: NDArray[np.float32]
    label_vectors: NDArray[np.float32]

    def parts(self, plan: int) -> NDArray[np.float32]:
        """Unit vectors of one plan's query and its parts, as the runtime has them (1 + SEGMENTS, dimension)."""
        return np.vstack((self.vectors[plan], self.segments[plan]))

    def cosines(self) -> NDArray[np.float32]:
        """Cosines of every query to the labels' tools, 0 for `<end>`, float32 (plans, labels)."""
        return _with_end(self.vectors @ self.label_vectors.T)

    def segment_cosines(self) -> NDArray[np.float32]:
        """Cosines of every part to the labels' tools, 0 for `<end>`, float32 (SEGMENTS, plans, labels)."""
        return np.stack([_with_end(self.segments[:, j] @ self.label_vectors.T) for j in range(SEGMENTS)])


def _with_end(cosines: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.hstack((cosines, np.zeros((len(cosines), 1), np.float32)))


def fit_factored(table: StepTable, queries: Queries, options: HeadOptions, max_iterations: int = 200) -> FactoredHead:
    """Multinomial logistic regression by L-BFGS on soft targets (all acceptable tools share the likelihood).

    Every query is multiplied once an iteration, however many steps its plan has. Weights of description and parts are
    global, a dozen numbers, and so are not regularised.
    """
    n, n_labels, dimension = len(table), len(table.labels), queries.vectors.shape[1]
    used, plan = np.unique(table.plan, return_inverse=True)
    x, whole, parts = queries.vectors[used], queries.cosines()[used], queries.segment_cosines()[:, used]
    stage = np.array([min(len(h), STAGES - 1) for h in table.histories])
    staged = [np.flatnonzero(stage == s) for s in range(STAGES)]
    gather = [
        sp.csr_matrix((np.ones(len(rows), np.float32), (plan[rows], rows)), shape=(len(used), n)) for rows in staged
    ]
    history, called = history_features(table, options.history_scale)
    history_t = history.T.tocsr()
    target = sp.csr_matrix((table.target_share, (table.target_row, table.target_label)), shape=(n, n_labels))
    target = np.asarray(target.todense(), np.float32)
    target = (1 - options.label_smoothing) * target + np.float32(options.label_smoothing / n_labels)
    weight = (table.weight / table.weight.sum()).astype(np.float32)[:, None]
    ridge = 1 / (options.inverse_regularisation * float(table.weight.sum()))
    sizes = (dimension * n_labels, history.shape[1] * n_labels, n_labels, 2 + STAGES * SEGMENTS)
    bounds = np.cumsum((0, *sizes))
    penalty = np.zeros(bounds[-1])
    penalty[: bounds[2]] = ridge

    def split(theta: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        w, v, b, shared = (theta[i:j] for i, j in pairwise(bounds))
        return (
            w.reshape(dimension, n_labels),
            v.reshape(-1, n_labels),
            b,
            shared[:2],
            shared[2:].reshape(STAGES, SEGMENTS),
        )

    def objective(theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        w, v, b, (described, repeated), u = split(theta.astype(np.float32))
        base = x @ w + b + described * whole
        logits = np.empty((n, n_labels), np.float32)
        for s, rows in enumerate(staged):
            logits[rows] = (base + np.tensordot(u[s], parts, 1))[plan[rows]]
        logits += history @ v
        logits[called] += repeated
        logits -= logits.max(axis=1, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(axis=1, keepdims=True)
        loss = -float((weight * target * np.log(np.maximum(logits, 1e-30))).sum())
        logits -= target
        logits *= weight
        by_stage = [matrix @ logits for matrix in gather]
        per_plan = sum(by_stage)
        gradient = np.concatenate(
            (
                (x.T @ per_plan).ravel(),
                (history_t @ logits).ravel(),
                logits.sum(axis=0),
                ((per_plan * whole).sum(), logits[called].sum()),
                np.ravel([[(slope * part).sum() for part in parts] for slope in by_stage]),
            )
        ).astype(np.float64)
        return loss + 0.5 * float((penalty * theta * theta).sum()), gradient + penalty * theta

    found = minimize(
        objective,
        np.zeros(bounds[-1]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iterations, "gtol": GRADIENT_TOLERANCE, "ftol": 1e-9},
    )
    w, v, b, (described, repeated), u = split(found.x.astype(np.float32))
    scaled = v * np.float32(options.history_scale)
    return FactoredHead(
        table.labels,
        np.ascontiguousarray(w.T),
        b.copy(),
        scaled[:n_labels] + repeated * np.eye(n_labels, dtype=np.float32),
        scaled[n_labels : 2 * n_labels].copy(),
        scaled[2 * n_labels :].copy(),
        float(described),
        u.copy(),
    )


def head_to_dict(head: FactoredHead, fingerprint: str) -> dict[str, Any]:
    """The head file's content."""
    return {
        "encoder": fingerprint,
        "labels": list(head.labels),
        "weights": head.weights,
        "bias": head.bias,
        "called": head.called,
        "last": head.last,
        "count": head.count,
        "description_weight": head.description_weight,
        "segment_weights": head.segment_weights,
    }


def history_features(table: StepTable, scale: float) -> tuple[sp.csr_matrix, tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Sparse features of histories, each `scale` (rows, 2·labels + MAX_COUNT + 1): bag of tools called, last tool,
    number of calls; and the bag's positions."""
    n_labels = len(table.labels)
    bag = [(row, tool) for row, h in enumerate(table.histories) for tool in sorted(set(h))]
    last = [(row, n_labels + h[-1]) for row, h in enumerate(table.histories) if h]
    count = [(row, 2 * n_labels + min(len(h), MAX_COUNT)) for row, h in enumerate(table.histories)]

    rows, columns = np.array(bag + last + count, np.intp).T
    values = np.full(len(rows), scale, np.float32)
    features = sp.csr_matrix((values, (rows, columns)), shape=(len(table), 2 * n_labels + MAX_COUNT + 1))
    return features, (rows[: len(bag)], columns[: len(bag)])
