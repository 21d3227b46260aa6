"""What this machine is: how many CPUs we may use, and which vector instructions they have. Reads, never changes."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_CGROUPS, _OWN_CGROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
_CPUINFO = Path("/proc/cpuinfo")
_forks = 0


def forks() -> int:
    """How many forks lie between this process and the one that imported edgeret. What was loaded before a fork is of
    no use behind it: the threads of ONNX Runtime and llama.cpp are gone, and their locks may be held for ever."""
    return _forks


def _count_fork() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


def available_cpus() -> int:
    """CPUs this process may use: its affinity mask, cut down to the quotas of its cgroups. At least 1."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return max(1, min([count, *(round(quota) for quota in _quotas())]))


def thread_budget(asked: int | None = None) -> int:
    """Threads that may work at a text, a graph or a prompt at once: as many as were `asked` for, else OMP_NUM_THREADS,
    else all CPUs that this process may use; never more than these. The library, ONNX Runtime and llama.cpp all go by
    it."""
    cpus = available_cpus()
    if asked is None:
        first = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
        asked = int(first) if first.isascii() and first.isdigit() else 0
    return min(asked or cpus, cpus)


def _quotas() -> Iterator[float]:
    """CPUs' time that each cgroup of this process may use, its own and those around it, of both versions."""
    try:
        lines = _OWN_CGROUPS.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, kinds, path = (*line.split(":", 2), "", "")[:3]
        if kinds and "cpu" not in kinds.split(","):
            continue
        root = _CGROUPS / kinds if kinds else _CGROUPS
        group = root / path.lstrip("/")
        for folder in (group, *group.parents):
            if not folder.is_relative_to(root):
                break
            try:
                if kinds:
                    told = [(folder / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period")]
                else:
                    told = (folder / "cpu.max").read_text().split()
                quota, period = map(int, told)
            except (OSError, ValueError):
                continue  # none is set, or it is told to nobody here
            if quota > 0 and period > 0:
                yield quota / period


@cache
def instruction_set() -> str:
    """The widest int8 family of this CPU: avx512_vnni, avx_vnni, avx512, avx2, arm64_dotprod, arm64, or generic."""
    machine = platform.machine().lower()
    try:
        text = _CPUINFO.read_text()
    except OSError:
        return _asked(machine)
    flags = {
        word for line in text.splitlines() if line.lower().startswith(("flags", "features")) for word in line.split()
    }
    if machine in ("aarch64", "arm64"):
        return "arm64_dotprod" if "asimddp" in flags else _asked(machine)  # an emulator may show its host's list
    for name, needed in (
        ("avx512_vnni", "avx512_vnni"),
        ("avx_vnni", "avx_vnni"),
        ("avx512", "avx512bw"),
        ("avx2", "avx2"),
    ):
        if needed in flags:
            return name
    return "generic"


def _asked(machine: str) -> str:
    """What the library says of this CPU, where the system lists nothing of it, as macOS and Windows do."""
    from edgeret.core.built import widest_set

    name = widest_set()
    if machine not in ("aarch64", "arm64"):
        return name
    # All of Apple's multiply bytes, the library or not.
    return "arm64_dotprod" if name == "arm64_dotprod" or platform.system() == "Darwin" else "arm64"


def peak_resident_mb() -> float:
    """Largest resident set size of this process so far, in MB (10^6 bytes); nan where the system does not tell.

    From /proc, since getrusage's maximum survives fork and exec and so can be the parent's.
    """
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return float("nan")
    return next((int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith("VmHWM")), float("nan"))


def resident_mb() -> float:
    """Resident set size of this process in MB (10^6 bytes); nan where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return float("nan")
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
