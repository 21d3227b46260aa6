"""`edgeret-bench lab serve`: asks a real server at a rate, and tells the decision's time from what is added to it."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench_cli import printed, refused

from edgeret_bench.speed import serving

pytest.importorskip("uvicorn", reason="the extra 'serve' is not installed")


def test_every_request_is_answered_and_told_in_parts(
    tiny_original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(serving, "PATIENCE", 600)  # however busy this machine is
    queries = tmp_path / "q.txt"
    queries.write_text("find my file\nwrite a note\n")
    options = ("--queries", queries, "--rate", 50, "--seconds", 1, "--connections", 2, "--rounds", 2)
    told = printed(capsys, "lab", "serve", tiny_original, *options)
    assert told["n_requests"] == told["answer_ms"]["n"] == told["decision_ms"]["n"] == told["added_ms"]["n"] == 50
    assert 0 < told["decision_ms"]["p50"] < told["answer_ms"]["max"]
    assert told["rate"]["asked"] == 50
    assert told["n_empty"] == told["empty_ms"]["n"] == 5  # every tenth, beside the rate
    apart = [one["added_p99_ms"] - one["empty_p99_ms"] for one in told["rounds"]]
    assert apart == [one["beyond_empty_p99_ms"] for one in told["rounds"]] and len(apart) == 2
    assert told["beyond_empty_p99_ms"] == max(apart)  # of two, the upper


def test_a_rate_that_cannot_be_kept_ends_the_measurement(
    tiny_original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(serving, "PATIENCE", 0)  # the last answer is always owed when the last request was sent
    queries = tmp_path / "q.txt"
    queries.write_text("find my file\n")
    options = ("--queries", queries, "--rate", 50, "--seconds", 1)
    assert "cannot keep up with 50 a second here" in refused(capsys, "lab", "serve", tiny_original, *options)


def test_what_cannot_be_measured_is_said(
    tiny_original: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queries = tmp_path / "q.txt"
    queries.write_text("find my file\n")
    assert "did not start" in refused(capsys, "lab", "serve", tmp_path / "nowhere", "--queries", queries)
    assert "--core must be one of" in refused(
        capsys, "lab", "serve", tiny_original, "--queries", queries, "--core", 9999
    )
