"""Chooses and calibrates on held-out demonstrations: every plan is predicted by heads that never saw it.

The heads that ship are then fitted on all demonstrations with what was chosen here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.terminal.progress import track
from edgeret.usage.reliability import expected_calibration_error, refusal_curve
from edgeret_export.fitting import calibration as calibrate
from edgeret_export.fitting import firsts
from edgeret_export.fitting.calibration import Outcomes
from edgeret_export.fitting.familiarity import Edge, fit_edge, usual_edge
from edgeret_export.fitting.folds import Fold, clusters_for, fit_folds
from edgeret_export.fitting.held_out import HeldOut
from edgeret_export.fitting.options import HeadOptions
from edgeret_export.fitting.parameters import Parameters
from edgeret_export.fitting.training_set import TrainingSet
from edgeret_export.places import HERE, Place
from edgeret_export.reference.scoring.calibration import Calibration, CalibrationParameters, Map
from edgeret_export.reference.scoring.graph import Graph, GraphOptions

MOST_JUDGED = 8_000_000
"""Held-out scores that are chosen and calibrated on, decisions times labels: 9,000 plans over 260 tools. More plans
need fewer folds for that, and more decisions make three weights no better."""
FEWEST_JUDGED = 2000
"""Held-out decisions that there are at least, however many labels."""
ENOUGH = 3000
"""Decisions that say which of six smoothings is best; on more, it was the same one."""
CLUSTER_PRIORS = (1.0, 2.0, 3.0)
CLUSTER_SHARES = (0.5, 0.75)
MIN_PLANS = 25
"""Different queries below which five folds say nothing; defaults are used and the report says so."""
OVER_NOTHING, OVER_PRIOR = (0.7, 0.3), (0.6, 0.0, 0.4)
"""Weights of head and graph, and of head, graph and memory where the head rests on the prior, before any are fitted."""
PULL = 60.0
"""How many decisions those weights count for where the head rests on the prior. Elsewhere they count for as many as
there are: held-out demonstrations are of the same hands as the others, and of these the head is surest. With the
graph's share of 0.1, as fitted, 116 of 159 terse requests of the desktop example were taken rightly, written by other
hands; with 0.3, 123. On ultratool-plans both are as good."""
NOTHING = "nothing was demonstrated: probabilities are those that the prior's card found on other people's tools"
FEW = f"fewer than {MIN_PLANS} different queries, so nothing was fitted on held-out ones: probabilities are rough"
ADDED_BIAS = 1.5
"""Of tools that came after the demonstrations, in nats: the heads are surer of the tools that they know than the prior
is of any. Of six tools that were held back, 0.20 of the steps were right at 0, 0.50 at 1 and 0.69 at 2, where all other
steps lost a point."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """What cross-fitting chose and measured. `report` goes into the manifest; `held_out` are the calibrated predictions
    that it rests on, and `ends` where each fold's head ended, by the fold's number."""

    head_options: HeadOptions
    graph_options: GraphOptions
    n_clusters: int
    calibration: CalibrationParameters
    edge: Edge
    report: dict[str, Any]
    held_out: HeldOut | None = None
    ends: Mapping[int, Parameters] = field(default_factory=dict)

    @property
    def start(self) -> Parameters | None:
        """Where the folds' heads ended in the mean."""
        return Parameters.mean([*self.ends.values()]) if self.ends else None

    @staticmethod
    def of_nothing(edge: Edge, order: int, head_options: HeadOptions, prior_map: Map) -> Fitted:
        """What holds where nothing was demonstrated."""
        calibration = CalibrationParameters(calibration_map=prior_map, prior_map=prior_map)
        return Fitted(head_options, GraphOptions(order=order), 0, calibration, edge, {"plans": 0, "note": NOTHING})


def crossfit(
    training: TrainingSet,
    sayings: NDArray[np.float32],
    order: int,
    head_options: HeadOptions,
    prior_map: Map,
    risk: float | None = None,
    place: Place = HERE,
    graph_later: bool = False,
    starts: Mapping[int, Parameters] | None = None,
) -> Fitted:
    """Fits everything on four fifths of the plans and predicts the rest, five times; chooses and calibrates.

    `sayings` are unit vectors of what few tools serve (sayings, dimension). The `place` is where folds are fitted;
    `prior_map` calibrates the prior alone, and is what the map starts from that is fitted here. `graph_later`
    says that many demonstrations' graph has a say behind the first call too. Heads of folds begin at their `starts`, by
    the fold's number, which no decision of the fold may have a part in. `risk` is what the floor that ships keeps; None
    for the default.
    """
    n_plans = len(training.demonstrations)
    few = training.prior.steps is not None
    start = OVER_PRIOR if few else OVER_NOTHING
    biases = _unseen_bias(training)
    if training.different() < MIN_PLANS:
        calibration = _parameters(start, biases, prior_map, prior_map)
        report = {"plans": n_plans, "note": FEW}
        edge = usual_edge(sayings)
        return Fitted(head_options, GraphOptions(order=order), clusters_for(n_plans), calibration, edge, report)
    training = judged(training)
    held = training.select(training.judging_rows)
    folds, head_options = fit_folds(training, order, head_options, place, starts)
    options, graph = _choose_graph(held, folds, order)
    outcomes = _outcomes(held, folds, graph)
    weights, later, fused = _fused(outcomes, held, graph_later)
    end = len(held.decisions.labels) - 1
    edge = fit_edge(training, sayings, None if few else _nearest_clusters(folds))
    edge, nothing, given = firsts.settle(edge, training, held, fused)
    shown = _parameters(weights, biases, prior_map, prior_map)
    shown = replace(shown, later_head_weight=round(later[0], 6), later_graph_weight=round(later[1], 6))
    calibration, calibrated = _calibrated(shown, outcomes, nothing, given, end)
    alike = edge.plans[held.decisions.plan]
    answers = firsts.Answers(*_confidence(calibrated, outcomes.acceptable), calibrated.argmax(axis=1) == end, alike)
    calibration, kept = answers.with_floors(calibration, nothing, outcomes.acceptable[:, end], risk)
    report = {
        "plans": n_plans,
        "decisions": len(held.decisions),
        "folds": len(folds),
        "inverse_regularisation": head_options.inverse_regularisation,
        **({} if training.sample is None else {"head_plans": len(training.head_plans)}),
        **_report(held, outcomes, firsts.with_nothing(given, nothing, end), prior_map),
        "floor": kept,
    }
    names, rows = training.prior.names[: calibrated.shape[1]], np.flatnonzero(training.judging_rows)
    alone, declined = _alone(outcomes.experts[0], calibrated), firsts.of_sayings(training, edge)
    predicted = HeldOut(names, rows, calibrated, alone, declined)
    clusters, ends = clusters_for(n_plans), {fold.number: fold.parameters for fold in folds}
    return Fitted(head_options, options, clusters, calibration, edge, report, predicted, ends)


def _calibrated(
    parameters: CalibrationParameters,
    outcomes: Outcomes,
    nothing: NDArray[np.float64],
    given: NDArray[np.float64],
    end: int,
) -> tuple[CalibrationParameters, NDArray[np.float32]]:
    """The parameters with the confidence map and the quantiles of what is right, and the calibrated probabilities
    (rows, n), from what is `given` if something fits (rows, n) and the probability that `nothing` does (rows,)."""
    called = np.isnan(nothing) | ~outcomes.acceptable[:, end]
    expected = parameters.prior_map
    points = calibrate.fit_confidence_map(*_confidence(given[called], outcomes.acceptable[called]), expected)
    judge = Calibration(replace(parameters, calibration_map=points))
    calibrated = np.stack([judge.calibrate(row, judge.map) for row in given.astype(np.float32)])
    calibrated = firsts.with_nothing(calibrated, nothing, end)
    quantiles = calibrate.right_quantiles(calibrated, outcomes.acceptable)
    return replace(judge.parameters, right_probabilities=quantiles), calibrated


def judged(training: TrainingSet) -> TrainingSet:
    """The same, judged by as many whole folds of its judging plans as MOST_JUDGED allows, or by a part of the first;
    the others need not be fitted."""
    rows, prior = training.judging_rows, training.prior
    names = training.decisions.labels if prior.steps is None else prior.names
    most = max(FEWEST_JUDGED, MOST_JUDGED // len(names))
    if rows.sum() <= most:
        return training
    decisions = np.bincount(training.decisions.plan[rows], minlength=len(training.folds))
    order = np.lexsort((np.random.default_rng(training.seed).permutation(len(training.folds)), training.folds))
    fits = np.cumsum(decisions[order]) <= most
    cut = training.folds[order[~fits][0]]
    judging = np.zeros(len(training.folds), bool)
    judging[order[fits]] = True
    if cut > training.folds.min():
        judging &= training.folds < cut
    return replace(training, judging=judging if training.judging is None else judging & training.judging)


def _parameters(
    weights: Sequence[float], biases: tuple[float, float], points: Map, prior_map: Map
) -> CalibrationParameters:
    head, graph, memory = (round(weight, 6) for weight in (*weights, 0.0)[:3])
    return CalibrationParameters(
        head_weight=head,
        graph_weight=graph,
        memory_weight=memory,
        unseen_bias=biases[0],
        added_bias=biases[1],
        calibration_map=points,
        prior_map=prior_map,
    )


def _unseen_bias(training: TrainingSet) -> tuple[float, float]:
    """What is added to the prior's log-probabilities of tools that no demonstration called, so that together they have
    what Good and Turing expect of what was never seen (as many as were seen once); and of tools that came later, which
    had no chance to be called."""
    decisions, expected = training.decisions, training.prior.expected
    counts = np.bincount(
        decisions.target_label[decisions.written[decisions.target_row]], minlength=len(decisions.labels)
    )
    share = (float((counts == 1).sum()) + 0.5) / (float(decisions.written.sum()) + 1)
    given = float(expected[len(decisions.labels) :].sum()) / max(1e-9, float(expected.sum()))
    return (round(min(0.0, float(np.log(share / max(given, 1e-9)))), 6) if given > 0 else 0.0), ADDED_BIAS


def _fused(
    outcomes: Outcomes, held: TrainingSet, graph_later: bool
) -> tuple[tuple[float, ...], tuple[float, ...], NDArray[np.float64]]:
    """The weights of the experts before any call, those of head and graph behind one, and what they make of all rows
    (rows, n). Where the head rests on the prior at every step, the first hold at all steps."""
    if held.prior.steps is not None:
        weights = calibrate.fit_fusion(outcomes, OVER_PRIOR, PULL)
        return weights, (1.0, 0.0), outcomes.fused(weights)
    first = held.decisions.first()
    before, behind = outcomes.only(first), outcomes.only(~first)
    weights = calibrate.fit_fusion(before, OVER_NOTHING, float(before.known.sum()))
    if graph_later:
        later = calibrate.fit_fusion(behind, OVER_NOTHING, float(behind.known.sum()))
    else:
        alone = replace(behind, experts=behind.experts[:1])
        later = (*calibrate.fit_fusion(alone, (1.0,), 0.0), 0.0)
    fused = np.empty(outcomes.acceptable.shape)
    fused[first], fused[~first] = before.fused(weights), behind.fused(later)
    return weights, later, fused


def _outcomes(held: TrainingSet, folds: Sequence[Fold], graph: NDArray[np.float32]) -> Outcomes:
    """The experts' predictions, those of the graph spread over all names where the head's are."""
    n = folds[0].head.shape[1]
    head = np.zeros((len(held.decisions), n), np.float32)
    seen = np.zeros((len(held.decisions), len(held.decisions.labels)), bool)
    memory = np.zeros_like(head) if folds[0].memory is not None else None
    for fold in folds:
        rows = held.row_folds == fold.number
        head[rows], seen[rows] = fold.head, fold.seen
        if memory is not None and fold.memory is not None:
            memory[rows] = fold.memory
    acceptable = np.zeros((len(head), n), bool)
    acceptable[:, : seen.shape[1]] = held.decisions.acceptable()
    known: NDArray[np.bool_] = np.any(acceptable[:, : seen.shape[1]] & seen, axis=1)
    if memory is None:
        return Outcomes((head, np.log(graph + np.float32(1e-12))), acceptable, known)
    spread = head.copy()
    share = np.where(seen, np.exp(head[:, : seen.shape[1]]), 0).sum(axis=1, keepdims=True)
    walked = np.where(seen, graph, 0)
    walked *= share / np.maximum(walked.sum(axis=1, keepdims=True), 1e-12)
    spread[:, : seen.shape[1]] = np.where(seen, np.log(walked + np.float32(1e-12)), head[:, : seen.shape[1]])
    return Outcomes((head, spread, memory), acceptable, np.ones(len(head), bool))


def _report(held: TrainingSet, outcomes: Outcomes, fused: NDArray[np.floating], prior_map: Map) -> dict[str, Any]:
    """What was measured on held-out decisions."""
    confidence, correct = _confidence(fused, outcomes.acceptable)
    scores = dict(zip(("head", "graph", "memory"), outcomes.experts, strict=False))
    if held.prior.steps is not None:
        scores["prior"] = held.prior.steps
    return {
        "top1": {name: _top1(found, outcomes.acceptable) for name, found in {**scores, "fused": fused}.items()},
        "ece_fused": round(expected_calibration_error(confidence, correct), 5),
        "ece_calibrated": round(calibrate.cross_fitted_ece(confidence, correct, _halves(held), prior_map), 5),
        "refusal_curve": refusal_curve(confidence, correct),
    }


def _halves(held: TrainingSet) -> NDArray[np.bool_]:
    """Two halves of held-out decisions (rows,): whole folds where there are several, for plans of the same words."""
    numbers = held.row_folds if len(np.unique(held.row_folds)) > 1 else held.decisions.plan
    half: NDArray[np.bool_] = numbers % 2 == 0
    return half


def _nearest_clusters(folds: Sequence[Fold]) -> Callable[[int, NDArray[np.float32]], NDArray[np.float32]]:
    """Cosines of unit rows to the nearest cluster that a fold's graph has."""
    centroids = {fold.number: fold.tables.centroids for fold in folds}
    return lambda number, rows: (rows @ centroids[number].T).max(axis=1)


def predict_graph(graph: Graph, held: TrainingSet) -> NDArray[np.float32]:
    """Probabilities (rows, labels) by the runtime's own code."""
    plans = held.decisions.plan.tolist()
    positions = {plan: graph.locate(held.queries.vectors[plan]) for plan in set(plans)}
    steps = zip(plans, held.decisions.histories, strict=True)
    return np.stack([graph.distribution(positions[plan], history) for plan, history in steps])


def _choose_graph(held: TrainingSet, folds: Sequence[Fold], order: int) -> tuple[GraphOptions, NDArray[np.float32]]:
    """The smoothing with the lowest held-out cross-entropy, with its predictions. As many folds choose as have ENOUGH
    decisions."""
    acceptable = held.decisions.acceptable()
    target = acceptable / acceptable.sum(axis=1, keepdims=True)
    parts = [held.row_folds == fold.number for fold in folds]
    inside = [held.select(part) for part in parts]
    choosing = range(1 + int(np.searchsorted(np.cumsum([part.sum() for part in parts[:-1]]), ENOUGH)))
    grid = [
        GraphOptions(order=order, cluster_prior=prior, cluster_share=share)
        for prior, share in product(CLUSTER_PRIORS, CLUSTER_SHARES)
    ]
    wanted, losses = np.concatenate([target[parts[i]] for i in choosing]), []
    for options in track(grid, "choosing the graph's smoothing", len(grid)):
        found = [predict_graph(Graph(folds[i].tables, options), inside[i]) for i in choosing]
        losses.append(calibrate.nll(np.log(np.concatenate(found) + 1e-12), wanted))
    options = grid[int(np.argmin(losses))]
    scores = np.zeros(acceptable.shape, np.float32)
    for part, rows, fold in zip(parts, inside, folds, strict=True):
        scores[part] = predict_graph(Graph(fold.tables, options), rows)
    return options, scores


def _confidence(
    fused: NDArray[np.floating], acceptable: NDArray[np.bool_]
) -> tuple[NDArray[np.floating], NDArray[np.bool_]]:
    """Every decision's highest probability, and whether it went to an acceptable label, both (rows,)."""
    best = fused.argmax(axis=1)
    return fused.max(axis=1), acceptable[np.arange(len(best)), best]


def _alone(head: NDArray[np.float32], found: NDArray[np.float32]) -> NDArray[np.float32]:
    """What the head's log-probabilities (rows, n) give what is `found` most probable, (rows,)."""
    return np.asarray(np.exp(head[np.arange(len(found)), found.argmax(axis=1)]), np.float32)


def _top1(scores: NDArray[np.floating], acceptable: NDArray[np.bool_]) -> float:
    return round(float(acceptable[np.arange(len(scores)), scores.argmax(axis=1)].mean()), 5)
