"""A bundle on a GPU, beside the same bundle on the CPU: vectors, decisions, times, memory. One command, no network.

    python tests/gpu_run.py BUNDLE -o gpu.json

BUNDLE should be built with `--target gpu` (half precision); without that graph its int8 encoder runs there, slowly. It
takes onnxruntime-gpu, CUDA's libraries and a driver; where one of them is missing, that is said and 77 returned.
`--provider cpu` runs the same graph on ONNX Runtime's CPU provider, which proves all but the card. The file is a result
of kind `latency` (docs/RESULTS.md), which `edgeret-bench report gpu.json -o gpu.html` draws. Returns 1 where golden
vectors are missed, a batch gives other vectors than its texts alone, or over one decision in a hundred differs.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

import edgeret
from edgeret.encoders.providers import DEVICE_MEMORY
from edgeret.errors import EdgeretError, MissingExtraError, PlannerError, ProviderError
from edgeret.inputs.demonstrations import Demonstration, read_demonstrations
from edgeret.runtime.golden import golden_checks, golden_cosines
from edgeret.runtime.runtime import Runtime
from edgeret.terminal.console import check_place
from edgeret_bench.commands.common import numbers
from edgeret_bench.metrics import quantiles
from edgeret_bench.results.files import stamp, write_result
from edgeret_bench.results.tables import measured
from edgeret_bench.results.writing import as_text
from edgeret_bench.speed import latency, sweeps
from edgeret_export.reference.encoders.base import Encoder
from edgeret_export.reference.encoders.onnx import OnnxEncoder
from edgeret_export.reference.runtime import components_of

REQUESTS = Path(__file__).parents[1] / "examples" / "desktop" / "requests.jsonl"
NOTHING_HERE = 77
LEAST_COSINE = 0.999
"""Of a text's vector in a batch to the one of the text alone, and of one graph's on two devices."""
MOST_OTHERS = 0.01
"""Share of decisions that may name another tool than the same graph on the CPU: near ties turn with the last bit."""
WARMUP, MOST = 5, 4096
SMI = ("nvidia-smi", "--format=csv,noheader,nounits")


def main(argv: Sequence[str] | None = None) -> int:
    """0; 1 where the device computes something else; NOTHING_HERE where there is no such device."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the result file")
    parser.add_argument("--provider", default="cuda", help="an execution provider (default: cuda)")
    parser.add_argument("--queries", default=str(REQUESTS), help="demonstrations to ask for (default: the desktop's)")
    parser.add_argument("--batches", default="1,2,4,8,16,32,64", help="sizes (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=100, help="of every batch size (default: %(default)s)")
    parser.add_argument("--min-queries", type=int, default=512, help="for times of decisions (default: %(default)s)")
    options = parser.parse_args(argv)
    options.argv = list(sys.argv[1:] if argv is None else argv)
    try:
        result = run(options)
    except (ProviderError, MissingExtraError) as error:
        print(f"gpu_run: nothing here to run on: {error}", file=sys.stderr)
        return NOTHING_HERE
    except EdgeretError as error:
        print(f"gpu_run: {error}", file=sys.stderr)
        return 1
    write_result(options.output, result)
    print(as_text(measured(result)))
    for wrong in (found := failures(result["gpu"])):
        print(f"gpu_run: {wrong}", file=sys.stderr)
    return 1 if found else 0


def run(options: argparse.Namespace) -> dict[str, Any]:
    """The result, as docs/RESULTS.md has it. Raises ProviderError where the device cannot be had, and InputError."""
    sizes = numbers(options.batches, int, "--batches")
    for option, values in (("--batches", sizes), ("--runs", [options.runs]), ("--min-queries", [options.min_queries])):
        if not values or not all(1 <= value <= MOST for value in values):
            raise edgeret.InputError(f"{option} must be from 1 to {MOST}, found {values}")
    check_place(options.output, "-o")
    before = card()
    device, asked = on_device(options.bundle, options.provider)
    loaded = card()
    demonstrations = read_demonstrations(options.queries, components_of(device).tools)
    if not demonstrations:
        raise edgeret.InputError(f"{options.queries}: no request in it")
    queries = [each.query for each in demonstrations]
    encoder = components_of(device).encoder
    found = {
        "provider": encoder.providers[0],
        "graph": encoder.spec.precision,
        "io_binding": isinstance(encoder, OnnxEncoder) and encoder.graphs.bound,
        "golden": golden(device),
        "batch_cosine": batch_cosine(device, queries),
        "encode_ms": binding(encoder, queries, options.runs),
        **beside_cpu(device, options.bundle, demonstrations),
    }
    in_batches = batches(device, queries, sizes, options.runs)
    peak = card()
    result = latency.run(device, queries, min_queries=options.min_queries, requested=asked)
    ways = {"cpu": edgeret.load(options.bundle, profile="full"), encoder.providers[0]: device}
    if encoder.providers[0] == "cpu":
        ways = {"cpu": ways["cpu"], f"cpu, ONNX Runtime, {encoder.spec.precision}": device}
    asking: dict[str, Callable[[str], Any]] = {name: partial(_first, runtime) for name, runtime in ways.items()}
    found["card"] = peak if "unavailable" in peak else {**peak, "memory_mb": memory(before, loaded, peak)}
    found["planner"] = planner(options.bundle, queries)
    given = {
        "batches": in_batches,
        "providers_sweep": sweeps.in_turn(asking, queries),
        "gpu": found,
        "command": ["python", "tests/gpu_run.py", *options.argv],
    }
    return stamp("latency", options, {**result, **given})


def on_device(bundle: str, provider: str) -> tuple[Runtime, tuple[str, ...]]:
    """The bundle with its full encoder on the provider, and what was asked for. The CPU runs by ONNX Runtime's own name
    the graph that a GPU would run, if there is one. Raises ProviderError."""
    if provider != "cpu":
        return edgeret.load(bundle, providers=(provider,), profile="full"), (provider,)
    return on_cpu_provider(bundle), ("CPUExecutionProvider",)


def on_cpu_provider(bundle: str) -> Runtime:
    """The bundle with the graph for GPUs on ONNX Runtime's CPU provider, or its only graph where it has none."""
    try:
        return edgeret.load(bundle, providers=("CPUExecutionProvider",), profile="full", target="gpu")
    except edgeret.InputError:
        return edgeret.load(bundle, providers=("CPUExecutionProvider",), profile="full")


def _first(runtime: Runtime, query: str) -> Any:
    return runtime.task(query).next()


def golden(runtime: Runtime) -> dict[str, Any]:
    """What the bundle says of itself, done again on the device: the least cosine to its golden vectors, over how many,
    and both checks of `edgeret doctor`."""
    cosines, checks = golden_cosines(runtime), golden_checks(runtime)
    told = {check["name"]: check["detail"] for check in checks}
    return {
        "least": min(cosines, default=None),
        "n": len(cosines),
        "ok": all(check["ok"] for check in checks),
        "told": told,
    }


def batch_cosine(runtime: Runtime, queries: Sequence[str]) -> float:
    """The least cosine of a text's vector in one batch of all, padded to the longest, to its vector alone."""
    encoder = components_of(runtime).encoder
    alone = np.stack([encoder.encode(query) for query in queries[:64]])
    return min(map(cosine, alone, encoder.encode_batch(queries[:64])))


def cosine(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    """Of directions alone: in half precision a unit vector's length is right to a thousandth."""
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def binding(encoder: Encoder, queries: Sequence[str], runs: int) -> dict[str, dict[str, float]]:
    """ms to encode a text alone with inputs and outputs bound to the device's memory and without, in turns; nothing for
    a device that shares the CPU's memory."""
    if not (isinstance(encoder, OnnxEncoder) and encoder.graphs.bound):
        return {}
    ms: dict[str, list[float]] = {"bound": [], "not bound": []}
    for i in range(-WARMUP, runs):
        for name, times in ms.items():
            encoder.graphs.bound = name == "bound"
            began = perf_counter()
            encoder.encode(queries[i % len(queries)])
            if i >= 0:
                times.append((perf_counter() - began) * 1e3)
    encoder.graphs.bound = True
    return {name: quantiles(times) for name, times in ms.items()}


def beside_cpu(device: Runtime, bundle: str, demonstrations: Sequence[Demonstration]) -> dict[str, Any]:
    """Vectors and decisions against the same graph on ONNX Runtime's CPU provider, and against what a CPU runs by
    default, at every step of the demonstrations."""
    found: dict[str, Any] = {"vectors": {}, "decisions": {}}
    here = steps(device, demonstrations)
    for name, other in (("same graph", on_cpu_provider(bundle)), ("cpu", edgeret.load(bundle, profile="full"))):
        pairs = [
            (components_of(device).encoder.encode(each.query), components_of(other).encoder.encode(each.query))
            for each in demonstrations
        ]
        found["vectors"][name] = {
            "least_cosine": min(cosine(a, b) for a, b in pairs),
            "most_apart": max(float(np.abs(a - b).max()) for a, b in pairs),
            "precision": components_of(other).encoder.spec.precision,
        }
        there = steps(other, demonstrations)
        apart = [abs(here[key][1] - probability) for key, (tool, probability) in there.items() if tool == here[key][0]]
        others = {key: tool for key, (tool, _) in there.items() if tool != here[key][0]}
        found["decisions"][name] = {
            "n": len(here),
            "other": len(others),
            "most_apart": max(apart, default=0.0),
            "which": [[query, step, here[query, step][0], tool] for (query, step), tool in others.items()],
        }
    return found


def steps(runtime: Runtime, demonstrations: Sequence[Demonstration]) -> dict[tuple[str, int], tuple[str | None, float]]:
    """What was decided and how surely, by query and step, each behind the calls that were demonstrated before it."""
    found = {}
    for each in demonstrations:
        task = runtime.task(each.query)
        for step, call in enumerate((*each.calls, None)):
            decision = task.next()
            found[each.query, step] = (decision.tool, decision.probability)
            if call is not None:
                task.call(call.tool)
    return found


def batches(runtime: Runtime, queries: Sequence[str], sizes: Sequence[int], runs: int) -> dict[str, Any]:
    """Encoding by batch size: ms for a batch over so many runs, tokenizing included, and queries a second."""
    encoder, rows = components_of(runtime).encoder, {}
    for size in sizes:
        ms = []
        for i in range(-WARMUP, runs):
            batch = [queries[(abs(i) * size + k) % len(queries)] for k in range(size)]
            began = perf_counter()
            encoder.encode_batch(batch)
            if i >= 0:
                ms.append((perf_counter() - began) * 1e3)
        told = quantiles(ms)
        rows[str(size)] = {**told, "queries_per_second": 1e3 * size / told["p50"]}
    return rows


def planner(bundle: str, queries: Sequence[str]) -> dict[str, Any]:
    """What a question to the bundle's planner costs with all of its layers on the GPU, or why nobody can be asked."""
    try:
        runtime = edgeret.load(bundle, profile="full", gpu_layers=-1)
        if not components_of(runtime).planner.exists:
            return {"unavailable": "the bundle has no planner"}
        from llama_cpp import llama_supports_gpu_offload

        if not llama_supports_gpu_offload():
            return {"unavailable": "this llama-cpp-python was built without a GPU"}
        return latency.planner_cost(runtime, queries[: latency.PLANNER_QUERIES])
    except ImportError:
        return {"unavailable": "llama-cpp-python is not installed"}
    except (MissingExtraError, PlannerError) as error:
        return {"unavailable": str(error)}


def card() -> dict[str, Any]:
    """The card's name, driver and memory in MB (10^6 bytes) as nvidia-smi tells them now, or why it does not."""
    if shutil.which(SMI[0]) is None:
        return {"unavailable": f"no {SMI[0]} here"}
    query = "--query-gpu=name,driver_version,memory.total,memory.used"
    done = subprocess.run([*SMI, query], capture_output=True, text=True, check=False, timeout=60)
    if done.returncode or not done.stdout.strip():
        return {"unavailable": f"nvidia-smi: {(done.stderr or done.stdout).strip() or 'no card'}"}
    name, driver, total, used = (part.strip() for part in done.stdout.splitlines()[0].split(","))
    return {"name": name, "driver": driver, "total_mb": _mb(total), "used_mb": _mb(used)}


def _mb(mebibytes: str) -> float:
    return round(float(mebibytes) * 1.048576, 1)


def memory(before: Mapping[str, Any], loaded: Mapping[str, Any], peak: Mapping[str, Any]) -> dict[str, float]:
    """What the card held beyond what it held before: once the bundle was loaded, and after the largest batch."""
    return {
        name: round(each["used_mb"] - before["used_mb"], 1) for name, each in (("loaded", loaded), ("batches", peak))
    }


def failures(found: Mapping[str, Any]) -> list[str]:
    """What must not be, in words."""
    told = []
    if not found["golden"]["ok"]:
        told += [f"{name}: {detail}" for name, detail in found["golden"]["told"].items()]
    if not found["batch_cosine"] >= LEAST_COSINE:
        told.append(f"in a batch a text has another vector: cosine {found['batch_cosine']:.5f}")
    same, decided = found["vectors"]["same graph"], found["decisions"]["same graph"]
    if not same["least_cosine"] >= LEAST_COSINE:
        told.append(f"the same graph on the CPU has other vectors: cosine {same['least_cosine']:.5f}")
    if decided["other"] > MOST_OTHERS * decided["n"]:
        told.append(f"{decided['other']} of {decided['n']} decisions differ from the same graph's on the CPU")
    if found["provider"] in DEVICE_MEMORY and not found["io_binding"]:
        told.append("inputs and outputs are not bound")
    return told


if __name__ == "__main__":
    raise SystemExit(main())
