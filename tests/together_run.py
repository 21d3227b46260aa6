"""Runs all tests on several processes, each of which reads a file of tests when it begins it, and takes the next one
when it has ended. Knows nothing of what they test.

    python tests/together_run.py [--processes N] [--files FOLDER] [pytest's options]

A file stays on one process, and so does what its fixtures make; what tests print is told when all have ended. A process
that dies is named with the test that it died in, and another one goes on with the files that are left. Processes share
no collection: of ten thousand tests it takes half a minute, and each would make its own.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from shared import place

TESTS = Path(__file__).parent
NUMBER = "EDGERET_TESTS_PROCESS"
"""The variable that tells a process of tests which one it is, from 0."""
MOST = 4
TAKE = "--take"
NO_FILE = "no file"
RECORD = 4
"""Bytes of a file's number in the pipe that all processes take their next file from."""


def ordered(files: Sequence[Path]) -> list[Path]:
    """Files that share the bundle of real weights, install, or use real weights otherwise come first, then the largest:
    a long one that is begun last keeps all but one process waiting. In turns, since the first that asks makes what the
    first two kinds share, and a second one would wait for it."""
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    large = sorted(files, key=lambda file: -len(texts[file]))
    kinds: list[list[Path]] = []
    for sign in (r"\breal: Path\b", r"\bmark\.install\b", r"\bmark\.real\b"):
        taken = {file for kind in kinds for file in kind}
        kinds.append([file for file in large if re.search(sign, texts[file]) and file not in taken])
    return [*dict.fromkeys([file for turn in zip_longest(*kinds) for file in turn if file is not None] + large)]


class Taking:
    """pytest's plugin in a process of tests: `queue` gives the numbers of `files` to whoever reads first, `progress` is
    where letters go, and `here` the file that names the test that runs and, at the end, all counts."""

    def __init__(self, files: Sequence[str], queue: int, progress: int, here: Path) -> None:
        self.files, self.queue, self.progress, self.here = files, queue, progress, here

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> bool:
        return True  # each file has its turn below

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        count = 0
        while record := os.read(self.queue, RECORD):
            self._at(file := self.files[int(record)])
            items = session.perform_collect([file])
            count += len(items)
            for item, following in zip_longest(items, items[1:]):
                # What belongs to the session stays for the next file.
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following or session)
                if session.shouldfail or session.shouldstop:
                    os.read(self.queue, RECORD * len(self.files))  # nobody begins another one
                    break
        session.testscollected = count
        return True

    def pytest_runtest_logstart(self, location: tuple[str, int | None, str]) -> None:
        self._at(f"{location[0]}::{location[2]}")

    def _at(self, name: str) -> None:
        self.here.write_text(name, encoding="utf-8")

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(self) -> Generator[None, Any, tuple[str, str, str]]:
        category, letter, _ = yield
        os.write(self.progress, letter.encode())
        return category, "", ""  # pytest's own lines are about what went wrong

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            os.write(self.progress, f"\n{report.nodeid}\n".encode())

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        kinds = ("passed", "failed", "error", "skipped", "xfailed", "xpassed", "warnings")
        counts = {kind: len(found) for kind in kinds if (found := terminalreporter.stats.get(kind))}
        self._at(json.dumps(counts))


def take(queue: int, progress: int, here: Path, options: Sequence[str]) -> int:
    """A process of tests, started by `Process`."""
    files = here.with_name("files").read_text(encoding="utf-8").splitlines()
    # As a plugin, conftest.py is the session's. pytest would make it a folder's, which is another one for each file.
    return int(
        pytest.main(["--noconftest", "-p", "conftest", *options], plugins=[Taking(files, queue, progress, here)])
    )


class Process:
    """One of them, seen from outside: the `number`th of those that run at the same time."""

    def __init__(self, number: int, folder: Path, queue: int, options: Sequence[str]) -> None:
        self.here, self.log = folder / f"{number}.here", folder / f"{number}.log"
        self.here.write_text(NO_FILE, encoding="utf-8")
        with self.log.open("wb") as log, os.fdopen(os.dup(1), "wb") as progress:
            self.process = subprocess.Popen(
                [sys.executable, __file__, TAKE, str(queue), str(progress.fileno()), str(self.here), *options],
                pass_fds=(queue, progress.fileno()),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, NUMBER: str(number)},
                cwd=TESTS.parent,
            )

    def began(self) -> bool:
        """Whether it took a file: one that dies before would be followed by others without end."""
        return self.here.read_text(encoding="utf-8") != NO_FILE

    def ended(self) -> tuple[Counter[str], str]:
        """How many tests passed, failed and so on once it has ended, and what it told of them."""
        code = self.process.wait()
        told, at = (path.read_text(encoding="utf-8", errors="replace") for path in (self.log, self.here))
        if at.startswith("{"):
            return Counter(json.loads(at)), told
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return Counter(died=1), f"{told}\ndied by {name} in {at}; the rest of this file is not run\n"


def main(words: Sequence[str]) -> int:
    """Runs all; 0 where none went wrong."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    # One more than cores: tests wait for servers.
    parser.add_argument("--processes", type=int, default=min((os.cpu_count() or 1) + 1, MOST))
    parser.add_argument("--files", type=Path, default=TESTS)
    asked, options = parser.parse_known_args(words)
    place()  # before the processes begin, which share it
    files = ordered(sorted(asked.files.resolve().rglob("test_*.py")))
    queue, filled = os.pipe()
    os.write(filled, b"".join(b"%0*d" % (RECORD, number) for number in range(len(files))))
    os.close(filled)
    with tempfile.TemporaryDirectory(prefix="edgeret-tests-") as made:
        folder = Path(made)
        (folder / "files").write_text("".join(f"{file}\n" for file in files), encoding="utf-8")

        def work(number: int) -> Counter[str]:
            """What became of the tests of a process, and of those that take its place when it dies."""
            process = Process(number, folder, queue, options)
            found, told = process.ended()
            print(f"\n{told}", end="")
            return found + work(number) if found["died"] and process.began() else found

        with ThreadPoolExecutor(asked.processes) as pool:
            counts = sum(pool.map(work, range(asked.processes)), Counter[str]())
    print(", ".join(f"{many} {kind}" for kind, many in counts.items()))
    return 0 if counts["passed"] and not counts["failed"] + counts["error"] + counts["died"] else 1


if __name__ == "__main__":
    if sys.argv[1:2] == [TAKE]:
        sys.exit(take(int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]), sys.argv[5:]))
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
