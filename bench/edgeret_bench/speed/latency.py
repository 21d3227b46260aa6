"""Latency of one request at a time, stage by stage, warm and cold, with memory. Histories come from real decisions.

A single stream as MLPerf's: the next query comes when the last is answered, for at least so many queries and at least
so long. A fixed reference workload runs between the blocks, so that two results can be compared although the machine
was busier during one of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from edgeret.cli.doctor import device, versions
from edgeret.errors import CheckFailedError, MissingExtraError, PlannerError
from edgeret.host import resident_mb
from edgeret.runtime.runtime import Runtime
from edgeret.terminal.progress import track
from edgeret.types import END, Usage
from edgeret_bench.metrics import quantiles
from edgeret_bench.results.compare import BLOCK
from edgeret_bench.results.files import order_of, rounded
from edgeret_bench.results.first_decisions import First, by_stage
from edgeret_bench.speed.energy import page_faults
from edgeret_bench.speed.reference import EVERY, REFERENCE_OF, RUN_TO_RUN, SHORT, Reference
from edgeret_bench.speed.system_load import Bystanders

STAGES = ("tokenize", "encode", "search", "graph", "head", "decide", "first_select", "next_select")
WARMUP = 20
PLANNER_QUERIES = 16
COLD_RUNS = 5
_COLD = """
import json, sys
from time import perf_counter as now
a = now(); import edgeret; b = now()
runtime = edgeret.load(sys.argv[1], providers=tuple(sys.argv[3].split(",")), threads=int(sys.argv[4]),
                       profile=sys.argv[5])
from edgeret.host import peak_resident_mb, resident_mb
c = now(); loaded = resident_mb(); decision = runtime.task(sys.argv[2]).next(); d = now()
print(json.dumps({"import_ms": (b - a) * 1e3, "load_ms": (c - b) * 1e3, "first_answer_ms": (d - c) * 1e3,
                  "rss_mb": loaded, "rss_after_answer_mb": resident_mb(), "peak_rss_mb": peak_resident_mb()}))
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """What the warm part gave: ms of every query by stage, the first decisions, ms of the reference work by piece, and
    what else was counted meanwhile (`faults`: minor and major page faults)."""

    stages: Mapping[str, list[float]]
    firsts: Sequence[First]
    reference: Mapping[str, list[float]]
    seconds: float
    faults: tuple[int, int]
    other_load: Mapping[str, float | None]

    @property
    def n_queries(self) -> int:
        """How many queries were measured."""
        return len(self.stages["first_select"])


def run(
    runtime: Runtime,
    queries: Sequence[str],
    *,
    min_queries: int = 1024,
    min_seconds: float = 0.0,
    requested: Sequence[str] = ("cpu",),
    samples: bool = True,
) -> dict[str, Any]:
    """The contract's `latency` result: at least `min_queries` queries, and at least `min_seconds` of them.

    `samples` keeps every value. Raises CheckFailedError if a fresh process cannot load the bundle.
    """
    warm = measure(runtime, queries, min_queries, min_seconds)
    cold = cold_start(runtime, queries[0], requested)
    result: dict[str, Any] = {
        "n_queries": warm.n_queries,
        "seconds": warm.seconds,
        "stages": {name: quantiles(values) for name, values in warm.stages.items()},
        "first_decisions": by_stage(warm.firsts),
        "overhead": _overhead(warm.stages),
        "cold_start": {k: v for k, v in cold.items() if k.endswith("_ms")},
        "rss_mb": cold["rss_mb"]["p50"],
        "rss_after_answer_mb": cold["rss_after_answer_mb"]["p50"],
        "peak_rss_mb": cold["peak_rss_mb"]["p50"],
        "bundle_mb": sum(f.size for f in runtime.manifest.files) / 1e6,
        "providers": {"requested": list(requested), "actual": list(runtime.encoder.providers)},
        "threads": runtime.loaded.threads,
        "device": device(runtime),
        "versions": versions(),
        "bundle_hash": runtime.manifest.content_hash,
        "other_load": warm.other_load,
        "process_rss_mb": resident_mb(),
        "page_faults_per_query": {
            kind: count / warm.n_queries for kind, count in zip(("minor", "major"), warm.faults, strict=True)
        },
        "reference": {name: quantiles(values) for name, values in warm.reference.items() if values},
    }
    if runtime.loaded.planner.exists:
        result["planner"] = planner_cost(runtime, queries[:PLANNER_QUERIES])
    if samples:
        result["samples"] = _samples(warm, queries)
    return result


def measure(runtime: Runtime, queries: Sequence[str], min_queries: int, min_seconds: float) -> Measured:
    """The warm part. Every query is tokenized and encoded bare, then decided by a fresh task, so that both sides of a
    ratio see the same noise."""
    for i in range(WARMUP):
        runtime.task(queries[i % len(queries)]).next()
    reference = Reference(runtime.loaded.threads)
    stages: dict[str, list[float]] = {name: [] for name in STAGES}
    reference_ms: dict[str, list[float]] = {name: [] for name in reference.measure()}
    firsts: list[First] = []
    minor, major, seconds, bystanders = 0, 0, 0.0, Bystanders()
    for start in track(_starts(min_queries, min_seconds), "queries", -(-min_queries // BLOCK)):
        size = BLOCK if min_seconds else min(BLOCK, min_queries - start)  # the same blocks in every run
        began, before = perf_counter(), page_faults()
        for i in range(size):
            firsts.append(_measure(runtime, queries[(start + i) % len(queries)], stages))
            if i % EVERY == EVERY - 1:
                for name, ms in reference.measure().items():
                    reference_ms[name].append(ms)
        seconds += perf_counter() - began
        after = page_faults()
        minor, major = minor + after[0] - before[0], major + after[1] - before[1]
    return Measured(stages, firsts, reference_ms, seconds, (minor, major), bystanders.shares())


def _samples(measured: Measured, queries: Sequence[str]) -> dict[str, Any]:
    """Every value, with what comparing two runs takes."""
    return {
        "unit": "ms",
        "order": order_of(queries),
        "series": rounded(measured.stages),
        "reference": rounded(measured.reference),
        "reference_every": EVERY,
        "reference_of": {name: REFERENCE_OF.get(name, "encoder") for name in measured.stages},
        "run_to_run": {name: RUN_TO_RUN.get(name, SHORT) for name in measured.stages},
    }


def _starts(min_queries: int, min_seconds: float) -> Iterator[int]:
    """Where blocks start, until both bounds are reached."""
    began, start = perf_counter(), 0
    while start < min_queries or perf_counter() - began < min_seconds:
        yield start
        start += BLOCK


def planner_cost(runtime: Runtime, queries: Sequence[str]) -> dict[str, Any]:
    """What asking the planner costs at the first and the second step of tasks: ms, and means of the tokens read and
    of those that were in its cache. Says why if it cannot be asked."""
    usages: dict[str, list[Usage]] = {"first": [], "next": []}
    try:
        for query in track(queries, "planner", len(queries)):
            task = runtime.task(query)
            for step in usages:
                decision = task.next(policy="planner")
                if decision.usage is not None:
                    usages[step].append(decision.usage)
                task.call(next(c.tool for c in decision.candidates if c.tool != END))
    except (PlannerError, MissingExtraError) as error:
        return {"unavailable": str(error)}
    return {
        step: {
            "ms": quantiles([usage.ms for usage in found]),
            "tokens_evaluated": float(np.mean([usage.tokens_evaluated for usage in found])),
            "tokens_reused": float(np.mean([usage.tokens_reused for usage in found])),
        }
        for step, found in usages.items()
        if found
    }


def cold_start(runtime: Runtime, query: str, providers: Sequence[str]) -> dict[str, dict[str, float]]:
    """Import, load, first answer and memory, each measured in fresh processes. Raises CheckFailedError if one fails."""
    command = [sys.executable, "-c", _COLD, str(Path(runtime.path).resolve()), query, ",".join(providers)]
    loaded = runtime.loaded
    profile = "tiny" if loaded.is_table else "full" if loaded.core.stages == 1 else "default"
    command += [str(loaded.threads), profile]
    runs = []
    for _ in track(range(COLD_RUNS), "cold starts", COLD_RUNS):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CheckFailedError(f"a fresh process could not load the bundle: {done.stderr.strip().splitlines()[-1]}")
        runs.append(json.loads(done.stdout))
    return {key: quantiles([r[key] for r in runs]) for key in runs[0]}


def _measure(runtime: Runtime, query: str, stages: Mapping[str, list[float]]) -> First:
    started = perf_counter()
    runtime.loaded.core.encode(query)
    encoding, started = (perf_counter() - started) * 1e3, perf_counter()
    task = runtime.task(query)
    decision = task.next()
    first = First(decision.stage, (perf_counter() - started) * 1e3, decision.timings_ms)
    stages["first_select"].append(first.ms)
    cut = min(encoding, decision.timings_ms.get("tokenize", 0.0))
    stages["tokenize"].append(cut)
    stages["encode"].append(encoding - cut)
    for stage in ("search", "graph", "head", "decide"):
        stages[stage].append(decision.timings_ms.get(stage, 0.0))
    called = next((c.tool for c in decision.candidates if c.tool != END), None)
    if called is None:
        return first
    started = perf_counter()
    task.call(called)
    task.next()
    stages["next_select"].append((perf_counter() - started) * 1e3)
    return first


def _overhead(stages: Mapping[str, list[float]]) -> dict[str, float]:
    """Medians of deciding in units of the median encoding. Of a cascade the first says nothing: most of its first
    decisions need no encoding, and `first_decisions` tells these apart."""
    bare = float(np.median(np.add(stages["tokenize"], stages["encode"])))
    first, later = float(np.median(stages["first_select"])), float(np.median(stages["next_select"]))
    return {
        "tokenize_and_encode_p50": bare,
        "first_select_ratio": first / bare,
        "next_select_share": later / bare,
    }
