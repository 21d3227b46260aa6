"""Decides on eight threads while tools change and versions are swapped, and says what that costs. A command:
`python tests/store_run.py BUNDLE BUNDLE --seconds 60`.

First nothing changes, then 200 changes of tools and 20 switches are spread over the same time; both in one run. Prints
one JSON object: decisions, errors, and the 50th and 99th of a hundred decisions' times in each, with their ratios.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from edgeret import BundleStore
from edgeret.types import Tool

THREADS, CHANGES, SWAPS = 8, 200, 20
QUERY = "what is left to do {}"


def main() -> None:
    """Measures and prints; exits 1 if anything was raised."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundles", nargs=2, type=Path, help="two bundles with some tool in common")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each half")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = BundleStore(Path(folder) / "store", threads=1)
        for name, bundle in zip("ab", arguments.bundles, strict=True):
            store.add(bundle, name)
        store.activate("a")
        quiet = run(store, arguments.seconds, lambda number: None)
        busy = run(store, arguments.seconds, lambda number: change(store, number))
    ratios = {key: round(busy[key] / quiet[key], 2) for key in ("p50_ms", "p99_ms")}
    sys.stdout.write(f"{json.dumps({'quiet': quiet, 'busy': busy, 'ratios': ratios}, indent=1)}\n")
    sys.exit(bool(quiet["errors"] or busy["errors"]))


def change(store: BundleStore, number: int) -> None:
    """The change of this number: a tool comes and the last one goes; every tenth time another version, too."""
    old = [name for name in store.runtime.tools if name.startswith("extra_")]
    store.with_tools(add=[Tool(f"extra_{number}", f"do the thing of number {number}")], remove=old)
    if number % (CHANGES // SWAPS) == 0:
        store.activate("ba"[number // (CHANGES // SWAPS) % 2])


def run(store: BundleStore, seconds: float, act: Callable[[int], None]) -> dict[str, Any]:
    """Decides for so long, while `act` is called CHANGES times, evenly spread where it is quick enough."""
    over, errors, times = threading.Event(), [], [[] for _ in range(THREADS)]

    def decide(own: list[float]) -> None:
        number = 0
        while not over.is_set():
            number += 1
            started = time.perf_counter()
            try:
                store.runtime.task(QUERY.format(number % 50)).next(policy="heads")
            except Exception as error:
                errors.append(f"{type(error).__name__}: {error}")
                return
            own.append(time.perf_counter() - started)

    threads = [threading.Thread(target=decide, args=(own,)) for own in times]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for number in range(CHANGES):
        act(number)
        time.sleep(max(0.0, started + seconds * (number + 1) / CHANGES - time.monotonic()))
    over.set()
    for thread in threads:
        thread.join()
    every = np.sort(np.concatenate([np.array(own) for own in times])) * 1e3
    p50, p99 = (round(float(np.quantile(every, share)), 3) for share in (0.5, 0.99))
    return {"decisions": len(every), "errors": errors, "p50_ms": p50, "p99_ms": p99}


if __name__ == "__main__":
    main()
