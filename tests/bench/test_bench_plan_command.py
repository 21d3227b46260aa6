"""The command `plan`: one JSON object, tables for people, or one line that says what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import make_demonstrations
from test_bench_plan import KEYS

from edgeret_bench.cli import main


@pytest.fixture
def demos(tmp_path: Path) -> str:
    plans = make_demonstrations(1)
    lines = ({"query": d.query, "calls": [{"tool": c.tool, "arguments": {}} for c in d.calls]} for d in plans)
    path = tmp_path / "demos.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return str(path)


def test_the_command_prints_json_tables_or_one_line(tiny: Path, demos: str, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["plan", str(tiny), "--demos", demos, "--steps", "5", "--plans", "2", "--threads", "1"]
    assert main([*argv, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (list(result)[-len(KEYS) - 1 :], result["kind"]) == (["bundle_hash", *KEYS], "plan")
    assert main(argv) == 0
    text = capsys.readouterr().out
    for words in ("fsa by calls of the plan", "coverage", "whole plans", "no planner: this bundle has no planner"):
        assert words in text
    assert main([*argv, "--policy", "heads,tails"]) == 2
    assert "unknown policy 'tails'" in capsys.readouterr().err
    assert main([*argv, "--policy", "planner"]) == 2
    assert "this bundle has no planner" in capsys.readouterr().err
