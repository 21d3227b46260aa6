"""Ranking metrics and latency quantiles, against scikit-learn and against examples worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from edgeret_bench.metrics import RETRIEVAL_CUTS, mean, next_tool_metrics, quantiles, rank, retrieval_metrics


@given(st.data())
def test_ndcg_agrees_with_scikit_learn(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 30))
    scores = np.array(data.draw(st.permutations(range(n))), np.float64)
    relevant = data.draw(st.sets(st.integers(0, n - 1), min_size=1))
    truth = np.isin(np.arange(n), list(relevant)).astype(float)
    found = retrieval_metrics(rank(scores), relevant)
    for k in RETRIEVAL_CUTS:
        assert found[f"ndcg@{k}"] == pytest.approx(ndcg_score(truth[None], scores[None], k=k))


def test_rank_puts_the_highest_score_first() -> None:
    assert rank(np.array([0.1, 0.9, 0.5])).tolist() == [1, 2, 0]


def test_equal_scores_keep_their_order() -> None:
    assert rank(np.array([0.5, 0.7, 0.5, 0.7, 0.5])).tolist() == [1, 3, 0, 2, 4]
    assert rank(np.zeros(100)).tolist() == list(range(100))


def test_a_tie_does_not_favour_the_right_answer() -> None:
    assert next_tool_metrics(rank(np.zeros(8)), {7})["mrr"] == 1 / 8


def test_next_tool_metrics_of_one_acceptable_tool_at_rank_three() -> None:
    found = next_tool_metrics(np.array([4, 2, 0, 1, 3]), {0})
    assert found == {"top1": 0.0, "mrr": pytest.approx(1 / 3), "f1": 0.0, "recall@5": 1.0, "recall@10": 1.0}


def test_next_tool_metrics_of_three_acceptable_tools() -> None:
    # Ranks of 0, 5 and 9 are 1, 3 and 8: two of three retrieved at k = 3 and at 5, all of them at 10.
    found = next_tool_metrics(np.array([0, 7, 5, 1, 2, 3, 4, 9, 6, 8, 10, 11]), {0, 5, 9})
    assert found["top1"] == 1.0
    assert found["mrr"] == 1.0
    assert found["f1"] == pytest.approx(2 / 3)
    assert found["recall@5"] == pytest.approx(2 / 3)
    assert found["recall@10"] == 1.0


def test_next_tool_recall_is_full_when_the_cut_holds_acceptable_tools_only() -> None:
    found = next_tool_metrics(np.arange(12), set(range(7)))
    assert found["recall@5"] == 1.0
    assert found["recall@10"] == 1.0


def test_retrieval_metrics_worked_by_hand() -> None:
    # Relevant: 3 at rank 2, 8 at rank 5, 1 at rank 11.
    ranking = np.array([0, 3, 2, 4, 8, 5, 6, 7, 9, 10, 1, 11])
    found = retrieval_metrics(ranking, {1, 3, 8})
    ideal = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    reached = 1 / math.log2(3) + 1 / math.log2(6)
    assert found["ndcg@1"] == 0.0
    assert found["ndcg@5"] == pytest.approx(reached / ideal)
    assert found["ndcg@10"] == pytest.approx(reached / ideal)
    assert found["recall@1"] == 0.0
    assert found["recall@5"] == pytest.approx(2 / 3)
    assert found["recall@10"] == pytest.approx(2 / 3)
    assert found["completeness@10"] == 0.0
    assert found["mrr"] == 0.5


def test_a_perfect_ranking_scores_one_wherever_the_cut_allows_it() -> None:
    found = retrieval_metrics(np.arange(20), {0, 1})
    assert found.pop("recall@1") == 0.5
    assert set(found.values()) == {1.0}


def test_more_relevant_tools_than_the_cut_make_completeness_unreachable() -> None:
    found = retrieval_metrics(np.arange(20), set(range(11)))
    assert found["ndcg@10"] == pytest.approx(1.0)
    assert found["recall@10"] == pytest.approx(10 / 11)
    assert found["completeness@10"] == 0.0


def test_a_tool_outside_the_ranking_scores_nothing_in_retrieval() -> None:
    assert set(retrieval_metrics(np.arange(4), {99}).values()) == {0.0}


def test_a_ranking_shorter_than_the_cuts_is_no_problem() -> None:
    found = retrieval_metrics(np.array([1, 0]), {0})
    assert found["ndcg@10"] == pytest.approx(1 / math.log2(3))
    assert found["completeness@10"] == 1.0


def test_mean_averages_every_metric() -> None:
    assert mean([{"top1": 1.0, "mrr": 0.5}, {"top1": 0.0, "mrr": 0.25}]) == {"top1": 0.5, "mrr": 0.375}


def test_quantiles_interpolate_between_neighbours() -> None:
    found = quantiles([float(i) for i in range(101)])
    assert found == {"p50": 50.0, "p90": 90.0, "p99": 99.0, "max": 100.0, "mean": 50.0, "n": 101}
    assert quantiles([1.0, 2.0])["p50"] == 1.5
    assert quantiles([1.0, 2.0])["p90"] == pytest.approx(1.9)


def test_quantiles_do_not_depend_on_the_order_of_the_samples() -> None:
    assert quantiles([5.0, 1.0, 3.0]) == quantiles([1.0, 3.0, 5.0])
    assert quantiles([7.0]) == {"p50": 7.0, "p90": 7.0, "p99": 7.0, "max": 7.0, "mean": 7.0, "n": 1}
