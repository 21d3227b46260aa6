"""Result files: what every benchmark writes, versioned and with all that repeating it takes. See docs/RESULTS.md."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from edgeret import __version__
from edgeret.cli.doctor import versions
from edgeret.errors import InputError
from edgeret.host import available_cpus, instruction_set
from edgeret.terminal.console import finite, write_whole

SCHEMA, VERSION = "edgeret-result", 1
KINDS = (
    "next-tool",
    "abstain",
    "cascade",
    "targets",
    "conversation",
    "plan",
    "arguments",
    "few",
    "stream",
    "methods",
    "retrieval",
    "latency",
    "scaling",
    "peers",
    "stats",
)
_INPUTS = ("queries", "demos", "nothing", "conversations", "train", "tools", "stream", "test", "others", "answers")
"""Arguments that name files which a result rests on."""
_NOT_OPTIONS = frozenset({"handler", "printer", "json", "output", "bundle", "argv", *_INPUTS})


def stamp(kind: str, arguments: argparse.Namespace, result: Mapping[str, Any]) -> dict[str, Any]:
    """The result with its schema, the command, the files it was given (with their sha256), options and environment."""
    given = {name: value for name in _INPUTS if (value := getattr(arguments, name, None)) is not None}
    return {
        "schema": f"{SCHEMA}/{VERSION}",
        "kind": kind,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": ["edgeret-bench", *arguments.argv],
        "bundle": Path(arguments.bundle).name if getattr(arguments, "bundle", None) else None,
        "inputs": {name: _files(value) for name, value in given.items()},
        "options": {k: v for k, v in sorted(vars(arguments).items()) if k not in _NOT_OPTIONS},
        "environment": environment(),
        **result,
    }


def _files(given: str | Path | Sequence[str]) -> Any:
    """A file, or all of those that were given for one option."""
    if isinstance(given, str | Path):
        return _file(Path(given))
    files = [_file(Path(name)) for name in given]
    return files if len(files) > 1 else files[0]


def write_result(path: Path, result: Mapping[str, Any]) -> None:
    """Writes the file whole or not at all. Raises InputError if it cannot be written."""
    write_whole(path, json.dumps(finite(result), ensure_ascii=False), "-o")


def read_result(path: str | Path) -> dict[str, Any]:
    """A result file. Raises InputError if it is none, or was written by a later version."""
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); expected a result of edgeret-bench") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON ({error}); expected a result of edgeret-bench … -o FILE") from None
    name, _, version = str(value.get("schema", "")).partition("/") if isinstance(value, dict) else ("", "", "")
    if name != SCHEMA or value.get("kind") not in KINDS:
        raise InputError(f'{path}: not a result of edgeret-bench; its "schema" must be {SCHEMA}/{VERSION}, with a kind')
    if version != str(VERSION):
        raise InputError(f"{path}: schema version {version}, this edgeret-bench reads {VERSION}; measure again with it")
    return dict(value)


def others_share(result: Mapping[str, Any]) -> float | None:
    """What other programs took while a result was measured, as it says itself; None if it does not."""
    load = result.get("other_load")
    share = load.get("others") if isinstance(load, Mapping) else None
    return float(share) if isinstance(share, (int, float)) else None


def order_of(queries: Sequence[str]) -> str:
    """A name for these queries in this order; results with the same one are compared query by query."""
    return hashlib.sha256("\0".join(queries).encode()).hexdigest()[:16]


def rounded(series: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    """Samples with five decimals: to 10 ns, if they are ms, which is all that the clock is good for."""
    return {name: [round(float(value), 5) for value in values] for name, values in series.items()}


@cache
def _environment() -> Mapping[str, Any]:
    return {
        "edgeret": __version__,
        "versions": versions(),
        "machine": platform.machine(),
        "system": f"{platform.system()} {platform.release()}",
        "cpu": _cpu_name(),
        "cpus": available_cpus(),
        "instruction_set": instruction_set(),
        "memory_gb": _memory_gb(),
        "governor": _text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    }


def environment() -> dict[str, Any]:
    """What the measuring process runs on; what the system does not tell is None. `load_average`: the last minute's."""
    load = round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None
    return {**_environment(), "load_average": load}


def _file(path: Path) -> dict[str, Any]:
    try:
        data = path.read_bytes()
    except OSError:
        return {"name": path.name, "sha256": None, "bytes": None}
    return {"name": path.name, "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}


def _cpu_name() -> str | None:
    lines = (_text("/proc/cpuinfo") or "").splitlines()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith(("model name", "Model")))
    return next(named, platform.processor() or None)


def _memory_gb() -> float | None:
    lines = (_text("/proc/meminfo") or "").splitlines()
    return next((round(int(line.split()[1]) / 1e6, 1) for line in lines if line.startswith("MemTotal")), None)


def _text(path: str) -> str | None:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None
