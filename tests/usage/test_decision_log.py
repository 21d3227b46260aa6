"""What a log says of decisions, and that it says no words unless it was asked to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import edgeret
from edgeret import END, InputError, Runtime
from edgeret.usage.read import read_log
from edgeret.usage.segments import parts_of

QUERY = "find my file and mail it to ana@example.org"


@pytest.fixture
def runtime(tiny_original: Path) -> Runtime:
    return edgeret.load(tiny_original, threads=1)


def records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for part in parts_of(folder) for line in part.read_bytes().splitlines()]


def test_a_decision_is_a_line_and_what_became_of_it_another(runtime: Runtime, tmp_path: Path) -> None:
    log = runtime.log_to(tmp_path / "log")
    task = runtime.task(QUERY)
    decision = task.next(policy="heads")
    task.accept(decision)
    task.failed("send_mail", "the server of ana@example.org is gone")
    second = task.next(policy="heads")
    other = next(name for name in runtime.tools if name not in (second.tool, decision.tool))
    task.correct(other, {"to": "ana@example.org"})
    task.learn()
    log.close()
    task.next()
    tools, first, accepted, failed, then, corrected, learned = records(tmp_path / "log")
    content_hash = runtime.manifest.content_hash
    assert tools == {
        **{"time": tools["time"], "event": "tools", "format": 1, "set": first["set"]},
        **{"bundle": content_hash, "tools": len(runtime.tools), "names": list(runtime.tools)},
    }
    assert first == {
        **{"time": first["time"], "event": "decided", "task": first["task"], "step": 0, "tool": decision.tool},
        **{"probability": round(decision.probability, 4), "source": "heads", "stage": "full", "abstained": False},
        **{"reason": "call", "nothing": first["nothing"], "ms": round(decision.timings_ms["total"], 3)},
        **{"tools": len(runtime.tools), "bundle": content_hash[:12], "set": first["set"]},
    }
    assert 0 <= first["nothing"] <= 1
    assert {k: accepted[k] for k in ("event", "step", "tool", "answer")} == {
        **{"event": "called", "step": 0, "tool": decision.tool, "answer": "accepted"}
    }
    assert (failed["event"], failed["tool"], then["calls"]) == ("failed", "send_mail", [decision.tool])
    assert (corrected["answer"], corrected["decided"], corrected["tool"]) == ("corrected", second.tool, other)
    assert (learned["event"], learned["calls"]) == ("learned", [decision.tool, other])
    assert {record["task"] for record in (first, accepted, failed, then, corrected, learned)} == {first["task"]}
    assert "ana" not in (tmp_path / "log" / "000000000.jsonl").read_text()


def test_an_abstention_says_why_and_what_would_have_been_chosen(runtime: Runtime, tmp_path: Path) -> None:
    runtime.log_to(tmp_path / "log")
    decision = runtime.task(QUERY).next(min_probability=1.0)
    line = records(tmp_path / "log")[-1]
    assert decision.abstained
    assert (line["tool"], line["abstained"]) == (None, True)
    assert line["best"] == decision.candidates[0].tool
    assert line["reason"] == ("nothing_fits" if line["best"] == END else "unsure")


def test_words_are_kept_when_asked_for_without_values_or_with_them(runtime: Runtime, tmp_path: Path) -> None:
    task = runtime.task(QUERY)
    folders = {"values": tmp_path / "values", None: tmp_path / "all", str.upper: tmp_path / "loud"}
    for redact, folder in folders.items():
        runtime.log_to(folder, words=True, redact=redact)  # type: ignore[arg-type]
    task.next()
    task.call("send_mail", {"to": "ana@example.org", "copies": 2})
    kept = {folder.name: records(folder)[-2:] for folder in folders.values()}
    assert kept["values"][0]["query"] == "find my file and mail it to [email]"
    assert kept["values"][1]["arguments"] == {"to": "[email]", "copies": "[number]"}
    assert kept["all"][0]["query"] == QUERY
    assert kept["all"][1]["arguments"] == {"to": "ana@example.org", "copies": 2}
    assert kept["loud"][0]["query"] == QUERY.upper()


def test_words_that_cannot_be_redacted_are_withheld_and_the_error_says_none(runtime: Runtime, tmp_path: Path) -> None:
    def broken(text: str) -> str:
        raise ValueError(text)

    runtime.log_to(tmp_path / "log", words=True, redact=broken)
    with pytest.warns(RuntimeWarning, match=r"^redact raised ValueError; its text is left out of the log$"):
        runtime.task(QUERY).next()
    assert records(tmp_path / "log")[-1]["query"] == "[withheld]"


def test_other_tools_are_another_set(runtime: Runtime, tmp_path: Path) -> None:
    runtime.log_to(tmp_path / "log")
    runtime.task(QUERY).next()
    more = runtime.with_tools(add=[edgeret.Tool("wash_car", "Washes the car")])
    more.task(QUERY).next()
    runtime.task(QUERY).next()
    found = records(tmp_path / "log")
    assert [record["event"] for record in found] == ["tools", "decided", "tools", "decided", "decided"]
    assert found[2]["names"][-1] == "wash_car"
    assert found[1]["set"] == found[4]["set"] != found[3]["set"]


def test_options_out_of_range_are_refused(runtime: Runtime, tmp_path: Path) -> None:
    for options in ({"max_mb": 0.5}, {"max_mb": True}, {"days": float("nan")}, {"days": 0}, {"redact": "all"}):
        with pytest.raises(InputError, match="must be a"):
            runtime.log_to(tmp_path / "log", **options)
    with pytest.raises(InputError, match="a log is a folder, found NoneType"):
        runtime.log_to(None)  # type: ignore[arg-type]


def test_a_log_reads_back_as_requests(runtime: Runtime, tmp_path: Path) -> None:
    runtime.log_to(tmp_path / "log", words=True)
    task = runtime.task(QUERY)
    task.accept(task.next(policy="heads"))
    task.call("send_mail", {"to": "x"})
    task.undo()
    task.call("write_note")
    task.next(policy="heads")
    with (tmp_path / "log" / "000000000.jsonl").open("ab") as stream:
        stream.write(b'not json\n[]\n{"event":"decided","task":"x"}\n{"event":"later"}\n{"event":"called","half')
    log = read_log([tmp_path / "log"])
    assert (len(log.asked), log.unread) == (1, 5)
    asked = log.asked[0]
    assert asked.query == "find my file and mail it to [email]"
    assert asked.plan == (asked.steps[0].tool, "write_note")
    assert asked.steps[0].answer == "accepted"


def test_a_request_that_is_asked_for_anew_at_each_step_is_one(runtime: Runtime, tmp_path: Path) -> None:
    runtime.log_to(tmp_path / "log", words=True)
    first = runtime.task(QUERY).next(policy="heads")
    second = runtime.task(QUERY, [str(first.tool)]).next(policy="heads")
    other = next(name for name in runtime.tools if name != second.tool)
    runtime.task(QUERY, [str(first.tool), other]).next(policy="heads")
    runtime.task(QUERY).next()
    log = read_log([tmp_path / "log"])
    assert [len(asked.steps) for asked in log.asked] == [3, 1]
    assert [step.answer for step in log.asked[0].steps.values()] == ["accepted", "corrected", None]


def test_what_is_no_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no log in it"):
        read_log([tmp_path])
    with pytest.raises(InputError, match="not there"):
        read_log([tmp_path / "log"])
    (tmp_path / "a.jsonl").write_text('{"query": "x"}\n')
    with pytest.raises(InputError, match="1 lines, none of them a decision's"):
        read_log([tmp_path / "a.jsonl"])


def test_a_plan_that_nobody_judged_counts_for_nothing(runtime: Runtime, tmp_path: Path) -> None:
    runtime.log_to(tmp_path / "log", words=True)
    plan = runtime.plan(QUERY, policy="heads")
    assert plan.calls
    log = read_log([tmp_path / "log"])
    assert [step.answer for step in log.asked[0].steps.values()] == [None] * len(plan.steps)
    assert not log.asked[0].ended


def test_words_that_would_fill_the_log_are_left_out_and_the_bound_holds(runtime: Runtime, tmp_path: Path) -> None:
    runtime.log_to(tmp_path / "log", words=True, redact=None, max_mb=1)
    for number in range(3):
        task = runtime.task(f"{number} " + "write a note " * 1500)
        task.next(policy="heads")
        task.call("write_note", {"text": "x" * 900_000})
    found = records(tmp_path / "log")
    assert [one.get("query", one.get("tool")) for one in found[1:3]] == ["[withheld]", "write_note"]
    assert not any("arguments" in one for one in found)
    assert sum(part.stat().st_size for part in parts_of(tmp_path / "log")) < 10_000
