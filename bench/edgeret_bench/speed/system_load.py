"""What else the machine did while a benchmark ran: other programs, and the host's other guests. Knows no benchmark.

Linux counts it; elsewhere, and in sandboxes that hide it, the answers are None.
"""

from __future__ import annotations

import os
from pathlib import Path
from time import perf_counter

STAT = Path("/proc/stat")
BUSY = (0, 1, 2, 5, 6)
"""Fields of the line "cpu" that are work: user, nice, system, irq, softirq (guests are counted in user)."""
STOLEN = 7


class Bystanders:
    """Counts from its making on."""

    def __init__(self) -> None:
        self._before = counted()
        self._own = _own_seconds()
        self._started = perf_counter()

    def shares(self) -> dict[str, float | None]:
        """Shares of all cores' time since then: `others`, which other programs took, and `stolen`, in which the host
        ran something else although there was work here."""
        after, seconds = counted(), perf_counter() - self._started
        if self._before is None or after is None or seconds <= 0:
            return {"others": None, "stolen": None}
        cores, busy, stolen = after
        capacity = cores * seconds
        others = busy - self._before[1] - (_own_seconds() - self._own)
        return {
            "others": min(1.0, max(0.0, others / capacity)),
            "stolen": min(1.0, max(0.0, (stolen - self._before[2]) / capacity)),
        }


def _own_seconds() -> float:
    """CPU time of this process, all threads."""
    times = os.times()
    return times.user + times.system


def counted() -> tuple[int, float, float] | None:
    """Cores, and seconds since boot, over all of them, that were work and that were stolen."""
    try:
        lines = STAT.read_text().splitlines()
        ticks = os.sysconf("SC_CLK_TCK")
        counts = [int(field) for field in lines[0].split()[1:]]
        cores = sum(line.startswith("cpu") for line in lines) - 1
        if cores < 1 or not lines[0].startswith("cpu "):
            return None
        return cores, sum(counts[i] for i in BUSY) / ticks, counts[STOLEN] / ticks
    except (OSError, ValueError, IndexError, AttributeError):
        return None
