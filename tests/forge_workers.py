"""Runs cases in worker processes, so that one that kills its process is a finding like any other.

A worker that dies is started again. Knows nothing of what is forged.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from forge_cases import BASES, Case, Forge, Result
from forge_exercise import CPU_SECONDS, PATIENCE, Finding, exercise, make_once, memory

RESTART_MB = 300
"""Growth after which a worker makes room for a fresh one, so that freed memory cannot hide what a case takes."""
Found = tuple[Case, Result]
HONEST = 3
"""How many times as long as the good bundles' longest step a forged one's may take: a planner's plan took from 0.6 to
2.4 s on shared cores, and what forgers ask for takes minutes."""
KINDS = {"SIGPROF": "Slow", "SIGALRM": "Waits"}
"""What limits say by signals."""


def work(bases: Path) -> None:
    """A worker: reads cases from standard input, line by line, and answers on the standard output it was given."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what native libraries print goes where errors go
    faulthandler.enable()
    for number in (signal.SIGPROF, signal.SIGALRM):
        faulthandler.register(number, chain=True)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    make_once()
    longest = 0.0
    for name in BASES:  # and whatever is loaded with the first bundle counts for none of the forged ones
        outcome = exercise(bases / name, name, 0, PATIENCE)
        if outcome.refused or outcome.errors or outcome.findings:
            raise RuntimeError(f"the good bundle {name!r} does not work: {outcome}")
        longest = max(longest, outcome.longest)
    forge = Forge(bases, max(CPU_SECONDS, HONEST * longest))
    before = memory("VmRSS")
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        os.ftruncate(2, 0)
        os.lseek(2, 0, os.SEEK_SET)
        name, number = json.loads(line)
        result = forge.run((name, number))
        last = memory("VmRSS") - before > RESTART_MB << 20
        print(json.dumps([last, asdict(result)]), file=answers, flush=True)
        if last:
            break


class Worker:
    """A worker process, started again whenever it dies or asks for it."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._process: Any = None
        self._log = tempfile.TemporaryFile("w+b")  # noqa: SIM115 - open as long as the worker lives

    def run(self, case: Case) -> Result:
        """A case's result; that of a worker that died says of what."""
        process = self._start()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(case) + "\n")
            process.stdin.flush()
        if line := process.stdout.readline():
            last, result = json.loads(line)
            if last:
                self.stop()
            return Result.from_dict(result)
        code = process.wait()
        self._process = None
        return death(code, self._said())

    def close(self) -> None:
        """Ends the process for good."""
        self.stop()
        self._log.close()

    def stop(self) -> None:
        """Ends the process; the next case starts another."""
        if self._process is not None:
            self._process.stdin.close()
            self._process.wait()
            self._process.stdout.close()
            self._process = None

    def _start(self) -> Any:
        if self._process is None:
            self._log.truncate(0)
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, stderr=self._log, text=True)
            if self._process.stdout.readline() != "ready\n":
                self._process.kill()
                raise RuntimeError(f"a worker did not start: {self._said()[-2_000:]}")
        return self._process

    def _said(self) -> str:
        self._log.seek(0)
        return self._log.read(1 << 16).decode("utf-8", "replace").strip("\0")


def death(code: int, said: str) -> Result:
    """The result of a worker that ended with this exit code, from what it had said: what was forged, in the first
    line, and where it was (`faulthandler`), innermost first."""
    lines = said.splitlines()
    kind = signal.Signals(-code).name if code < 0 else f"exit {code}"
    frames = re.findall('^  File "(.+)", line ([0-9]+) in (.+)$', said, re.MULTILINE)
    ours = [f"{Path(file).name}:{line} {function}" for file, line, function in frames if "/edgeret/" in file]
    steps = [function for file, _, function in frames if "forge_exercise" in file]
    words = [line for line in lines[1:] if any(word in line for word in ("ASSERT", "panicked", "what():"))]
    words += lines[-1:] if code > 0 else []  # a traceback of the worker's own
    limits = {"SIGPROF": "more than twice the processor time allowed", "SIGALRM": f"more than {PATIENCE} s"}
    message = " ".join((*words, limits.get(kind, "")))[:300]
    step, frame = (found[0] if found else "?" for found in (steps, ours))
    finding = Finding(step, KINDS.get(kind, kind), frame, message)
    return Result(lines[0] if lines else "", False, [], [finding], [], 0.0, 0.0)


def run_cases(
    bases: Path, cases: Iterable[Case], jobs: int, progress: Callable[[Sequence[Found]], object] | None = None
) -> list[Found]:
    """Runs cases over the good bundles of a folder on so many workers; the results in the order in which they came.

    Raises RuntimeError if a worker cannot be started or the good bundles do not work.
    """
    waiting, lock = iter(cases), threading.Lock()
    found: list[Found] = []
    problems: list[Exception] = []

    def serve() -> None:
        worker = Worker([sys.executable, __file__, str(bases)])
        try:
            while not problems:
                with lock:
                    case = next(waiting, None)
                if case is None:
                    break
                result = worker.run(case)
                with lock:
                    found.append((case, result))
                    if progress is not None:
                        progress(found)
        except Exception as error:
            problems.append(error)
        worker.close()

    # Daemons, so that an interrupt ends it all at once; the workers end when nobody asks them any more.
    threads = [threading.Thread(target=serve, daemon=True) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]
    return found


if __name__ == "__main__":
    work(Path(sys.argv[1]))
