"""Latency of one request at a time, stage by stage, warm and cold, with memory. Histories come from real decisions.

A single stream as MLPerf's: the next query comes when the last is answered, for at least so many queries and at least
so long. A fixed reference workload runs between the blocks, so that two results can be compared although the machine
was busier during one of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from edgeret.cli.doctor import device, versions
from edgeret.cli.progress import track
from edgeret.errors import CheckFailedError, MissingExtraError, PlannerError
from edgeret.host import resident_mb
from edgeret.runtime.runtime import Runtime
from edgeret.stopwatch import Stopwatch
from edgeret.types import END, Usage
from edgeret_bench.metrics import quantiles
from edgeret_bench.results.compare import BLOCK
from edgeret_bench.results.files import order_of, rounded
from edgeret_bench.speed.energy import page_faults
from edgeret_bench.speed.reference import EVERY, REFERENCE_OF, RUN_TO_RUN, SHORT, Reference
from edgeret_bench.speed.system_load import Bystanders
from edgeret_export.encoders.onnx_graph import quiet
from edgeret_export.sources.cards import find_card
from edgeret_export.sources.fetch import fetch

STAGES = ("tokenize", "encode", "search", "graph", "head", "decide", "first_select", "next_select")
WARMUP = 20
PLANNER_QUERIES = 16
COLD_RUNS = 5
_COLD = """
import json, sys
from time import perf_counter as now
a = now(); import edgeret; b = now()
runtime = edgeret.load(sys.argv[1], providers=tuple(sys.argv[3].split(",")), threads=int(sys.argv[4]))
from edgeret.host import peak_resident_mb, resident_mb
c = now(); loaded = resident_mb(); decision = runtime.task(sys.argv[2]).next(); d = now()
print(json.dumps({"import_ms": (b - a) * 1e3, "load_ms": (c - b) * 1e3, "first_answer_ms": (d - c) * 1e3,
                  "rss_mb": loaded, "rss_after_answer_mb": resident_mb(), "peak_rss_mb": peak_resident_mb()}))
"""


def run(
    runtime: Runtime,
    queries: Sequence[str],
    *,
    min_queries: int = 1024,
    min_seconds: float = 0.0,
    requested: Sequence[str] = ("cpu",),
    compare: str | None = None,
    samples: bool = True,
) -> dict[str, Any]:
    """The contract's `latency` result: at least `min_queries` queries, and at least `min_seconds` of them.

    Every query is tokenised and encoded bare, then decided by a fresh task, so that both sides of a ratio see the
    same noise. `compare` adds a peer's encoding of the same queries, block by block in turn with ours; `samples` keeps
    every value.
    """
    peer = _peer(compare) if compare else None
    stages: dict[str, list[float]] = {name: [] for name in STAGES}
    peer_ms: list[float] = []
    for i in range(WARMUP):
        runtime.task(queries[i % len(queries)]).next()
        if peer is not None:
            peer(queries[i % len(queries)])
    reference = Reference(runtime.components.encoder.threads)
    reference_ms: dict[str, list[float]] = {name: [] for name in reference.measure()}
    faults, seconds, bystanders = np.zeros(2), 0.0, Bystanders()
    for start in track(_starts(min_queries, min_seconds), "queries", -(-min_queries // BLOCK)):
        size = BLOCK if min_seconds else min(BLOCK, min_queries - start)  # the same blocks in every run
        block = [queries[i % len(queries)] for i in range(start, start + size)]
        began, before = perf_counter(), page_faults()
        for i, query in enumerate(block):
            _measure(runtime, query, stages)
            if i % EVERY == EVERY - 1:
                for name, ms in reference.measure().items():
                    reference_ms[name].append(ms)
        seconds += perf_counter() - began
        faults += np.subtract(page_faults(), before)
        for query in block if peer is not None else ():
            started = perf_counter()
            peer(query)
            peer_ms.append((perf_counter() - started) * 1e3)
    n_queries, other_load = len(stages["first_select"]), bystanders.shares()
    cold = cold_start(runtime, queries[0], requested)
    result: dict[str, Any] = {
        "n_queries": n_queries,
        "seconds": seconds,
        "stages": {name: quantiles(values) for name, values in stages.items()},
        "overhead": _overhead(stages),
        "cold_start": {k: v for k, v in cold.items() if k.endswith("_ms")},
        "rss_mb": cold["rss_mb"]["p50"],
        "rss_after_answer_mb": cold["rss_after_answer_mb"]["p50"],
        "peak_rss_mb": cold["peak_rss_mb"]["p50"],
        "bundle_mb": sum(f.size for f in runtime.manifest.files) / 1e6,
        "providers": {"requested": list(requested), "actual": list(runtime.components.encoder.providers)},
        "threads": runtime.components.encoder.threads,
        "device": device(runtime),
        "versions": versions(),
        "bundle_hash": runtime.manifest.content_hash,
        "other_load": other_load,
        "process_rss_mb": resident_mb(),
        "page_faults_per_query": {"minor": faults[0] / n_queries, "major": faults[1] / n_queries},
        "reference": {name: quantiles(values) for name, values in reference_ms.items() if values},
    }
    if runtime.components.planner.exists:
        result["planner"] = planner_cost(runtime, queries[:PLANNER_QUERIES])
    if peer is not None:
        ours = float(np.median(stages["first_select"]))
        result["peers"] = {compare: {**quantiles(peer_ms), "times_first_select": float(np.median(peer_ms)) / ours}}
    if samples:
        result["samples"] = {
            "unit": "ms",
            "order": order_of(queries),
            "series": rounded(stages),
            "reference": rounded(reference_ms),
            "reference_every": EVERY,
            "reference_of": {name: REFERENCE_OF.get(name, "encoder") for name in stages},
            "run_to_run": {name: RUN_TO_RUN.get(name, SHORT) for name in stages},
        }
    return result


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
    command.append(str(runtime.components.encoder.threads))
    runs = []
    for _ in track(range(COLD_RUNS), "cold starts", COLD_RUNS):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CheckFailedError(f"a fresh process could not load the bundle: {done.stderr.strip().splitlines()[-1]}")
        runs.append(json.loads(done.stdout))
    return {key: quantiles([r[key] for r in runs]) for key in runs[0]}


def _measure(runtime: Runtime, query: str, stages: Mapping[str, list[float]]) -> None:
    watch = Stopwatch()
    runtime.components.encoder.encode_query(query, watch)
    c = perf_counter()
    task = runtime.task(query)
    decision = task.next()
    d = perf_counter()
    stages["tokenize"].append(watch.ms["tokenize"])
    stages["encode"].append(watch.ms["encode"])
    stages["first_select"].append((d - c) * 1e3)
    for stage in ("search", "graph", "head", "decide"):
        stages[stage].append(decision.timings_ms.get(stage, 0.0))
    called = next((c.tool for c in decision.candidates if c.tool != END), None)
    if called is None:
        return
    e = perf_counter()
    task.call(called)
    task.next()
    stages["next_select"].append((perf_counter() - e) * 1e3)


def _overhead(stages: Mapping[str, list[float]]) -> dict[str, float]:
    """What deciding adds to encoding, as a ratio of medians."""
    bare = float(np.median(np.add(stages["tokenize"], stages["encode"])))
    first, later = float(np.median(stages["first_select"])), float(np.median(stages["next_select"]))
    return {"tokenize_and_encode_p50": bare, "first_select_ratio": first / bare, "next_select_share": later / bare}


def _peer(name: str) -> Callable[[str], Any]:
    """A peer's way from text to vector, by name. Raises MissingExtraError."""
    try:
        with quiet():
            from sentence_transformers import SentenceTransformer

            model = SentenceTransformer(str(fetch(find_card("all-minilm-l6-v2"))), device="cpu")
    except ImportError:
        raise MissingExtraError("bench", f"comparing with {name}") from None
    return lambda text: model.encode(text, normalize_embeddings=True, show_progress_bar=False)
