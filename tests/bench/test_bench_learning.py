"""Learning curves on a tiny bundle: samples, agreement of the two curves, and refusals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench_cli import printed, write_demonstrations
from conftest import make_demonstrations

import edgeret
from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.runtime.runtime import Runtime
from edgeret_bench.accuracy import learning
from edgeret_export.fitting.crossfit import clusters_for

TRAIN = make_demonstrations(6)
TEST = [replace(d, query=f"{d.query} please") for d in make_demonstrations(1)]


@pytest.fixture(scope="module")
def runtime(tiny_original: Path) -> Runtime:
    return edgeret.load(tiny_original, threads=1)


@pytest.fixture(scope="module")
def curves(runtime: Runtime) -> dict[str, Any]:
    return learning.run(runtime, TRAIN, TEST, (1.0, 0.1, 0.5), (9, 1, clusters_for(len(TRAIN))))


def test_rows_are_in_order_and_hold_every_method(curves: dict[str, Any]) -> None:
    assert (curves["n_plans"], curves["n_steps"], curves["seed"]) == (7, 17, 0)
    assert [row["demonstrations"] for row in curves["by_demonstrations"]] == [4, 21, 42]
    assert [row["clusters"] for row in curves["by_demonstrations"]] == [clusters_for(n) for n in (4, 21, 42)]
    assert [row["clusters"] for row in curves["by_clusters"]] == sorted((9, 1, clusters_for(42)))
    for row in (*curves["by_demonstrations"], *curves["by_clusters"]):
        assert set(row) == {"demonstrations", "clusters", *learning.METHODS}
        assert all(0 <= row[method] <= 1 for method in learning.METHODS)
    assert json.loads(json.dumps(curves, allow_nan=False)) == curves


def test_both_curves_meet_where_all_is_learned_with_as_many_clusters(curves: dict[str, Any]) -> None:
    everything = curves["by_demonstrations"][-1]
    assert everything in curves["by_clusters"]
    assert {row["dtdr-l-factored"] for row in curves["by_clusters"]} == {everything["dtdr-l-factored"]}
    assert {row["demonstrations"] for row in curves["by_clusters"]} == {42}


def test_the_head_of_all_demonstrations_is_that_even_if_no_share_is_all(
    runtime: Runtime, curves: dict[str, Any]
) -> None:
    found = learning.run(runtime, TRAIN, TEST, (0.1,), (9,))
    assert found["by_demonstrations"] == curves["by_demonstrations"][:1]
    assert found["by_clusters"] == [row for row in curves["by_clusters"] if row["clusters"] == 9]


def test_more_demonstrations_teach_more(runtime: Runtime, curves: dict[str, Any]) -> None:
    few = learning.run(runtime, TRAIN, TEST, (0.01,), (1,))["by_demonstrations"][0]
    most = curves["by_demonstrations"][-1]
    assert few["demonstrations"] == 1
    assert most["fused"] > 0.9
    assert all(few[method] < most[method] for method in learning.METHODS)


def test_a_seed_repeats_the_samples(runtime: Runtime) -> None:
    found = [learning.run(runtime, TRAIN[:14], TEST[:3], (0.2,), (1,), seed) for seed in (2, 2, 3)]
    assert found[0] == found[1]
    assert [result["seed"] for result in found] == [2, 2, 3]
    assert found[0]["by_clusters"] == found[2]["by_clusters"]


def test_test_queries_that_were_trained_on_are_counted(runtime: Runtime) -> None:
    shouted = [replace(d, query=f"  {d.query.upper()}") for d in TRAIN[:2]]
    found = learning.run(runtime, TRAIN, [*TEST, TRAIN[3], *shouted], (1.0,), (1,))
    assert found["repeated_queries"] == 3
    assert learning.run(runtime, TRAIN, TEST, (1.0,), (1,))["repeated_queries"] == 0


def test_more_clusters_than_plans_are_no_problem(runtime: Runtime) -> None:
    found = learning.run(runtime, TRAIN[:7], TEST, (1.0,), (1000,))
    assert found["by_clusters"][0]["clusters"] == 1000


@pytest.mark.parametrize(
    ("train", "test", "shares", "clusters"),
    [
        ([], TEST, (1.0,), (1,)),
        (TRAIN, [], (1.0,), (1,)),
        (TRAIN, TEST, (), (1,)),
        (TRAIN, TEST, (1.0,), ()),
        (TRAIN, TEST, (0.0, 1.0), (1,)),
        (TRAIN, TEST, (0.5, 1.1), (1,)),
        (TRAIN, TEST, (1.0,), (0,)),
        pytest.param(*(TRAIN, TEST, (float("nan"),), (1,))),
    ],
)
def test_curves_that_make_no_sense_are_refused(
    runtime: Runtime,
    train: Sequence[Demonstration],
    test: Sequence[Demonstration],
    shares: Sequence[float],
    clusters: Sequence[int],
) -> None:
    with pytest.raises(InputError, match="shares above 0 up to 1, clusters from 1"):
        learning.run(runtime, train, test, shares, clusters)


def test_the_command_measures_the_shares_and_clusters_given(
    capsys: pytest.CaptureFixture[str], tiny_original: Path, tmp_path: Path
) -> None:
    train, test = (write_demonstrations(tmp_path / f"{len(d)}.jsonl", d) for d in (TRAIN, TEST))
    options = ["--train", train, "--demos", test, "--shares", "0.5, 1", "--clusters", "2,"]
    found = printed(capsys, "learning", tiny_original, *options)
    assert [row["demonstrations"] for row in found["by_demonstrations"]] == [21, 42]
    assert [row["clusters"] for row in found["by_clusters"]] == [2]
    assert set(found["inputs"]) == {"train", "demos"}
