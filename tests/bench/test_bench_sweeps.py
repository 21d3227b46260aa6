"""Sweeps, scaling, the reference workload and energy: what they report, not how fast or thrifty anything is."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

import edgeret
from edgeret.runtime.runtime import Runtime
from edgeret_bench.speed import energy, reference, scaling, sweeps
from edgeret_bench.speed.energy import Meter, page_faults
from edgeret_bench.speed.latency import STAGES
from edgeret_bench.speed.reference import REFERENCE_OF, Reference

QUERIES = ["find my file", "book the meeting then send a mail", "open calendar day"]
QUANTILES = {"p50", "p90", "p99", "max", "mean", "n"}


@pytest.fixture(scope="module")
def runtime(tiny_original: Path) -> Runtime:
    return edgeret.load(tiny_original, threads=1)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "QUERIES", 24)
    monkeypatch.setattr(sweeps, "BLOCK", 8)
    monkeypatch.setattr(sweeps, "SLICE_SECONDS", 0.01)
    monkeypatch.setattr(scaling, "QUERIES", 5)
    monkeypatch.setattr(scaling, "LEARNED", (3, 6))
    monkeypatch.setattr(scaling, "HISTORIES", (0, 3))


def rapl(folder: Path, name: str, package: str, used: str | None, limit: str = "1000000") -> Path:
    """A power counter as Linux shows it, in µJ; `used` None: without its reading."""
    (folder / name).mkdir(parents=True)
    (folder / name / "name").write_text(f"{package}\n")
    (folder / name / "max_energy_range_uj").write_text(f"{limit}\n")
    if used is not None:
        (folder / name / "energy_uj").write_text(f"{used}\n")
    return folder / name / "energy_uj"


@pytest.fixture
def power(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "powercap"
    folder.mkdir()
    monkeypatch.setattr(energy, "RAPL", folder)
    return folder


def test_threads_are_swept_over_the_same_queries(tiny_original: Path) -> None:
    found = sweeps.threads(str(tiny_original), QUERIES, (1, 2))
    assert list(found) == ["1", "2"]
    for row in found.values():
        assert set(row) == QUANTILES
        assert row["n"] == 24
        assert 0 < row["p50"] <= row["max"]


def test_systems_take_turns_and_the_first_block_warms_up() -> None:
    asked: list[tuple[str, str]] = []
    systems = {name: lambda query, name=name: asked.append((name, query)) for name in ("a", "b")}
    found = sweeps.in_turn(systems, QUERIES)
    assert [row["n"] for row in found.values()] == [24, 24]
    assert [name for name, _ in asked[:33]] == ["a"] * 8 + ["b"] * 8 + ["a"] * 8 + ["b"] * 8 + ["a"]
    of = {name: [query for n, query in asked if n == name] for name in systems}
    assert of["a"] == of["b"]
    assert len(of["a"]) == 32
    assert of["a"][8:] == [QUERIES[i % 3] for i in range(24)]


def test_providers_are_measured_or_their_absence_explained(tiny_original: Path) -> None:
    found = sweeps.providers(str(tiny_original), QUERIES, ["cpu", "nowhere"])
    assert list(found) == ["cpu", "nowhere"]
    assert set(found["cpu"]) == QUANTILES
    assert list(found["nowhere"]) == ["unavailable"]
    assert "nowhere" in found["nowhere"]["unavailable"]


def test_batches_encode_all_queries_of_each_block(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    encoder = sweeps.batch_encoder(runtime)
    embed = encoder.encode_batch
    monkeypatch.setattr(encoder, "encode_batch", lambda batch: (sizes.append(len(batch)), embed(batch))[1])
    monkeypatch.setattr(sweeps, "batch_encoder", lambda _: encoder)
    found = sweeps.batches(runtime, QUERIES, (1, 4, 6, 30))
    assert {size: row["n"] for size, row in found.items()} == {"1": 24, "4": 6, "6": 6, "30": 3}
    assert {size: sizes.count(size) for size in sizes} == {1: 24, 4: 6, 6: 6, 30: 3}
    for size, row in found.items():
        assert row["queries_per_second"] == pytest.approx(1e3 * int(size) / row["p50"])


def test_sustained_reports_slices_and_energy(runtime: Runtime, power: Path) -> None:
    rapl(power, "intel-rapl:0", "package-0", "1")
    found = sweeps.sustained(runtime, QUERIES, 0.05)
    assert [s["second"] for s in found["slices"]] == pytest.approx([0, 0.01, 0.02, 0.03, 0.04])
    assert sum(s["n"] for s in found["slices"]) == found["n_queries"] > 0
    assert all(s["rss_mb"] > 0 for s in found["slices"])
    first, last = found["slices"][0]["p50"], found["slices"][-1]["p50"]
    assert found["last_over_first"] == pytest.approx(last / first)
    assert found["energy"]["joules"]["rapl package-0 0"] == 0
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert len(sweeps.sustained(runtime, QUERIES, 0.0)["slices"]) == 2


def test_a_meter_adds_what_was_used_inside(power: Path) -> None:
    first = rapl(power, "intel-rapl:0", "package-0", "500000")
    second = rapl(power, "intel-rapl:1", "package-1", "0", limit="3000000")
    rapl(power, "intel-rapl:0:0", "core", "7")  # counted in its package
    rapl(power, "unrelated", "x", "7")
    meter = Meter()
    with meter:
        first.write_text("700000")
        second.write_text("2500000")
    first.write_text("900000")  # outside: somebody else's
    with meter:
        first.write_text("950000")
    found = meter.report(5)
    assert found["joules"] == pytest.approx({"rapl package-0 0": 0.25, "rapl package-1 1": 2.5})
    assert found["joules_per_query"] == pytest.approx({"rapl package-0 0": 0.05, "rapl package-1 1": 0.5})
    assert "rapl" not in found["unavailable"]


def test_a_counter_that_wraps_around_goes_on(power: Path) -> None:
    file = rapl(power, "amd-rapl:0", "package-0", "900000", limit="1000000")
    meter = Meter()
    with meter:
        file.write_text("150000")
    assert meter.report(1)["joules"] == {"rapl package-0 0": pytest.approx(0.25)}


def test_energy_counts_where_an_error_ended_the_work(power: Path) -> None:
    file = rapl(power, "intel-rapl:0", "package-0", "0")
    meter = Meter()
    with pytest.raises(RuntimeError, match="stop"), meter:
        file.write_text("400000")
        raise RuntimeError("stop")
    assert meter.report(2)["joules_per_query"] == {"rapl package-0 0": pytest.approx(0.2)}


@pytest.mark.parametrize("broken", ["missing", "words", "folder"])
def test_a_counter_that_cannot_be_read_is_reported(power: Path, broken: str) -> None:
    file = rapl(power, "intel-rapl:0", "package-0", None if broken != "words" else "many")
    if broken == "folder":
        file.mkdir()
    meter = Meter()
    with meter:
        pass
    found = meter.report(1)
    assert found["joules"] == {}
    assert str(file) in found["unavailable"]["rapl"]
    assert "run as root or grant read access" in found["unavailable"]["rapl"]


def test_one_readable_counter_of_two_counts_and_the_other_is_reported(power: Path) -> None:
    rapl(power, "intel-rapl:0", "package-0", "0")
    unreadable = rapl(power, "intel-rapl:1", "package-1", None)
    found = Meter().report(1)
    assert list(found["joules"]) == ["rapl package-0 0"]
    assert str(unreadable) in found["unavailable"]["rapl"]


@pytest.mark.parametrize("there", [True, False])
def test_a_machine_without_counters_says_so(power: Path, there: bool) -> None:
    if not there:
        power.rmdir()
    found = Meter().report(1)
    assert found["unavailable"]["rapl"].startswith(f"no counter under {power}")


def test_page_faults_never_fall() -> None:
    before = page_faults()
    touched = np.ones(1 << 20)
    after = page_faults()
    assert all(a <= b for a, b in zip(before, after, strict=True))
    assert touched[-1] == 1


def test_the_reference_is_the_same_work_every_time() -> None:
    model = reference.reference_model()
    assert hashlib.sha256(model).hexdigest() == "4bfd0dcbe8d3b29d018782a17f5a7f12c5a8e6e8c637410510a612be8f22ca2a"
    found = Reference(1)
    measured = [found.measure() for _ in range(3)]
    assert all(set(times) == {"encoder", "serial"} for times in measured)
    assert all(value > 0 for times in measured for value in times.values())
    assert set(REFERENCE_OF) <= set(STAGES)
    assert set(REFERENCE_OF.values()) <= set(measured[0])


def test_the_reference_computes_finite_numbers() -> None:
    work = Reference(1)
    (out,) = work.session.run(None, work.input)
    assert out.shape == (1, reference.TOKENS, reference.WIDTH)
    assert 0.01 < np.abs(out).mean() < 1


def test_scaling_has_a_row_for_every_size() -> None:
    found = scaling.run((80, 20), 3)
    assert (found["seed"], found["n_queries"]) == (3, 5)
    assert [row["tools"] for row in found["tools"]] == [20, 80]
    assert [row["history"] for row in found["history"]] == [0, 3]
    assert [row["learned"] for row in found["learned"]] == [3, 6]
    for key in ("tools", "history", "learned"):
        assert all(set(row) == set(found[key][0]) for row in found[key])
        for row in found[key]:
            assert all(set(v) == QUANTILES for v in row.values() if isinstance(v, dict))
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_synthetic_tools_have_names_of_their_own_and_repeat_under_a_seed() -> None:
    tools = scaling.synthetic(20_000, 4)
    assert len({tool.name for tool in tools}) == 20_000
    assert tools[:50] == scaling.synthetic(50, 4) != scaling.synthetic(50, 5)
