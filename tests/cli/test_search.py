"""`edgeret search`: strategies, what they searched for, and what stands in the way of asking a planner."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import edgeret
from edgeret.cli.commands import _print_search, main
from edgeret.cli.trace_page import draw_trace
from edgeret.strategies.base import Event, Found, Trace
from edgeret.types import Explanation, Hit, Vote

QUERY = "find my file and then send it"


def search(capsys: pytest.CaptureFixture[str], bundle: Path, *options: str) -> tuple[int, str, str]:
    code = main(["search", str(bundle), QUERY, *options])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_a_trace_tells_what_was_searched_for_and_found(capsys: pytest.CaptureFixture[str], tiny: Path) -> None:
    code, out, _ = search(capsys, tiny, "--strategy", "clauses", "--trace", "--json")
    found = json.loads(out)
    assert code == 0 and found["complete"]
    assert [event["text"] for event in found["trace"]["events"]] == [QUERY, "find my file"]
    assert found["trace"]["events"][0]["tools"][0] == found["hits"][0]["tool"]
    assert "trace" not in json.loads(search(capsys, tiny, "--json")[1])
    assert "find my file" in search(capsys, tiny, "--strategy", "clauses", "--trace")[1]


def test_re_invoke_without_a_planner_is_hybrid_search(capsys: pytest.CaptureFixture[str], tiny: Path) -> None:
    hits = [
        json.loads(search(capsys, tiny, "--strategy", name, "--json")[1])["hits"] for name in ("hybrid", "re-invoke")
    ]
    assert hits[0] == hits[1]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--strategy", "toolqp"), "--planner"),
        (("--strategy", "toolpq"), "toolqp"),
        (("--budget-ms", "0"), "must be at least 1"),
        (("--model", "big"), "add --endpoint URL"),
        (("--endpoint", "http://127.0.0.1:9/v1"), "'auto' asks no planner"),
        (("--strategy", "toolqp", "--endpoint", "localhost:8080"), "http"),
        (("--strategy", "toolqp", "--endpoint", "http://127.0.0.1:9/v1", "--model", "m"), "127.0.0.1:9"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_stands_in_the_way_is_one_line_that_says_how_to_go_on(
    capsys: pytest.CaptureFixture[str], tiny: Path, options: tuple[str, ...], told: str
) -> None:
    try:
        code, out, err = search(capsys, tiny, *options, "--trace")
    except SystemExit as stop:
        code, (out, err) = int(str(stop.code)), capsys.readouterr()
    if told == "127.0.0.1:9":
        # A planner that cannot be asked costs the ranking nothing but its advice.
        assert code == 0 and "not complete" in out and told in out.splitlines()[-1]
    else:
        assert code != 0 and told in err and out == ""


def test_a_search_is_drawn_with_what_it_did_and_found(
    capsys: pytest.CaptureFixture[str], tiny: Path, tmp_path: Path
) -> None:
    page = tmp_path / "trace.html"
    code, out, _ = search(capsys, tiny, "--strategy", "clauses", "--html", str(page), "--json")
    text = page.read_text(encoding="utf-8")
    assert code == 0 and "<script" not in text and "http" not in text
    for hit in json.loads(out)["hits"]:
        assert f">{hit['tool']}<" in text
    how = text.split("<h2>How</h2>")[1]
    assert "Strategy clauses" in how + text and how.count("<rect") == 2  # the request and its one long clause
    assert code == search(capsys, tiny, "--html", str(page))[0]  # it may be drawn again


def test_a_page_shows_the_share_that_it_sorts_by_and_each_steps_own_time(tmp_path: Path, tiny: Path) -> None:
    events = (Event("search", "a", ("one",), 1.5), Event("search", "b", ("two",), 4.0))
    found = Found((Hit("one", 0.2, 0.75), Hit("two", 0.5, 0.25)), Trace("hybrid", events, 0, 0, 4.0, True))
    explained = edgeret.load(tiny).task(QUERY).next().explain()
    draw_trace(explained, found, tmp_path / "page.html")
    hits, how = (tmp_path / "page.html").read_text(encoding="utf-8").split("<h2>How</h2>")
    assert "<th>share</th><th>cosine</th>" in hits and ">0.750<" in hits and "Sorted by share" in hits
    assert re.findall(r"<td>([\d.]+)</td>", how) == ["1.50", "2.50"]


def test_what_others_wrote_stays_text_on_the_page(tmp_path: Path) -> None:
    event = Event("query", "<script>alert(1)</script>", ("<b>",), 3.0)
    trace = Trace("toolqp", (event,), 1, 20, 3.0, False)
    votes = (Vote("head", 0.5, {"<i>": 0.25, "<end>": None}, None),)
    explained = Explanation(
        "</title><img src=x>", "<i>", "", {"<i>": 0.5, "<end>": 0.5}, votes, {}, (), None, {}, None, (), ("<u>why</u>",)
    )
    draw_trace(explained, Found((Hit("a<b", 0.5),), trace), tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script" not in text and "<img" not in text and "a&lt;b" in text
    assert "<i>" not in text and "<u>" not in text and text.count('width="25.00"') == 1
    assert "the planner was asked 1 times, 20 tokens" in text


def test_what_is_needed_is_shown_only_where_it_is_asked_for(capsys: pytest.CaptureFixture[str], tiny: Path) -> None:
    assert "needed for" not in search(capsys, tiny)[1]
    assert "needed for" not in search(capsys, tiny, "--needed")[1]  # none of these tools needs another one
    plain = json.loads(search(capsys, tiny, "--json")[1])["hits"]
    assert json.loads(search(capsys, tiny, "--json", "--needed")[1])["hits"] == plain
    assert all(set(hit) == {"tool", "similarity", "share"} for hit in plain)
    needed = Hit("find_file", 0.25, 0.5, "send_mail").to_dict()
    assert "needed for" in _print_search({"hits": [*plain, needed], "complete": True})


def test_several_texts_are_searched_for_at_once(capsys: pytest.CaptureFixture[str], tiny: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    given = ["search", str(tiny), "write a note", "play my song", "Play my song", "-k", "2", "--json"]
    assert main([*given, "--html", str(page)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {hit["tool"] for hit in found["hits"]} == {"write_note", "play_music"}
    assert (found["query"], found["queries"]) == ("write a note", ["write a note", "play my song"])
    assert "play my song" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("play", "my", "song"), 'quote the query: "play my song"'),
        (("write a note", ""), "text 2 of 2: empty; give the user's words"),
        (("a b", "b", "c", "d", "e"), "more than 4 different texts"),
        (("write a note", "-k", "2", "play my song"), "give all queries in one place, each in quotes"),
    ],
    ids=" ".join,
)
def test_texts_that_cannot_be_searched_for_at_once_are_told(
    capsys: pytest.CaptureFixture[str], tiny: Path, words: tuple[str, ...], told: str
) -> None:
    try:
        code = main(["search", str(tiny), *words])
    except SystemExit as stop:
        code = int(str(stop.code))
    out, err = capsys.readouterr()
    assert (code, out, len(err.splitlines())) == (2, "", 1) and told in err
