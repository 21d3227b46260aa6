"""`edgeret-bench retrieval --bundle` goes by the requests that tools show, as the runtime does."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import TOOLS, tiny_bundle

import edgeret
from edgeret_bench.accuracy.retrieval import Retrieval
from edgeret_bench.cli import main


def test_a_bundle_is_searched_by_what_its_tools_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tools = [replace(TOOLS[0], examples=("zebra crossing", "stripes")), *TOOLS[1:]]
    bundle, query = tiny_bundle(tmp_path / "b", tools=tools, demonstrations=()), "zebra stripes"
    (tmp_path / "q").write_text(json.dumps({"id": "1", "query": query, "tools": [TOOLS[0].name]}), encoding="utf-8")
    seen: list[Retrieval] = []
    told = Retrieval.hybrid
    monkeypatch.setattr(Retrieval, "hybrid", lambda self, text: seen.append(self) or told(self, text))
    assert main(["retrieval", "--bundle", str(bundle), "--queries", str(tmp_path / "q"), "--methods", "hybrid"]) == 0
    capsys.readouterr()
    measured = [(hit.tool, pytest.approx(hit.share, abs=1e-5)) for hit in seen[0].ranker(query, len(tools))]
    searched = edgeret.load(bundle, threads=1).search(query, len(tools), strategy="hybrid")
    assert [(hit.tool, hit.share) for hit in searched] == measured
