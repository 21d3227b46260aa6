"""The command `arguments`: what was read against the truth, worked out by hand."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from edgeret import Argument, Arguments, Call
from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration, read_demonstrations
from edgeret.runtime.request import Request
from edgeret_bench.accuracy.judging import MOST_POINTS, ReadCall, as_bfcl, curve, summary
from edgeret_bench.answers import read_answers
from edgeret_bench.cli import main

KEYS = [
    *("n_plans", "n_calls", "n_arguments", "exact", "precision", "recall", "missing_told", "n_missing", "calls_right"),
    *("plans_right", "normalised", "by_source", "by_kind", "thresholds", "curve", "free", "beside", "us_per_call"),
    "of_an_encoding",
]


@pytest.fixture
def demos(tmp_path: Path) -> str:
    plans = [
        {"query": "find the Plan", "calls": [{"tool": "find_file", "arguments": {"name": "Plan"}}]},
        {
            "query": "find plans and notes",
            "calls": [{"tool": "find_file", "arguments": {"name": "plans"}}, {"tool": "send_mail", "arguments": {}}],
        },
        {"query": "play something", "calls": [{"tool": "find_file", "arguments": {}}]},
        {"query": "how are you", "calls": []},
    ]
    path = tmp_path / "demos.jsonl"
    path.write_text("\n".join(map(json.dumps, plans)), encoding="utf-8")
    return str(path)


def test_shares_worked_out_by_hand(
    tiny: Path, demos: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(tool: object, query: str, *_: object) -> Arguments:  # by the library, and by rules
        told = {
            "find the Plan": {"name": Argument(" plan ", "rule", (9, 13), 0.95)},
            "play something": {"name": Argument("something", "choice", (5, 14), 0.6)},
        }
        return Arguments(told.get(query, {}), {})

    monkeypatch.setattr("edgeret_export.reference.arguments.filling.fill", fill)
    monkeypatch.setattr(Request, "arguments", lambda self, tool, *_: fill(tool, self.shown))
    assert main(["arguments", str(tiny), "--demos", demos, "--threads", "1", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["kind"], list(result)[-len(KEYS) :]) == ("arguments", KEYS)
    assert (result["n_plans"], result["n_calls"], result["n_arguments"]) == (3, 4, 2)
    assert (result["exact"], result["precision"], result["recall"]) == (1.0, 0.5, 0.5)
    assert (result["calls_right"], result["plans_right"]) == (0.5, 1 / 3)
    assert (result["missing_told"], result["n_missing"]) == (None, 0)
    assert result["by_source"] == {"choice": {"n": 1, "precision": 0.0}, "rule": {"n": 1, "precision": 1.0}}
    assert result["by_kind"] == {"words": {"n": 2, "precision": 0.5, "recall": 0.5}}
    assert result["thresholds"]["0.9"] == {"coverage": 0.5, "precision": 1.0}
    points = [(point["coverage"], point["precision"]) for point in result["curve"]]
    assert points == [(0.5, 1.0), (1.0, 0.5)]
    rules = result["beside"]["rules"]
    assert rules["calls_right"] == rules["ours"]["calls_right"] == 0.5
    assert (result["free"]["n_plans"], result["free"]["n_requests"]) == (3, 4)
    assert result["us_per_call"]["p50"] > 0 and result["of_an_encoding"]["p50"] > 0


def test_tables_for_people_and_one_line_without_arguments(
    tiny: Path, demos: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["arguments", str(tiny), "--demos", demos, "--threads", "1"]) == 0
    text = capsys.readouterr().out
    for words in ("calls right", "by source", "by confidence", "functions by the bundle", "beside"):
        assert words in text
    bare = tmp_path / "bare.jsonl"
    bare.write_text('{"query": "find it", "calls": [{"tool": "find_file"}]}', encoding="utf-8")
    assert main(["arguments", str(tiny), "--demos", str(bare), "--threads", "1"]) == 2
    assert "no demonstration has arguments" in capsys.readouterr().err


def call(truth: Mapping[str, Any], given: Mapping[str, Any], accepted: Mapping[str, Any] | None = None) -> ReadCall:
    read = {name: Argument(value, "rule", None, 0.9) for name, value in given.items()}
    kinds = dict.fromkeys((*truth, *given), "words")
    alike = {name: [value] for name, value in truth.items()} | dict(accepted or {})
    return ReadCall(truth, alike, read, frozenset(), frozenset(), kinds, 1.0, 1.0)


def test_accepted_values_are_right_and_one_that_may_be_left_out_is_not_missed() -> None:
    accepted = {"place": ["Linz", "Linz, Austria"], "unit": ["C", None]}
    found = summary([[call({"place": "Linz"}, {"place": "linz, austria"}, accepted)]])
    assert (found["precision"], found["recall"], found["calls_right"]) == (1.0, 1.0, 1.0)
    assert summary([[call({"place": "Linz"}, {"place": "Linz", "unit": "F"}, accepted)]])["calls_right"] == 0.0
    nobody = summary([[call({"place": "Linz"}, {"unit": "C"}, accepted)]])
    assert (nobody["precision"], nobody["recall"], nobody["calls_right"]) == (1.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("St. Pölten", "st pölten", True),
        ("it's", 'it"s', True),
        (["a-b", 1], ["ab", 1.0], True),
        ([1, 2], [2, 1], False),
        (True, 1, False),
        ("1", 1, False),
        ({"a": "B."}, {"a": "b"}, True),
    ],
)
def test_values_as_bfcl_compares_them(one: Any, other: Any, alike: bool) -> None:
    assert (as_bfcl(one) == as_bfcl(other)) is alike


def test_a_curve_keeps_its_last_point_and_few_others() -> None:
    values = {str(k): Argument(str(k), "rule", None, k / 1000) for k in range(1000)}
    one = ReadCall({"0": "0"}, {"0": ["0"]}, values, frozenset(), frozenset(), {}, 1.0, 1.0)
    points = curve([one])
    assert len(points) <= MOST_POINTS
    assert points[-1] == {"confidence": 0.0, "coverage": 1.0, "precision": 0.001}
    assert [p["coverage"] for p in points] == sorted(p["coverage"] for p in points)


def test_answers_tell_what_is_right_too_and_what_time_it_was(
    tiny: Path, demos: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plans = [{"id": "a", "query": "find the Plan", "calls": [{"tool": "find_file", "arguments": {"name": "Design"}}]}]
    (tmp_path / "one.jsonl").write_text(json.dumps(plans[0]), encoding="utf-8")
    answers = tmp_path / "answers.jsonl"
    told = {"id": "a", "now": "2026-11-27T09:00:00", "calls": [{"name": ["Design", "the plan", "plan"]}]}
    answers.write_text(json.dumps({"id": "other", "calls": 5}) + "\n" + json.dumps(told), encoding="utf-8")
    command = ["arguments", str(tiny), "--demos", str(tmp_path / "one.jsonl"), "--threads", "1", "--beside", ""]
    plan = read_demonstrations(tmp_path / "one.jsonl", ["find_file"])
    read = read_answers(answers, plan)
    assert read["a"].now == datetime(2026, 11, 27, 9)
    assert read["a"].to_dict() == {"now": "2026-11-27T09:00:00", "calls": told["calls"]}
    assert main([*command, "--answers", str(answers), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["inputs"]["answers"]["name"] == "answers.jsonl"
    assert result["beside"] == {}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"id": 5}, '"id" must be text, found a number'),
        ({"id": "b"}, "no answer is of a plan in --demos"),
        ({"id": "a", "now": "noon"}, '"now" must be a time such as'),
        ({"id": "a", "calls": []}, '"calls" must be a list of 1 objects'),
        ({"id": "a", "calls": ["x"]}, "call 1 must be an object, found text"),
        ({"id": "a", "calls": [{"name": "x"}]}, 'call 1, "name": give 1 to 1000 accepted values'),
        ({"id": "a", "calls": [{"name": []}]}, 'call 1, "name": give 1 to 1000 accepted values'),
    ],
    ids=str,
)
def test_answers_that_do_not_fit_are_told_by_line(tmp_path: Path, line: dict[str, Any], words: str) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text(json.dumps(line), encoding="utf-8")
    plan = Demonstration("a", "find it", (Call("find_file", {"name": "it"}),))
    with pytest.raises(InputError, match=re.escape(words)):
        read_answers(file, [plan])


def test_ways_that_are_not_there_are_told(tiny: Path, demos: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["arguments", str(tiny), "--demos", demos, "--threads", "1", "--beside"]
    assert main([*command, "luck"]) == 2
    assert "unknown way 'luck' in --beside; choose among: rules, planner" in capsys.readouterr().err
    assert main([*command, "planner-alone"]) == 2
    assert "this bundle has no planner" in capsys.readouterr().err


def test_a_report_draws_coverage_against_precision(tiny: Path, demos: str, tmp_path: Path) -> None:
    out = tmp_path / "arguments.json"
    assert main(["arguments", str(tiny), "--demos", demos, "--threads", "1", "-o", str(out)]) == 0
    assert main(["report", str(out), "-o", str(tmp_path / "report.html")]) == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for words in ("coverage and precision", "arguments by kind", "calls right, all arguments"):
        assert words in page
