"""`edgeret-bench lab busy`: all numbers of threads decide beside all numbers of neighbours, and none of these stays."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from bench_cli import printed, refused

from edgeret_bench.speed import busy


def test_threads_are_measured_beside_neighbours_that_end(
    tiny_original: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(busy, "LOOK_S", 0.0)
    monkeypatch.setattr(busy, "WARM", 1)
    started: list[subprocess.Popen[bytes]] = []
    begin = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda *a, **k: started.append(begin(*a, **k)) or started[-1])
    queries = tmp_path / "q.txt"
    queries.write_text("find my file\nwrite a note\n")
    told = printed(capsys, "lab", "busy", tiny_original, "--queries", queries, "--neighbours", "0,2", "--decisions", 4)
    assert [(row["neighbours"], row["threads"], row["ms"]["n"]) for row in told["rows"]] == [
        *((0, 1, 4), (0, 2, 4)),
        *((2, 1, 4), (2, 2, 4)),
    ]
    assert [row["ratios"] for row in told["rows"][::2]] == [{"p50": 1.0, "p90": 1.0}] * 2
    assert len(started) == 2
    assert all(process.poll() is not None for process in started)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--neighbours", "0,65"), "--neighbours must be from 0 to 64, found '0,65'"),
        (("--neighbours", ""), "--neighbours must be from 0"),
        (("--neighbours", "two"), "--neighbours must be numbers"),
        (("--threads", "2"), "--threads must be two different numbers"),
        (("--threads", "0,1"), "--threads must be two different numbers"),
        (("--threads", "2,2,1"), "--threads must be two different numbers"),
    ],
)
def test_what_cannot_be_measured_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, str], told: str
) -> None:
    queries = tmp_path / "q.txt"
    queries.write_text("find my file\n")
    assert told in refused(capsys, "lab", "busy", tmp_path, "--queries", queries, *options)
