"""First decisions beside programs that keep the CPUs busy: what several threads give there, against one. Knows nothing
of what threads do."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from time import perf_counter, sleep
from typing import Any

import edgeret
from edgeret.runtime.runtime import Runtime
from edgeret.terminal.progress import track
from edgeret_bench.metrics import quantiles
from edgeret_bench.speed.system_load import Bystanders

SPINS = "print(flush=True)\nwhile True: pass"
LOOK_S = 1.0
"""For which other programs are watched before any neighbour is started."""
WARM = 32


def run(
    path: str, queries: Sequence[str], neighbours: Sequence[int], threads: Sequence[int], decisions: int, profile: Any
) -> dict[str, Any]:
    """ms of as many `decisions` by each number of threads, in turns, query by query, beside each number of neighbours;
    and `ratios` of their p50 and p90 to those of the first number of threads. `others` is the share of the CPUs that
    other programs took before any neighbour came, None where the system does not tell it."""
    runtimes = {count: edgeret.load(path, threads=count, profile=profile) for count in threads}
    around = Bystanders()
    sleep(LOOK_S)
    others = around.shares()["others"]
    rows = []
    for beside in neighbours:
        with _spinning(beside):
            ms = _in_turns(runtimes, queries, decisions, f"{beside} neighbours")
        found = {count: quantiles(values) for count, values in ms.items()}
        first = found[threads[0]]
        for count, row in found.items():
            ratios = {key: row[key] / first[key] for key in ("p50", "p90")}
            rows.append({"neighbours": beside, "threads": count, "ms": row, "ratios": ratios})
    return {"others": others, "n_decisions": decisions, "profile": profile, "rows": rows}


def _in_turns(
    runtimes: dict[int, Runtime], queries: Sequence[str], decisions: int, told: str
) -> dict[int, list[float]]:
    """The order changes with every query, so that nobody always comes behind the same."""
    ms: dict[int, list[float]] = {count: [] for count in runtimes}
    turn = list(runtimes.items())
    asked = islice(cycle(queries), WARM + decisions)
    for number, query in enumerate(track(asked, told, WARM + decisions)):
        for count, runtime in turn:
            began = perf_counter()
            runtime.task(query).next()
            if number >= WARM:
                ms[count].append((perf_counter() - began) * 1e3)
        turn.reverse()
    return ms


@contextmanager
def _spinning(count: int) -> Iterator[None]:
    """So many processes that do nothing, as fast as they can."""
    started: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(count):
            started.append(subprocess.Popen([sys.executable, "-S", "-c", SPINS], stdout=subprocess.PIPE))
        for process in started:
            assert process.stdout is not None
            process.stdout.readline()
        yield
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.communicate()
