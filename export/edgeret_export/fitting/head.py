"""Fits DTDR-L: the factored head that decides."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import logsumexp
from threadpoolctl import threadpool_limits

from edgeret.types import SEGMENTS, SPELLING_BUCKETS
from edgeret_export.fitting.chunks import CHUNK, MAX_COUNT, STAGES, Chunk, cut
from edgeret_export.fitting.curvature import Curvature, Moments
from edgeret_export.fitting.history import pairs_shown, tools_called
from edgeret_export.fitting.lbfgs import minimise
from edgeret_export.fitting.options import HeadOptions
from edgeret_export.fitting.parameters import Parameters
from edgeret_export.fitting.training_set import TrainingSet
from edgeret_export.reference.few_bits import to_bytes
from edgeret_export.reference.scoring.head import FactoredHead, HeadArrays

POPULARITY_PRIOR = 3.0
BIAS_PENALTY, GLOBAL_PENALTY = 5.0, 10.0
"""Of few demonstrations: of the biases' distance from popularity, in penalties of a weight; and of the global weights,
in decisions. With biases nearly free, one demonstration gave its tool 4.7 nats, and every unsure request with them."""
NOBODY = np.float32(-60.0)
"""The logarithm of next to nothing."""
SHOWN = 0.25
"""Of what Good and Turing expect between a pair of tool and next label that was shown and one that was not: what a
shown one is drawn to. A weight that the pairs not shown share cannot be fitted: none of them is ever right in the
training set, so it runs away (docs/decisions)."""
KEPT = 1 << 27
"""Numbers that are kept from one iteration to the next, queries and their cosines to labels, 512 MB; more are computed
anew."""
FOLD_TOLERANCE, TOLERANCE = 1e-3, 1e-4
"""Slopes at which a fit ends: of a fold, which judges, and of what ships. At 5e-4 a fold takes a third longer for the
same figures, at 1e-4 twice as long. But what ships should not hang on where a fit ended."""
ROUGHLY = 2e-3
"""Slope at which the fit of the sample ends that others start from where nothing was fitted before."""


def fit_factored(
    training: TrainingSet, options: HeadOptions, max_iterations: int = 200, tolerance: float = FOLD_TOLERANCE
) -> FactoredHead:
    """Multinomial logistic regression by L-BFGS on soft targets (all acceptable tools share the likelihood), on the
    sample of the training set, if it has one; how often each tool is called is counted in all of it."""
    return fit_from(None, training, options, max_iterations, tolerance)[0]


def fit_from(
    start: Parameters | None,
    training: TrainingSet,
    options: HeadOptions,
    max_iterations: int = 200,
    tolerance: float = FOLD_TOLERANCE,
) -> tuple[FactoredHead, Parameters]:
    """See `fit_factored`; from where another fit ended, if there was one. What it comes to is the same within the
    tolerance, and it takes half as long. And where this one ended."""
    problem = _Problem(training.sampled(), options)
    # Every step is made of short sums, whose threads wait for one another wherever a core is busy with something else:
    # 4,000 demonstrations take 15 s on two threads and 7.8 on one; beside another program the gap is wider.
    with threadpool_limits(1):
        found = problem.fit(start, tolerance, max_iterations)
    w, v, count, b, (described, repeated, prior), u = problem.split(found)
    scale, pairs = np.float32(options.history_scale), problem.pairs
    values = v * scale
    values[pairs.itself()] += np.float32(repeated)
    spelling, scales = to_bytes(w[-SPELLING_BUCKETS:].T)
    head = FactoredHead(
        HeadArrays(
            labels=training.decisions.labels,
            weights=np.ascontiguousarray(w[:-SPELLING_BUCKETS].T),
            spelling=np.ascontiguousarray(spelling.T),
            spelling_scales=scales,
            bias=b.copy(),
            starts=pairs.starts,
            followers=pairs.followers,
            values=values,
            count=count * scale,
            description_weight=float(described),
            segment_weights=u.copy(),
            prior_weight=float(prior),
            prior_steps=problem.prior_steps,
            popular_names=training.prior.names,
            popular=popularity(training),
        )
    )
    return head, problem.parameters(found)


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
    parts are global, a dozen numbers. Nothing has decisions times labels numbers: one chunk after the other is done.

    Few demonstrations (`prior_steps`): the logits start from the prior's at every step, among them one for all tools
    that these decisions never call, and everything is drawn to what the prior says. Many: the prior's part that the
    query alone gives is one more feature, every label takes part, and the global weights are free.
    """

    def __init__(self, training: TrainingSet, options: HeadOptions) -> None:
        decisions, self.queries, self.prior = training.decisions, training.queries, training.prior
        self.n_labels, self.smoothing = len(decisions.labels), options.label_smoothing
        self.dimension = self.queries.vectors.shape[1] + SPELLING_BUCKETS
        self.scale = np.float32(options.history_scale)
        self.label_vectors = np.vstack((self.queries.label_vectors, np.zeros_like(self.queries.vectors[:1])))
        self.total = total = float(decisions.weight.sum())
        self.weight = (decisions.weight / total).astype(np.float32)
        self.prior_steps = self.prior.steps is not None
        called = tools_called(decisions)
        self.pairs = pairs_shown(decisions, called)
        sizes = (
            *(self.dimension * self.n_labels, len(self.pairs.followers), (MAX_COUNT + 1) * self.n_labels),
            *(self.n_labels, 3 + STAGES * SEGMENTS),
        )
        self.bounds = np.cumsum((0, *sizes))
        self.penalty, self.centre = (np.zeros(self.bounds[-1], np.float32) for _ in range(2))
        self.penalty[: self.bounds[3]] = 1 / (options.inverse_regularisation * total)
        self.centre[self.bounds[1] : self.bounds[2]] = SHOWN / self.scale * self.pairs.expected
        if self.prior.steps is not None:
            seen, popular = seen_labels(training), popularity(training)
            self.unseen, self.others = ~seen, others(self.prior.steps, popular, seen)
            # Nothing of the decisions says that others are called at all; without a penalty the labels would take it
            # all.
            self.penalty[self.bounds[3] : self.bounds[4]] = BIAS_PENALTY / (options.inverse_regularisation * total)
            self.penalty[self.bounds[4] :] = GLOBAL_PENALTY / total
            self.centre[self.bounds[3] : self.bounds[4]] = popular[: self.n_labels]
            self.centre[self.bounds[4] + 2] = 1.0
            self.smoothing = 0.0
        self.chunks, self.n_sample = cut(decisions, called, self.pairs)
        self.kept: list[tuple[NDArray[np.float32], NDArray[np.float32]]] = []
        n_plans = sum(len(chunk.plans) for chunk in self.chunks)
        if n_plans * (self.dimension + (1 + SEGMENTS) * self.n_labels) <= KEPT:
            self.kept = [self._inputs(number) for number in range(len(self.chunks))]

    def split(self, theta: NDArray[np.float32]) -> tuple[NDArray[np.float32], ...]:
        """The parameters in their shapes, without a copy: W, pairs, rows by number of calls, b, weights of description,
        repetition and prior, U."""
        w, v, count, b, shared = (theta[i:j] for i, j in pairwise(self.bounds))
        return (
            w.reshape(self.dimension, self.n_labels),
            v,
            count.reshape(-1, self.n_labels),
            b,
            shared[:3],
            shared[3:].reshape(STAGES, SEGMENTS),
        )

    def parameters(self, theta: NDArray[np.float32]) -> Parameters:
        """The same for others to start from."""
        w, v, count, b, shared, u = self.split(theta)
        pairs = self.pairs.weights(v - self.centre[self.bounds[1] : self.bounds[2]])
        return Parameters(w.astype(np.float16), pairs, count.copy(), b.copy(), shared.copy(), u.copy())

    def point(self, given: Parameters) -> NDArray[np.float32]:
        """Where another fit ended, in this one's parameters (n,)."""
        theta = self.centre.copy()
        w, v, *others = self.split(theta)
        w[:] = given.query
        v += self.pairs.among(given.pairs)
        for mine, theirs in zip(others, (given.counts, given.bias, given.shared, given.parts), strict=True):
            mine[:] = theirs
        return theta

    def fit(self, start: Parameters | None, tolerance: float, most: int) -> NDArray[np.float32]:
        """The parameters (n,) where the slope ends, or what `most` steps reach: first of a sample, if there is no other
        start, then of all."""
        sample, moments = range(self.n_sample), self._moments()
        found, share = self.centre.copy() if start is None else self.point(start), float(moments.features[-1, -1])
        if start is None and self.n_sample < len(self.chunks):
            roughly = Curvature(moments, self.bounds, self.penalty)
            found = minimise(partial(self.objective, sample), found, roughly.inverse, ROUGHLY * share, most)
        bend = Curvature(moments.of_all(share), self.bounds, self.penalty)
        return minimise(partial(self.objective, range(len(self.chunks))), found, bend.inverse, tolerance, most)

    def _moments(self) -> Moments:
        """What the loss's bend follows from, of the sample, with labels as likely as they are often right: that is
        about where a fit starts."""
        labels, n = np.zeros(self.n_labels, np.float32), self.dimension + MAX_COUNT + 2
        features, shared = np.zeros((n, n), np.float32), np.zeros((3 + STAGES * SEGMENTS,) * 2)
        for chunk in self.chunks:
            rows, right, shares = chunk.targets
            np.add.at(labels, right, shares * self.weight[chunk.rows[rows]])
        labels += 0.5 / len(self.weight)
        labels /= labels.sum()
        for number, chunk in enumerate(self.chunks[: self.n_sample]):
            weight = self.weight[chunk.rows]
            counts = np.zeros((len(chunk.plans), MAX_COUNT + 1), np.float32)
            np.add.at(counts, (chunk.plan, chunk.calls), weight)
            queries, cosines = self._inputs(number)
            self._add_features(queries, counts, features)
            self._add_shared(chunk, cosines, labels, shared)
        pairs = self.scale**2 * features[-1, -1] / np.float32(self.total) * self.pairs.shown
        return Moments(labels, pairs, features, shared)

    def _add_features(self, queries: NDArray[np.float32], counts: NDArray[np.float32], to: NDArray[np.float32]) -> None:
        """A chunk's second moments of what has a weight for each label; its plans' decisions by numbers of calls."""
        d, each = self.dimension, counts.sum(axis=1, keepdims=True)
        to[:d, :d] += queries.T @ (queries * each)
        to[:d, d:] += queries.T @ np.hstack((self.scale * counts, each))
        to[d:, :d] = to[:d, d:].T
        total = self.scale * counts.sum(axis=0)
        to[d:-1, d:-1] += np.diag(self.scale * total)
        to[d:-1, -1] += total
        to[-1, d:-1] += total
        to[-1, -1] += each.sum()

    def _add_shared(
        self, chunk: Chunk, cosines: NDArray[np.float32], labels: NDArray[np.float32], to: NDArray[np.float64]
    ) -> None:
        """A chunk's variances over likely labels, of what has one weight for all of them."""
        values = np.concatenate((cosines[:1], self.prior.static[self.queries.at(chunk.plans)][None], cosines[1:]))
        values -= (values @ labels)[:, :, None]
        values *= np.sqrt(labels)
        for stage, rows in enumerate(chunk.staged):
            weight = np.bincount(chunk.plan[rows], self.weight[chunk.rows[rows]], len(chunk.plans))
            flat = (values * np.sqrt(weight).astype(np.float32)[:, None]).reshape(len(values), -1)
            places = np.array([0, 2, *range(3 + stage * SEGMENTS, 3 + (stage + 1) * SEGMENTS)])
            to[np.ix_(places, places)] += flat @ flat.T
        rows, tools = chunk.repeats
        to[1, 1] += float(self.weight[chunk.rows[rows]] @ labels[tools])

    def objective(self, chunks: range, theta: NDArray[np.float32]) -> tuple[float, NDArray[np.float32]]:
        """Regularised cross-entropy in nats of these chunks, and its gradient (n,)."""
        slope = np.zeros_like(theta)
        _, v, *_ = self.split(theta)
        history = self.pairs.weights(v * self.scale)
        loss = sum(self._chunk(i, theta, history, slope) for i in chunks)
        for start in range(0, len(theta), CHUNK):  # without a copy of all
            part = slice(start, start + CHUNK)
            away = theta[part] - self.centre[part]
            pulled = self.penalty[part] * away
            loss += 0.5 * float(pulled @ away)
            slope[part] += pulled
        return loss, slope

    def _inputs(self, number: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """What is known of a chunk's queries without their tools (plans, dimension); and cosines of the queries and of
        their parts to the labels' tools (1 + SEGMENTS, plans, labels)."""
        if self.kept:
            return self.kept[number]
        plans = self.chunks[number].plans
        vectors, rows = self.queries.vectors[plans], self.queries.at(plans)
        parts = np.concatenate((vectors, *(self.queries.segments[rows, j] for j in range(SEGMENTS))))
        cosines = (parts @ self.label_vectors.T).reshape(1 + SEGMENTS, len(plans), self.n_labels)
        return np.hstack((vectors, self.queries.spelling[rows])), cosines

    def _chunk(
        self, number: int, theta: NDArray[np.float32], history: sp.csr_matrix, slope: NDArray[np.float32]
    ) -> float:
        """A chunk's share of the cross-entropy; its gradient is added to the slope (n,)."""
        chunk = self.chunks[number]
        w, _, count, b, (described, repeated, prior), u = self.split(theta)
        queries, cosines = self._inputs(number)
        base = queries @ w
        base += b
        base += described * cosines[0]
        if not self.prior_steps:
            base += prior * self.prior.static[self.queries.at(chunk.plans)]
        logits = (chunk.called @ history).toarray()
        for s, rows in enumerate(chunk.staged):
            logits[rows] += (base + np.tensordot(u[s], cosines[1:], 1))[chunk.plan[rows]]
        logits += (count * self.scale)[chunk.calls]
        logits[chunk.repeats] += repeated
        loss, by_prior = self._loss(chunk, logits, prior)
        by_stage = [matrix @ logits for matrix in chunk.sums]
        per_plan = by_stage[0] + by_stage[1] + by_stage[2]
        if not self.prior_steps:
            by_prior = float(np.vdot(per_plan, self.prior.static[self.queries.at(chunk.plans)]))
        w_slope, v_slope, count_slope, b_slope, shared_slope, u_slope = self.split(slope)
        w_slope += queries.T @ per_plan
        numbers, places = chunk.pairs
        v_slope[numbers] += self.scale * (chunk.turned @ logits).ravel()[places]
        count_slope += self.scale * (chunk.counted @ logits)
        b_slope += per_plan.sum(axis=0)
        shared_slope += (np.vdot(per_plan, cosines[0]), logits[chunk.repeats].sum(), by_prior)
        u_slope += [[np.vdot(each, part) for part in cosines[1:]] for each in by_stage]
        return loss

    def _loss(self, chunk: Chunk, logits: NDArray[np.float32], prior: np.float32) -> tuple[float, float]:
        """Cross-entropy, and its slope by the prior's weight where every step has one. The logits (rows, labels) become
        its slope by them."""
        best, offset = logits, None
        if self.prior.steps is not None:
            offset = np.maximum(self.prior.steps[chunk.rows, : self.n_labels], NOBODY)
            logits += prior * offset
            logits[:, self.unseen] = -np.inf
        best = logits.max(axis=1)
        if offset is not None:
            rest = prior * self.others[chunk.rows]
            best = np.maximum(best, rest)
        logits -= best[:, None]
        rows, labels, shares = chunk.targets
        weight, shares = self.weight[chunk.rows], shares * np.float32(1 - self.smoothing)
        right, even = logits[rows, labels], np.float32(self.smoothing / self.n_labels)
        spread = logits.sum(axis=1) * even if even else np.zeros_like(best)
        np.exp(logits, out=logits)
        total = logits.sum(axis=1)
        if offset is not None:
            rest = np.exp(rest - best)
            total += rest
        log_total = np.log(total)
        loss = float((weight * (log_total - spread)).sum(dtype=np.float64))
        loss -= float((weight[rows] * shares * right).sum(dtype=np.float64))
        logits *= (weight / total)[:, None]
        logits[rows, labels] -= weight[rows] * shares
        if offset is None:
            logits -= (weight * even)[:, None]
            return loss, 0.0
        return loss, float(np.vdot(logits, offset) + (rest / total * weight) @ self.others[chunk.rows])
