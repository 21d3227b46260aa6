"""DTDR-C: worked by hand, against the plain recursive formula, and as a distribution whatever the history."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import TOOLS, make_demonstrations
from hypothesis import given
from hypothesis import strategies as st
from rewritten import changed
from training import training_of

import edgeret
from edgeret.bundle.codec import get_array, unpack
from edgeret.inputs.demonstrations import Demonstration
from edgeret.types import END, Call, Tool
from edgeret_bench.accuracy.scorers import followers
from edgeret_export.fitting.decisions import Decisions, number_decisions
from edgeret_export.fitting.graph import CLUSTERINGS, cluster, fit_graph
from edgeret_export.reference.runtime import components_of
from edgeret_export.reference.scoring.graph import (
    GLOBAL,
    PADDING,
    UNUSED,
    Graph,
    GraphOptions,
    GraphTables,
    arranged,
    pack_graph,
)


def demonstration(*tools: str) -> Demonstration:
    return Demonstration("d", "q", tuple(Call(t) for t in tools))


def vectors(n: int, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(n, 8))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def one_cluster(options: GraphOptions) -> Graph:
    """Papers' example in small: a then b twice, a then c once."""
    tools = [Tool(n, n) for n in "abc"]
    plans = [demonstration("a", "b"), demonstration("a", "b"), demonstration("a", "c")]
    return Graph(fit_graph(training_of(number_decisions(plans, tools), vectors(3)), 1, options.order), options)


def test_static_markov_chain_by_hand() -> None:
    graph = one_cluster(GraphOptions(order=1))
    assert graph.labels == ("a", "b", "c", END)
    found = followers(graph.labels, graph.transitions())
    np.testing.assert_allclose(found[PADDING], [1, 0, 0, 0])
    np.testing.assert_allclose(found[0], [0, 2 / 3, 1 / 3, 0], rtol=1e-6)
    np.testing.assert_allclose(found[1], [0, 0, 0, 1])


def test_back_off_by_hand() -> None:
    # Order 1, one cluster, so global counts equal the cluster's; all priors 1, cluster share 0, repeats untouched:
    # g0 = (c0 + 1/4) / (9 + 1) with c0 = (3, 2, 1, 3); g1(a) = ((0, 2, 1, 0) + g0) / (3 + 1),
    # p1 = ((0, 2, 1, 0) + g1) / 4.
    options = GraphOptions(order=1, nearest=1, cluster_prior=1, global_prior=1, cluster_share=0, repeat_factor=1)
    graph = one_cluster(options)
    g0 = (np.array([3, 2, 1, 3]) + 0.25) / 10
    seen = np.array([0, 2, 1, 0])
    expected = (seen + (seen + g0) / 4) / 4
    np.testing.assert_allclose(graph.distribution(graph.locate(vectors(3)[0]), [0]), expected, rtol=1e-5)


def test_called_tools_are_damped() -> None:
    plain = one_cluster(GraphOptions(repeat_factor=1))
    damped = one_cluster(GraphOptions(repeat_factor=0.1))
    position = plain.locate(vectors(3)[0])
    p, q = plain.distribution(position, [0]), damped.distribution(position, [0])
    assert q[0] / q[1] == pytest.approx(0.1 * p[0] / p[1], rel=1e-4)


def reference(
    table: Decisions, assigned: list[tuple[int, ...]], options: GraphOptions, position, history: list[int]
) -> np.ndarray:
    """The interpolation as the recursion over dense counts, with no shortcut."""
    n_labels = len(table.labels)
    counts: defaultdict = defaultdict(lambda: np.zeros(n_labels))
    for row, label, share in zip(table.target_row, table.target_label, table.target_share, strict=True):
        context = (PADDING,) * options.order + table.histories[row]
        for number in ("all", *assigned[table.plan[row]]):
            for n in range(options.order + 1):
                counts[number, context[len(context) - n :]][label] += share * table.weight[row]
    context = (PADDING,) * options.order + tuple(history)
    g, p = np.full(n_labels, 1 / n_labels), None
    for n in range(options.order + 1):
        key = context[len(context) - n :]
        total = counts["all", key]
        g = (total + options.global_prior * g) / (total.sum() + options.global_prior)
        mine = sum(w * counts[k, key] for k, w in enumerate(position.shares.tolist()))
        prior = g if p is None else options.cluster_share * p + (1 - options.cluster_share) * g
        p = (mine + options.cluster_prior * prior) / (mine.sum() + options.cluster_prior)
    p[history] *= options.repeat_factor
    return p / p.sum()


@given(st.lists(st.integers(0, 4), max_size=4, unique=True), st.integers(1, 4), st.integers(0, 20), st.booleans())
def test_the_collapsed_sum_equals_the_recursion(history: list[int], order: int, seed: int, wide: bool) -> None:
    table = number_decisions(make_demonstrations(2), TOOLS)
    queries = vectors(14, 3)
    options = GraphOptions(order=order, nearest=3, temperature=0.3)
    graph = Graph(fit_graph(training_of(table, queries), 5, order), options)
    assigned = clusters_of(table, queries)
    with pytest.MonkeyPatch.context() as patch:
        if wide:
            patch.setattr("edgeret_export.reference.scoring.graph.WIDE", 0)
        position = graph.locate(vectors(1, seed)[0])
        found = graph.distribution(position, history)
    np.testing.assert_allclose(found, reference(table, assigned, options, position, history), atol=2e-6)


def clusters_of(table: Decisions, queries: np.ndarray) -> list[tuple[int, ...]]:
    """Every plan's cluster in each of the clusterings, numbered through."""
    found, offset = [], 0
    for run in range(CLUSTERINGS):
        numbers, centroids = cluster(training_of(table, queries), 5, run)
        found.append(numbers + offset)
        offset += len(centroids)
    return list(zip(*(f.tolist() for f in found), strict=True))


@given(st.lists(st.integers(-1, 4), max_size=12))
def test_any_history_gives_a_distribution(history: list[int]) -> None:
    table = number_decisions(make_demonstrations(2), TOOLS)
    graph = Graph(fit_graph(training_of(table, vectors(14, 3)), 4, 3), GraphOptions())
    found = graph.distribution(graph.locate(vectors(1, 5)[0]), history)
    assert found.dtype == np.float32
    assert found.min() > 0
    assert found.sum() == pytest.approx(1, abs=1e-5)


def test_end_does_not_win_the_first_step() -> None:
    # Counted without padding, `<end>` is the commonest label of all.
    plans = [demonstration(t) for t in "abcabc"]
    training = training_of(number_decisions(plans, [Tool(n, n) for n in "abc"]), vectors(6))
    graph = Graph(fit_graph(training, 2, 3), GraphOptions())
    assert graph.labels[int(graph.distribution(graph.locate(vectors(1, 9)[0]), []).argmax())] != END


def test_nearest_clusters_share_the_weight_by_similarity() -> None:
    training = training_of(number_decisions(make_demonstrations(2), TOOLS), vectors(14, 3))
    graph = Graph(fit_graph(training, 6, 2), GraphOptions(nearest=3))
    query = vectors(1, 4)[0]
    position = graph.locate(query)
    cosines = graph.centroids @ query
    # The clusterings may share a cluster, so which of two equal ones is read is left open.
    np.testing.assert_array_equal(np.sort(cosines[position.clusters]), np.sort(cosines)[-3:])
    np.testing.assert_array_equal(np.flatnonzero(position.shares), np.sort(position.clusters))
    assert position.similarity == pytest.approx(cosines.max())
    assert position.shares.sum() == pytest.approx(1)
    nearest = max(position.clusters, key=lambda number: cosines[number])
    assert position.shares[nearest] == position.shares.max()


def shuffled(tables: GraphTables, seed: int) -> GraphTables:
    """The same rows in another order."""
    order = np.random.default_rng(seed).permutation(len(tables.keys))
    spans = [slice(*tables.starts[row : row + 2]) for row in order]
    return replace(
        tables,
        keys=tables.keys[order],
        starts=np.append(0, np.cumsum([span.stop - span.start for span in spans])).astype(np.int32),
        targets=np.concatenate([tables.targets[span] for span in spans]),
        counts=np.concatenate([tables.counts[span] for span in spans]),
    )


@pytest.mark.parametrize("seed", range(3))
def test_rows_in_any_order_make_the_same_file_and_the_same_graph(seed: int) -> None:
    tables = fit_graph(training_of(number_decisions(make_demonstrations(2), TOOLS), vectors(14, 3)), 4, 3)
    other = shuffled(tables, seed)
    assert not np.array_equal(other.keys, tables.keys)
    options = GraphOptions()
    assert pack_graph(other, options, "f") == pack_graph(tables, options, "f")
    graphs = [Graph(given, options) for given in (tables, other)]
    for history in ([], [0], [1, 0], [2, 3, 0]):
        first, second = (graph.distribution(graph.locate(vectors(1, 5)[0]), history) for graph in graphs)
        np.testing.assert_array_equal(first, second)


def test_rows_that_are_arranged_are_taken_as_they_are() -> None:
    tables = fit_graph(training_of(number_decisions(make_demonstrations(2), TOOLS), vectors(14, 3)), 4, 3)
    once = arranged(tables)
    assert arranged(once) is once
    lengths = once.keys[:, 1].tolist()
    assert lengths == sorted(lengths)
    assert once.keys[0].tolist() == [GLOBAL, 0, UNUSED, UNUSED, UNUSED]
    assert sorted(map(tuple, once.keys.tolist())) == sorted(map(tuple, tables.keys.tolist()))


def test_a_stored_graph_is_read_the_same_whatever_the_order_of_its_rows(tiny: Path) -> None:
    where = "graph.msgpack"
    expected = components_of(edgeret.load(tiny)).graph
    value = unpack((tiny / where).read_bytes(), where)
    numbers = {
        name: get_array(value, name, kind, (None,) * len(value[name]["shape"]), where)
        for name, kind in (
            ("centroids", "<f4"),
            ("keys", "<i4"),
            ("starts", "<i4"),
            ("targets", "<i4"),
            ("counts", "<f4"),
        )
    }
    tables = shuffled(GraphTables(tuple(value["labels"]), **numbers), 1)
    changed(tiny, where, **{name: getattr(tables, name) for name in numbers})
    found = components_of(edgeret.load(tiny)).graph
    assert expected is not None and found is not None
    np.testing.assert_array_equal(found.transitions(), expected.transitions())
