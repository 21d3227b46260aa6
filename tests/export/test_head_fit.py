"""Fitting the head: what its weights are, its gradient, its chunks, and the search for the lowest point."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import TOOLS
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_info, threadpool_limits
from training import F, S, W, plan, queries_of, training_of, two_topics

from edgeret.types import END, SEGMENTS, SPELLING_BUCKETS
from edgeret_export.fitting import chunks
from edgeret_export.fitting import head as train_head
from edgeret_export.fitting.decisions import Decisions, number_decisions
from edgeret_export.fitting.head import fit_factored, fit_from
from edgeret_export.fitting.history import pairs_shown, tools_called
from edgeret_export.fitting.lbfgs import minimise
from edgeret_export.fitting.options import HeadOptions
from edgeret_export.fitting.parameters import Parameters
from edgeret_export.fitting.training_set import Queries
from edgeret_export.reference.scoring.head import FactoredHead, log_softmax


def query_logits(head: FactoredHead, queries: Queries, vector: np.ndarray, segments: np.ndarray) -> np.ndarray:
    """What a task computes once, as the runtime does."""
    static, plan = np.zeros(len(head.labels), np.float32), int(np.abs(queries.vectors - vector).sum(axis=1).argmin())
    cosines = np.vstack((vector, segments)) @ queries.label_vectors.T
    return head.query_logits(vector, cosines, static, queries.spelt(plan))


def test_the_factored_head_separates_an_easy_problem() -> None:
    table, vectors = two_topics()
    queries = queries_of(vectors, 4)
    head = fit_factored(training_of(table, queries), HeadOptions())
    for row, history in enumerate(table.histories):
        at = table.plan[row]
        logits = query_logits(head, queries, vectors[at], queries.segments[at])
        logp = log_softmax(head.logits(logits, history))
        assert table.acceptable()[row, logp.argmax()]
        assert np.exp(logp.max()) > 0.8


def test_without_history_the_head_is_scikit_learns_logistic_regression() -> None:
    rng = np.random.default_rng(2)
    vectors = rng.normal(size=(150, 5)).astype(np.float32)
    label = (vectors @ rng.normal(size=(5, 3)) + rng.normal(size=(150, 3))).argmax(axis=1)
    every = np.arange(150)
    ones = np.ones(150, np.float32)
    table = Decisions(("a", "b", END), every, ((),) * 150, ones > 0, ones, every, label, ones)
    queries = queries_of(vectors, 2)
    head = fit_factored(training_of(table, queries), HeadOptions(inverse_regularisation=0.7, label_smoothing=0.0))
    ours = [log_softmax(head.logits(query_logits(head, queries, v, queries.segments[0]), ())) for v in vectors]
    theirs = LogisticRegression(C=0.7).fit(vectors, label).predict_proba(vectors)
    assert np.abs(np.exp(ours) - theirs).max() < 0.02


@pytest.fixture
def caught(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What `fit_factored` gave its optimiser, and what came back; how many threads each library had for it."""
    seen: dict[str, Any] = {}
    minimise = train_head.minimise

    def catch(objective: Any, start: np.ndarray, *options: Any) -> Any:
        threads = {library["num_threads"] for library in threadpool_info()}
        seen.update(objective=objective, size=len(start), threads=threads)
        seen["found"] = minimise(objective, start, *options)
        return seen["found"]

    monkeypatch.setattr(train_head, "minimise", catch)
    return seen


def small_problem() -> tuple[Decisions, Queries]:
    """Four plans with descriptions, parts, a repeated tool and two orders of one of them."""
    rng = np.random.default_rng(3)
    table = number_decisions([plan(F, S, W), plan(S, F, links=()), plan(F, F), plan()], TOOLS)
    shapes = (4, 3), (4, SEGMENTS, 3), (3, 3), (4, SPELLING_BUCKETS)
    return table, Queries(*(rng.normal(size=shape).astype(np.float32) for shape in shapes))


def test_the_heads_gradient_is_that_of_its_loss(caught: dict[str, Any]) -> None:
    fit_factored(training_of(*small_problem()), HeadOptions(inverse_regularisation=1.0), max_iterations=1)
    rng = np.random.default_rng(3)
    objective, point = caught["objective"], rng.normal(size=caught["size"]).astype(np.float32) / 2
    slope = objective(point)[1]
    for direction in (slope, *rng.normal(size=(8, caught["size"])).astype(np.float32)):
        step = direction / np.float32(np.linalg.norm(direction))
        # Losses are float32, so steps are wide, and two widths take out what the curve bends.
        near, far = (objective(point + step / n)[0] - objective(point - step / n)[0] for n in (16, 8))
        rise = (8 * near - far) / 12 * 16
        assert rise == pytest.approx(float(slope @ step), rel=0.01, abs=2e-4)


def test_decisions_are_fitted_alike_in_one_chunk_and_in_many(
    caught: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for rows, kept in ((1, 0), (1, 1 << 20), (4, 0), (1 << 20, 0)):
        monkeypatch.setattr(chunks, "CHUNK", 1)
        monkeypatch.setattr(chunks, "LEAST_ROWS", rows)
        monkeypatch.setattr(train_head, "KEPT", kept)
        fit_factored(training_of(*small_problem()), HeadOptions(), max_iterations=1)
        point = np.random.default_rng(4).normal(size=caught["size"]).astype(np.float32)
        found.append(caught["objective"](point))
    for value, slope in found[1:]:
        assert value == pytest.approx(found[0][0], rel=1e-6)
        np.testing.assert_allclose(slope, found[0][1], rtol=1e-4, atol=1e-6)


def test_only_pairs_that_demonstrations_show_have_weights() -> None:
    table = number_decisions([plan(F, S, W), plan(S, F)], TOOLS)
    vectors = np.eye(2, dtype=np.float32)
    arrays = fit_factored(training_of(table, vectors), HeadOptions()).arrays
    labels = arrays.labels
    pairs = {
        (labels[row % len(labels)], row >= len(labels), labels[follower])
        for row in range(2 * len(labels))
        for follower in arrays.followers[arrays.starts[row] : arrays.starts[row + 1]].tolist()
    }
    called = {(F, S), (F, W), (F, END), (S, W), (S, END), (W, END), (S, F)}
    last = {(F, S), (S, W), (W, END), (S, F), (F, END)}
    assert pairs == {(a, False, b) for a, b in called} | {(a, True, b) for a, b in last} | {
        (label, False, label) for label in labels[:-1]
    }


@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_the_lowest_point_is_found_whatever_the_parameters_scales(scale: float) -> None:
    rng = np.random.default_rng(0)
    inputs, right = rng.normal(size=(200, 12)), rng.normal(size=12)
    inputs[:, :3] *= scale
    labels = np.sign(inputs @ right + rng.normal(size=200))

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
        margins = labels * (inputs @ theta)
        share = 1 / (1 + np.exp(np.clip(margins, -500, 500)))
        slope = -(labels * share) @ inputs / 200 + 0.01 * theta
        return float(np.logaddexp(0, -margins).mean() + 0.005 * theta @ theta), slope.astype(np.float32)

    curvature = np.ones(12, np.float32)
    curvature[:3] = scale**2
    found = minimise(objective, np.zeros(12, np.float32), lambda slope: slope / curvature, 1e-5, 200)
    best = minimize(objective, np.zeros(12), jac=True, method="L-BFGS-B")
    assert objective(found)[0] == pytest.approx(best.fun, abs=1e-5)
    np.testing.assert_allclose(found, best.x, atol=0.02)


def test_the_head_is_fitted_on_one_thread_since_several_wait_for_each_other(caught: dict[str, Any]) -> None:
    with threadpool_limits(2):
        before = threadpool_info()
        fit_factored(training_of(*small_problem()), HeadOptions(), max_iterations=1)
        assert caught["threads"] == {1}
        assert threadpool_info() == before


def test_the_head_serves_what_it_was_trained_to(caught: dict[str, Any]) -> None:
    table, queries = small_problem()
    options = HeadOptions(inverse_regularisation=1e9, history_scale=3.0, label_smoothing=0.0)
    head = fit_factored(training_of(table, queries), options, max_iterations=6)
    parts = zip(queries.vectors, queries.segments, strict=True)
    logits = [query_logits(head, queries, vector, segments) for vector, segments in parts]
    served = np.stack(
        [log_softmax(head.logits(logits[p], h)) for p, h in zip(table.plan, table.histories, strict=True)]
    )
    share = table.target_share * table.weight[table.target_row] / table.weight.sum()
    loss = -(share * served[table.target_row, table.target_label]).sum()
    trained = caught[
        "found"
    ].copy()  # which begins with the weights of the vector and of the spelling, this one rounded
    spelling = head.arrays.spelling * head.arrays.spelling_scales
    begin = head.arrays.weights.size
    np.testing.assert_allclose(
        trained[begin:][: spelling.size], spelling.ravel(), atol=head.arrays.spelling_scales.max()
    )
    trained[begin:][: spelling.size] = spelling.ravel()
    assert loss == pytest.approx(caught["objective"](trained)[0], rel=1e-4)
    assert 0.05 < loss < 1


def test_a_fit_from_where_others_ended_ends_in_the_same_place_and_sooner() -> None:
    table, queries = small_problem()
    training, options = training_of(table, queries), HeadOptions(inverse_regularisation=1.0)
    first, ended = fit_from(None, training, options, 600, 1e-6)
    again, _ = fit_from(ended, training, options, 1, 1e-6)  # one step at most
    np.testing.assert_allclose(again.arrays.weights, first.arrays.weights, atol=1e-4)
    half = [training.select(training.decisions.plan % 2 == part) for part in range(2)]
    start = Parameters.mean([fit_from(None, part, options, 600, 1e-6)[1] for part in half])
    found, _ = fit_from(start, training, options, 600, 1e-6)
    for name in ("weights", "count"):  # the others have no penalty, and four plans hardly hold them
        np.testing.assert_allclose(getattr(found.arrays, name), getattr(first.arrays, name), atol=2e-3, err_msg=name)
    spelt = [fit.arrays.spelling * fit.arrays.spelling_scales for fit in (found, first)]
    np.testing.assert_allclose(*spelt, atol=2e-3)
    assert (found.arrays.followers == first.arrays.followers).all()
    np.testing.assert_allclose(found.arrays.values, first.arrays.values, atol=0.05)


def test_where_a_fit_ended_is_turned_to_another_encoder_and_says_the_same_of_its_vectors() -> None:
    table, queries = small_problem()
    _, ended = fit_from(None, training_of(table, queries), HeadOptions(inverse_regularisation=100.0), 600, 1e-6)
    turn = np.random.default_rng(5).normal(size=(2, 3)).astype(np.float32)  # two numbers of another encoder to three
    theirs = np.random.default_rng(6).normal(size=(7, 2)).astype(np.float32)
    turned = ended.turned(turn)
    assert turned.query.shape == (2 + SPELLING_BUCKETS, len(table.labels)) and turned.query.dtype == np.float16
    said = theirs @ turn @ ended.query[:3].astype(np.float32)
    np.testing.assert_allclose(theirs @ turned.query[:2], said, atol=np.abs(said).max() / 500)  # float16
    np.testing.assert_array_equal(turned.query[2:], ended.query[3:])
    assert turned.pairs is ended.pairs and turned.bias is ended.bias


def test_pairs_take_from_a_matrix_what_it_has_for_them() -> None:
    table, _ = small_problem()
    pairs = pairs_shown(table, tools_called(table))
    values = np.arange(1, 1 + len(pairs.followers), dtype=np.float32)
    assert pairs.among(pairs.weights(values)).tolist() == values.tolist()
    part = table.select(table.plan == 0)
    fewer = pairs_shown(part, tools_called(part))
    there = pairs.among(fewer.weights(np.ones(len(fewer.followers), np.float32)))
    assert there.sum() == len(fewer.followers) < len(values) and set(there) == {0, 1}
