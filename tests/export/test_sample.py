"""Heads are fitted on a sample where demonstrations are very many; the graph counts all of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import build_tiny, encode_tiny, full, make_demonstrations

import edgeret
from edgeret.types import Call
from edgeret_export.fitting import sample as sampling
from edgeret_export.fitting.crossfit import crossfit, judged
from edgeret_export.fitting.decisions import number_decisions
from edgeret_export.fitting.graph import fit_graph
from edgeret_export.fitting.head import fit_factored, popularity
from edgeret_export.fitting.options import HeadOptions
from edgeret_export.fitting.sample import sample_plans
from edgeret_export.fitting.training_set import TrainingSet
from edgeret_export.recipe import Recipe
from edgeret_export.sources.priors import read_prior

RECIPE = Recipe(precision="fp32")
DEMONSTRATIONS = make_demonstrations(30)
MOST = 90


def training(monkeypatch: pytest.MonkeyPatch, most: int) -> TrainingSet:
    """The training set, of which heads see at most so many plans."""
    monkeypatch.setattr(sampling, "MOST_PLANS", most)
    found = encode_tiny(RECIPE, DEMONSTRATIONS, few=0).training
    assert found is not None
    return found


def test_up_to_the_bound_heads_see_all_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    every = training(monkeypatch, len(DEMONSTRATIONS))
    assert every.sample is None
    assert every.sampled() is every
    np.testing.assert_array_equal(every.head_plans, np.arange(len(DEMONSTRATIONS)))


def test_a_seed_draws_the_same_plans_and_another_one_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "MOST_PLANS", MOST)
    decisions = training(monkeypatch, MOST).decisions
    first, again, other = (sample_plans(decisions, len(DEMONSTRATIONS), seed) for seed in (0, 0, 1))
    assert first is not None
    assert other is not None
    assert first.sum() == other.sum() == MOST
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_a_rare_tool_keeps_its_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "MOST_PLANS", 60)
    rare = [replace(DEMONSTRATIONS[i], calls=(Call("phone_call"),)) for i in range(3)]
    tools = encode_tiny(RECIPE, DEMONSTRATIONS).tools
    for seed in range(5):
        chosen = sample_plans(number_decisions([*DEMONSTRATIONS, *rare], tools), len(DEMONSTRATIONS) + 3, seed)
        assert chosen is not None
        assert chosen[-3:].all()
        assert chosen.sum() == 60


def test_labels_that_need_more_than_the_bound_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "MOST_PLANS", 1)
    decisions = training(monkeypatch, 1).decisions
    chosen = sample_plans(decisions, len(DEMONSTRATIONS), 0)
    assert chosen is not None
    seen = chosen[decisions.plan[decisions.target_row]]
    for label in range(len(decisions.labels)):
        of_label = decisions.target_label == label
        plans = np.unique(decisions.plan[decisions.target_row[of_label & seen]])
        assert len(plans) >= sampling.OF_EVERY_LABEL


def test_what_heads_see_of_a_plan_is_the_same_in_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    every, some = training(monkeypatch, 1000), training(monkeypatch, MOST)
    assert len(some.queries.segments) == len(some.queries.spelling) == len(some.prior.static) == MOST
    np.testing.assert_array_equal(some.queries.vectors, every.queries.vectors)
    for plan in some.head_plans.tolist():
        np.testing.assert_array_equal(some.queries.parts(plan), every.queries.parts(plan))
        for ours, theirs in zip(some.queries.spelt(plan), every.queries.spelt(plan), strict=True):
            np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(some.prior.static, every.prior.static[some.head_plans])
    assert some.prior.expected.sum() == pytest.approx(every.prior.expected.sum(), rel=1e-4)


def test_a_head_is_fitted_on_the_sample_alone_and_tools_are_counted_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    every, some = training(monkeypatch, 1000), training(monkeypatch, MOST)
    chosen = np.isin(every.decisions.plan, some.head_plans)
    expected, found = fit_factored(every.select(chosen), HeadOptions()), fit_factored(some, HeadOptions())
    np.testing.assert_allclose(found.arrays.weights, expected.arrays.weights, atol=1e-4)
    np.testing.assert_allclose(found.arrays.bias, expected.arrays.bias, atol=1e-4)
    np.testing.assert_array_equal(found.arrays.popular, popularity(some))


def test_the_graph_counts_all_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    every, some = (fit_graph(training(monkeypatch, most), 10, 3) for most in (1000, MOST))
    np.testing.assert_array_equal(some.counts, every.counts)
    np.testing.assert_array_equal(some.centroids, every.centroids)


def test_only_the_sample_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    some = training(monkeypatch, MOST)
    assert some.sample is not None
    for each in (some, judged(some), some.judged_by({d.query for d in DEMONSTRATIONS[:50]})):
        assert some.sample[each.decisions.plan[each.judging_rows]].all()
    fitted = crossfit(some, some.queries.vectors[:9], 3, HeadOptions(), read_prior("tiny").calibration_map)
    assert fitted.report["head_plans"] == MOST
    assert fitted.report["plans"] == len(DEMONSTRATIONS)
    assert fitted.held_out is not None
    assert some.sample[some.decisions.plan[fitted.held_out.rows]].all()


@pytest.mark.parametrize("profile", ["default", *full("full", "tiny")])
def test_a_bundle_of_a_sample_decides_and_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, profile: str
) -> None:
    monkeypatch.setattr(sampling, "MOST_PLANS", MOST)
    recipe = Recipe(precision="fp32", profile=profile)
    path = build_tiny(tmp_path / "b", demonstrations=DEMONSTRATIONS, few=0, recipe=recipe)
    runtime = edgeret.load(path, threads=1)
    assert runtime.manifest.info["report"]["held_out"]["head_plans"] == MOST
    assert runtime.task("write a note").next().tool == "write_note"
