"""The papers' methods as the papers have them, beside edgeret's, all fitted anew on the same demonstrations.

`next-tool` measures what a bundle carries; this is for the question how far each idea goes on a set of plans: same
frozen encoder, same split, same teacher-forced steps, `<end>` included. Needs edgeret-export.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from edgeret.bundle import roles
from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.runtime.runtime import Runtime
from edgeret.terminal.progress import say, track
from edgeret_bench.accuracy.next_tool import by_length, samples
from edgeret_bench.accuracy.plain_head import fit_plain, history_text
from edgeret_bench.accuracy.walk import repeated_queries
from edgeret_bench.metrics import mean, next_tool_metrics, rank
from edgeret_export.fitting.chunks import MAX_COUNT
from edgeret_export.fitting.crossfit import predict_graph
from edgeret_export.fitting.decisions import Decisions
from edgeret_export.fitting.folds import clusters_for, predict_head
from edgeret_export.fitting.graph import fit_graph
from edgeret_export.fitting.head import TOLERANCE, fit_factored
from edgeret_export.fitting.history import tools_called
from edgeret_export.fitting.training_set import TrainingSet, training_set
from edgeret_export.fitting.whole import MOST_STEPS
from edgeret_export.recipe import recipe_of
from edgeret_export.reference.runtime import components_of
from edgeret_export.reference.scoring.graph import Graph, GraphOptions

PAPER_ORDER, PAPER_CLUSTERS = 3, 100
PAPER_RATE, PAPER_EPOCHS = 1e-3, 10
LOGISTIC_C, LOGISTIC_SCALE, LOGISTIC_ITERATIONS = 10.0, 0.5, 300
Scores = NDArray[np.floating]


@dataclass(frozen=True)
class Split:
    """Encoded plans to learn from, which come first, and to test on: both as one set, and the decisions of each; those
    to test on as they are written."""

    both: TrainingSet
    n_train: int
    train: TrainingSet
    test: TrainingSet


def run(
    runtime: Runtime, train: Sequence[Demonstration], test: Sequence[Demonstration], seed: int = 0
) -> dict[str, Any]:
    """Accuracy of every method over the test plans' steps, in the form of a `next-tool` result without what only a
    bundle has (calibration, fitness, ms). `calls` has top1 and mrr of the steps that are not `<end>`.

    dr (ToolNet: what followed the last tool anywhere), lr (TinyAgent: the query alone), dtdr-l (a linear layer on query
    and names of the history, trained until it converges), dtdr-c, dtdr-l-factored and fused as edgeret builds them;
    dtdr-c-paper (100 clusters of queries, three tools of context, no back-off), dtdr-l-paper (dtdr-l with the paper's
    rate and epochs) and dtdr-l-logistic (logistic regression on the query's vector beside features of the history,
    nothing else). Raises InputError without plans, ModuleNotFoundError without edgeret-export.
    """
    if not train or not test:
        raise InputError("methods need plans to train on (--train) and to test on (--demos); one of the files has none")
    repeated = repeated_queries(train, test)
    both = encode(runtime, [*train, *test], seed)
    learned = both.decisions.plan < len(train)
    split = Split(both, len(train), both.select(learned), both.select(both.decisions.written & ~learned))
    measured = _measure(split, _score(runtime, split))
    decisions = split.test.decisions
    plans = (decisions.plan - len(train)).tolist()
    lengths = [len(test[plan].calls) for plan in plans]
    end = len(decisions.labels) - 1
    calls = [i for i, accepted in enumerate(decisions.acceptable()) if not accepted[end]]
    return {
        "n_train": len(train),
        "n_plans": len(test),
        "n_steps": len(decisions),
        "dag": any(d.links is not None for d in test),
        "repeated_queries": repeated,
        "seed": seed,
        "methods": {name: mean(values) for name, values in measured.items()},
        "by_plan_length": {name: by_length(values, lengths) for name, values in measured.items()},
        "calls": {
            name: {key: float(np.mean([values[i][key] for i in calls])) for key in ("top1", "mrr")}
            for name, values in measured.items()
            if calls
        },
        "samples": samples(measured, plans, test),
    }


def encode(runtime: Runtime, demonstrations: Sequence[Demonstration], seed: int) -> TrainingSet:
    """What heads are fitted on, from the bundle's encoder and tool vectors."""
    components = components_of(runtime)
    shown = track(demonstrations, "encoding", len(demonstrations))
    queries = (components.encoder.encode_query(d.query) for d in shown)
    tools = [components.tools[name] for name in components.index.names]
    index, prior = components.index, components.prior
    return training_set(demonstrations, tools, queries, index.vectors, prior, seed, few=0)


def _score(runtime: Runtime, split: Split) -> dict[str, Scores]:
    """Fits every method and scores the labels at the test steps, each (rows, labels)."""
    recipe = recipe_of(runtime.manifest.info, str(runtime.path))
    train, test, seed, calibration = split.train, split.test, split.both.seed, components_of(runtime).calibration
    written, queries = train.written(), split.both.queries.vectors
    say("fitting static heads and graphs")
    static = fit_plain(written.decisions, queries[written.decisions.plan], seed)
    names = _history_vectors(runtime, split.both)
    taught, asked = names[: len(written.decisions)], names[len(written.decisions) :]
    paper = fit_plain(written.decisions, taught, seed, rate=PAPER_RATE, epochs=PAPER_EPOCHS)
    converged = fit_plain(written.decisions, taught, seed)
    say("fitting graph and factored head")
    held_out = runtime.manifest.info[roles.INFO_REPORT]["held_out"]
    chosen = held_out.get("inverse_regularisation", recipe.head_options.inverse_regularisation)
    options = replace(recipe.head_options, inverse_regularisation=chosen)
    head = predict_head(fit_factored(train, options, MOST_STEPS, TOLERANCE), train, test)
    tables = fit_graph(train, clusters_for(split.n_train), recipe.order)
    graph = components_of(runtime).graph
    smoothing = GraphOptions() if graph is None else graph.options
    walked = predict_graph(Graph(tables, smoothing), test)
    fused = [
        calibration.fuse(h.copy(), g.copy(), later=bool(history))
        for h, g, history in zip(head, walked, test.decisions.histories, strict=True)
    ]
    everywhere = np.zeros(len(split.both.demonstrations), np.intp)
    return {
        "random": np.random.default_rng(seed).random(head.shape),
        "dr": counted(train.decisions, test.decisions, everywhere, 1),
        "lr": np.stack([static.log_probabilities(queries[plan]) for plan in test.decisions.plan]),
        "dtdr-c": walked,
        "dtdr-l": np.stack([converged.log_probabilities(vector) for vector in asked]),
        "dtdr-l-factored": head,
        "fused": np.stack(fused),
        "dtdr-c-paper": counted(train.decisions, test.decisions, _query_clusters(split), PAPER_ORDER),
        "dtdr-l-paper": np.stack([paper.log_probabilities(vector) for vector in asked]),
        "dtdr-l-logistic": logistic(written, test),
    }


def _measure(split: Split, scores: Mapping[str, Scores]) -> dict[str, list[dict[str, float]]]:
    """The metrics of every test step, by method."""
    known, decisions = split.train.decisions, split.test.decisions
    acceptable = [np.flatnonzero(row).tolist() for row in decisions.acceptable()]
    # Equal scores, above all the zeros of what was never seen, are ranked by how common a label is.
    common = np.argsort(-np.bincount(known.target_label, known.target_share, len(known.labels)), kind="stable")
    return {
        name: [next_tool_metrics(common[rank(s[common])], a) for s, a in zip(found, acceptable, strict=True)]
        for name, found in scores.items()
    }


def counted(known: Decisions, asked: Decisions, clusters: NDArray[np.intp], order: int) -> Scores:
    """How often each label followed the last `order` tools in the plan's cluster; nothing for what was never seen."""
    counts: defaultdict[tuple[int, tuple[int, ...]], dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for row, label, share in zip(
        known.target_row.tolist(), known.target_label.tolist(), known.target_share.tolist(), strict=True
    ):
        context = int(clusters[known.plan[row]]), _context(known.histories[row], order)
        counts[context][label] += share * float(known.weight[row])
    scores = np.zeros((len(asked), len(asked.labels)))
    for row, (plan, history) in enumerate(zip(asked.plan.tolist(), asked.histories, strict=True)):
        for label, count in counts.get((int(clusters[plan]), _context(history, order)), {}).items():
            scores[row, label] = count
    return scores


def logistic(train: TrainingSet, test: TrainingSet) -> Scores:
    """Scores of scikit-learn's logistic regression on the query's vector beside the head's features of the history."""
    vectors = sp.csr_matrix(train.queries.vectors)
    inputs = [
        sp.hstack((vectors[part.decisions.plan], LOGISTIC_SCALE * _history(part.decisions)), format="csr")
        for part in (train, test)
    ]
    known = train.decisions
    with threadpool_limits(1):
        model = LogisticRegression(C=LOGISTIC_C, max_iter=LOGISTIC_ITERATIONS)
        share = known.target_share * known.weight[known.target_row]
        model.fit(inputs[0][known.target_row], known.target_label, sample_weight=share)
        scores = np.full((len(test.decisions), len(known.labels)), -np.inf)
        scores[:, model.classes_] = model.decision_function(inputs[1])
    return scores


def _history(decisions: Decisions) -> sp.csr_matrix:
    """The head's features of histories: tools called, the last one, how many calls (rows, 2·labels + MAX_COUNT + 1)."""
    calls = [min(len(history), MAX_COUNT) for history in decisions.histories]
    return sp.hstack((tools_called(decisions), np.eye(MAX_COUNT + 1, dtype=np.float32)[calls]), format="csr")


def _context(history: tuple[int, ...], order: int) -> tuple[int, ...]:
    return ((-1,) * order + history)[-order:]


def _query_clusters(split: Split) -> NDArray[np.intp]:
    """The cluster of every plan's query, by k-means on the training queries alone."""
    vectors, n_train = split.both.queries.vectors, split.n_train
    with threadpool_limits(1):
        means = KMeans(min(PAPER_CLUSTERS, n_train), n_init=1, random_state=split.both.seed).fit(vectors[:n_train])
        found: NDArray[np.intp] = means.predict(vectors).astype(np.intp)
    return found


def _history_vectors(runtime: Runtime, both: TrainingSet) -> NDArray[np.float32]:
    """The vector of query and names of the history, of every decision in the written order (rows, dimension)."""
    decisions = both.written().decisions
    vectors = both.queries.vectors[decisions.plan].copy()
    known: dict[str, NDArray[np.float32]] = {}
    encoder = components_of(runtime).encoder
    rows = [row for row, history in enumerate(decisions.histories) if history]
    for row in track(rows, "encoding histories", len(rows)):
        history = [decisions.labels[label] for label in decisions.histories[row]]
        text = history_text(both.demonstrations[decisions.plan[row]].query, history)
        if text not in known:
            known[text] = encoder.encode(text)
        vectors[row] = known[text]
    return vectors
