"""The latency and crossover benchmarks: what they report, not how fast anything is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import edgeret
from edgeret.errors import CheckFailedError, MissingExtraError
from edgeret.host import available_cpus
from edgeret.runtime.runtime import Runtime
from edgeret_bench.speed import crossover, latency

QUERIES = ["find my file", "book the meeting then send a mail", "open calendar day"]
QUANTILES = {"p50", "p90", "p99", "max", "n"}


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
    assert {"python", "numpy", "onnxruntime", "tokenizers"} <= set(measured["versions"])
    assert measured["bundle_hash"] == runtime.manifest.content_hash


def test_samples_are_kept_on_demand(measured: dict[str, Any]) -> None:
    samples = measured["samples"]["series"]
    assert set(samples) == set(latency.STAGES)
    assert max(samples["encode"]) == pytest.approx(measured["stages"]["encode"]["max"], abs=1e-5)
    assert len(samples["next_select"]) == 7


def test_overhead_is_a_ratio_of_medians(measured: dict[str, Any]) -> None:
    samples, overhead = measured["samples"]["series"], measured["overhead"]
    bare = float(np.median(np.add(samples["tokenize"], samples["encode"])))
    assert overhead["tokenize_and_encode_p50"] == pytest.approx(bare, abs=1e-4)
    assert overhead["first_select_ratio"] == pytest.approx(np.median(samples["first_select"]) / bare, rel=1e-3)
    assert overhead["next_select_share"] == pytest.approx(np.median(samples["next_select"]) / bare, rel=1e-3)


def test_the_result_is_plain_data(measured: dict[str, Any]) -> None:
    assert json.loads(json.dumps(measured, allow_nan=False)) == measured


def test_without_samples_and_peer_their_keys_are_absent(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    cold = {key: {"p50": 1.0} for key in ("import_ms", "rss_mb", "rss_after_answer_mb", "peak_rss_mb")}
    monkeypatch.setattr(latency, "cold_start", lambda *arguments: cold)
    found = latency.run(runtime, QUERIES[:1], min_queries=2, samples=False)
    assert "samples" not in found
    assert "peers" not in found
    assert found["cold_start"] == {"import_ms": {"p50": 1.0}}


def test_a_peer_encodes_the_same_queries_in_the_same_run(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    cold = {key: {"p50": 1.0} for key in ("rss_mb", "rss_after_answer_mb", "peak_rss_mb")}
    monkeypatch.setattr(latency, "cold_start", lambda *arguments: cold)
    monkeypatch.setattr(latency, "_peer", lambda name: heard.append)
    monkeypatch.setattr(latency, "WARMUP", 0)
    peer = latency.run(runtime, QUERIES, min_queries=4, compare="echo")["peers"]["echo"]
    assert heard == [*QUERIES, QUERIES[0]]
    assert peer["n"] == 4
    assert peer["times_first_select"] > 0


def test_a_cold_start_that_fails_gives_the_last_line_of_its_error(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = edgeret.load(tiny, threads=1)
    (tiny / "manifest").unlink()
    monkeypatch.setattr(latency, "COLD_RUNS", 1)
    with pytest.raises(CheckFailedError, match=r"a fresh process could not load the bundle: .*BundleError: .*bundle"):
        latency.cold_start(runtime, "find my file", ["cpu"])


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crossover, "SIZES", (30, 60))
    monkeypatch.setattr(crossover, "QUERIES", 5)


@pytest.mark.usefixtures("small")
def test_crossover_reports_both_searches_a_size() -> None:
    pytest.importorskip("hnswlib")
    found = crossover.run(8, 3)
    assert (found["dimension"], found["seed"]) == (8, 3)
    assert [row["tools"] for row in found["sizes"]] == [30, 60]
    for row in found["sizes"]:
        assert set(row) == {"tools", "exact_ms", "hnsw_ms", "recall@10"}
        assert row["recall@10"] > 0.9
    assert found["crossover"] in (None, 30, 60)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("exact", "hnsw", "expected"),
    [((1, 3), (2, 2), 60), ((3, 3), (2, 2), 30), ((3, 1), (2, 2), None), ((1, 1), (2, 2), None)],
)
def test_crossover_is_the_first_size_from_which_hnsw_stays_ahead(
    monkeypatch: pytest.MonkeyPatch, exact: tuple[int, int], hnsw: tuple[int, int], expected: int | None
) -> None:
    pytest.importorskip("hnswlib")
    times = iter([exact[0], hnsw[0], exact[1], hnsw[1]])
    monkeypatch.setattr(crossover, "_median", lambda index, queries: float(next(times)))
    assert crossover.run(8, 0)["crossover"] == expected


def test_crossover_without_hnswlib_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crossover, "hnsw_available", lambda: False)
    expected = r"^measuring HNSW requires extra 'hnsw'\. Install it with: pip install 'edgeret\[hnsw\]'$"
    with pytest.raises(MissingExtraError, match=expected):
        crossover.run(8, 0)


def test_synthetic_libraries_are_unit_rows_that_repeat_under_a_seed() -> None:
    vectors = crossover.synthetic(50, 16, 4)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert np.array_equal(vectors, crossover.synthetic(50, 16, 4))
    assert not np.array_equal(vectors, crossover.synthetic(50, 16, 5))
