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
from edgeret.scoring.graph import Graph, GraphOptions
from edgeret_export.fitting import calibration as calibrate
from edgeret_export.fitting.calibration import Outcomes
from edgeret_export.fitting.counts import GraphTables
from edgeret_export.fitting.decisions import StepTable
from edgeret_export.fitting.graph import fit_graph
from edgeret_export.fitting.head import HeadOptions, Queries, fit_factored
from edgeret_export.fitting.held_out import HeldOut
from edgeret_export.fitting.reliability import expected_calibration_error, refusal_curve

FOLDS = 5
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


def plain(query: str) -> str:
    """The query's words, whatever its case and spaces."""
    return " ".join(query.lower().split())


def assign_folds(queries: Sequence[str], seed: int) -> NDArray[np.intp]:
    """A fold for every plan; plans with the same words share one, or the answer would be known."""
    groups: dict[str, int] = {}
    group = np.array([groups.setdefault(plain(query), len(groups)) for query in queries])
    return np.random.default_rng(seed).permutation(np.arange(len(groups)) % FOLDS)[group].astype(np.intp)


def crossfit(
    table: StepTable, queries: Queries, texts: Sequence[str], order: int, head_options: HeadOptions, seed: int
) -> Fitted:
    """Fits graph and head on four fifths of the plans and predicts the rest, five times; chooses and calibrates."""
    n_plans = len(texts)
    if len({plain(text) for text in texts}) < MIN_PLANS:
        options = GraphOptions(order=order)
        report = {
            "plans": n_plans,
            "note": f"fewer than {MIN_PLANS} different queries: nothing was fitted on held-out ones",
        }
        return Fitted(options, clusters_for(n_plans), CalibrationParameters(), report)
    folds = assign_folds(texts, seed)
    cosines = queries.cosines()
    head = np.zeros((len(table), len(table.labels)), np.float32)
    tables: list[GraphTables] = []
    for fold in track(range(FOLDS), "cross-fitting head and graph", FOLDS):
        train = table.select(folds[table.plan] != fold)
        rows = np.flatnonzero((folds[table.plan] == fold) & table.written)
        head[rows] = predict_head(train, table, queries, rows, head_options)
        n_clusters = clusters_for(len(np.unique(train.plan)))
        tables.append(fit_graph(train, queries.vectors, n_clusters, order, seed))
    written = np.flatnonzero(table.written)
    row_fold = folds[table.plan[written]]
    acceptable = table.acceptable()[written]
    options, graph, familiar = _choose_graph(table, queries, tables, written, row_fold, acceptable, order)
    outcomes = Outcomes(
        head[written],
        graph,
        acceptable,
        _seen(table, folds)[row_fold],
        cosines[table.plan[written]],
        called_mask(table, written),
    )
    weights = calibrate.fit_fusion(outcomes)
    unseen = _fit_unseen(table, queries, folds, options, head_options, weights, seed)
    unseen = (unseen[0], calibrate.fit_unseen_bias(outcomes, weights, unseen), unseen[2])
    fused = outcomes.fused_logits(weights)
    fused = np.exp(fused - fused.max(axis=1, keepdims=True))
    fused /= fused.sum(axis=1, keepdims=True)
    confidence, best = fused.max(axis=1), fused.argmax(axis=1)
    correct = acceptable[np.arange(len(best)), best]
    slope, bias = _fit_search(table, queries, acceptable, written)
    calibration = CalibrationParameters(
        head_weight=weights[0],
        graph_weight=weights[1],
        unseen_slope=unseen[0],
        unseen_bias=unseen[1],
        unseen_called=unseen[2],
        in_distribution_cosine=float(np.quantile(familiar, calibrate.IN_DISTRIBUTION_QUANTILE)),
        search_slope=slope,
        search_bias=bias,
        calibration_map=calibrate.fit_confidence_map(confidence, correct),
    )
    numbers = {k: v for k in CalibrationParameters.__slots__ if isinstance(v := getattr(calibration, k), float)}
    calibration = replace(calibration, **{k: round(v, 6) for k, v in numbers.items()})
    judge = Calibration(calibration)
    calibrated = np.stack([judge.calibrate(row) for row in fused.astype(np.float32)])
    calibration = replace(calibration, right_probabilities=calibrate.right_quantiles(calibrated, acceptable))
    report = {
        "plans": n_plans,
        "decisions": len(written),
        "folds": FOLDS,
        "top1": {
            name: _top1(scores, acceptable)
            for name, scores in (("head", outcomes.head), ("graph", graph), ("fused", fused))
        },
        "ece_fused": round(expected_calibration_error(confidence, correct), 5),
        "ece_calibrated": round(calibrate.cross_fitted_ece(confidence, correct, row_fold), 5),
        "refusal_curve": refusal_curve(confidence, correct),
    }
    return Fitted(options, clusters_for(n_plans), calibration, report, HeldOut(written, calibrated))


def predict_head(
    train: StepTable, table: StepTable, queries: Queries, rows: NDArray[np.intp], options: HeadOptions
) -> NDArray[np.float32]:
    """Log-probabilities (len(rows), labels) of a head fitted on `train`, by the runtime's own code."""
    head = fit_factored(train, queries, options)
    plans = table.plan[rows].tolist()
    logits, pieces = {}, head.pieces(queries.label_vectors)
    for plan in set(plans):
        described = head.products(queries.parts(plan), pieces)
        logits[plan] = head.query_logits(queries.vectors[plan], described[1:])
    return np.stack(
        [head.log_probabilities(logits[plan], table.histories[row]) for plan, row in zip(plans, rows, strict=True)]
    )


def predict_graph(
    graph: Graph, table: StepTable, queries: Queries, rows: NDArray[np.intp]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Probabilities (len(rows), labels) by the runtime's own code, and every row's cosine to its nearest centroid."""
    plans = table.plan[rows].tolist()
    positions = {plan: graph.locate(queries.vectors[plan]) for plan in set(plans)}
    scores = [graph.distribution(positions[plan], table.histories[row]) for plan, row in zip(plans, rows, strict=True)]
    return np.stack(scores), np.array([positions[plan].similarity for plan in plans], np.float32)


def called_mask(table: StepTable, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which labels each row's history holds (len(rows), labels)."""
    mask = np.zeros((len(rows), len(table.labels)), bool)
    for i, row in enumerate(rows):
        mask[i, list(table.histories[row])] = True
    return mask


def _choose_graph(
    table: StepTable,
    queries: Queries,
    tables: Sequence[GraphTables],
    written: NDArray[np.intp],
    row_fold: NDArray[np.intp],
    acceptable: NDArray[np.bool_],
    order: int,
) -> tuple[GraphOptions, NDArray[np.float32], NDArray[np.float32]]:
    """The smoothing with the lowest held-out cross-entropy, with their predictions and the cosines of
    every first step's query to its nearest centroid."""
    target = acceptable / acceptable.sum(axis=1, keepdims=True)
    best = (np.inf, GraphOptions(order=order), np.empty(0), np.empty(0))
    grid = list(product(CLUSTER_PRIORS, CLUSTER_SHARES))
    for prior, share in track(grid, "choosing the graph's smoothing", len(grid)):
        options = GraphOptions(order=order, cluster_prior=prior, cluster_share=share)
        scores = np.zeros(acceptable.shape, np.float32)
        nearest = np.zeros(len(written), np.float32)
        for fold in range(FOLDS):
            part = row_fold == fold
            if part.any():
                scores[part], nearest[part] = predict_graph(tables[fold].graph(options), table, queries, written[part])
        loss = calibrate.nll(np.log(scores + 1e-12), target)
        if loss < best[0]:
            best = (loss, options, scores, nearest)
    _, options, scores, nearest = best
    return options, scores, nearest[table.first()[written]]


def _seen(table: StepTable, folds: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which labels the training part of every fold holds (folds, labels)."""
    seen = np.zeros((FOLDS, len(table.labels)), bool)
    for fold in range(FOLDS):
        seen[fold, table.target_label[folds[table.plan[table.target_row]] != fold]] = True
    return seen


def _fit_unseen(
    table: StepTable,
    queries: Queries,
    folds: NDArray[np.intp],
    options: GraphOptions,
    head_options: HeadOptions,
    weights: tuple[float, float],
    seed: int,
) -> tuple[float, float, float]:
    """Hides a tenth of the tools with every plan that uses them, and fits how descriptions should stand in for them."""
    rng = np.random.default_rng(seed + 1)
    tools = len(table.labels) - 1
    parts: list[Outcomes] = []
    cosines = queries.cosines()
    for fold in track(range(2), "hiding tools from the heads", 2):
        hidden = np.zeros(tools + 1, bool)
        hidden[rng.permutation(tools)[: max(1, round(HIDDEN_SHARE * tools))]] = True
        tainted = np.unique(table.plan[table.target_row[hidden[table.target_label]]])
        train = table.select((folds[table.plan] != fold) & ~np.isin(table.plan, tainted))
        rows = np.flatnonzero((folds[table.plan] == fold) & table.written)
        if not len(train) or not len(rows):
            continue
        graph = fit_graph(train, queries.vectors, clusters_for(len(np.unique(train.plan))), options.order, seed)
        seen = np.zeros(tools + 1, bool)
        seen[train.target_label] = True
        parts.append(
            Outcomes(
                predict_head(train, table, queries, rows, head_options),
                predict_graph(graph.graph(options), table, queries, rows)[0],
                table.acceptable()[rows],
                np.tile(seen, (len(rows), 1)),
                cosines[table.plan[rows]],
                called_mask(table, rows),
            )
        )
    if not parts:
        default = CalibrationParameters()
        return default.unseen_slope, default.unseen_bias, default.unseen_called
    pooled = Outcomes(*(np.concatenate([getattr(p, name) for p in parts]) for name in Outcomes.__slots__))
    return calibrate.fit_unseen(pooled, weights)


def _fit_search(
    table: StepTable, queries: Queries, acceptable: NDArray[np.bool_], written: NDArray[np.intp]
) -> tuple[float, float]:
    """How often the nearest description is an acceptable first call, by its cosine; no-tool plans count as wrong."""
    first = table.first()[written]
    plans, accepted = table.plan[written][first], acceptable[first]
    # Labels only: a tool that no demonstration calls is never right here, and says nothing about those that are.
    cosines = queries.cosines()[plans][:, :-1]
    if not cosines.shape[1]:
        return CalibrationParameters().search_slope, CalibrationParameters().search_bias
    best = cosines.argmax(axis=1)
    rows = np.arange(len(best))
    return calibrate.fit_search(cosines[rows, best], accepted[rows, best])


def _top1(scores: NDArray[np.floating], acceptable: NDArray[np.bool_]) -> float:
    return round(float(acceptable[np.arange(len(scores)), scores.argmax(axis=1)].mean()), 5)
