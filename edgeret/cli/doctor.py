"""Asks whether a bundle works as it should on this device: integrity, environment, golden vectors and decisions."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from edgeret.bundle import roles
from edgeret.bundle.layout import MANIFEST, Manifest
from edgeret.bundle.links import stations
from edgeret.bundle.reader import Bundle, open_bundle, unlisted
from edgeret.encoders.variants import WEIGHT_BITS
from edgeret.errors import BundleError, EdgeretError
from edgeret.fields import get_strings
from edgeret.host import available_cpus, instruction_set
from edgeret.inputs.tools import MAX_TOOLS
from edgeret.planner.reranker import rerank
from edgeret.quoting import quoted
from edgeret.runtime.golden import golden_checks, golden_queries
from edgeret.runtime.model_tools import parsed
from edgeret.runtime.runtime import Runtime
from edgeret.telemetry import came_too_late
from edgeret.types import Tool

_DISTRIBUTIONS = (
    "edgeret",
    "numpy",
    "onnxruntime",
    "onnxruntime-gpu",
    "msgpack",
    "hnswlib",
    "llama-cpp-python",
    "jsonschema",
)


def examine(runtime: Runtime) -> dict[str, Any]:
    """Findings about a loaded bundle: `{"ok", "checks": [{"name", "ok", "detail"}], "versions", "device"}`."""
    checks = [
        _check(
            "integrity", True, f"{len(runtime.manifest.files)} files as listed, {runtime.manifest.content_hash[:12]}…"
        ),
        _tools(runtime.loaded.tools.values()),
        *golden_checks(runtime),
        _instructions(runtime),
        _distributions(),
        _arithmetic(runtime),
        _telemetry(),
        _index(runtime),
        _decision(runtime),
        *([_planner(runtime)] if runtime.loaded.planner.exists else []),
    ]
    return {
        "ok": all(check["ok"] for check in checks),
        "checks": checks,
        "versions": versions(),
        "device": device(runtime),
    }


def versions() -> dict[str, str]:
    """Versions of Python and of the distributions that matter, those that are installed."""
    found = {"python": platform.python_version()}
    for name in _DISTRIBUTIONS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def device(runtime: Runtime) -> dict[str, Any]:
    """What the runtime runs on, for reports: machine, CPUs, instruction set, threads, whose arithmetic encodes, and
    providers as requested and as they run."""
    return {
        "machine": platform.machine(),
        "system": f"{platform.system()} {platform.release()}",
        "cpus": available_cpus(),
        "instruction_set": instruction_set(),
        "threads": runtime.encoder.threads,
        "engine": runtime.encoder.engine,
        "providers": list(runtime.encoder.providers),
        "providers_requested": list(runtime.encoder.requested),
    }


def stored_tools(path: Path, content_hash: str) -> dict[str, Any]:
    """A check that every tool of a bundle can be read; decisions read one when they need it."""
    try:
        bundle = open_bundle(path, content_hash=content_hash, only=(roles.TOOLS, roles.INDEX))
        return _tools(_stored(bundle))
    except BundleError as error:
        return _check("tools", False, str(error))


def _stored(bundle: Bundle) -> Iterator[Tool]:
    """A bundle's tools, as its file has them: an array with a line for each. Raises BundleError."""
    where, again = f"{bundle.path} ({roles.TOOLS})", "build the bundle again"
    names = get_strings(bundle.map(roles.INDEX), "names", f"{bundle.path} ({roles.INDEX})")
    data = bundle.read(roles.TOOLS)
    if not (data.startswith(b"[\n") and data.endswith(b"\n]\n")):
        raise BundleError(f"{where}: expected an array with a line for every tool; {again}")
    if (count := data.count(b"\n") - 2) != len(names) or count > MAX_TOOLS:
        raise BundleError(
            f"{where}: {count} lines for the {len(names)} tools of the index, at most {MAX_TOOLS}; {again}"
        )
    *lines, last = data[2:-3].split(b"\n")
    for name, line in zip(names, (*(line[:-1] for line in lines), last), strict=True):
        tool = parsed(line, where)
        if tool.name != name:
            raise BundleError(f"{where}: {quoted(tool.name)} stands where the index has {quoted(name)}; {again}")
        yield tool


def _tools(tools: Iterable[Tool]) -> dict[str, Any]:
    count = sum(1 for _ in tools)
    return _check("tools", True, f"{count} tools, each with a name, a description and a schema")


def stray_files(folder: Path, manifest: Manifest) -> dict[str, Any]:
    """A check that a bundle's folder holds nothing that its manifest does not list."""
    names = (MANIFEST, *(entry.name for entry in manifest.files))
    passed = {station for name in names for station in stations(folder, name)}
    strays = [name for name in unlisted(folder, manifest) if name not in passed]
    detail = f"not in the manifest: {', '.join(strays[:5])}; delete them" if strays else "no file beside those listed"
    return _check("no stray files", not strays, detail)


def _check(name: str, ok: bool, detail: str) -> dict[str, Any]:
    return {"name": name, "ok": ok, "detail": detail}


def _instructions(runtime: Runtime) -> dict[str, Any]:
    spec, here = runtime.loaded.spec, instruction_set()
    if WEIGHT_BITS.get(spec.instruction_set, WEIGHT_BITS[here]) == WEIGHT_BITS[here]:
        return _check("instruction set", True, f"{spec.precision} for {spec.instruction_set}, this CPU has {here}")
    detail = (
        f"int8 was made for {spec.instruction_set}, this CPU has {here}: speed and, a little, vectors may differ; "
        "built with --target cpu, a bundle has a graph for either"
    )
    return _check("instruction set", True, detail)


def _distributions() -> dict[str, Any]:
    found = versions()
    both = "onnxruntime" in found and "onnxruntime-gpu" in found
    detail = "onnxruntime and onnxruntime-gpu overwrite each other; keep one: pip uninstall onnxruntime onnxruntime-gpu"
    return _check("one ONNX Runtime", not both, detail if both else ", ".join(f"{k} {v}" for k, v in found.items()))


def _arithmetic(runtime: Runtime) -> dict[str, Any]:
    return _check("arithmetic", True, f"the C library decides, texts are encoded by {runtime.encoder.engine}")


def _telemetry() -> dict[str, Any]:
    detail = "switched off before ONNX Runtime was imported"
    if came_too_late():
        detail = (
            "ONNX Runtime was imported before edgeret, with its telemetry on, and may send what it knows of this "
            "device; import edgeret first, or start Python with ORT_DISABLE_TELEMETRY=1"
        )
    return _check("no telemetry", not came_too_late(), detail)


def _index(runtime: Runtime) -> dict[str, Any]:
    return _check("index", True, f"{runtime.loaded.index_kind} over {len(runtime.tools)} tools")


def _decision(runtime: Runtime) -> dict[str, Any]:
    query = next(iter(golden_queries(runtime)), "hello")
    decision = runtime.task(query).next(policy="heads")
    total = sum(c.probability for c in runtime.task(query).candidates())
    detail = f"{decision.tool} with probability {decision.probability:.3f}; probabilities sum to {total:.5f}"
    return _check("a decision", abs(total - 1) < 1e-3, detail)


def _planner(runtime: Runtime) -> dict[str, Any]:
    """Whether the planner can be loaded and asked; the heads decide without it, but the bundle promised one."""
    task = runtime.task("find a file and send it")
    try:
        planner, parameters = runtime.loaded.planner.get(), runtime.loaded.reranking
        usage = rerank(planner, task.prompt(), task.candidates(4), parameters, alone=True)[1]
    except EdgeretError as error:
        return _check("planner", False, str(error))
    return _check("planner", True, f"answered in {usage.ms:.0f} ms, {usage.tokens_evaluated} tokens read")
