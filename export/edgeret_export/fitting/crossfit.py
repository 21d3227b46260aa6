"""Chooses and calibrates on held-out demonstrations: every plan is predicted by heads that never saw it.

The heads that ship are then fitted on all demonstrations with what was chosen here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.cli.progress import track
from edgeret.scoring.calibration import Calibration, CalibrationParameters
from edgeret.scoring.graph import Graph, GraphOptions, GraphTables
from edgeret.scoring.head import FactoredHead
from edgeret_export.fitting import calibration as calibrate
from edgeret_export.fitting.calibration import DEFAULTS, Outcomes
from edgeret_export.fitting.decisions import Decisions
from edgeret_export.fitting.graph import fit_graph
from edgeret_export.fitting.head import fit_factored
from edgeret_export.fitting.held_out import HeldOut
from edgeret_export.fitting.options import HeadOptions
from edgeret_export.fitting.reliability import expected_calibration_error, refusal_curve
from edgeret_export.fitting.training_set import FOLDS, TrainingSet

PLANS_PER_CLUSTER = 10
"""The paper's; half as many plans a cluster predict no better once two clusterings are read together."""
MIN_CLUSTERS = 50
"""Clusters that a small set may have with half as many plans each: requests of different kinds must not share one."""
CLUSTER_PRIORS = (1.0, 2.0, 3.0)
CLUSTER_SHARES = (0.5, 0.75)
HIDDEN_SHARE = 0.1
MIN_PLANS = 25
"""Different queries below which five folds say nothing; defaults are used and the report says so."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """What cross-fitting chose and measured. `report` goes into the manifest; `held_out` are the calibrated predictions
    that it rests on."""

    graph_options: GraphOptions
    n_clusters: int
    calibration: CalibrationParameters
    report: dict[str, Any]
    held_out: HeldOut | None = None


def clusters_for(n_plans: int) -> int:
    """How many clusters a k-means run makes of so many plans; few plans are divided more finely."""
    return max(1, n_plans // PLANS_PER_CLUSTER, min(2 * n_plans // PLANS_PER_CLUSTER, MIN_CLUSTERS))


def crossfit(training: TrainingSet, order: int, head_options: HeadOptions) -> Fitted:
    """Fits graph and head on four fifths of the plans and predicts the rest, five times; chooses and calibrates."""
    n_plans = len(training.demonstrations)
    if training.different() < MIN_PLANS:
        note = f"fewer than {MIN_PLANS} different queries: nothing was fitted on held-out ones"
        defaults = GraphOptions(order=order), clusters_for(n_plans), CalibrationParameters()
        return Fitted(*defaults, {"plans": n_plans, "note": note})
    held, folds = training.written(), _fit_folds(training, order, head_options)
    options, graph, nearest = _choose_graph(held, [fold.tables for fold in folds], order)
    head = np.zeros((len(held.decisions), len(held.decisions.labels)), np.float32)
    for number, fold in enumerate(folds):
        head[held.row_folds == number] = fold.head
    outcomes = Outcomes(
        head,
        graph,
        held.decisions.acceptable(),
        np.stack([fold.seen for fold in folds])[held.row_folds],
        held.queries.cosines()[held.decisions.plan],
        called_mask(held.decisions),
    )
    first = held.decisions.first()
    calibration, fused = _calibrate(training, outcomes, options, head_options)
    calibration = replace(
        calibration,
        in_distribution_cosine=round(float(np.quantile(nearest[first], calibrate.IN_DISTRIBUTION_QUANTILE)), 6),
    )
    judge = Calibration(calibration)
    calibrated = np.stack([judge.calibrate(row) for row in fused.astype(np.float32)])
    quantiles = calibrate.right_quantiles(calibrated, outcomes.acceptable)
    calibration = replace(calibration, right_probabilities=quantiles)
    report = {"plans": n_plans, "decisions": len(held.decisions), "folds": FOLDS, **_report(held, outcomes, fused)}
    rows = np.flatnonzero(training.decisions.written)
    return Fitted(options, clusters_for(n_plans), calibration, report, HeldOut(rows, calibrated))


@dataclass(frozen=True, slots=True)
class _Fold:
    """What was fitted without a fold: its graph's tables, the labels that it had (labels,), and the head's
    log-probabilities for the fold's decisions as written (rows, labels)."""

    tables: GraphTables
    seen: NDArray[np.bool_]
    head: NDArray[np.float32]


def _fit_folds(training: TrainingSet, order: int, options: HeadOptions) -> list[_Fold]:
    """The folds, each predicted by what was fitted on the others."""
    folds: list[_Fold] = []
    for number in track(range(FOLDS), "cross-fitting head and graph", FOLDS):
        inside = training.row_folds == number
        train, held = training.select(~inside), training.select(inside & training.decisions.written)
        head = predict_head(fit_factored(train, options), held)
        tables = fit_graph(train, clusters_for(len(train.plans)), order)
        folds.append(_Fold(tables, _labels_of(train), head))
    return folds


def _calibrate(
    training: TrainingSet, outcomes: Outcomes, options: GraphOptions, head_options: HeadOptions
) -> tuple[CalibrationParameters, NDArray[np.floating]]:
    """Fusion, the score of unseen tools, search and the confidence map; and the fused probabilities (rows, labels)."""
    weights = calibrate.fit_fusion(outcomes)
    slope, bias, called = _fit_unseen(training, options, head_options, weights)
    bias = calibrate.fit_unseen_bias(outcomes, weights, (slope, bias, called))
    fused = outcomes.fused_logits(weights)
    fused = np.exp(fused - fused.max(axis=1, keepdims=True))
    fused /= fused.sum(axis=1, keepdims=True)
    confidence, correct = _confidence(fused, outcomes.acceptable)
    search_slope, search_bias = _fit_search(training.written(), outcomes.acceptable)
    calibration = CalibrationParameters(
        head_weight=round(weights[0], 6),
        graph_weight=round(weights[1], 6),
        unseen_slope=round(slope, 6),
        unseen_bias=round(bias, 6),
        unseen_called=round(called, 6),
        search_slope=round(search_slope, 6),
        search_bias=round(search_bias, 6),
        calibration_map=calibrate.fit_confidence_map(confidence, correct),
    )
    return calibration, fused


def _report(held: TrainingSet, outcomes: Outcomes, fused: NDArray[np.floating]) -> dict[str, Any]:
    """What was measured on held-out decisions."""
    confidence, correct = _confidence(fused, outcomes.acceptable)
    scores = {"head": outcomes.head, "graph": outcomes.graph, "fused": fused}
    return {
        "top1": {name: _top1(found, outcomes.acceptable) for name, found in scores.items()},
        "ece_fused": round(expected_calibration_error(confidence, correct), 5),
        "ece_calibrated": round(calibrate.cross_fitted_ece(confidence, correct, held.row_folds), 5),
        "refusal_curve": refusal_curve(confidence, correct),
    }


def predict_head(head: FactoredHead, held: TrainingSet) -> NDArray[np.float32]:
    """Log-probabilities of a head for decisions that it was not fitted on (rows, labels), by the runtime's own code."""
    decisions, queries = held.decisions, held.queries
    plans = decisions.plan.tolist()
    logits, pieces = {}, head.pieces(queries.label_vectors)
    for plan in set(plans):
        products = head.products(queries.parts(plan), pieces)
        logits[plan] = head.query_logits(queries.vectors[plan], products[1:])
    return np.stack(
        [head.log_probabilities(logits[plan], h) for plan, h in zip(plans, decisions.histories, strict=True)]
    )


def predict_graph(graph: Graph, held: TrainingSet) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Probabilities (rows, labels) by the runtime's own code, and every row's cosine to its nearest centroid."""
    plans = held.decisions.plan.tolist()
    positions = {plan: graph.locate(held.queries.vectors[plan]) for plan in set(plans)}
    steps = zip(plans, held.decisions.histories, strict=True)
    scores = [graph.distribution(positions[plan], history) for plan, history in steps]
    return np.stack(scores), np.array([positions[plan].similarity for plan in plans], np.float32)


def called_mask(decisions: Decisions) -> NDArray[np.bool_]:
    """Which labels each row's history holds (rows, labels)."""
    mask = np.zeros((len(decisions), len(decisions.labels)), bool)
    for row, history in enumerate(decisions.histories):
        mask[row, list(history)] = True
    return mask


def _choose_graph(
    held: TrainingSet, tables: Sequence[GraphTables], order: int
) -> tuple[GraphOptions, NDArray[np.float32], NDArray[np.float32]]:
    """The smoothing with the lowest held-out cross-entropy, with its predictions and the cosines of every row's query
    to its nearest centroid."""
    acceptable = held.decisions.acceptable()
    target = acceptable / acceptable.sum(axis=1, keepdims=True)
    parts = [held.row_folds == number for number in range(FOLDS)]
    inside = [held.select(part) for part in parts]
    best: tuple[float, GraphOptions, NDArray[np.float32], NDArray[np.float32]] | None = None
    grid = list(product(CLUSTER_PRIORS, CLUSTER_SHARES))
    for prior, share in track(grid, "choosing the graph's smoothing", len(grid)):
        options = GraphOptions(order=order, cluster_prior=prior, cluster_share=share)
        scores = np.zeros(acceptable.shape, np.float32)
        nearest = np.zeros(len(acceptable), np.float32)
        for part, rows, found in zip(parts, inside, tables, strict=True):
            if part.any():
                scores[part], nearest[part] = predict_graph(Graph(found, options), rows)
        loss = calibrate.nll(np.log(scores + 1e-12), target)
        if best is None or loss < best[0]:
            best = (loss, options, scores, nearest)
    assert best is not None
    return best[1:]


def _labels_of(training: TrainingSet) -> NDArray[np.bool_]:
    """Which labels some decision accepts (labels,)."""
    seen = np.zeros(len(training.decisions.labels), bool)
    seen[training.decisions.target_label] = True
    return seen


def _fit_unseen(
    training: TrainingSet, options: GraphOptions, head_options: HeadOptions, weights: tuple[float, float]
) -> tuple[float, float, float]:
    """Hides a tenth of the tools with every plan that uses them, and fits how descriptions should stand in for them."""
    rng, decisions = np.random.default_rng(training.seed + 1), training.decisions
    tools = len(decisions.labels) - 1
    parts: list[Outcomes] = []
    for number in track(range(2), "hiding tools from the heads", 2):
        hidden = np.zeros(tools + 1, bool)
        hidden[rng.permutation(tools)[: max(1, round(HIDDEN_SHARE * tools))]] = True
        tainted = np.unique(decisions.plan[decisions.target_row[hidden[decisions.target_label]]])
        inside = training.row_folds == number
        train = training.select(~inside & ~np.isin(decisions.plan, tainted))
        held = training.select(inside & decisions.written)
        if not len(train.decisions) or not len(held.decisions):
            continue
        graph = Graph(fit_graph(train, clusters_for(len(train.plans)), options.order), options)
        parts.append(
            Outcomes(
                predict_head(fit_factored(train, head_options), held),
                predict_graph(graph, held)[0],
                held.decisions.acceptable(),
                np.tile(_labels_of(train), (len(held.decisions), 1)),
                held.queries.cosines()[held.decisions.plan],
                called_mask(held.decisions),
            )
        )
    if not parts:
        return DEFAULTS.unseen_slope, DEFAULTS.unseen_bias, DEFAULTS.unseen_called
    pooled = Outcomes(*(np.concatenate([getattr(p, name) for p in parts]) for name in Outcomes.__slots__))
    return calibrate.fit_unseen(pooled, weights)


def _fit_search(held: TrainingSet, acceptable: NDArray[np.bool_]) -> tuple[float, float]:
    """How often the nearest description is an acceptable first call, by its cosine; no-tool plans count as wrong."""
    first = held.decisions.first()
    # Labels only: a tool that no demonstration calls is never right here, and says nothing about those that are.
    cosines = held.queries.cosines()[held.decisions.plan[first]][:, :-1]
    if not cosines.shape[1]:
        return DEFAULTS.search_slope, DEFAULTS.search_bias
    best, rows = cosines.argmax(axis=1), np.arange(len(cosines))
    return calibrate.fit_search(cosines[rows, best], acceptable[first][rows, best])


def _confidence(
    fused: NDArray[np.floating], acceptable: NDArray[np.bool_]
) -> tuple[NDArray[np.floating], NDArray[np.bool_]]:
    """Every decision's highest probability, and whether it went to an acceptable label, both (rows,)."""
    best = fused.argmax(axis=1)
    return fused.max(axis=1), acceptable[np.arange(len(best)), best]


def _top1(scores: NDArray[np.floating], acceptable: NDArray[np.bool_]) -> float:
    return round(float(acceptable[np.arange(len(scores)), scores.argmax(axis=1)].mean()), 5)
