"""`edgeret-bench mcp`, with a server of 150 tools and a made-up encoder: that it measures, not what."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from edgeret_bench.cli import main

pytest.importorskip("mcp", reason="needs the extra mcp")
OFFICE = Path(__file__).parents[2] / "examples" / "mcp" / "office.py"


def test_search_definitions_and_calls_are_measured(
    tiny: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    config, requests = tmp_path / "mcp.json", tmp_path / "requests.jsonl"
    config.write_text(json.dumps({"mcpServers": {"office": {"command": sys.executable, "args": [str(OFFICE)]}}}))
    wishes = [
        {"query": "send a mail", "tools": ["office__mail_send"], "part": "seen"},
        {"query": "book a room", "tools": ["office__room_book", "office__travel_book_hotel"], "part": "unseen"},
        {"query": "thanks, that was all", "tools": [], "part": "seen"},
    ]
    requests.write_text("".join(json.dumps(wish) + "\n" for wish in wishes))
    given = ["mcp", "--config", str(config), "--base", str(tiny), "--requests", str(requests), "-k", "3"]
    assert main([*given, "--json", "--time", "office__canteen_menu", "--calls", "5"]) == 0
    result = json.loads(capfd.readouterr().out)
    assert (result["n_requests"], result["n_tools"], result["part"]) == (3, 150, "all")
    assert 0 <= result["lost"] <= 1 and result["declined"] in (0, 1)
    assert 0 < result["mrr"] <= 1 and 0 < result["definition_chars"]["share"] < 1
    assert result["calls"]["proxied_ms"]["n"] == result["calls"]["direct_ms"]["n"] == 5
    assert main([*given, "--part", "unseen"]) == 0
    told = capfd.readouterr().out
    assert "1 requests (unseen), 150 tools of 1 servers, k = 3" in told and "where none does" not in told
    requests.write_text('{"query": "x", "tools": ["office__nothing"]}\n')
    assert main(given) == 2
    assert "requests need tools that no server has: office__nothing" in capfd.readouterr().err
