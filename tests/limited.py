"""Runs numbered cases in processes that may die of them: each has 2 s of processor time and 1.5 GB, and is named."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path


def outcomes(script: str, first: int, count: int) -> Counter[str]:
    """What became of the cases from `first` on: the words that `script --work` says, or the signal a case died of."""
    found: Counter[str] = Counter()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    while (done := sum(found.values())) < count:
        command = [sys.executable, script, "--work", str(first + done), str(count - done)]
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        found.update(ended.stdout.split("\n")[:-1])
        if ended.returncode:
            assert ended.returncode < 0, ended.stderr
            found[f"{signal.Signals(-ended.returncode).name} at {first + sum(found.values())}"] += 1
    return found


def main(outcome: Callable[[int], str]) -> None:
    """The command line of a script: a first number and a count, `--work` before them in the processes that may die."""
    if sys.argv[1] != "--work":
        sys.stdout.write(f"{dict(outcomes(sys.argv[0], int(sys.argv[1]), int(sys.argv[2])))}\n")
        return
    resource.setrlimit(resource.RLIMIT_AS, (3 << 29, 3 << 29))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in range(int(sys.argv[2]), int(sys.argv[2]) + int(sys.argv[3])):
        signal.setitimer(signal.ITIMER_PROF, 2.0)
        sys.stdout.write(f"{outcome(number)}\n")
        sys.stdout.flush()
