"""What a log of decisions costs, and what killed writers lose of it. A command: `python tests/log_run.py BUNDLE`.

Times are medians of the same later decision, without a log and with one, in turns; the difference is a line's cost.
Writers are killed at random moments, one after the other in one folder; whatever one acknowledged must be there. Prints
one JSON object, and exits 1 if anything was lost.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path

import edgeret
from edgeret.usage.segments import Segments, parts_of

ASKED = "Find my lease contract, turn it into a PDF and mail it to Gideon"
TURNS, TIMES = 5, 2_000


def main() -> None:
    """Measures both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        killed = kill(Path(folder) / "killed", arguments.kills, arguments.seed)
        told = {"us": cost(arguments.bundle, Path(folder)), "killed": killed}
    print(json.dumps(told, indent=1))
    sys.exit(bool(killed["lost"]))


def cost(bundle: Path, folder: Path) -> dict[str, float]:
    """Microseconds of a later decision: without a log, with one, and with one that keeps words."""
    ways = {"without": edgeret.load(bundle, threads=1)}
    for name, words in (("log", False), ("words", True)):
        ways[name] = edgeret.load(bundle, threads=1)
        ways[name].log_to(folder / name, words=words)
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(TURNS):
        for name, runtime in ways.items():
            task = runtime.task(ASKED)
            task.accept(task.next())
            times = []
            for _ in range(TIMES):
                began = time.perf_counter()
                task.next()
                times.append((time.perf_counter() - began) * 1e6)
            found[name].append(statistics.median(times))
    return {name: round(statistics.median(each), 1) for name, each in found.items()}


def kill(folder: Path, kills: int, seed: int) -> dict[str, int]:
    """How many lines writers acknowledged before they were killed, and how many of these are not there."""
    draw, acknowledged, lost = random.Random(seed), 0, 0
    last = [_killed(folder, number, draw.random() * 0.02) for number in range(kills)]
    there: dict[int, set[int]] = {}
    for part in parts_of(folder):
        for line in part.read_bytes().splitlines():
            words = line.split(b" ")
            if len(words) == 3:
                there.setdefault(int(words[0]), set()).add(int(words[1]))
    for number, line in enumerate(last):
        acknowledged += line + 1
        lost += len(set(range(line + 1)) - there.get(number, set()))
    return {"writers": kills, "acknowledged": acknowledged, "lost": lost}


def _killed(folder: Path, number: int, after_s: float) -> int:
    """The number of the last line that a writer acknowledged."""
    read, write = os.pipe()
    writer = os.fork()
    if not writer:
        files, line = Segments(folder, 1 << 30, 86_400.0), 0
        while True:
            files.put(b"%d %d %s\n" % (number, line, b"x" * (line * 37 % 400)), "set", b"told\n")
            os.write(write, b"%d\n" % line)
            line += 1
    os.close(write)
    said = os.read(read, 64)
    time.sleep(after_s)
    os.kill(writer, signal.SIGKILL)
    while part := os.read(read, 1 << 16):
        said += part
    os.close(read)
    os.waitpid(writer, 0)
    return int(said.split(b"\n")[-2])


if __name__ == "__main__":
    main()
