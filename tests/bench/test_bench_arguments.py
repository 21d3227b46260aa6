"""The command `arguments`: what was read against the truth, worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from edgeret import Argument, Arguments
from edgeret_bench.cli import main

KEYS = [
    *("n_plans", "n_calls", "n_arguments", "exact", "precision", "recall", "missing_told", "n_missing", "calls_right"),
    *("plans_right", "by_source", "thresholds", "us_per_call"),
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
    def fill(tool: object, query: str, *_: object) -> Arguments:
        told = {
            "find the Plan": {"name": Argument(" plan ", "rule", (9, 13), 0.95)},
            "play something": {"name": Argument("something", "choice", (5, 14), 0.6)},
        }
        return Arguments(told.get(query, {}), {})

    monkeypatch.setattr("edgeret.runtime.arguments.fill", fill)
    assert main(["arguments", str(tiny), "--demos", demos, "--threads", "1", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["kind"], list(result)[-len(KEYS) :]) == ("arguments", KEYS)
    assert (result["n_plans"], result["n_calls"], result["n_arguments"]) == (3, 4, 2)
    assert (result["exact"], result["precision"], result["recall"]) == (1.0, 0.5, 0.5)
    assert (result["calls_right"], result["plans_right"]) == (0.5, 1 / 3)
    assert (result["missing_told"], result["n_missing"]) == (None, 0)
    assert result["by_source"] == {"choice": {"n": 1, "precision": 0.0}, "rule": {"n": 1, "precision": 1.0}}
    assert result["thresholds"]["0.9"] == {"coverage": 0.5, "precision": 1.0}
    assert result["us_per_call"]["p50"] > 0


def test_tables_for_people_and_one_line_without_arguments(
    tiny: Path, demos: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["arguments", str(tiny), "--demos", demos, "--threads", "1"]) == 0
    text = capsys.readouterr().out
    for words in ("calls right", "by source", "by confidence"):
        assert words in text
    bare = tmp_path / "bare.jsonl"
    bare.write_text('{"query": "find it", "calls": [{"tool": "find_file"}]}', encoding="utf-8")
    assert main(["arguments", str(tiny), "--demos", str(bare), "--threads", "1"]) == 2
    assert "no demonstration has arguments" in capsys.readouterr().err
