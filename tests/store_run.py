"""Decides on eight threads while tools change and versions are swapped, and says what that costs. A command:
`python tests/store_run.py BUNDLE BUNDLE --seconds 60`.

First nothing changes, then 200 changes of tools and 20 switches are spread over the same time; both in one run. A
single thread then loads the bundles anew, makes every generation again, and decides what was asked of it. Prints one
JSON object: decisions, errors, the 50th and 99th of a hundred decisions' times in each, with their ratios; how many
different questions there were, and those of them that were not decided alike. Exits 1 if there is an error or one of
these.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import edgeret
from edgeret import BundleStore
from edgeret.types import Tool

THREADS, CHANGES, SWAPS = 8, 200, 20
QUERY = "what is left to do {}"
NEAR = 2e-6
"""Probabilities of a generation that was made by changes in turn, and of one that was made at once."""
Key = tuple[str, str, str]
"""A bundle's content hash, the name of the tool that was added last, and a query."""
Answers = dict[Key, set[tuple[str | None, float]]]


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
        answers: Answers = {}
        quiet = run(store, arguments.seconds, lambda number: None, answers)
        busy = run(store, arguments.seconds, lambda number: change(store, number), answers)
    unlike = replayed(arguments.bundles, answers)
    ratios = {key: round(busy[key] / quiet[key], 2) for key in ("p50_ms", "p99_ms")}
    replay = {"questions": len(answers), "generations": len({key[:2] for key in answers}), "unlike": unlike[:5]}
    told = {"quiet": quiet, "busy": busy, "ratios": ratios, "replay": replay}
    sys.stdout.write(f"{json.dumps(told, indent=1)}\n")
    sys.exit(bool(quiet["errors"] or busy["errors"] or unlike))


def extra(number: int) -> Tool:
    return Tool(f"extra_{number}", f"do the thing of number {number}")


def generation(runtime: edgeret.Runtime) -> tuple[str, str]:
    """A bundle's content hash, and the added tool's name; there must be one at most."""
    added = [name for name in runtime.tools if name.startswith("extra_")]
    assert len(added) <= 1, f"a mixed generation: {added}"
    return runtime.manifest.content_hash, added[0] if added else ""


def change(store: BundleStore, number: int) -> None:
    """The change of this number: a tool comes and the last one goes; every tenth time another version, too."""
    old = [name for name in store.runtime.tools if name.startswith("extra_")]
    store.with_tools(add=[extra(number)], remove=old)
    if number % (CHANGES // SWAPS) == 0:
        store.activate("ba"[number // (CHANGES // SWAPS) % 2])


def replayed(bundles: Sequence[Path], answers: Answers) -> list[str]:
    """What a single thread decides otherwise, or what was decided in two ways."""
    plain = [edgeret.load(folder, threads=1) for folder in bundles]
    made = {runtime.manifest.content_hash: runtime for runtime in plain}
    unlike, last, runtime = [], None, plain[0]
    for (content_hash, added, query), found in sorted(answers.items()):
        if last != (content_hash, added):
            last, runtime = (content_hash, added), made[content_hash]
            if added:
                runtime = runtime.with_tools(add=[extra(int(added.removeprefix("extra_")))])
        again = runtime.task(query).next(policy="heads")
        if {tool for tool, _ in found} != {again.tool} or any(abs(p - again.probability) > NEAR for _, p in found):
            unlike.append(f"{added} {query}: {sorted(map(str, found))}, replayed {again.tool} {again.probability}")
    return unlike


def run(store: BundleStore, seconds: float, act: Callable[[int], None], answers: Answers) -> dict[str, Any]:
    """Decides for so long, while `act` is called CHANGES times, evenly spread where it is quick enough. What was
    decided is added to `answers`."""
    over, errors, times = threading.Event(), [], [[] for _ in range(THREADS)]
    seen: list[Answers] = [{} for _ in range(THREADS)]

    def decide(own: list[float], said: Answers) -> None:
        number = 0
        while not over.is_set():
            number += 1
            query = QUERY.format(number % 50)
            started = time.perf_counter()
            try:
                runtime = store.runtime
                decision = runtime.task(query).next(policy="heads")
                own.append(time.perf_counter() - started)
                said.setdefault((*generation(runtime), query), set()).add((decision.tool, decision.probability))
            except Exception as error:
                errors.append(f"{type(error).__name__}: {error}")
                return

    threads = [threading.Thread(target=decide, args=both) for both in zip(times, seen, strict=True)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for number in range(CHANGES):
        act(number)
        time.sleep(max(0.0, started + seconds * (number + 1) / CHANGES - time.monotonic()))
    over.set()
    for thread in threads:
        thread.join()
    for said in seen:
        for key, found in said.items():
            answers.setdefault(key, set()).update(found)
    every = np.sort(np.concatenate([np.array(own) for own in times])) * 1e3
    p50, p99 = (round(float(np.quantile(every, share)), 3) for share in (0.5, 0.99))
    return {"decisions": len(every), "errors": errors, "p50_ms": p50, "p99_ms": p99}


if __name__ == "__main__":
    main()
