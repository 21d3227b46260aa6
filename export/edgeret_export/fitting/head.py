"""Fits DTDR-L: the factored head that decides."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp
from threadpoolctl import threadpool_limits

from edgeret.scoring.head import FactoredHead, HeadArrays
from edgeret.types import SEGMENTS, SPELLING_BUCKETS
from edgeret_export.fitting.decisions import Decisions
from edgeret_export.fitting.options import HeadOptions
from edgeret_export.fitting.training_set import TrainingSet

MAX_COUNT = 6
STAGES = 3
"""First call, second call, all later ones: how finely the weights of a query's parts follow the plan."""
POPULARITY_PRIOR = 3.0
BIAS_PENALTY, GLOBAL_PENALTY = 5.0, 10.0
"""Of few demonstrations: of the biases' distance from popularity, in penalties of a weight; and of the global weights,
in decisions. With biases nearly free, one demonstration gave its tool 4.7 nats, and every unsure request with them."""
NOBODY = np.float32(-60.0)
"""The logarithm of next to nothing."""
GRADIENT_TOLERANCE = 3e-4  # 1e-3 stops too early (0.6 points of top-1 lost), 1e-4 takes three times as long for nothing


def fit_factored(training: TrainingSet, options: HeadOptions, max_iterations: int = 200) -> FactoredHead:
    """Multinomial logistic regression by L-BFGS on soft targets (all acceptable tools share the likelihood)."""
    problem = _Problem(training, options)
    # Every step is made of short sums, whose threads wait for one another wherever a core is busy with something else:
    # 4,000 demonstrations take 15 s on two threads and 7.8 on one; beside another program the gap is wider.
    with threadpool_limits(1):
        found = minimize(
            problem.objective,
            problem.centre,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": max_iterations, "gtol": GRADIENT_TOLERANCE, "ftol": 1e-9},
        )
    w, v, b, (described, repeated, prior), u = problem.split(found.x.astype(np.float32))
    scaled, n_labels = v * np.float32(options.history_scale), problem.n_labels
    return FactoredHead(
        HeadArrays(
            labels=training.decisions.labels,
            weights=np.ascontiguousarray(w[:-SPELLING_BUCKETS].T),
            spelling=w[-SPELLING_BUCKETS:].copy(),
            bias=b.copy(),
            called=scaled[:n_labels] + repeated * np.eye(n_labels, dtype=np.float32),
            last=scaled[n_labels : 2 * n_labels].copy(),
            count=scaled[2 * n_labels :].copy(),
            description_weight=float(described),
            segment_weights=u.copy(),
            prior_weight=float(prior),
            prior_steps=problem.others is not None,
            popular_names=training.prior.names,
            popular=popularity(training),
        )
    )


def popularity(training: TrainingSet) -> NDArray[np.float32]:
    """How much more often than the prior expected each of its names was called, in nats, float32 (n,): the logarithm of
    the ratio of both counts, each with POPULARITY_PRIOR more, so that a tool that was neither expected nor called is
    taken for what the prior says."""
    decisions, prior = training.decisions, training.prior
    expected = prior.expected
    if prior.steps is not None:
        expected = (decisions.weight @ np.exp(prior.steps)).astype(np.float64)
    called = np.zeros(len(prior.names))
    np.add.at(called, decisions.target_label, decisions.target_share * decisions.weight[decisions.target_row])
    ratio: NDArray[np.float32] = np.log((called + POPULARITY_PRIOR) / (expected + POPULARITY_PRIOR)).astype(np.float32)
    return ratio


def seen_labels(training: TrainingSet) -> NDArray[np.bool_]:
    """Which labels some decision of this part accepts (labels,)."""
    seen = np.zeros(len(training.decisions.labels), bool)
    seen[training.decisions.target_label] = True
    return seen


def others(prior: NDArray[np.float32], popular: NDArray[np.float32], seen: NDArray[np.bool_]) -> NDArray[np.float32]:
    """The logarithm of what the prior (rows, n), with popularity (n,), gives all names but the seen labels (rows,)."""
    rest = np.ones(prior.shape[1], bool)
    rest[: len(seen)] = ~seen
    if not rest.any():
        return np.full(len(prior), NOBODY, np.float32)
    found: NDArray[np.float32] = logsumexp(prior[:, rest] + popular[rest], axis=1).astype(np.float32)
    return found


class _Problem:
    """The regression's data, loss and gradient.

    Every query is multiplied once an iteration, however many steps its plan has. Weights of description, prior and
    parts are global, a dozen numbers.

    Few demonstrations (`others` is not None): the logits start from the prior's at every step, among them one for all
    tools that these decisions never call, and everything is drawn to what the prior says. Many: the prior's part that
    the query alone gives is one more feature, every label takes part, and the global weights are free.
    """

    def __init__(self, training: TrainingSet, options: HeadOptions) -> None:
        decisions, queries, smoothing = training.decisions, training.queries, options.label_smoothing
        n, self.n_labels, self.dimension = (
            len(decisions),
            len(decisions.labels),
            queries.vectors.shape[1] + SPELLING_BUCKETS,
        )
        used, self.plan = np.unique(decisions.plan, return_inverse=True)
        self.x = np.hstack((queries.vectors, queries.spelling))[used]
        self.whole = queries.cosines()[used]
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
        total = float(decisions.weight.sum())
        self.weight = (decisions.weight / total).astype(np.float32)[:, None]
        features = (self.dimension, self.history.shape[1])
        sizes = (*(size * self.n_labels for size in features), self.n_labels, 3 + STAGES * SEGMENTS)
        self.bounds = np.cumsum((0, *sizes))
        self.penalty, self.centre = np.zeros(self.bounds[-1]), np.zeros(self.bounds[-1])
        self.penalty[: self.bounds[2]] = 1 / (options.inverse_regularisation * total)
        self.others, self.unseen, steps = None, np.zeros(self.n_labels, bool), training.prior.steps
        if steps is None:
            self.offset = training.prior.static[used]
            self.target = (1 - smoothing) * target + np.float32(smoothing / self.n_labels)
            return
        self.target, self.offset = target, np.maximum(steps[:, : self.n_labels], NOBODY)
        self.unseen = ~seen_labels(training)
        popular = popularity(training)
        self.others = others(steps, popular, ~self.unseen)
        # Nothing of the decisions says that others are called at all; without a penalty the labels would take it all.
        self.penalty[self.bounds[2] : self.bounds[3]] = BIAS_PENALTY / (options.inverse_regularisation * total)
        self.penalty[self.bounds[3] :] = GLOBAL_PENALTY / total
        self.centre[self.bounds[2] : self.bounds[3]] = popular[: self.n_labels]
        self.centre[self.bounds[3] + 2] = 1.0

    def split(self, theta: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        """The parameters in their shapes: W, rows of the history, b, weights of description, repetition, prior, U."""
        w, v, b, shared = (theta[i:j] for i, j in pairwise(self.bounds))
        return (
            w.reshape(self.dimension, self.n_labels),
            v.reshape(-1, self.n_labels),
            b,
            shared[:3],
            shared[3:].reshape(STAGES, SEGMENTS),
        )

    def objective(self, theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Regularised cross-entropy in nats, and its gradient."""
        w, v, b, (described, repeated, prior), u = self.split(theta.astype(np.float32))
        base = self.x @ w + b + described * self.whole
        if self.others is None:
            base += prior * self.offset
        logits = np.empty((len(self.plan), self.n_labels), np.float32)
        for s, rows in enumerate(self.staged):
            logits[rows] = (base + np.tensordot(u[s], self.parts, 1))[self.plan[rows]]
        logits += self.history @ v
        logits[self.called] += repeated
        loss, slope, by_prior = self._loss(logits, prior)
        by_stage = [matrix @ slope for matrix in self.gather]
        per_plan = sum(by_stage)
        if self.others is None:
            by_prior = float((per_plan * self.offset).sum())
        gradient = np.concatenate(
            (
                (self.x.T @ per_plan).ravel(),
                (self.history_t @ slope).ravel(),
                slope.sum(axis=0),
                ((per_plan * self.whole).sum(), slope[self.called].sum(), by_prior),
                np.ravel([[(each * part).sum() for part in self.parts] for each in by_stage]),
            )
        ).astype(np.float64)
        away = theta - self.centre
        return loss + 0.5 * float((self.penalty * away * away).sum()), gradient + self.penalty * away

    def _loss(self, logits: NDArray[np.float32], prior: float) -> tuple[float, NDArray[np.float32], float]:
        """Cross-entropy, its slope by the labels' logits (rows, labels), which are used up, and by the prior's weight
        where every step has one."""
        rest = None
        if self.others is not None:
            logits += np.float32(prior) * self.offset
            logits[:, self.unseen] = -np.inf
            rest = np.float32(prior) * self.others[:, None]
        best = logits.max(axis=1, keepdims=True)
        best = best if rest is None else np.maximum(best, rest)
        logits -= best
        np.exp(logits, out=logits)
        total = logits.sum(axis=1, keepdims=True)
        if rest is not None:
            rest = np.exp(rest - best)
            total += rest
        logits /= total
        loss = -float((self.weight * self.target * np.log(np.maximum(logits, 1e-30))).sum())
        logits -= self.target
        logits *= self.weight
        if rest is None or self.others is None:
            return loss, logits, 0.0
        share = (rest / total * self.weight)[:, 0]
        return loss, logits, float((logits * self.offset).sum() + (share * self.others).sum())


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
