"""A bundle on a GPU, on the CPU provider in its place: the command, the result, and what a report makes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gpu_run
import pytest

import edgeret
from edgeret_bench.results.files import read_result
from edgeret_bench.results.report import write_report
from edgeret_bench.speed import latency, sweeps
from edgeret_export.reference.encoders.onnx import OnnxEncoder
from edgeret_export.reference.runtime import components_of

REQUESTS = (
    {"query": "find my file and mail it", "calls": [{"tool": "find_file"}, {"tool": "send_mail"}]},
    {"query": "play a song", "calls": [{"tool": "play_music"}]},
    {"query": "open calendar day", "calls": []},
)


@pytest.fixture(scope="module")
def queries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("requests") / "requests.jsonl"
    path.write_text("".join(json.dumps({"id": str(i), **each}) + "\n" for i, each in enumerate(REQUESTS)))
    return path


@pytest.fixture(scope="module")
def ran(tiny_cascade: Path, queries: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, Path]:
    """The exit code and the result of a short run on the CPU provider."""
    target = tmp_path_factory.mktemp("gpu") / "gpu.json"
    words = [str(tiny_cascade), "-o", str(target), "--provider", "cpu", "--queries", str(queries)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(latency, "COLD_RUNS", 1)
        patch.setattr(latency, "WARMUP", 2)
        patch.setattr(sweeps, "QUERIES", 4)
        return gpu_run.main([*words, "--batches", "1,3", "--runs", "2", "--min-queries", "4"]), target


@pytest.fixture(scope="module")
def result(ran: tuple[int, Path]) -> dict[str, Any]:
    return read_result(ran[1])


def test_a_run_on_the_cpu_provider_finds_the_cpus_own_vectors_and_decisions(
    ran: tuple[int, Path], result: dict[str, Any]
) -> None:
    found = result["gpu"]
    assert ran[0] == 0
    assert found["provider"] == "cpu"
    assert not found["io_binding"]
    assert found["golden"]["ok"]
    assert found["golden"]["least"] > 0.999
    assert found["batch_cosine"] >= gpu_run.LEAST_COSINE
    # Four calls and an end of every request.
    assert {name: (each["n"], each["other"]) for name, each in found["decisions"].items()} == {
        "same graph": (6, 0),
        "cpu": (6, 0),
    }
    assert found["vectors"]["same graph"]["most_apart"] == 0.0
    assert found["planner"] == {"unavailable": "the bundle has no planner"}


def test_the_result_says_how_it_was_measured_and_holds_every_batch_size(result: dict[str, Any]) -> None:
    assert result["kind"] == "latency"
    assert result["command"][:2] == ["python", "tests/gpu_run.py"]
    assert {size: row["n"] for size, row in result["batches"].items()} == {"1": 2, "3": 2}
    assert set(result["stages"]) == set(latency.STAGES)
    assert len(result["providers_sweep"]) == 2


@pytest.mark.parametrize("ending", [".md", ".html"])
def test_a_report_draws_it(result: dict[str, Any], tmp_path: Path, ending: str) -> None:
    target = tmp_path / f"report{ending}"
    write_report([("gpu", result)], target)
    text = target.read_text()
    assert "on the device, beside the CPU" in text
    assert "other decisions than the CPU" in text


def test_without_the_device_it_says_what_is_missing(
    tiny_cascade: Path, queries: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "gpu.json"
    words = [str(tiny_cascade), "-o", str(target), "--provider", "coreml", "--queries", str(queries)]
    assert gpu_run.main(words) == gpu_run.NOTHING_HERE
    assert "nothing here to run on: execution provider 'coreml' is not in this ONNX Runtime" in capsys.readouterr().err
    assert not target.exists()


def test_a_bundle_without_its_encoder_is_refused_in_a_line(
    tiny_table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gpu_run.main([str(tiny_table), "-o", str(tmp_path / "gpu.json"), "--provider", "cpu"]) == 1
    assert capsys.readouterr().err.startswith("gpu_run: ")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (["--batches", "1,0"], "--batches must be from 1 to 4096"),
        (["--batches", "x"], "--batches must be numbers"),
        (["--runs", "0"], "--runs must be from 1"),
        (["--queries", "nowhere.jsonl"], "nowhere.jsonl"),
        (["-o", "."], "no file's name"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_anything_is(
    tiny_original: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], wrong: list[str], told: str
) -> None:
    words = [str(tiny_original), "-o", str(tmp_path / "gpu.json"), "--provider", "cpu", *wrong]
    assert gpu_run.main(words) == 1
    assert told in capsys.readouterr().err


def answers(tmp_path: Path, text: str, code: int = 0) -> tuple[str, ...]:
    """A command in place of nvidia-smi that answers so."""
    script = tmp_path / "smi"
    script.write_text(f"#!/bin/sh\necho '{text}'\nexit {code}\n")
    script.chmod(0o755)
    return (str(script),)


def test_a_card_tells_its_name_and_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_run, "SMI", answers(tmp_path, "NVIDIA H200, 580.159.03, 143771, 1000"))
    found = gpu_run.card()
    assert found == {"name": "NVIDIA H200", "driver": "580.159.03", "total_mb": 150754.8, "used_mb": 1048.6}
    assert gpu_run.memory({**found, "used_mb": 48.6}, found, found) == {"loaded": 1000.0, "batches": 1000.0}


def test_a_card_that_cannot_be_asked_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_run, "SMI", ("no-such-command-here",))
    assert gpu_run.card() == {"unavailable": "no no-such-command-here here"}
    monkeypatch.setattr(gpu_run, "SMI", answers(tmp_path, "No devices were found", 6))
    assert gpu_run.card() == {"unavailable": "nvidia-smi: No devices were found"}


def test_binding_is_measured_where_there_is_something_to_bind(tiny_original: Path) -> None:
    encoder = components_of(edgeret.load(tiny_original, providers=("CPUExecutionProvider",))).encoder
    assert gpu_run.binding(encoder, ["play a song"], 2) == {}
    assert isinstance(encoder, OnnxEncoder)
    encoder.graphs.bound = True  # the CPU provider takes bound inputs as well
    found = gpu_run.binding(encoder, ["play a song", "find my file"], 3)
    assert {name: times["n"] for name, times in found.items()} == {"bound": 3, "not bound": 3}
    assert encoder.graphs.bound


def test_what_must_not_be_is_told(result: dict[str, Any]) -> None:
    found = result["gpu"]
    assert gpu_run.failures(found) == []
    wrong = json.loads(json.dumps(found))
    wrong["golden"].update(ok=False, told={"golden vectors": "cosine 0.5"})
    wrong["batch_cosine"] = float("nan")
    wrong["provider"] = "cuda"
    wrong["vectors"]["same graph"]["least_cosine"] = 0.9
    wrong["decisions"]["same graph"]["other"] = 1
    told = gpu_run.failures(wrong)
    assert len(told) == 5
    assert told[0] == "golden vectors: cosine 0.5"
    assert "1 of 6 decisions differ" in told[3]
