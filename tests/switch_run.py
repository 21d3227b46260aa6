"""Switches a store between two bundles, hundreds of times, and says what a switch leaves behind.

A command: `python tests/switch_run.py BUNDLE BUNDLE --switches 240`; the bundles have some tool in common.

Behind every switch a dozen requests are decided to their end, searched, explained, learned and forgotten, among tools
that come and go. Then the process's own memory is read, with garbage collected. The first fifth warms up. Prints one
JSON object: the means of the fifths behind it, by version, and the slope in KB (10^3 bytes) a switch. What is freed
goes back to the system at once, by settings of the C library's allocator: what it holds back differs by more than
anything grows. Exits 1 where a switch leaves 10 KB or more: an open bundle has a thousand times that.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import sys
import tempfile
from itertools import combinations
from pathlib import Path

from soak_run import memory, queries, step

from edgeret import BundleStore

AT_ONCE = {"MALLOC_ARENA_MAX": "1", "MALLOC_TRIM_THRESHOLD_": "0", "MALLOC_MMAP_THRESHOLD_": "65536"}
"""Variables of glibc, read when a process begins."""
ASKED, PARTS, MOST_KB = 12, 5, 10.0


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundles", nargs=2, type=Path)
    parser.add_argument("--switches", type=int, default=240)
    options = parser.parse_args()
    if any(os.environ.get(name) != value for name, value in AT_ONCE.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **AT_ONCE})
    with tempfile.TemporaryDirectory() as folder:
        found = switched(Path(folder) / "store", options.bundles, options.switches)
    told = {name: fifths(found[at::2]) for at, name in enumerate("ab")}
    slope = max(grown(means, options.switches / PARTS) for means in told.values())
    print(json.dumps({"switches": options.switches, "mb": told, "kb_a_switch": round(slope, 2)}))
    return int(slope >= MOST_KB)


def switched(folder: Path, bundles: list[Path], switches: int) -> list[float]:
    """The memory in MB behind each switch, to the first version and the second in turns."""
    known, found = queries(), list[float]()
    with BundleStore(folder, overlay=True, threads=1) as store:
        for name, bundle in zip("ab", bundles, strict=True):
            store.add(bundle, name)
        store.activate("b")
        for number in range(switches):
            store.activate("ab"[number % 2])
            for at in range(ASKED * number, ASKED * (number + 1)):
                step(store, at, True, *known[at % len(known)])
            gc.collect()
            found.append(memory("self")[0])
    return found


def fifths(found: list[float]) -> list[float]:
    """The means of all fifths but the first."""
    size = len(found) / PARTS
    return [round(statistics.fmean(found[int(size * at) : int(size * (at + 1))]), 3) for at in range(1, PARTS)]


def grown(means: list[float], apart: float) -> float:
    """The median slope between any two, in KB a switch; `apart` so many switches follow each other."""
    told = combinations(enumerate(means), 2)
    return statistics.median((b - a) * 1e3 / ((at_b - at_a) * apart) for (at_a, a), (at_b, b) in told)


if __name__ == "__main__":
    sys.exit(main())
