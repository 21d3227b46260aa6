"""A log of decisions becomes demonstrations: use that was accepted or corrected, and no more."""

from __future__ import annotations

from pathlib import Path

from transcript_samples import command, reasons, run

import edgeret
from edgeret import Call, Runtime
from edgeret.usage.segments import parts_of


def logged(runtime: Runtime, folder: Path, query: str, *calls: Call, ended: bool = True, words: bool = True) -> None:
    log = runtime.log_to(folder, words=words, redact=None)
    task = runtime.task(query)
    for call in calls:
        task.next(policy="heads")
        task.call(call.tool, call.arguments)
    if ended:
        task.learn(keep_words=False)
    else:
        task.next(policy="heads")
    log.close()


def test_what_users_took_or_called_instead_comes_back_as_it_was(tiny_original: Path, tmp_path: Path) -> None:
    runtime = edgeret.load(tiny_original, threads=1)
    calls = Call("find_file", {"name": "lease"}), Call("send_mail", {"file": "$out_1", "to": "Ana"})
    logged(runtime, tmp_path / "log", "Find my lease and mail it to Ana", *calls)
    found, report = run(tmp_path, *parts_of(tmp_path / "log"))
    assert [(one.query, one.calls) for one in found] == [("Find my lease and mail it to Ana", calls)]
    assert report["files"][0]["formats"] == ["edgeret's log"]
    again = tmp_path / "again.jsonl"
    assert command(tmp_path / "log", "-o", again) == 0
    assert again.read_text() == (tmp_path / "d.jsonl").read_text()


def test_what_nobody_answered_and_what_has_no_words_is_told(tiny_original: Path, tmp_path: Path) -> None:
    runtime, log = edgeret.load(tiny_original, threads=1), tmp_path / "log"
    logged(runtime, log, "write a note", Call("write_note"))
    logged(runtime, log, "write another note", Call("write_note"), words=False)
    logged(runtime, log, "find my file and send a mail", ended=False)
    found, report = run(tmp_path, *parts_of(log))
    assert [one.query for one in found] == ["write a note"]
    assert {reason: count for reason, count in reasons(report).items() if "note" not in reason} == {
        "no words were kept; log with words=True": 1,
        "nobody said what became of its last decision": 1,
    }


def test_failures_are_counted_and_left_out(tiny_original: Path, tmp_path: Path) -> None:
    runtime = edgeret.load(tiny_original, threads=1)
    log = runtime.log_to(tmp_path / "log", words=True)
    task = runtime.task("find my file")
    task.next(policy="heads")
    task.failed("find_file", "no disk")
    task.call("write_note")
    task.learn()
    log.close()
    found, report = run(tmp_path, *parts_of(tmp_path / "log"))
    assert [call.tool for call in found[0].calls] == ["write_note"]
    assert reasons(report)["failed"] == 1
