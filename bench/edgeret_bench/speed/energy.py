"""What the machine itself counts while something runs: energy (RAPL, NVML) and page faults. Reads, never changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

RAPL = Path("/sys/class/powercap")
"""Linux's power capping folder; its counters are root's on most systems."""


class Meter:
    """Adds up the energy of everything run inside `with meter:`."""

    def __init__(self) -> None:
        """Finds the counters that can be read here."""
        self._counters, self._missing = _counters()
        self._joules = dict.fromkeys(self._counters, 0.0)
        self._before: dict[str, float] = {}

    def __enter__(self) -> Meter:
        self._before = {name: read() for name, (read, _) in self._counters.items()}
        return self

    def __exit__(self, *exception: object) -> None:
        for name, (read, wraps_at) in self._counters.items():
            used = read() - self._before[name]
            self._joules[name] += used + wraps_at if used < 0 else used

    def report(self, n: int) -> dict[str, Any]:
        """Joules by counter, in all and for each of `n` queries, and why other counters could not be read. The
        counters are the whole machine's, so other work on it is in them."""
        return {
            "joules": dict(self._joules),
            "joules_per_query": {name: value / n for name, value in self._joules.items()},
            "unavailable": dict(self._missing),
        }


def page_faults() -> tuple[int, int]:
    """Minor and major page faults of this process so far; zeros where the system does not tell."""
    try:
        import resource
    except ImportError:
        return 0, 0
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_minflt, usage.ru_majflt


def _counters() -> tuple[dict[str, tuple[Callable[[], float], float]], Mapping[str, str]]:
    """Readers of joules with the value at which each wraps around, and the reasons for those that are not there."""
    found: dict[str, tuple[Callable[[], float], float]] = {}
    missing: dict[str, str] = {}
    # Packages only ("intel-rapl:0"); their parts ("intel-rapl:0:1") are counted in them.
    for folder in sorted(RAPL.glob("*-rapl:*")) if RAPL.is_dir() else []:
        if folder.name.count(":") != 1:
            continue
        try:
            name = f"rapl {(folder / 'name').read_text().strip()} {folder.name.rpartition(':')[2]}"
            wraps_at = int((folder / "max_energy_range_uj").read_text()) / 1e6
            float((folder / "energy_uj").read_text())
        except (OSError, ValueError) as error:
            missing["rapl"] = f"{folder / 'energy_uj'} cannot be read ({error}); run as root or grant read access"
            continue
        found[name] = partial(_microjoules, folder / "energy_uj"), wraps_at
    if not any(name.startswith("rapl") for name in found) and "rapl" not in missing:
        missing["rapl"] = f"no counter under {RAPL} (virtual machines and CPUs other than Intel's and AMD's have none)"
    try:
        import pynvml

        pynvml.nvmlInit()
        read = pynvml.nvmlDeviceGetTotalEnergyConsumption
        for i in range(pynvml.nvmlDeviceGetCount()):
            handle = pynvml.nvmlDeviceGetHandleByIndex(i)
            read(handle)
            found[f"nvml {i}"] = partial(_millijoules, read, handle), 0.0
    except ImportError:
        missing["nvml"] = "the module pynvml is not installed; pip install nvidia-ml-py"
    except Exception as error:
        missing["nvml"] = f"NVML says: {error}"
    return found, missing


def _microjoules(file: Path) -> float:
    return float(file.read_text()) / 1e6


def _millijoules(read: Callable[[Any], int], handle: Any) -> float:
    return read(handle) / 1e3
