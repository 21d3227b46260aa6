"""`edgeret-bench lab mcp`, with a server of 150 tools and a made-up encoder: that it measures, not what."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from edgeret.inputs.examples_file import read_examples
from edgeret_bench.cli import main

pytest.importorskip("mcp", reason="needs the extra mcp")

from edgeret_bench.accuracy.proxied import read_wishes

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
    given = ["lab", "mcp", "--config", str(config), "--base", str(tiny), "--requests", str(requests), "-k", "3"]
    assert main([*given, "--json", "--time", "office__canteen_menu", "--calls", "5"]) == 0
    result = json.loads(capfd.readouterr().out)
    assert (result["n_requests"], result["n_tools"], result["part"]) == (3, 150, "all")
    assert 0 <= result["lost"] <= 1 and result["declined"] in (0, 1)
    assert 0 < result["mrr"] <= 1 and 0 < result["definition_chars"]["share"] < 1
    assert set(result["bare"]) == {"hit@1", "hit@3", "hit@5", "mrr"}
    assert result["calls"]["proxied_ms"]["n"] == result["calls"]["direct_ms"]["n"] == 5
    assert main([*given, "--part", "unseen"]) == 0
    told = capfd.readouterr().out
    assert "1 requests (unseen), 150 tools of 1 servers, k = 3" in told and "where none does" not in told
    requests.write_text('{"query": "x", "tools": ["office__nothing"]}\n')
    assert main(given) == 2
    assert "requests need tools that no server has: office__nothing" in capfd.readouterr().err


def test_what_was_written_for_tools_is_measured_alone_and_beside_the_words(
    tiny: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    config, requests = tmp_path / "mcp.json", tmp_path / "requests.jsonl"
    config.write_text(json.dumps({"mcpServers": {"office": {"command": sys.executable, "args": [str(OFFICE)]}}}))
    given = ["lab", "mcp", "--config", str(config), "--base", str(tiny), "--requests", str(requests)]
    mail = {"query": "you know, for Ana", "tools": ["office__mail_send"]}

    def write(*wishes: dict[str, object]) -> None:
        requests.write_text("".join(json.dumps(wish) + "\n" for wish in wishes))

    write(
        {**mail, "queries": ["mail_send", "office__mail_send"]},
        {"query": "bye", "tools": [], "queries": ["office__mail_send"]},
    )
    assert main([*given, "--json"]) == 0
    result = json.loads(capfd.readouterr().out)
    assert set(result["queries"]) == {"hit@1", "hit@3", "hit@5", "mrr", "lost", "declined"} == set(result["both"])
    assert result["queries"]["hit@1"] == result["both"]["hit@1"] == 1 and result["queries"]["declined"] == 0
    assert main(given) == 0
    assert "users' words  queries" in capfd.readouterr().out
    for wishes, told in (
        ([{**mail, "queries": ["send a mail"]}, mail], '1 of 2 requests have "queries"; write them for all'),
        ([{**mail, "queries": "send a mail"}], '"queries" must be a list, found text'),
        ([{**mail, "queries": []}], 'requests.jsonl:1: "queries": no text to search for'),
        ([{**mail, "queries": ["a", ""]}], '"queries": text 3 of 3: empty'),
        ([{**mail, "queries": ["a", "b", "c", "d"]}], "more than 4 different texts"),
    ):
        write(*wishes)
        assert main(given) == 2
        assert told in capfd.readouterr().err


def test_requests_that_a_file_shows_for_tools_count_beside_bare_definitions(
    tiny: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    config, requests, shown = tmp_path / "mcp.json", tmp_path / "requests.jsonl", tmp_path / "examples.jsonl"
    config.write_text(json.dumps({"mcpServers": {"office": {"command": sys.executable, "args": [str(OFFICE)]}}}))
    asked = "quetzal wombat"
    requests.write_text(json.dumps({"query": asked, "tools": ["office__canteen_menu"]}) + "\n")
    shown.write_text(json.dumps({"name": "canteen_menu", "examples": [asked]}) + "\n")
    given = ["lab", "mcp", "--config", str(config), "--base", str(tiny), "--requests", str(requests)]
    assert main([*given, "--examples", str(shown), "--json"]) == 0
    result = json.loads(capfd.readouterr().out)
    assert result["hit@1"] == 1 and result["bare"]["mrr"] < 1
    assert main(given) == 0
    assert "words, no examples" in capfd.readouterr().out


def test_the_example_shows_requests_for_all_tools_of_the_office_and_none_that_is_asked() -> None:
    shown = read_examples(OFFICE.with_name("examples.jsonl"))
    tools = [line.split("|")[0].strip() for line in OFFICE.with_name("tools.txt").read_text("utf-8").splitlines()]
    assert set(tools) <= set(shown) and all(len(said) == 3 for said in shown.values())
    asked = {wish.query.casefold() for wish in read_wishes(OFFICE.with_name("requests.jsonl"), "all")}
    assert not asked.intersection(each.casefold() for said in shown.values() for each in said)


def test_the_example_says_for_each_request_what_tools_should_do() -> None:
    wishes = read_wishes(OFFICE.with_name("requests.jsonl"), "all")
    assert len(wishes) == 215 and all(wish.queries for wish in wishes)
    assert all(wish.query not in wish.queries for wish in wishes)
