"""The latency benchmark: what it reports, not how fast anything is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import edgeret
from edgeret.errors import CheckFailedError
from edgeret.host import available_cpus
from edgeret.runtime.runtime import Runtime
from edgeret_bench.speed import latency

QUERIES = ["find my file", "book the meeting then send a mail", "open calendar day"]
QUANTILES = {"p50", "p90", "p99", "max", "mean", "n"}


@pytest.fixture(scope="module")
def runtime(tiny_original: Path) -> Runtime:
    return edgeret.load(tiny_original, threads=1)


@pytest.fixture(scope="module")
def measured(runtime: Runtime) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(latency, "COLD_RUNS", 2)
        patch.setattr(latency, "WARMUP", 2)
        return latency.run(runtime, QUERIES, min_queries=7, samples=True)


def test_every_stage_has_quantiles_in_order(measured: dict[str, Any]) -> None:
    expected = ["tokenize", "encode", "search", "graph", "head", "decide", "first_select", "next_select"]
    assert list(measured["stages"]) == expected
    for values in measured["stages"].values():
        assert set(values) == QUANTILES
        assert 0 <= values["p50"] <= values["p90"] <= values["p99"] <= values["max"]


def test_every_stage_counts_the_queries_asked_for(measured: dict[str, Any]) -> None:
    assert measured["n_queries"] == 7
    assert {name: values["n"] for name, values in measured["stages"].items()} == dict.fromkeys(latency.STAGES, 7)


def test_cold_starts_are_measured_in_fresh_processes(measured: dict[str, Any]) -> None:
    assert set(measured["cold_start"]) == {"import_ms", "load_ms", "first_answer_ms"}
    for values in measured["cold_start"].values():
        assert set(values) == QUANTILES
        assert values["n"] == 2
        assert values["p50"] > 0


def test_memory_and_bundle_size_are_reported(measured: dict[str, Any], tiny_original: Path) -> None:
    assert 0 < measured["rss_mb"] <= measured["rss_after_answer_mb"] * 1.01
    assert measured["peak_rss_mb"] > 0
    assert measured["process_rss_mb"] > 0
    listed = sum(file.stat().st_size for file in tiny_original.iterdir() if file.name != "manifest")
    assert measured["bundle_mb"] == pytest.approx(listed / 1e6)


def test_the_result_says_where_and_with_what_it_was_measured(measured: dict[str, Any], runtime: Runtime) -> None:
    assert measured["providers"] == {"requested": ["cpu"], "actual": ["cpu"]}
    assert measured["threads"] == 1
    assert measured["device"]["cpus"] == available_cpus()
    assert measured["device"]["threads"] == 1
    assert measured["versions"]["edgeret"] == edgeret.__version__
    assert {"python", "numpy", "onnxruntime"} <= set(measured["versions"])
    assert measured["bundle_hash"] == runtime.manifest.content_hash


def test_samples_are_kept_on_demand(measured: dict[str, Any]) -> None:
    samples = measured["samples"]["series"]
    assert set(samples) == set(latency.STAGES)
    assert max(samples["encode"]) == pytest.approx(measured["stages"]["encode"]["max"], abs=1e-5)
    assert len(samples["next_select"]) == 7


def test_first_decisions_are_told_apart_by_who_made_them(measured: dict[str, Any]) -> None:
    firsts = measured["first_decisions"]
    assert sum(each["share"] for each in firsts.values()) == pytest.approx(1)
    assert sum(each["ms"]["n"] for each in firsts.values()) == 7
    for each in firsts.values():
        assert min(each["parts"].values()) >= 0
        assert sum(each["parts"].values()) == pytest.approx(each["ms"]["mean"])
    whole = sum(each["share"] * each["ms"]["mean"] for each in firsts.values())
    assert whole == pytest.approx(measured["stages"]["first_select"]["mean"])


def test_overhead_is_a_ratio_of_medians(measured: dict[str, Any]) -> None:
    samples, overhead = measured["samples"]["series"], measured["overhead"]
    bare = float(np.median(np.add(samples["tokenize"], samples["encode"])))
    assert overhead["tokenize_and_encode_p50"] == pytest.approx(bare, abs=1e-4)
    assert overhead["first_select_ratio"] == pytest.approx(np.median(samples["first_select"]) / bare, rel=1e-3)
    assert overhead["next_select_share"] == pytest.approx(np.median(samples["next_select"]) / bare, rel=1e-3)


def test_the_result_is_plain_data(measured: dict[str, Any]) -> None:
    assert json.loads(json.dumps(measured, allow_nan=False)) == measured


def test_without_samples_their_key_is_absent(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    cold = {key: {"p50": 1.0} for key in ("import_ms", "rss_mb", "rss_after_answer_mb", "peak_rss_mb")}
    monkeypatch.setattr(latency, "cold_start", lambda *arguments: cold)
    found = latency.run(runtime, QUERIES[:1], min_queries=2, samples=False)
    assert "samples" not in found
    assert found["cold_start"] == {"import_ms": {"p50": 1.0}}


def test_a_cold_start_that_fails_gives_the_last_line_of_its_error(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = edgeret.load(tiny, threads=1)
    (tiny / "manifest").unlink()
    monkeypatch.setattr(latency, "COLD_RUNS", 1)
    with pytest.raises(CheckFailedError, match=r"a fresh process could not load the bundle: .*BundleError: .*bundle"):
        latency.cold_start(runtime, "find my file", ["cpu"])
