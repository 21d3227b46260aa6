"""The benchmark of later turns: every way on the same steps, a table, and the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from edgeret_bench.results.tables import measured
from tests.bench_cli import printed, refused

LINES = [
    {
        "turns": [
            {"query": "find my file", "calls": [{"tool": "find_file"}]},
            {"query": "and mail it", "calls": [{"tool": "send_mail"}]},
            {"query": "stop", "calls": []},
        ]
    }
] * 3


def test_all_ways_are_measured_on_the_same_steps(
    capsys: pytest.CaptureFixture[str], tiny_original: Path, tmp_path: Path
) -> None:
    talks = tmp_path / "c.jsonl"
    talks.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    result = printed(capsys, "lab", "conversation", tiny_original, "--conversations", talks)
    assert (result["kind"], result["n_conversations"], result["n_steps"]) == ("conversation", 3, 9)
    assert list(result["ways"]) == ["joined", "newest", "newest, all calls", "conversation"]
    assert all(len(values) == 9 for values in result["samples"]["series"].values())
    (table,) = measured(result)
    assert [row[0] for row in table.rows] == list(result["ways"])
    assert "all top1" in table.header
    tools = tmp_path / "t.jsonl"
    tools.write_text('{"name": "find_file", "description": "find a file"}\n')
    assert "unknown tool" in refused(
        capsys, "lab", "conversation", tiny_original, "--conversations", talks, "--tools", tools
    )
