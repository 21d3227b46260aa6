"""Latency under other conditions: CPU threads, batches, execution providers, and minutes on end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

import edgeret
from edgeret.bundle import roles
from edgeret.bundle.reader import open_bundle
from edgeret.encoders.providers import choose, first_of
from edgeret.encoders.variants import choose_variant
from edgeret.errors import EdgeretError, InputError
from edgeret.host import resident_mb
from edgeret.runtime.runtime import Runtime
from edgeret.terminal.progress import track
from edgeret_bench.metrics import quantiles
from edgeret_bench.results.compare import BLOCK
from edgeret_bench.speed.energy import Meter

if TYPE_CHECKING:
    from edgeret_export.reference.encoders.base import Encoder

QUERIES = 256
"""Queries for each thread count, batch size and provider."""
SLICE_SECONDS = 1.0


def threads(path: str, queries: Sequence[str], counts: Sequence[int]) -> dict[str, Any]:
    """First selections by CPU threads: ms. All counts take turns, block by block, so that they share the noise."""
    runtimes = {str(count): edgeret.load(path, threads=count) for count in counts}
    return in_turn({name: _select(runtime) for name, runtime in runtimes.items()}, queries)


def providers(path: str, queries: Sequence[str], names: Sequence[str]) -> dict[str, Any]:
    """First selections by execution provider: ms, or why it cannot be had. Strict: none falls back on another."""
    found: dict[str, Any] = {}
    for name in names:
        try:
            runtime = edgeret.load(path, providers=(name,))
        except EdgeretError as error:
            found[name] = {"unavailable": str(error)}
            continue
        found[name] = in_turn({name: _select(runtime)}, queries)[name]
    return found


def batch_encoder(runtime: Runtime) -> Encoder:
    """What encodes many texts at once, which the library does not: the bundle's graph by ONNX Runtime, or its table.
    Raises InputError where edgeret-export, whose encoders they are, is not installed."""
    try:
        from edgeret_export.reference.encoders.load import load_encoder
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "edgeret_export":
            raise
        raise InputError("--batches needs edgeret-export. Install it with: pip install edgeret-export") from None
    loaded = runtime.loaded
    held, manifest = loaded.options, loaded.manifest
    choice = partial(choose, held.providers, held.allow_fallback, held.provider_options or {})
    bundle = open_bundle(loaded.path, content_hash=loaded.bundle_hash)
    own = bundle.part(roles.STATIC) if held.profile == "tiny" and loaded.core.stages == 1 else None
    has_graph = own is None and manifest.file(roles.TABLE) is None
    target, provider, where = held.target, first_of(held.providers), str(loaded.path)
    variant = choose_variant(manifest, target, provider, where) if has_graph else None
    return load_encoder(own or bundle, choice, loaded.threads, held.static_tokens, variant=variant)


def batches(runtime: Runtime, queries: Sequence[str], sizes: Sequence[int]) -> dict[str, Any]:
    """Encoding by batch size: ms for a batch, and queries a second.

    A batch is padded to its longest text. edgeret itself encodes one query at a time, for which latency is what
    counts; and with int8 a text's vector would depend on its neighbours.
    """
    encoder = batch_encoder(runtime)
    ms: dict[int, list[float]] = {size: [] for size in sizes}
    for start in track(range(0, QUERIES, BLOCK), "batches", -(-QUERIES // BLOCK)):
        for size in sizes:
            for at in range(start, start + BLOCK, size):
                batch = [queries[i % len(queries)] for i in range(at, at + size)]
                began = perf_counter()
                encoder.encode_batch(batch)
                ms[size].append((perf_counter() - began) * 1e3)
    rows = {str(size): quantiles(values) for size, values in ms.items()}
    return {size: {**row, "queries_per_second": 1e3 * int(size) / row["p50"]} for size, row in rows.items()}


def sustained(runtime: Runtime, queries: Sequence[str], seconds: float) -> dict[str, Any]:
    """First selections without a pause for so long, in slices of a second: does the device slow down as it warms?

    `last_over_first` compares the medians of the last and the first tenth.
    """
    meter, slices, count = Meter(), [], 0
    n_slices = max(2, round(seconds / SLICE_SECONDS))
    with meter:
        for number in track(range(n_slices), "sustained", n_slices):
            times: list[float] = []
            began = perf_counter()
            while perf_counter() - began < SLICE_SECONDS:
                started = perf_counter()
                runtime.task(queries[count % len(queries)]).next()
                times.append((perf_counter() - started) * 1e3)
                count += 1
            slices.append({"second": number * SLICE_SECONDS, **quantiles(times), "rss_mb": resident_mb()})
    tenth = max(1, len(slices) // 10)
    first, last = (float(np.median([s["p50"] for s in part])) for part in (slices[:tenth], slices[-tenth:]))
    return {
        "n_queries": count,
        "slices": slices,
        "last_over_first": last / first,
        "energy": meter.report(count),
    }


def _select(runtime: Runtime) -> Any:
    return lambda query: runtime.task(query).next()


def in_turn(systems: Mapping[str, Any], queries: Sequence[str]) -> dict[str, dict[str, float]]:
    """ms of QUERIES queries by every system, in blocks that take turns; the first block warms up and is not counted."""
    ms: dict[str, list[float]] = {name: [] for name in systems}
    for start in track(range(-BLOCK, QUERIES, BLOCK), ", ".join(systems), 1 + QUERIES // BLOCK):
        for name, ask in systems.items():
            for i in range(start, start + BLOCK):
                began = perf_counter()
                ask(queries[i % len(queries)])
                if start >= 0:
                    ms[name].append((perf_counter() - began) * 1e3)
    return {name: quantiles(values) for name, values in ms.items()}
