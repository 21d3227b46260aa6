"""Fits on generated demonstrations, and says what each stage takes. A command: see `--help`.

Everything of a build but the encoding, by the functions that a build calls: demonstrations are read from a file, and
their vectors are those of the tools that they need, with noise. Every size runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edgeret.host import peak_resident_mb
from edgeret.inputs.demonstrations import Demonstration
from edgeret.types import SEGMENTS, Tool
from edgeret_export.fitting import crossfit as crossfitting
from edgeret_export.fitting import folds as folding
from edgeret_export.fitting.graph import fit_graph
from edgeret_export.fitting.training_set import training_set
from edgeret_export.recipe import Recipe
from edgeret_export.recorded.demonstrations import read_and_check
from edgeret_export.reference.scoring.passages import Passages
from edgeret_export.sources.priors import read_prior

DIMENSION = 384
MOST_CALLS, TOPIC = 4, 6
WINDOWS, CLAUSES = 8, 2
NOISE = 0.06
"""Of each of a vector's numbers; those of a tool's vector are about 0.05."""


def main() -> None:
    """Prints one JSON object a size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 30_000, 100_000], help="demonstrations")
    parser.add_argument("--tools", type=int, default=260)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--without-head", action="store_true", help="stop before cross-fitting")
    parser.add_argument("--here", action="store_true", help="in this process")
    arguments = parser.parse_args()
    for size in arguments.sizes:
        if arguments.here:
            found = measure(size, arguments.tools, arguments.seed, not arguments.without_head)
            sys.stdout.write(f"{json.dumps(found)}\n")
        else:
            command = [sys.executable, __file__, "--here", "--sizes", str(size), "--tools", str(arguments.tools)]
            command += ["--seed", str(arguments.seed), *["--without-head"] * arguments.without_head]
            subprocess.run(command, check=True)


class Stages:
    """CPU seconds by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.process_time()

    def lap(self, name: str) -> None:
        """What was used since the last lap belongs to this stage."""
        now = time.process_time()
        self.seconds[name] = round(self.seconds.get(name, 0.0) + now - self._last, 2)
        self._last = now


def measure(size: int, n_tools: int, seed: int, with_head: bool) -> dict[str, Any]:
    """CPU seconds by stage, peak memory, and what was found."""
    tools, recipe, prior = tools_of(n_tools), Recipe(seed=seed), read_prior("all-minilm-l6-v2")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "demonstrations.jsonl"
        write(path, size, tools, seed)
        stages = Stages()
        demonstrations, _ = read_and_check([path], tools)
    stages.lap("read")
    vectors = unit(np.random.default_rng(seed).normal(size=(n_tools, DIMENSION)))
    read = passages_of(demonstrations, tools, vectors, seed)
    training = training_set(demonstrations, tools, read, vectors, prior.weights, seed)
    stages.lap("training set, with making up vectors")
    clusters = folding.clusters_for(size)
    tables = fit_graph(training, clusters, recipe.order)
    stages.lap("graph")
    told: dict[str, Any] = {"demonstrations": size, "head_plans": len(training.head_plans)}
    told |= {"graph_rows": len(tables.keys), "centroids": len(tables.centroids)}
    if with_head:
        real = folding.fit_from

        def fit_from(*given: Any) -> Any:
            stages.lap("cross-fitting without heads")
            found = real(*given)
            stages.lap("heads of folds")
            return found

        folding.fit_from = fit_from
        fitted = crossfitting.crossfit(training, recipe.order, recipe.head_options, prior.calibration_map)
        stages.lap("cross-fitting without heads")
        real(fitted.start, training, fitted.head_options)
        stages.lap("head")
        told |= {"held_out": {key: fitted.report[key] for key in ("decisions", "folds", "top1")}}
    total = round(sum(stages.seconds.values()), 1)
    return {**told, "cpu_s": {**stages.seconds, "total": total}, "peak_mb": round(peak_resident_mb())}


def tools_of(count: int) -> list[Tool]:
    """Tools with words of their own, in topics."""
    return [Tool(f"do_{i // TOPIC}_{i}", f"does thing {i} of topic {i // TOPIC} well") for i in range(count)]


def write(path: Path, size: int, tools: Sequence[Tool], seed: int) -> None:
    """Plans of some tools of one topic, no two with the same query."""
    dice = random.Random(seed)
    with path.open("w", encoding="utf-8") as stream:
        for number in range(size):
            first = dice.randrange(len(tools)) // TOPIC * TOPIC
            topic = tools[first : first + TOPIC]
            calls = dice.sample(topic, min(len(topic), dice.randint(1, MOST_CALLS)))
            query = f"request {number}: " + ", then ".join(f"do thing {tool.name.rpartition('_')[2]}" for tool in calls)
            line = {"id": str(number), "query": query, "calls": [{"tool": tool.name} for tool in calls]}
            stream.write(json.dumps(line) + "\n")


def passages_of(
    demonstrations: Sequence[Demonstration], tools: Sequence[Tool], vectors: np.ndarray, seed: int
) -> Iterator[Passages]:
    """What an encoder might have made of the queries: the vectors of their tools, with noise."""
    rng, place = np.random.default_rng(seed), {tool.name: i for i, tool in enumerate(tools)}
    noise = rng.normal(scale=NOISE, size=(4096, DIMENSION)).astype(np.float32)
    for demonstration in demonstrations:
        called = vectors[[place[call.tool] for call in demonstration.calls]]
        shares = [SEGMENTS, WINDOWS, CLAUSES]
        parts = [called[np.arange(share) * len(called) // share] for share in shares]
        rows = np.vstack((called.sum(axis=0), *parts)) + noise[rng.integers(0, len(noise), 1 + sum(shares))]
        yield Passages(unit(rows), WINDOWS)


def unit(rows: np.ndarray) -> np.ndarray:
    """The rows (n, dimension) with length 1, float32."""
    found: np.ndarray = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return found


if __name__ == "__main__":
    main()
