"""What a report says of a log whose every line is known, and what it names to be demonstrated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from edgeret.cli.commands import main
from edgeret.types import END
from edgeret.usage.read import Asked, Log, Step, read_log
from edgeret.usage.report import summarise
from edgeret.usage.worth import worth_most

NAMES = ["mail", "call", "note", "zip"]


def decided(task: str, step: int, tool: str | None, probability: float = 0.9, **more: Any) -> dict[str, Any]:
    return {
        **{"time": 1_795_000_000 + len(task), "event": "decided", "task": task, "step": step, "tool": tool},
        **{"probability": probability, "source": "heads", "stage": "full", "abstained": tool is None},
        **{"reason": "unsure" if tool is None else "call", "ms": 0.5, "tools": 4, "bundle": "ab", "set": "s"},
        **({"nothing": 0.1} if not step else {"calls": ["mail"] * step}),
        **more,
    }


def called(task: str, step: int, tool: str, answer: str) -> dict[str, Any]:
    return {"time": 1_795_000_009, "event": "called", "task": task, "step": step, "tool": tool, "answer": answer}


def written(folder: Path, *records: dict[str, Any]) -> Path:
    folder.mkdir()
    tools = {"time": 1.0, "event": "tools", "set": "s", "bundle": "ab" * 32, "tools": 4, "names": NAMES}
    lines = [json.dumps(record) for record in (tools, *records)]
    (folder / "000000000.jsonl").write_text("\n".join(lines) + "\n")
    return folder


WEEK = (
    decided("a", 0, "mail", 0.9, query="write to Ana"),
    called("a", 0, "mail", "accepted"),
    decided("a", 1, END),
    decided("b", 0, "mail", 0.7, query="ring Ana up"),
    called("b", 0, "call", "corrected"),
    decided("c", 0, None, 0.2, best="note", query="ring Bob up"),
    called("c", 0, "call", "corrected"),
    {"time": 1_795_000_009, "event": "failed", "task": "c", "step": 1, "tool": "note"},
    {"time": 1_795_000_009, "event": "learned", "task": "c", "step": 1, "calls": ["call"]},
)


def test_every_number_of_a_known_week(tmp_path: Path) -> None:
    told = summarise(read_log([written(tmp_path / "log", *WEEK)]))
    assert (told["decisions"], told["requests"], told["with_words"]) == (4, 3, 3)
    assert (told["declines"], told["ends"], told["accepted"], told["corrections"]) == (1, 1, 1, 2)
    assert (told["learned"], told["right"]) == (1, 0.5)
    assert told["corrected"] == [
        {"decided": "mail", "called": "call", "times": 1, "probability": 0.7, "phrases": ["ring Ana up"]}
    ]
    assert told["declined"] == [
        {"reason": "unsure", "best": "note", "times": 1, "then_called": {"call": 1}, "phrases": ["ring Bob up"]}
    ]
    assert told["never"] == {"fired": ["note", "zip"], "decided": ["call"]}
    assert told["failed"] == {"note": 1}
    assert [(row["decisions"], row["promised"], row["right"]) for row in told["calibration"]["bins"]] == [
        (1, 0.7, 0.0),
        (1, 0.9, 1.0),
    ]
    assert told["calibration"]["error"] == pytest.approx(0.4)
    assert told["latency"]["stages"]["full, first"]["decisions"] == 3
    assert sum(told["latency"]["stages"]["full, later"]["counts"]) == 1
    assert {one["query"] for one in told["demonstrate"]} == {"ring Ana up", "ring Bob up"}


def test_drift_is_told_where_requests_grow_unlike_what_was_demonstrated() -> None:
    def one(number: int, nothing: float) -> Asked:
        step = Step(float(number), 0, "mail", None, 0.9, "heads", "full", "call", nothing, 0.1, "s")
        return Asked(str(number), steps={0: step})

    moved = Log([one(i, 0.9 if i >= 60 and i % 2 else 0.1) for i in range(120)])
    still = Log([one(i, 0.9 if i % 10 == 0 else 0.1) for i in range(120)])
    assert summarise(moved)["drift"]["z"] > 3
    assert abs(summarise(still)["drift"]["z"]) < 1
    assert summarise(Log([one(1, 0.9)]))["drift"] is None


def missed(number: int, query: str | None, tool: str, ended: bool = True) -> Asked:
    step = Step(0.0, 0, "mail", None, 0.6, "heads", "full", "call", 0.1, 0.1, "s", "corrected", tool)
    asked = Asked(str(number), query, {0: step}, {0: (tool, None)})
    if not ended:
        asked.steps[1] = Step(0.0, 1, "zip", None, 0.6, "heads", "full", "call", None, 0.1, "s")
    return asked


def test_what_stands_for_most_of_what_went_wrong_is_named_first_and_no_two_for_the_same() -> None:
    many = [missed(i, f"ring up {who} now", "call") for i, who in enumerate(["Ana", "Bob", "Cem", "Dee"])]
    few = [missed(10, "note this down", "note"), missed(11, "note that down", "note")]
    useless = [missed(20, None, "zip"), missed(21, "[withheld]", "zip"), missed(22, "zip it", "zip", ended=False)]
    found = worth_most([*few, *many, *useless], 2)
    assert [one.calls for one in found] == [("call",), ("note",)]
    assert found[0].like == 4
    assert found[0].share < found[1].share <= 1
    assert worth_most(useless) == []


def test_the_command_tells_it_as_tables_as_data_and_as_a_page(tmp_path: Path, capsys: Any) -> None:
    hostile = decided("d", 0, "mail", query="<script>alert(1)</script>\u202e")
    log = written(tmp_path / "log", *WEEK, hostile, called("d", 0, "zip", "corrected"))
    page = tmp_path / "week.html"
    assert main(["report", str(log), "--html", str(page), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["corrections"] == 3
    assert main(["report", str(log)]) == 0
    out = capsys.readouterr().out
    assert "5 decisions for 4 requests" in out
    assert "ring Ana up" in out
    assert "\u202e" not in out
    html = page.read_text()
    assert "&lt;script&gt;" in html
    assert "<script" not in html
    assert "\u202e" not in html


def test_a_log_without_words_says_what_is_missing(tmp_path: Path, capsys: Any) -> None:
    records = [{k: v for k, v in record.items() if k != "query"} for record in WEEK]
    assert main(["report", str(written(tmp_path / "log", *records))]) == 0
    out = capsys.readouterr().out
    assert "no words were kept" in out
    assert "What to demonstrate next" not in out


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("probability", "much"),
        ("time", True),
        ("step", -1),
        ("ms", 1e300),
        ("tool", 7),
        ("set", None),
        ("calls", [1]),
        ("calls", "mail"),
    ],
)
def test_odd_lines_are_counted_and_left_out(tmp_path: Path, field: str, value: object) -> None:
    log = read_log([written(tmp_path / "log", *WEEK, {**decided("z", 0, "mail"), field: value})])
    assert (len(log.asked), log.unread) == (3, 1)


def test_times_that_no_calendar_has_are_told_as_such(tmp_path: Path) -> None:
    told = summarise(read_log([written(tmp_path / "log", *WEEK, decided("z", 0, "mail", time=9e14))]))
    assert told["to"] == "?"
