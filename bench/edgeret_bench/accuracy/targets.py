"""What an encoder's graphs for other hardware keep of the original: one bundle with all of them, every graph on the
same plans, in turns. Knows nothing of how a graph is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

import edgeret
from edgeret.bundle import roles
from edgeret.encoders.variants import CPU, GPU, ITSELF, LOADABLE, MOBILE, NPU, read_variants
from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.runtime.runtime import Runtime
from edgeret.terminal.progress import say, track
from edgeret.types import Tool
from edgeret_bench.accuracy import cascade
from edgeret_bench.metrics import quantiles, rank, retrieval_metrics
from edgeret_export.build import build_bundle
from edgeret_export.recipe import Recipe
from edgeret_export.sources.cards import Card

ALL = (CPU, GPU, NPU, MOBILE)
STATIC, CASCADE = "static", "cascade"
SEARCHED = 400
"""Queries whose search and time are measured, at most; evenly spaced."""


def run(
    card: Card,
    recipe: Recipe,
    tools: Sequence[Tool],
    train: Sequence[Demonstration],
    test: Sequence[Demonstration],
    offline: bool = False,
) -> dict[str, Any]:
    """Builds a bundle whose encoder is the fp32 original, with a graph for every target, and measures each of them as
    the runtime loads it: mean and least cosine to the original, nDCG@5 of search by description, top-1 of the next
    function and what it loses, milliseconds of an encoding on this CPU, megabytes. Heads are fitted to the original.
    Raises what a build raises."""
    recipe = replace(recipe, precision="fp32", targets=",".join(ALL))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "bundle"
        built = build_bundle(tools, train, path, card, recipe, offline=offline)
        runtimes = _runtimes(path)
        say(f"measuring {', '.join(runtimes)}")
        manifest = runtimes[ITSELF].manifest
        walked = cascade.run({cascade.FULL if n == ITSELF else n: r for n, r in runtimes.items()}, test)
        queries = [d for d in test if d.calls]
        chosen = [queries[i] for i in np.linspace(0, len(queries) - 1, min(SEARCHED, len(queries))).astype(int)]
        read = _read(runtimes, [d.query for d in chosen])
        sizes = {entry.role: entry.size for entry in manifest.files}
        files = {v.name: [role for role, _ in v.files] for v in read_variants(manifest, str(path))}
        own = roles.ENCODER if manifest.encoder is None else manifest.encoder.role
        files |= {ITSELF: [own], STATIC: [roles.of_part(roles.STATIC, roles.TABLE)]}
        files[CASCADE] = [*files[ITSELF], *files[STATIC]]
        graphs = {
            name: {
                **read[name],
                **_found(runtime, chosen, read[name].pop("vectors")),
                **{key: walked["profiles"][cascade.FULL if name == ITSELF else name][key] for key in _KEPT},
                "precision": runtime.loaded.spec.precision if name not in (STATIC, CASCADE) else "int8",
                "size_mb": round(sum(sizes[role] for role in files[name]) / 1e6, 3),
            }
            for name, runtime in runtimes.items()
        }
    return {
        "bundle_hash": built.content_hash,
        "n_tools": len(tools),
        "n_train": len(train),
        "n_plans": walked["n_plans"],
        "n_steps": walked["n_steps"],
        "n_queries": len(chosen),
        "graphs": graphs,
    }


_KEPT = ("top1", "lost", "lost_interval", "mrr", "ece")


def _runtimes(path: Path) -> dict[str, Runtime]:
    """A runtime for each graph, the original first, and for deciding by the table of token vectors alone or first."""
    original = edgeret.load(path, target=ITSELF, profile="full")
    names = [v.name for v in read_variants(original.manifest, str(path)) if v.target in LOADABLE]
    runtimes = {ITSELF: original, **{name: edgeret.load(path, target=name, profile="full") for name in names}}
    try:
        runtimes[STATIC] = edgeret.load(path, profile="tiny")
    except InputError:
        say("no table of token vectors in it: too few demonstrations, or it is never sure")
        return runtimes
    return runtimes | {CASCADE: edgeret.load(path, target=ITSELF)}


def _read(runtimes: Mapping[str, Runtime], queries: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Each graph's vectors (queries, dimension), its cosines to the original's, and its milliseconds a query."""
    found: dict[str, list[NDArray[np.float32]]] = {name: [] for name in runtimes}
    ms: dict[str, list[float]] = {name: [] for name in runtimes}
    for query in track(queries, "encoding", len(queries)):
        for name, runtime in runtimes.items():
            started = perf_counter()
            found[name].append(runtime.loaded.core.encode(query))
            ms[name].append((perf_counter() - started) * 1e3)
    original, told = np.stack(found[ITSELF]), {}
    for name, vectors in found.items():
        rows = np.stack(vectors)
        own = {"vectors": rows, "ms": quantiles(ms[name]), "cosine_mean": None, "cosine_min": None}
        if rows.shape == original.shape and name != CASCADE:
            cosines = np.einsum("ij,ij->i", rows, original)
            own |= {"cosine_mean": float(cosines.mean()), "cosine_min": float(cosines.min())}
        told[name] = own if name != CASCADE else {**own, "ms": None}
    return told


def _found(runtime: Runtime, chosen: Sequence[Demonstration], vectors: NDArray[np.float32]) -> dict[str, float]:
    """nDCG@5 of search among the descriptions' vectors, over the requests that need a tool."""
    position = {name: i for i, name in enumerate(runtime.tools)}
    tools, _ = runtime.loaded.vectors_of(list(position))
    rows = [
        retrieval_metrics(rank(tools @ vector), {position[call.tool] for call in demonstration.calls})["ndcg@5"]
        for demonstration, vector in zip(chosen, vectors, strict=True)
    ]
    return {"ndcg@5": float(np.mean(rows))}
