"""The papers' methods fitted anew: what each is made of, how ties are ranked, and what is reported."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench_cli import printed, run, write_demonstrations
from conftest import TOOLS, make_demonstrations
from sklearn.linear_model import LogisticRegression

import edgeret
from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.runtime.runtime import Runtime
from edgeret.types import Call
from edgeret_bench.accuracy import next_tool
from edgeret_bench.accuracy import papers as methods
from edgeret_export.fitting.decisions import number_decisions

TRAIN = make_demonstrations(6)
TEST = [replace(d, query=f"{d.query} please") for d in make_demonstrations(1)]
NAMES = [
    "random",
    "dr",
    "lr",
    "dtdr-c",
    "dtdr-l",
    "dtdr-l-factored",
    "fused",
    "dtdr-c-paper",
    "dtdr-l-paper",
    "dtdr-l-logistic",
]


def plan(query: str, *tools: str) -> Demonstration:
    return Demonstration(query, query, tuple(Call(tool) for tool in tools))


@pytest.fixture(scope="module")
def runtime(tiny_original: Path) -> Runtime:
    return edgeret.load(tiny_original, threads=1)


@pytest.fixture(scope="module")
def found(runtime: Runtime) -> dict[str, Any]:
    return methods.run(runtime, TRAIN, TEST)


def test_all_methods_are_measured_on_the_same_steps(found: dict[str, Any]) -> None:
    assert list(found["methods"]) == list(found["calls"]) == NAMES
    assert (found["n_train"], found["n_plans"], found["n_steps"]) == (len(TRAIN), len(TEST), 17)
    assert all(len(series) == 17 for series in found["samples"]["series"].values())
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_the_result_has_the_form_of_next_tools(found: dict[str, Any], runtime: Runtime) -> None:
    beside = next_tool.run(runtime, TEST, ("dr", "fused"))
    assert set(beside) - set(found) == {"ms_per_step", "calibration", "decisions", "fitness"}
    for key in ("methods", "by_plan_length"):
        assert beside[key]["fused"].keys() == found[key]["fused"].keys()
    assert {"dr top1", "dr mrr"} <= set(found["samples"]["series"])
    assert found["samples"]["groups"] == beside["samples"]["groups"]
    by_length = found["by_plan_length"]["fused"]
    assert {length: row["n"] for length, row in by_length.items()} == {"0": 1, "1": 4, "2": 12}


def test_what_is_learned_is_better_than_chance(found: dict[str, Any]) -> None:
    chance = found["methods"]["random"]["top1"]
    assert all(found["methods"][name]["top1"] > chance for name in NAMES[1:] if name != "dtdr-l-paper")
    # A tenth of the rate for a third of the epochs: these few plans teach it next to nothing.
    assert found["methods"]["dtdr-l-paper"]["top1"] < found["methods"]["dtdr-l"]["top1"]


def test_the_static_retriever_counts_what_next_tool_counts(runtime: Runtime) -> None:
    # The bundle was built on the same demonstrations.
    beside = next_tool.run(runtime, TEST, ("dr",))["methods"]["dr"]
    assert methods.run(runtime, make_demonstrations(), TEST)["methods"]["dr"]["top1"] == beside["top1"]


def test_contexts_are_counted_by_cluster_and_padded_history() -> None:
    plans = [plan("a", "find_file", "send_mail"), plan("b", "find_file"), plan("c", "send_mail", "find_file")]
    table = number_decisions(plans, TOOLS)
    find, send, end = (table.labels.index(name) for name in ("find_file", "send_mail", "<end>"))
    scores = methods.counted(table, table, np.zeros(3, np.intp), 1)
    # Rows: a's three steps, then b's two, then c's three.
    assert scores[0].tolist() == scores[3].tolist() == scores[5].tolist()
    assert (scores[0, find], scores[0, send], scores[0, end]) == (2, 1, 0)
    assert (scores[1, find], scores[1, send], scores[1, end]) == (0, 1, 2)
    apart = methods.counted(table, table, np.arange(3), 2)
    assert (apart[7, end], apart[7].sum()) == (1, 1)
    known = table.select(table.plan < 2)
    assert not methods.counted(known, table, np.arange(3), 2)[5:].any()


def test_what_was_never_seen_is_ranked_by_how_common_a_label_is(runtime: Runtime) -> None:
    train = [plan(f"note {i}", "write_note") for i in range(3)] + [plan("song", "play_music")]
    found = methods.run(runtime, train, [plan("mail", "play_music", "write_note")])
    # After music nothing is known but the end; the note is more common than what is left.
    series = found["samples"]["series"]["dr top1"]
    assert series == [0, 0, 1]
    assert found["methods"]["dr"]["mrr"] == pytest.approx((1 / 2 + 1 / 2 + 1) / 3)


def test_the_logistic_head_is_scikit_learns_on_query_and_history(runtime: Runtime) -> None:
    both = methods.encode(runtime, [*TRAIN, *TEST], 0)
    queries, table = both.queries, both.decisions
    known = table.select(table.plan < len(TRAIN))
    rows = np.flatnonzero(table.plan >= len(TRAIN))
    learned = table.plan < len(TRAIN)
    scores = methods.logistic(both.select(learned), both.select(~learned))
    n = len(table.labels)

    def dense(part: Any) -> Any:
        inputs = np.zeros((len(part), queries.vectors.shape[1] + 2 * n + 7))
        inputs[:, : queries.vectors.shape[1]] = queries.vectors[part.plan]
        for row, history in zip(inputs[:, queries.vectors.shape[1] :], part.histories, strict=True):
            row[list(history)] = 0.5
            if history:
                row[n + history[-1]] = 0.5
            row[2 * n + len(history)] = 0.5
        return inputs

    model = LogisticRegression(C=10, max_iter=300).fit(dense(known), known.target_label)
    assert scores[:, model.classes_] == pytest.approx(model.decision_function(dense(table)[rows]), abs=0.05)


def test_calls_leave_the_end_out(runtime: Runtime) -> None:
    found = methods.run(runtime, TRAIN, [TEST[2]])
    series = found["samples"]["series"]["fused top1"]
    assert len(series) == 2
    assert found["calls"]["fused"]["top1"] == series[0]
    nothing = methods.run(runtime, TRAIN, [plan("open calendar day")])
    assert nothing["calls"] == {}


def test_test_queries_that_were_trained_on_are_counted(runtime: Runtime) -> None:
    shouted = replace(TRAIN[0], query=f"  {TRAIN[0].query.upper()}")
    assert methods.run(runtime, TRAIN, [*TEST, shouted])["repeated_queries"] == 1


@pytest.mark.parametrize(("train", "test"), [([], TEST), (TRAIN, [])])
def test_no_plans_are_refused(runtime: Runtime, train: list[Demonstration], test: list[Demonstration]) -> None:
    with pytest.raises(InputError, match=r"--train.*--demos"):
        methods.run(runtime, train, test)


def test_the_command_prints_a_table(capsys: pytest.CaptureFixture[str], tiny_original: Path, tmp_path: Path) -> None:
    files = write_demonstrations(tmp_path / "train.jsonl", TRAIN), write_demonstrations(tmp_path / "test.jsonl", TEST)
    options = ["methods", tiny_original, "--train", files[0], "--demos", files[1]]
    assert list(printed(capsys, *options)["methods"]) == NAMES
    run(*options)
    text = capsys.readouterr().out
    assert "calls top1" in text
    assert "17 decisions" in text
