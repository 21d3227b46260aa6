"""Ranking metrics against scikit-learn and against plain Python: two more implementations must say the same."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, label_ranking_average_precision_score, ndcg_score, recall_score

from edgeret_bench.metrics import COMPLETENESS_CUTS, RETRIEVAL_CUTS, next_tool_metrics, rank, retrieval_metrics

Case = tuple[np.ndarray, set[int]]


@st.composite
def cases(draw: st.DrawFn, longest: int = 25, levels: int | None = None) -> Case:
    """Scores and a non-empty set of relevant positions; `levels` bounds the different scores, so that some tie."""
    n = draw(st.integers(2, longest))
    relevant = draw(st.sets(st.integers(0, n - 1), min_size=1))
    if levels is None:
        return np.array(draw(st.permutations(range(n))), np.float64) / 7, relevant
    return np.array(draw(st.lists(st.integers(0, levels - 1), min_size=n, max_size=n)), np.float64), relevant


def truth(case: Case) -> np.ndarray:
    return np.isin(np.arange(len(case[0])), list(case[1])).astype(int)


def top(case: Case, k: int) -> np.ndarray:
    """1 for the k positions of the highest scores; equal scores in their order."""
    order = sorted(range(len(case[0])), key=lambda i: (-case[0][i], i))
    return np.isin(np.arange(len(order)), order[:k]).astype(int)


def ours(case: Case) -> dict[str, float]:
    return retrieval_metrics(rank(case[0]), case[1])


def reordered(case: Case) -> list[Case]:
    """The same items in every order that they could be listed in."""
    scores, relevant = case
    orders = permutations(range(len(scores)))
    return [(scores[list(order)], {i for i, j in enumerate(order) if j in relevant}) for order in orders]


@given(cases())
def test_without_ties_ndcg_is_scikit_learns(case: Case) -> None:
    for k in RETRIEVAL_CUTS:
        for ignore_ties in (True, False):
            expected = ndcg_score(truth(case)[None], case[0][None], k=k, ignore_ties=ignore_ties)
            assert ours(case)[f"ndcg@{k}"] == pytest.approx(expected)


@given(cases(longest=5, levels=3))
def test_with_ties_the_mean_over_all_orders_is_scikit_learns_tie_averaged_ndcg(case: Case) -> None:
    rows = [ours(other) for other in reordered(case)]
    for k in RETRIEVAL_CUTS:
        mean = sum(row[f"ndcg@{k}"] for row in rows) / len(rows)
        assert mean == pytest.approx(ndcg_score(truth(case)[None], case[0][None], k=k))


@given(st.integers(2, 6), st.data())
def test_if_all_scores_tie_the_mean_over_orders_is_that_of_guessing(n: int, data: st.DataObject) -> None:
    relevant = data.draw(st.sets(st.integers(0, n - 1), min_size=1))
    rows = [next_tool_metrics(rank(scores), right) for scores, right in reordered((np.zeros(n), relevant))]
    assert np.mean([row["top1"] for row in rows]) == pytest.approx(len(relevant) / n)
    if len(relevant) == 1:
        assert np.mean([row["mrr"] for row in rows]) == pytest.approx(sum(1 / i for i in range(1, n + 1)) / n)


@given(cases(levels=6))
def test_recall_is_scikit_learns_for_the_first_k(case: Case) -> None:
    for k in RETRIEVAL_CUTS:
        assert ours(case)[f"recall@{k}"] == pytest.approx(recall_score(truth(case), top(case, k)))


@given(cases(levels=6))
def test_f1_of_a_step_is_scikit_learns_for_as_many_as_are_acceptable(case: Case) -> None:
    found = next_tool_metrics(rank(case[0]), case[1])
    assert found["f1"] == pytest.approx(f1_score(truth(case), top(case, len(case[1]))))
    assert found["top1"] == truth(case)[top(case, 1).argmax()]


@given(cases(), st.data())
def test_one_relevant_tool_makes_scikit_learns_average_precision_the_reciprocal_rank(
    case: Case, data: st.DataObject
) -> None:
    only = {data.draw(st.sampled_from(sorted(case[1])))}
    expected = label_ranking_average_precision_score(truth((case[0], only))[None], case[0][None])
    assert ours((case[0], only))["mrr"] == pytest.approx(expected)
    assert next_tool_metrics(rank(case[0]), only)["mrr"] == pytest.approx(expected)


@given(cases(levels=8))
def test_all_metrics_agree_with_plain_python(case: Case) -> None:
    scores, relevant = case
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
    expected = {"mrr": max(1 / (1 + order.index(i)) for i in relevant)}
    for k in COMPLETENESS_CUTS:
        expected[f"completeness@{k}"] = float(all(order.index(i) < k for i in relevant))
    for k in RETRIEVAL_CUTS:
        gain = sum(1 / math.log2(2 + place) for place, i in enumerate(order[:k]) if i in relevant)
        ideal = sum(1 / math.log2(2 + place) for place in range(min(k, len(relevant))))
        expected |= {f"ndcg@{k}": gain / ideal, f"recall@{k}": len(relevant & set(order[:k])) / len(relevant)}
    assert ours(case) == pytest.approx(expected)
    step = next_tool_metrics(rank(scores), relevant)
    for k in (5, 10):
        assert step[f"recall@{k}"] == pytest.approx(len(relevant & set(order[:k])) / min(k, len(relevant)))


@given(cases(levels=6), st.floats(0.01, 100), st.floats(-5, 5))
def test_only_the_order_of_scores_counts(case: Case, factor: float, shift: float) -> None:
    assert ours((case[0] * factor + shift, case[1])) == ours(case)
