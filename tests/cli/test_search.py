"""`edgeret search`: strategies, what they searched for, and what stands in the way of asking a planner."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from edgeret.cli.commands import main

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
