"""Folds of plans, each predicted by heads that never saw it. Chooses nothing but how the head is fitted; calibrates
nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from threadpoolctl import threadpool_limits

from edgeret.terminal.progress import track
from edgeret_export.fitting.graph import fit_graph
from edgeret_export.fitting.head import NOBODY, fit_from, others, popularity, seen_labels
from edgeret_export.fitting.options import HeadOptions
from edgeret_export.fitting.parameters import Parameters
from edgeret_export.fitting.training_set import TrainingSet
from edgeret_export.places import Place
from edgeret_export.reference.scoring.episodes import Episodes
from edgeret_export.reference.scoring.graph import GraphTables
from edgeret_export.reference.scoring.head import FactoredHead

PLANS_PER_CLUSTER = 10
"""The paper's; half as many plans a cluster predict no better once two clusterings are read together."""
MIN_CLUSTERS, MOST_CLUSTERS = 50, 1000
"""Clusters that a small set may have with half as many plans each: requests of different kinds must not share one; and
clusters of one k-means run, however many plans there are: every step looks for the nearest."""


def clusters_for(n_plans: int) -> int:
    """How many clusters a k-means run makes of so many plans; few plans are divided more finely."""
    wanted = max(1, n_plans // PLANS_PER_CLUSTER, min(2 * n_plans // PLANS_PER_CLUSTER, MIN_CLUSTERS))
    return min(wanted, MOST_CLUSTERS)


@dataclass(frozen=True, slots=True)
class Fold:
    """What was fitted without the fold of this number: its graph's tables, the labels that it had (labels,), the head's
    log-probabilities for the fold's decisions as written (rows, n), with the prior at every step the memory's
    (rows, n), and where the head's fit ended."""

    number: int
    tables: GraphTables
    seen: NDArray[np.bool_]
    head: NDArray[np.float32]
    memory: NDArray[np.float32] | None
    parameters: Parameters


@dataclass(frozen=True, slots=True)
class Folded:
    """What all folds are fitted on, and how; and from where the head of each begins, if from anywhere."""

    training: TrainingSet
    order: int
    options: HeadOptions
    starts: Mapping[int, Parameters]

    def parts(self, number: int) -> tuple[TrainingSet, TrainingSet]:
        """What a fold is fitted on, and what of it judges."""
        inside = self.training.row_folds == number
        return self.training.select(~inside), self.training.select(inside & self.training.judging_rows)


def fit_folds(
    training: TrainingSet,
    order: int,
    options: HeadOptions,
    place: Place,
    starts: Mapping[int, Parameters] | None = None,
) -> tuple[list[Fold], HeadOptions]:
    """The folds with plans that judge, each predicted by what was fitted on the others; and the options that all heads
    are fitted with, chosen on the first fold. A fold's head begins at its start, if it has one."""
    numbers = np.unique(training.row_folds[training.judging_rows]).tolist()
    given = Folded(training.bare(), order, options, starts or {})
    first, options = _choose_penalty(given, numbers[0])
    rest = place.each(fit_fold, replace(given, options=options), numbers[1:])
    return list(track(chain((first,), rest), "cross-fitting head and graph", len(numbers))), options


def _choose_penalty(given: Folded, number: int) -> tuple[Fold, HeadOptions]:
    """The fold with the head that predicts it best, and that head's options: half of the penalty is tried as long as
    that helps by more than chance. Many demonstrations of few tools want little of it, long plans more; and people
    who ask are not those who wrote the demonstrations, so where nothing speaks against it the penalty stays."""
    best, options = fit_fold(given, number), given.options
    train, held = given.parts(number)
    losses = _plan_losses(best.head, held)
    for _ in range(options.halvings):
        trial = replace(options, inverse_regularisation=2 * options.inverse_regularisation)
        with threadpool_limits(1):
            fitted, parameters = fit_from(best.parameters, train, trial)
            head = predict_head(fitted, train, held)
        tried = _plan_losses(head, held)
        gains = losses - tried
        if not gains.sum() > gains.std() * len(gains) ** 0.5:  # its standard error
            break
        best, options, losses = replace(best, head=head, parameters=parameters), trial, tried
    return best, options


def _plan_losses(head: NDArray[np.float32], held: TrainingSet) -> NDArray[np.float64]:
    """Cross-entropy of log-probabilities (rows, n) of held-out decisions, summed by plan, (plans,)."""
    acceptable = held.decisions.acceptable()
    target = acceptable / acceptable.sum(axis=1, keepdims=True)
    losses = -np.where(target > 0, target * head[:, : target.shape[1]], 0.0).sum(axis=1)
    return np.bincount(np.unique(held.decisions.plan, return_inverse=True)[1], losses).astype(np.float64)


def fit_fold(given: Folded, number: int) -> Fold:
    """One fold, predicted by what was fitted on the others. The stage that every place runs."""
    train, held = given.parts(number)
    with threadpool_limits(1):  # or the last bits would depend on a machine's CPUs
        fitted, parameters = fit_from(given.starts.get(number), train, given.options)
        tables = fit_graph(train, clusters_for(len(train.plans)), given.order)
        found = predict_head(fitted, train, held)
        return Fold(number, tables, seen_labels(train), found, recall(train, held), parameters)


def predict_head(head: FactoredHead, train: TrainingSet, held: TrainingSet) -> NDArray[np.float32]:
    """Log-probabilities of a head that was fitted on `train` for decisions that it was not fitted on, by the runtime's
    own code: over labels (rows, labels), or over all names where it rests on the prior at every step (rows, n)."""
    decisions, queries = held.decisions, held.queries
    plans = decisions.plan.tolist()
    if not plans:
        return np.zeros((0, len(decisions.labels if held.prior.steps is None else held.prior.names)), np.float32)
    logits = {}
    for plan in set(plans):
        cosines = queries.parts(plan) @ queries.label_vectors.T
        static, spelt = held.prior.static[queries.at(np.array(plan))], queries.spelt(plan)
        logits[plan] = head.query_logits(queries.vectors[plan], cosines, static, spelt)
    found = np.stack([head.logits(logits[plan], h) for plan, h in zip(plans, decisions.histories, strict=True)])
    if held.prior.steps is None:
        return np.asarray(log_softmax(found, axis=1), np.float32)
    seen, popular = seen_labels(train), popularity(train)
    weight = np.float32(head.arrays.prior_weight)
    full = held.prior.steps + popular
    rest = np.ones(full.shape[1], bool)
    rest[: len(seen)] = ~seen
    full[:, rest] += (weight - 1) * others(held.prior.steps, popular, seen)[:, None]
    labels = np.flatnonzero(seen)
    full[:, labels] = found[:, labels] + weight * np.maximum(held.prior.steps[:, labels], NOBODY)
    return np.asarray(log_softmax(full, axis=1), np.float32)


def recall(train: TrainingSet, held: TrainingSet) -> NDArray[np.float32] | None:
    """What a memory of `train` says of held-out decisions, log-probabilities (rows, n); None where the head does not
    rest on the prior at every step."""
    if held.prior.steps is None:
        return None
    if not len(held.decisions):
        return np.zeros((0, len(held.prior.names)), np.float32)
    memory, popular = episodes(train), held.prior.steps + popularity(train)
    near = {plan: memory.near(held.queries.vectors[plan]) for plan in set(held.decisions.plan.tolist())}
    steps = zip(held.decisions.plan.tolist(), held.decisions.histories, popular, strict=True)
    return np.stack([memory.log_probabilities(near[plan], history, prior) for plan, history, prior in steps])


def plan_calls(training: TrainingSet) -> list[tuple[int, ...]]:
    """The label numbers of every plan's calls, as written: what was called when `<end>` came."""
    decisions, end = training.decisions, len(training.decisions.labels) - 1
    ends = np.zeros(len(decisions), bool)
    ends[decisions.target_row[decisions.target_label == end]] = True
    rows = np.flatnonzero(ends & decisions.written)
    return [decisions.histories[row] for row in rows[np.argsort(decisions.plan[rows], kind="stable")].tolist()]


def episodes(training: TrainingSet) -> Episodes:
    """The memory of a training set's plans."""
    return Episodes(training.queries.vectors[training.plans], plan_calls(training), len(training.decisions.labels))
