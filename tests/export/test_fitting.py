"""Fitting: step tables, graph counts, the factored head, calibration, folds, recipes and reproducible builds."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import TOOLS, build_tiny, full
from hypothesis import given
from hypothesis import strategies as st
from training import F, P, S, W, plan, training_of, two_topics

from edgeret.errors import InputError
from edgeret.types import END
from edgeret.usage.reliability import ece_by_chance, expected_calibration_error, refusal_curve
from edgeret_export.fitting import calibration as calibrate
from edgeret_export.fitting.calibration import (
    Outcomes,
    fit_confidence_map,
    fit_fusion,
)
from edgeret_export.fitting.crossfit import OVER_NOTHING
from edgeret_export.fitting.decisions import number_decisions
from edgeret_export.fitting.graph import fit_graph
from edgeret_export.fitting.training_set import assign_folds
from edgeret_export.recipe import Recipe, read_recipe
from edgeret_export.recorded.demonstrations import linear_extensions
from edgeret_export.reference.scoring.graph import GLOBAL, PADDING, UNUSED, GraphOptions, GraphTables, pack_graph


def test_a_dag_has_every_order_that_its_links_allow() -> None:
    diamond = plan(F, S, W, P, links=((0, 1), (0, 2), (1, 3), (2, 3)))
    assert list(linear_extensions(diamond, 9)) == [(0, 1, 2, 3), (0, 2, 1, 3)]
    assert list(linear_extensions(plan(F, S, W), 9)) == [(0, 1, 2)]


def test_orders_stop_at_the_limit_with_the_written_one_first() -> None:
    free = plan(F, S, W, links=())
    assert list(linear_extensions(free, 3)) == [(0, 1, 2), (0, 2, 1), (1, 0, 2)]
    assert len(list(linear_extensions(free, 99))) == 6


@given(st.integers(0, 5), st.data())
def test_orders_respect_links_and_are_distinct(n: int, data: st.DataObject) -> None:
    pairs = [(i, j) for j in range(n) for i in range(j)]
    links = data.draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    orders = list(
        linear_extensions(plan(*(f"t{i}" for i in range(n)), links=None if links is None else tuple(links)), 6)
    )
    assert orders[0] == tuple(range(n))
    assert len(set(orders)) == len(orders) <= 6
    for order in orders:
        assert sorted(order) == list(range(n))
        assert all(order.index(i) < order.index(j) for i, j in links)


def test_the_table_shares_weight_among_the_orders_of_a_plan() -> None:
    table = number_decisions([plan(F, S, W, links=((0, 2), (1, 2))), plan(P), plan()], TOOLS)
    assert table.labels == (F, S, W, P, END)
    assert table.plan.tolist() == [0] * 8 + [1] * 2 + [2]
    assert table.histories[:8] == ((), (0,), (0, 1), (0, 1, 2), (), (1,), (1, 0), (1, 0, 2))
    assert table.written.tolist() == [True] * 4 + [False] * 4 + [True] * 3
    assert table.weight.tolist() == [0.5] * 8 + [1.0] * 3
    firsts = table.weight[table.first()]
    assert np.bincount(table.plan[table.first()], firsts).tolist() == [1.0, 1.0, 1.0]


def test_acceptable_labels_share_one_a_row() -> None:
    table = number_decisions([plan(F, S, W, links=((0, 2), (1, 2))), plan(P)], TOOLS)
    assert np.bincount(table.target_row, table.target_share).tolist() == [1.0] * len(table)
    assert table.acceptable()[0].tolist() == [True, True, False, False, False]
    assert table.target_share[table.target_row == 0].tolist() == [0.5, 0.5]
    chosen = table.select(table.plan == 1)
    assert chosen.acceptable().argmax(axis=1).tolist() == [3, 4]
    assert chosen.histories == ((), (3,))


def rows(tables: GraphTables) -> dict[tuple[int, ...], dict[str, float]]:
    """The sparse table as {(cluster, *context): {label: count}}."""
    spans = zip(tables.keys.tolist(), tables.starts[:-1], tables.starts[1:], strict=True)
    return {
        (key[0], *key[2 : 2 + key[1]]): {tables.labels[tables.targets[i]]: float(tables.counts[i]) for i in range(a, b)}
        for key, a, b in spans
    }


def test_graph_counts_worked_by_hand() -> None:
    table = number_decisions([plan(F, S), plan(F)], TOOLS)
    tables = fit_graph(training_of(table, np.eye(2, 4, dtype=np.float32)), 1, 1)
    expected = {(): {F: 2, S: 1, END: 2}, (PADDING,): {F: 2}, (0,): {S: 1, END: 1}, (1,): {END: 1}}
    # One cluster holds both plans, in however many clusterings.
    every = (GLOBAL, *range(len(tables.centroids)))
    assert rows(tables) == {(c, *context): counts for c in every for context, counts in expected.items()}
    assert tables.keys[0].tolist() == [GLOBAL, 0, UNUSED]
    assert np.allclose(tables.centroids, [0.5**0.5, 0.5**0.5, 0, 0])


def test_both_orders_of_independent_calls_count_half() -> None:
    tables = fit_graph(
        training_of(number_decisions([plan(F, S, links=())], TOOLS), np.eye(1, 4, dtype=np.float32)), 1, 2
    )
    found = rows(tables)
    assert found[GLOBAL, PADDING, PADDING] == {F: 0.5, S: 0.5}
    assert found[GLOBAL, PADDING, 0] == {S: 0.5}
    assert found[GLOBAL, 0, 1] == found[GLOBAL, 1, 0] == {END: 0.5}


def test_unlike_plans_fall_into_clusters_of_their_own() -> None:
    table, vectors = two_topics()
    tables = fit_graph(training_of(table, vectors), 2, 1)
    assert len(tables.centroids) % 2 == 0
    firsts = [rows(tables)[c, PADDING] for c in range(len(tables.centroids))]
    assert firsts.count({F: 20.0}) == firsts.count({W: 20.0}) == len(firsts) // 2
    for first, centroid in zip(firsts, tables.centroids, strict=True):
        assert centroid[0 if F in first else 1] > 0.99
        assert np.linalg.norm(centroid) == pytest.approx(1, abs=1e-6)


def test_the_graph_has_the_same_bytes_twice() -> None:
    table, vectors = two_topics()
    first, second = (pack_graph(fit_graph(training_of(table, vectors, 7), 5, 3), GraphOptions(), "f") for _ in range(2))
    assert first == second


def outcomes(head: np.ndarray, graph: np.ndarray, label: np.ndarray, known: np.ndarray | None = None) -> Outcomes:
    experts = (np.log(head).astype(np.float32), np.log(graph).astype(np.float32))
    return Outcomes(experts, np.eye(4, dtype=bool)[label], np.ones(len(label), bool) if known is None else known)


def fit_two(found: Outcomes, pull: float = 0.0) -> tuple[float, ...]:
    return fit_fusion(found, OVER_NOTHING, pull)


def noisy(label: np.ndarray, sharpness: float, seed: int) -> np.ndarray:
    """Distributions that know the label, the better the sharper."""
    logits = np.random.default_rng(seed).normal(size=(len(label), 4)) + sharpness * np.eye(4)[label]
    return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)


def test_fusion_gives_noise_no_weight() -> None:
    label = np.repeat(np.random.default_rng(4).integers(4, size=100), 4)
    informed = np.repeat(noisy(label[::4], 2, 5), 4, axis=0)
    # Every row of noise stands there in all four rotations, so that none can agree with the labels by chance.
    noise = np.stack([np.roll(noisy(label, 0, 6)[4 * (i // 4)], i % 4) for i in range(400)])
    head, graph = fit_two(outcomes(noise, informed, label))
    assert head == pytest.approx(0, abs=1e-3)
    assert graph > 0.5
    head, graph = fit_two(outcomes(informed, noise, label))
    assert head > 0.5
    assert graph == pytest.approx(0, abs=1e-3)


def test_fusion_trusts_the_better_source_more() -> None:
    label = np.random.default_rng(7).integers(4, size=800)
    good, poor = noisy(label, 2.5, 8), noisy(label, 1, 9)
    head, graph = fit_two(outcomes(good, poor, label))
    assert head > graph > 0
    head, graph = fit_two(outcomes(poor, good, label))
    assert graph > head > 0


def test_rows_whose_answer_was_never_seen_do_not_move_the_fusion() -> None:
    label = np.random.default_rng(10).integers(3, size=200)
    head, graph = noisy(label, 2, 11), noisy(label, 1, 12)
    both, both_graph = np.vstack((head, noisy(label, -9, 13))), np.vstack((graph, noisy(label, -9, 14)))
    extended = outcomes(both, both_graph, np.concatenate((label, np.full(200, 3))), np.arange(400) < 200)
    assert fit_two(extended) == pytest.approx(fit_two(outcomes(head, graph, label)), abs=1e-3)


def overconfident(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    confidence = rng.uniform(0.3, 0.999, 4000)
    return confidence, rng.random(4000) < 0.7 * confidence


def test_the_confidence_map_rises_and_mends_overconfidence() -> None:
    knots = np.array(fit_confidence_map(*overconfident(0)))
    assert (np.diff(knots[:, 0]) > 0).all()
    assert (np.diff(knots[:, 1]) >= 0).all()
    assert knots[0].tolist() == [0, 0]
    assert knots[-1, 0] == 1
    confidence, correct = overconfident(1)
    before = expected_calibration_error(confidence, correct)
    after = expected_calibration_error(np.interp(confidence, knots[:, 0], knots[:, 1]), correct)
    assert before > 0.15
    assert after < before / 4
    assert (
        calibrate.cross_fitted_ece(confidence, correct, np.arange(4000) % 5 % 2 == 0, calibrate.IDENTITY) < before / 4
    )


def test_no_decisions_leave_the_map_that_was_expected() -> None:
    expected = ((0.0, 0.1), (1.0, 0.8))
    assert fit_confidence_map(np.empty(0), np.empty(0, bool), expected) == expected


def test_few_decisions_move_the_map_a_little() -> None:
    # Ten right ones are as many as those that the expectation counts for: half way from 0.6 to 1.
    found = fit_confidence_map(np.full(10, 0.6), np.ones(10, bool))
    assert found == ((0.0, 0.0), (0.6, 0.8), (1.0, 0.8))


def test_few_decisions_leave_fusion_near_where_it_began() -> None:
    label = np.random.default_rng(7).integers(4, size=8)
    found = outcomes(noisy(label, 2.5, 8), noisy(label, 1, 9), label)
    away = [np.abs(np.array(fit_two(found, pull)) - OVER_NOTHING).max() for pull in (0.0, 10.0, 1e6)]
    assert away[0] > away[1] > away[2]
    assert away[2] < 1e-3


def test_calibration_error_worked_by_hand() -> None:
    # Fewer decisions than bins: each is a bin of its own, with gaps 0.4, 0.2, 0.1.
    error = expected_calibration_error(np.array([0.9, 0.6, 0.2]), np.array([True, True, False]))
    assert error == pytest.approx((0.4 + 0.2 + 0.1) / 3)
    # Thirty decisions, two a bin: in each, 0.5 confidence against one right of two.
    assert expected_calibration_error(np.full(30, 0.5), np.arange(30) % 2 == 0) == 0
    assert expected_calibration_error(np.full(30, 0.8), np.arange(30) % 2 == 0) == pytest.approx(0.3)


def test_exact_probabilities_have_the_calibration_error_of_chance() -> None:
    rng = np.random.default_rng(1)
    confidence = rng.uniform(0.3, 1, 400)
    low, high = ece_by_chance(confidence)
    assert 0 < low < high < 0.1
    exact = [expected_calibration_error(confidence, rng.random(400) < confidence) for _ in range(400)]
    assert 0.85 < np.mean([low <= error <= high for error in exact]) < 0.95
    # What is 0.2 too sure is seen, and many more decisions leave chance less room.
    assert expected_calibration_error(confidence, rng.random(400) < confidence - 0.2) > high
    assert ece_by_chance(np.tile(confidence, 16))[1] < high / 2
    assert ece_by_chance(np.ones(50)) == (0, 0)


def test_the_refusal_curve_takes_the_most_confident_first() -> None:
    confidence = np.linspace(0.05, 0.95, 10)
    curve = refusal_curve(confidence, confidence > 0.5)
    assert [point["accuracy"] for point in curve] == [1, 1, 1, 1, 1, 0.8333, 0.7143, 0.625, 0.5556, 0.5]
    assert curve[2] == {"share": 0.3, "accuracy": 1.0}


def test_queries_with_the_same_words_share_a_fold() -> None:
    texts = [f"request {i // 2}" if i % 2 else f"  Request   {i // 2} " for i in range(100)]
    folds = assign_folds(texts, 5, 3)
    assert (folds[::2] == folds[1::2]).all()
    assert np.bincount(folds).tolist() == [20] * 5
    assert (folds == assign_folds(texts, 5, 3)).all()
    assert (folds != assign_folds(texts, 5, 4)).any()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("speed = 3", 'unknown recipe key "speed"; known: precision, seed, order,'),
        ("order = 2.5", '"order" must be a int, found 2.5'),
        ("seed = true", '"seed" must be a int, found True'),
        ('history_scale = "much"', "\"history_scale\" must be a float, found 'much'"),
        ('precision = "int4"', "\"precision\" must be one of auto, fp32, fp16, int8, codebook, found 'int4'"),
        ('tool_text = "name"', "\"tool_text\" must be one of name+description, description, found 'name'"),
        ("order = 0", '"order" must be between 1 and 8, found 0'),
        ("order = 9", '"order" must be between 1 and 8, found 9'),
        ("seed = -1", '"seed" must be between 0 and 2147483647, found -1'),
        ("history_scale = 0", '"history_scale" must be above 0 and below 1000, found 0'),
        ("history_scale = nan", '"history_scale" must be above 0 and below 1000, found nan'),
        ("history_scale = -0.5", '"history_scale" must be above 0 and below 1000, found -0.5'),
        ("label_smoothing = 1.0", '"label_smoothing" must be at least 0 and below 1, found 1.0'),
        ("hnsw_from = 0", '"hnsw_from" must be above 0, found 0'),
        ("order 3", "not TOML ("),
    ],
)
def test_a_bad_recipe_is_refused_by_key_and_value(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(InputError, match=f"^{re.escape(f'{path}: {message}')}"):
        read_recipe(path)


def test_the_command_line_overrides_the_file_and_the_file_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text('order = 2\nseed = 5\nprecision = "fp16"\nhistory_scale = 1', encoding="utf-8")
    found = read_recipe(path, seed=6, precision=None)
    assert found == Recipe(order=2, seed=6, precision="fp16", history_scale=1)
    assert read_recipe(None) == Recipe()
    with pytest.raises(InputError, match=r'^the command line: "seed" must be between'):
        read_recipe(path, seed=-1)
    with pytest.raises(InputError, match=r"gone\.toml: cannot be read .*; expected a recipe in TOML"):
        read_recipe(tmp_path / "gone.toml")


@pytest.mark.parametrize("threads", [2, *full(1, 3)])
def test_the_same_inputs_give_the_same_bytes_of_every_file(tiny_original: Path, tmp_path: Path, threads: int) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        again = build_tiny(tmp_path / "again")
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    first, second = ({f.name: f.read_bytes() for f in b.iterdir()} for b in (tiny_original, again))
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []
