"""What a build does where demonstrations are very many: samples that stand for all, and folds that are not needed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import TOOLS, build_tiny, encode_tiny, make_demonstrations
from training import training_of

import edgeret
from edgeret.types import Call
from edgeret_export.fitting import crossfit as crossfitting
from edgeret_export.fitting import folds as folding
from edgeret_export.fitting import graph as graphs
from edgeret_export.fitting import training_set as sets
from edgeret_export.fitting.counts import tabulate
from edgeret_export.fitting.crossfit import judged
from edgeret_export.fitting.decisions import number_decisions
from edgeret_export.fitting.folds import MOST_CLUSTERS, clusters_for
from edgeret_export.fitting.training_set import FOLDS, TrainingSet
from edgeret_export.recipe import Recipe
from edgeret_export.reference.scoring.graph import GLOBAL

RECIPE = Recipe(precision="fp32")


def many() -> TrainingSet:
    """As of a build of many demonstrations, by the made-up encoder."""
    training = encode_tiny(RECIPE, make_demonstrations(), few=0).training
    assert training is not None
    assert training.prior.steps is None
    return training


def test_clusters_grow_with_the_plans_up_to_a_number() -> None:
    assert [clusters_for(n) for n in (1, 100, 2627, 9990, 10_000, 1_000_000)] == [1, 20, 262, 999, 1000, MOST_CLUSTERS]


@pytest.mark.parametrize("seen", [40, 15])
def test_plans_that_no_centre_was_found_on_go_to_the_nearest(monkeypatch: pytest.MonkeyPatch, seen: int) -> None:
    topic = np.arange(40) % 2
    vectors = np.eye(2, 6, dtype=np.float32)[topic] + 0.1 * np.random.default_rng(1).normal(size=(40, 6))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    plans = [replace(make_demonstrations()[0], calls=(Call(TOOLS[t].name),), links=None) for t in topic]
    monkeypatch.setattr(graphs, "PLANS_SEEN", seen)
    monkeypatch.setattr(graphs, "_AT_ONCE", 7)
    assigned, centroids = graphs.cluster(training_of(number_decisions(plans, TOOLS), vectors), 2, 0)
    assert len(assigned) == 40
    assert len({(a, t) for a, t in zip(assigned.tolist(), topic.tolist(), strict=True)}) == len(centroids) == 2


def test_counts_are_those_of_going_through_all_decisions() -> None:
    training, order = many(), 3
    decisions = training.decisions
    clusters = np.random.default_rng(0).integers([0, 5], [5, 10], (len(training.folds), 2))
    expected: dict[tuple[int, ...], dict[int, float]] = {}
    for row, label, share in zip(decisions.target_row, decisions.target_label, decisions.target_share, strict=True):
        padded = (-1,) * order + decisions.histories[row]
        for number in (GLOBAL, *clusters[decisions.plan[row]].tolist()):
            for n in range(order + 1):
                counts = expected.setdefault((number, n, *padded[len(padded) - n :]), {})
                counts[int(label)] = counts.get(int(label), 0.0) + float(share * decisions.weight[row])
    tables = tabulate(decisions, clusters, np.zeros((10, 4), np.float32), order)
    assert [tuple(key[: 2 + key[1]]) for key in tables.keys.tolist()] == sorted(expected)
    for i, key in enumerate(sorted(expected)):
        place = slice(tables.starts[i], tables.starts[i + 1])
        assert tables.targets[place].tolist() == sorted(expected[key])
        np.testing.assert_allclose(tables.counts[place], [expected[key][t] for t in sorted(expected[key])], rtol=1e-6)


def test_of_many_held_out_decisions_whole_folds_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    training = many()
    total, labels = int(training.judging_rows.sum()), len(training.decisions.labels)
    monkeypatch.setattr(crossfitting, "FEWEST_JUDGED", 1)
    monkeypatch.setattr(crossfitting, "MOST_JUDGED", total * labels)
    assert judged(training) is training
    monkeypatch.setattr(crossfitting, "MOST_JUDGED", total * labels // 2)
    half = judged(training)
    folds = set(half.row_folds[half.judging_rows].tolist())
    assert folds == set(range(len(folds)))
    assert 1 <= len(folds) < FOLDS
    assert all((half.judging_rows == training.judging_rows)[half.row_folds == fold].all() for fold in folds)
    monkeypatch.setattr(crossfitting, "MOST_JUDGED", 10 * labels)
    part = judged(training)
    assert 0 < part.judging_rows.sum() <= 10
    assert set(part.row_folds[part.judging_rows].tolist()) == {0}


def test_folds_without_judges_are_not_fitted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fitted: list[Any] = []
    real = folding.fit_from
    monkeypatch.setattr(folding, "fit_from", lambda *given: fitted.append(given) or real(*given))
    monkeypatch.setattr(crossfitting, "FEWEST_JUDGED", 20)
    monkeypatch.setattr(crossfitting, "MOST_JUDGED", 1)
    report = edgeret.load(build_tiny(tmp_path / "b", few=0), threads=1).manifest.info["report"]["held_out"]
    assert report["folds"] == 1
    assert len(fitted) in (2, 3)  # the one fold, with one half of the penalty or two
    assert report["decisions"] <= 20
    assert 0 <= report["ece_calibrated"] <= 1


def test_what_the_prior_expects_of_some_plans_stands_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    every = many().prior
    monkeypatch.setattr(sets, "MOST_EXPECTED", len(make_demonstrations()) // 3)
    some = many().prior
    np.testing.assert_array_equal(some.static, every.static)
    assert some.expected.sum() == pytest.approx(every.expected.sum(), rel=1e-4)
    np.testing.assert_allclose(some.expected, every.expected, rtol=0.3, atol=0.02 * every.expected.sum())
