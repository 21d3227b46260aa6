"""Bad options of the benchmarks' commands: exit code 2 and one line that names them, before anything is measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bench_cli import printed, refused, write_demonstrations, write_queries
from conftest import make_demonstrations

import edgeret
from edgeret_bench.commands import speed
from edgeret_bench.speed import latency, scaling, sweeps


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    return write_queries(tmp_path / "queries.jsonl", ["find my file", "play my song"])


@pytest.fixture
def demos(tmp_path: Path) -> Path:
    return write_demonstrations(tmp_path / "demos.jsonl", make_demonstrations(2))


def never(*_: Any, **__: Any) -> None:
    pytest.fail("measured although the options are wrong")


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("--batches", "0", "--batches must be between 1 and 4096, found 0"),
        ("--batches", "1,-4", "--batches must be between 1 and 4096, found 1,-4"),
        ("--batches", "4097", "--batches"),
        ("--batches", "x", "--batches must be numbers with commas between them, found 'x'"),
        ("--batches", "1.5", "--batches must be numbers"),
        ("--sustained", "-1", "--sustained must be seconds, 0 or more, found -1.0"),
        ("--sustained", "nan", "--sustained"),
        ("--sustained", "inf", "--sustained"),
        ("--sustained", "x", "--sustained"),
        ("--min-seconds", "-0.5", "--min-seconds must be seconds, 0 or more, found -0.5"),
        ("--min-seconds", "nan", "--min-seconds"),
        ("--min-queries", "1", "--min-queries must be at least 2, found 1"),
        ("--min-queries", "x", "--min-queries"),
        ("--threads", "0", "threads"),
        ("--queries", "/gone.jsonl", "/gone.jsonl"),
    ],
)
def test_latency_refuses(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tiny_original: Path,
    queries: Path,
    option: str,
    value: str,
    expected: str,
) -> None:
    monkeypatch.setattr(latency, "run", never)
    assert expected in refused(capsys, "latency", tiny_original, "--queries", queries, f"{option}={value}")


def test_batches_are_refused_for_static_shapes_before_anything_is_measured(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tiny_original: Path, queries: Path
) -> None:
    monkeypatch.setattr(latency, "run", never)
    monkeypatch.setattr(speed, "load_runtime", lambda _: edgeret.load(tiny_original, static_tokens=16))
    error = refused(capsys, "latency", tiny_original, "--queries", queries, "--batches", "1")
    assert "one text at a time" in error


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("--sizes", "x", "--sizes must be numbers with commas between them, found 'x'"),
        ("--sizes", "20.5", "--sizes must be numbers"),
        ("--sizes", "1", "from 2 to 50000 tools"),
        ("--sizes", ",", "from 2 to 50000 tools"),
        ("--sizes", "50001", "from 2 to 50000 tools"),
        ("--base", "/gone", "/gone"),
        pytest.param("--seed", "-1", "seed"),
    ],
)
def test_scaling_refuses(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, option: str, value: str, expected: str
) -> None:
    monkeypatch.setattr(scaling, "_cost", never)
    assert expected in refused(capsys, "lab", "scaling", f"{option}={value}")


@pytest.mark.parametrize(
    ("command", "option", "value", "expected"),
    [
        ("next-tool", "--methods", "fused,magic", "unknown method 'magic'"),
        ("next-tool", "--methods", "less-is-more", "no planner"),
        pytest.param("next-tool", "--methods", ",", "--methods"),
        pytest.param("next-tool", "--seed", "-1", "seed"),
        ("next-tool", "--demos", "/gone.jsonl", "/gone.jsonl"),
        ("plan", "--policy", "magic", "magic"),
        ("plan", "--steps", "-1", "steps"),
        pytest.param("plan", "--seed", "-1", "seed"),
    ],
)
def test_accuracy_refuses(
    capsys: pytest.CaptureFixture[str],
    tiny_original: Path,
    demos: Path,
    command: str,
    option: str,
    value: str,
    expected: str,
) -> None:
    assert expected in refused(capsys, command, tiny_original, "--demos", demos, f"{option}={value}")


@pytest.mark.parametrize("wrong", [["--batches", "1"], ["--repeats", "1"], ["--nonsense"]])
def test_options_of_another_command_are_refused(capsys: pytest.CaptureFixture[str], wrong: list[str]) -> None:
    assert wrong[0] in refused(capsys, "lab", "scaling", *wrong)


def test_good_options_reach_their_benchmarks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tiny_original: Path, queries: Path
) -> None:
    for module, name, value in ((latency, "WARMUP", 1), (sweeps, "QUERIES", 8), (sweeps, "BLOCK", 8)):
        monkeypatch.setattr(module, name, value)
    cold = {key: {"p50": 1.0} for key in ("import_ms", "rss_mb", "rss_after_answer_mb", "peak_rss_mb")}
    monkeypatch.setattr(latency, "cold_start", lambda *_: cold)
    options = ["--queries", queries, "--min-queries", 4, "--min-seconds", 0, "--sustained", 0, "--batches", "2, 3,"]
    found = printed(capsys, "latency", tiny_original, *options, "--no-samples", "--threads", 1, "--sweep-threads")
    assert list(found["batches"]) == ["2", "3"]
    assert list(found["threads_sweep"]) == ["1"]
    assert not {"sustained", "samples", "providers_sweep"} & set(found)
    assert (found["n_queries"], found["options"]["min_queries"]) == (4, 4)
    assert found["reference"]["serial"]["n"] == 2
