"""The next-tool benchmark on a tiny bundle: keys, methods, DAGs, reproducibility and refusals."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import make_demonstrations

import edgeret
from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration, Step
from edgeret.runtime.runtime import Runtime
from edgeret.types import Call
from edgeret_bench import FITTED_METHODS, NEXT_TOOL_METHODS
from edgeret_bench.accuracy import next_tool
from edgeret_bench.accuracy import scorers as baselines
from edgeret_bench.accuracy.scorers import Measured
from edgeret_export.reference.runtime import components_of

METRICS = {"top1", "mrr", "f1", "recall@5", "recall@10"}
QUERY = "find the letter then mail it to me"


@pytest.fixture(scope="module")
def runtime(tiny_original: Path) -> Runtime:
    return edgeret.load(tiny_original, threads=1)


def plan(*tools: str, links: Sequence[tuple[int, int]] | None = None, query: str = QUERY) -> Demonstration:
    return Demonstration("x", query, tuple(Call(t) for t in tools), None if links is None else tuple(links))


def always(answer: Callable[[Step], str]) -> Any:
    """A stand-in for `Methods.get` whose every scorer puts `answer(step)` first."""

    def score(task: Measured, step: Step) -> np.ndarray:
        return np.array([name == answer(step) for name in task.names], np.float64)

    return lambda self, name: score


def test_a_result_has_the_keys_of_the_contract(runtime: Runtime) -> None:
    found = next_tool.run(runtime, make_demonstrations(2), NEXT_TOOL_METHODS)
    beside = {"ms_per_step", "by_plan_length", "samples"}
    assert set(found) == {
        "n_plans",
        "n_steps",
        "dag",
        "seed",
        "methods",
        "calibration",
        "decisions",
        "fitness",
        *beside,
    }
    assert tuple(found["methods"]) == ("random", "dr", "dtdr-c", "dtdr-l-factored", "prior", "fused")
    for values in found["methods"].values():
        assert set(values) == METRICS
        assert all(0 <= value <= 1 for value in values.values())
    assert found["n_plans"] == 14
    assert found["n_steps"] == 2 * (3 + 3 + 2 + 2 + 3 + 3 + 1)
    assert 0 <= found["calibration"]["ece"] <= 1
    low, high = found["calibration"]["ece_by_chance"]
    assert 0 <= low <= high <= 1
    assert [point["share"] for point in found["calibration"]["refusal_curve"]] == [i / 10 for i in range(1, 11)]


def test_heads_that_saw_the_demonstrations_beat_random(runtime: Runtime) -> None:
    methods = next_tool.run(runtime, make_demonstrations(), NEXT_TOOL_METHODS)["methods"]
    for name in ("dtdr-c", "dtdr-l-factored", "fused"):
        assert methods[name]["top1"] > methods["random"]["top1"] + 0.5
    assert methods["fused"]["top1"] > methods["dr"]["top1"]


def test_calibration_is_measured_on_the_decisions_taken(runtime: Runtime) -> None:
    wrong = [plan("send_mail", query="write a note"), plan("play_music", query="book a meeting and write a note of it")]
    found = next_tool.run(runtime, [*make_demonstrations(1), *wrong], ["fused"])
    everything = found["calibration"]["refusal_curve"][-1]
    assert everything == {"share": 1.0, "accuracy": round(found["methods"]["fused"]["top1"], 4)}
    assert everything["accuracy"] < 1


def test_random_repeats_under_a_seed_and_changes_with_it(runtime: Runtime) -> None:
    demonstrations = make_demonstrations(3)
    first, again, other = (next_tool.run(runtime, demonstrations, ["random"], seed) for seed in (5, 5, 6))
    assert first["seed"] == 5
    assert first["methods"] == again["methods"]
    assert first["methods"] != other["methods"]


def test_a_perfect_scorer_gets_one_everywhere(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baselines.Methods, "get", always(lambda step: step.taken))
    found = next_tool.run(runtime, make_demonstrations(2), ["fused"])
    assert set(found["methods"]["fused"].values()) == {1.0}


def test_a_scorer_of_wrong_answers_gets_no_top1(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baselines.Methods, "get", always(lambda step: "phone_call"))
    found = next_tool.run(runtime, make_demonstrations(1), ["fused"])["methods"]["fused"]
    assert found["top1"] == 0.0
    assert 0 < found["mrr"] <= 0.5


def test_either_of_two_independent_calls_counts_as_right_in_a_dag(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = ("find_file", "write_note", "send_mail")

    def reversed_choice(step: Step) -> str:
        return "write_note" if not step.history else step.taken

    monkeypatch.setattr(baselines.Methods, "get", always(reversed_choice))
    dag = next_tool.run(runtime, [plan(*tools, links=[(0, 2), (1, 2)])], ["fused"])
    chain = next_tool.run(runtime, [plan(*tools)], ["fused"])
    assert (dag["dag"], chain["dag"]) == (True, False)
    assert dag["n_steps"] == chain["n_steps"] == 4
    assert dag["methods"]["fused"]["top1"] == 1.0
    assert chain["methods"]["fused"]["top1"] == 0.75
    # The first of the DAG's steps accepts two tools; one of them stands first, the other need not stand second.
    assert dag["methods"]["fused"]["mrr"] == 1.0
    assert chain["methods"]["fused"]["mrr"] < 1.0


def test_a_link_forbids_the_call_that_still_waits(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baselines.Methods, "get", always(lambda step: "send_mail"))
    found = next_tool.run(runtime, [plan("find_file", "send_mail", links=[(0, 1)])], ["fused"])
    assert found["methods"]["fused"]["top1"] == pytest.approx(1 / 3)


def test_a_tool_without_demonstrations_can_be_scored(runtime: Runtime) -> None:
    found = next_tool.run(runtime, [plan("phone_call", query="call my phone")], NEXT_TOOL_METHODS)
    assert found["n_steps"] == 2
    # Its place is behind every label for methods that know labels only.
    assert found["methods"]["dtdr-c"]["mrr"] <= 0.5 * (1 / len(components_of(runtime).head.labels) + 1)


def test_an_unknown_method_is_refused_with_the_list(runtime: Runtime) -> None:
    expected = "unknown method 'dtdr-x'; choose among: random, dr, dtdr-c, dtdr-l-factored, prior, fused, "
    with pytest.raises(InputError, match=f"^{re.escape(expected)}similarity, bm25, tool-graph, less-is-more$"):
        next_tool.run(runtime, make_demonstrations(1), ["fused", "dtdr-x"])


@pytest.mark.parametrize("method", FITTED_METHODS)
def test_a_method_that_no_bundle_carries_names_the_command_that_fits_it(runtime: Runtime, method: str) -> None:
    expected = rf"^no bundle carries method '{method}'; .*: edgeret-bench methods BUNDLE --train D --demos D2$"
    with pytest.raises(InputError, match=expected):
        next_tool.run(runtime, make_demonstrations(1), ["fused", method])


def test_fitness_counts_requests_that_no_tool_fits(runtime: Runtime) -> None:
    fitness = next_tool.run(runtime, make_demonstrations(3), ["fused"])["fitness"]
    assert fitness["n_fitting"] == 18
    assert fitness["n_without_tool"] == 3
    assert fitness["declined_when_none_fits"] == 1.0
    assert fitness["offered_when_fitting"] > 0.8


def test_fitness_of_a_kind_that_does_not_occur_is_none(runtime: Runtime) -> None:
    only_fitting = next_tool.run(runtime, [plan("find_file", "send_mail")], ["fused"])["fitness"]
    only_unfitting = next_tool.run(runtime, [plan(query="open calendar day")], ["fused"])["fitness"]
    assert only_fitting["declined_when_none_fits"] is None
    assert only_unfitting["offered_when_fitting"] is None
    assert only_unfitting["n_without_tool"] == 1
