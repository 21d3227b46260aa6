"""The papers' methods as the papers have them, beside edgeret's, all fitted anew on the same demonstrations.

`next-tool` measures what a bundle carries; this is for the question how far each idea goes on a set of plans: same
frozen encoder, same split, same teacher-forced steps, `<end>` included.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from edgeret.cli.progress import say, track
from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.runtime.runtime import Runtime
from edgeret.scoring.head import history_text
from edgeret_bench.accuracy.learning import encode, repeated_queries, score_graph
from edgeret_bench.metrics import mean, next_tool_metrics, rank
from edgeret_bench.results.files import order_of, rounded
from edgeret_export.fitting.crossfit import clusters_for, predict_head
from edgeret_export.fitting.decisions import StepTable
from edgeret_export.fitting.graph import fit_graph
from edgeret_export.fitting.head import HeadOptions, Queries, fit_plain, history_features
from edgeret_export.recipe import Recipe

PAPER_ORDER, PAPER_CLUSTERS = 3, 100
PAPER_RATE, PAPER_EPOCHS = 1e-3, 10
LOGISTIC_C, LOGISTIC_SCALE, LOGISTIC_ITERATIONS = 10.0, 0.5, 300
Scores = NDArray[np.floating]


def run(
    runtime: Runtime, train: Sequence[Demonstration], test: Sequence[Demonstration], seed: int = 0
) -> dict[str, Any]:
    """Accuracy of every method over the test plans' steps: `methods` with the metrics of `next-tool`.

    static-dr (ToolNet: what followed the last tool anywhere), static-lr (TinyAgent: the query alone), dtdr-c-paper
    (100 clusters of queries, three tools of context, no back-off), dtdr-l-paper (a linear layer on query and names of
    the history, the paper's rate and epochs), dtdr-l-converged (the same with a rate and epochs that converge),
    dtdr-l-logistic (logistic regression on the query's vector beside features of the history, nothing else); dtdr-c,
    dtdr-l-factored and fused as edgeret builds them. `calls` has top1 and mrr of the steps that are not `<end>`.
    Raises InputError without plans.
    """
    if not train or not test:
        raise InputError("methods need plans to train on (--train) and to test on (--demos); one of the files has none")
    repeated = repeated_queries(train, test)
    recipe = Recipe(**runtime.manifest.info["recipe"])
    queries, table = encode(runtime, [*train, *test])
    rows = np.flatnonzero(table.written & (table.plan >= len(train)))
    known = table.select(table.plan < len(train))
    written = known.select(known.written)
    say("fitting static heads and graphs")
    static = fit_plain(written, queries.vectors[written.plan], seed)
    graph = fit_graph(known, queries.vectors, clusters_for(len(train)), recipe.order, seed)
    names = _history_vectors(runtime, [*train, *test], queries, table)
    taught = names[np.flatnonzero((table.plan < len(train)) & table.written)]
    paper = fit_plain(written, taught, seed, rate=PAPER_RATE, epochs=PAPER_EPOCHS)
    converged = fit_plain(written, taught, seed)
    say("fitting the factored heads")
    options = HeadOptions(recipe.inverse_regularisation, recipe.history_scale, recipe.label_smoothing)
    head = predict_head(known, table, queries, rows, options)
    walked = score_graph(runtime, graph, table, queries, rows)
    scores: dict[str, Scores] = {
        "random": np.random.default_rng(seed).random((len(rows), len(table.labels))),
        "static-dr": _counted(table, known, rows, np.zeros(int(table.plan.max()) + 1, np.intp), 1),
        "static-lr": np.stack([static.log_probabilities(queries.vectors[plan]) for plan in table.plan[rows]]),
        "dtdr-c-paper": _counted(table, known, rows, _query_clusters(queries, len(train), seed), PAPER_ORDER),
        "dtdr-l-paper": np.stack([paper.log_probabilities(names[row]) for row in rows]),
        "dtdr-l-converged": np.stack([converged.log_probabilities(names[row]) for row in rows]),
        "dtdr-l-logistic": _logistic(written, table, queries, rows),
        "dtdr-c": walked,
        "dtdr-l-factored": head,
        "fused": np.stack(
            [runtime.components.calibration.fuse(h.copy(), g.copy()) for h, g in zip(head, walked, strict=True)]
        ),
    }
    acceptable = [np.flatnonzero(row) for row in table.acceptable()[rows]]
    calls = [i for i, a in enumerate(acceptable) if len(table.labels) - 1 not in a]
    # Equal scores, above all the zeros of what was never seen, are ranked by how common a label is.
    common = np.argsort(-np.bincount(known.target_label, known.target_share, len(table.labels)), kind="stable")
    measured = {
        name: [next_tool_metrics(common[rank(s[common])], a.tolist()) for s, a in zip(found, acceptable, strict=True)]
        for name, found in scores.items()
    }
    return {
        "n_train": len(train),
        "n_plans": len(test),
        "n_steps": len(rows),
        "repeated_queries": repeated,
        "seed": seed,
        "methods": {name: mean(values) for name, values in measured.items()},
        "calls": {
            name: {key: float(np.mean([values[i][key] for i in calls])) for key in ("top1", "mrr")}
            for name, values in measured.items()
            if calls
        },
        "samples": {
            "unit": "score",
            "order": order_of([d.query for d in test]),
            "groups": (table.plan[rows] - len(train)).tolist(),
            "series": rounded({f"{name} top1": [v["top1"] for v in values] for name, values in measured.items()}),
        },
    }


def _counted(
    table: StepTable, known: StepTable, rows: NDArray[np.intp], clusters: NDArray[np.intp], order: int
) -> Scores:
    """How often each label followed the last `order` tools in the plan's cluster; nothing for what was never seen."""
    counts: defaultdict[tuple[int, tuple[int, ...]], dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for row, label, share in zip(
        known.target_row.tolist(), known.target_label.tolist(), known.target_share.tolist(), strict=True
    ):
        context = int(clusters[known.plan[row]]), _context(known.histories[row], order)
        counts[context][label] += share * float(known.weight[row])
    scores = np.zeros((len(rows), len(table.labels)))
    for i, row in enumerate(rows.tolist()):
        context = int(clusters[table.plan[row]]), _context(table.histories[row], order)
        for label, count in counts.get(context, {}).items():
            scores[i, label] = count
    return scores


def _logistic(train: StepTable, table: StepTable, queries: Queries, rows: NDArray[np.intp]) -> Scores:
    """Scores of scikit-learn's logistic regression on the query's vector beside the head's features of the history."""
    vectors = sp.csr_matrix(queries.vectors)
    inputs = [
        sp.hstack((vectors[part.plan], history_features(part, LOGISTIC_SCALE)[0]), format="csr")
        for part in (train, table)
    ]
    with threadpool_limits(1):
        model = LogisticRegression(C=LOGISTIC_C, max_iter=LOGISTIC_ITERATIONS)
        share = train.target_share * train.weight[train.target_row]
        model.fit(inputs[0][train.target_row], train.target_label, sample_weight=share)
        scores = np.full((len(rows), len(table.labels)), -np.inf)
        scores[:, model.classes_] = model.decision_function(inputs[1][rows])
    return scores


def _context(history: tuple[int, ...], order: int) -> tuple[int, ...]:
    return ((-1,) * order + history)[-order:]


def _query_clusters(queries: Queries, n_train: int, seed: int) -> NDArray[np.intp]:
    """The cluster of every plan's query, by k-means on the training queries alone."""
    with threadpool_limits(1):
        means = KMeans(min(PAPER_CLUSTERS, n_train), n_init=1, random_state=seed).fit(queries.vectors[:n_train])
        found: NDArray[np.intp] = means.predict(queries.vectors).astype(np.intp)
    return found


def _history_vectors(
    runtime: Runtime, demonstrations: Sequence[Demonstration], queries: Queries, table: StepTable
) -> NDArray[np.float32]:
    """The vector of query and names of the history, of every row in the written order (rows, dimension)."""
    vectors = queries.vectors[table.plan].copy()
    known: dict[str, NDArray[np.float32]] = {}
    rows = [row for row in np.flatnonzero(table.written).tolist() if table.histories[row]]
    for row in track(rows, "encoding histories", len(rows)):
        history = [table.labels[label] for label in table.histories[row]]
        text = history_text(demonstrations[table.plan[row]].query, history)
        if text not in known:
            known[text] = runtime.components.encoder.encode(text)
        vectors[row] = known[text]
    return vectors
