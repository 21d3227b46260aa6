"""Kills builds at random moments, builds again, and says what was lost. A command: `kill_build.py --help`.

Every build has a cache folder of its own for what it encodes; models and exports come from the usual one. After a kill
the next build must give the bytes of one that was never killed, and must encode nothing that was encoded before.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from conftest import EXAMPLE

from edgeret_export.encoders.shards import records_of
from edgeret_export.sources.fetch import cache_folder

SHARED = ("models", "onnx", "adapters")


def main() -> None:
    """Kills builds and prints one JSON object; exits 1 if anything was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", type=Path, default=EXAMPLE / "tools.jsonl")
    parser.add_argument("--demos", type=Path, default=EXAMPLE / "demonstrations.jsonl")
    parser.add_argument("--first", type=int, default=200, help="demonstrations that are taken of them")
    parser.add_argument("--moments", type=int, default=10, help="builds to kill")
    parser.add_argument("--seed", type=int, default=0, help="of the random moments")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        demos = Path(folder) / "demonstrations.jsonl"
        lines = arguments.demos.read_text(encoding="utf-8").split("\n")[: arguments.first]
        demos.write_text("\n".join(lines), encoding="utf-8")
        found = kill_at_random(Path(folder), arguments.tools, demos, arguments.moments, arguments.seed)
    sys.stdout.write(f"{json.dumps(found, indent=1)}\n")
    sys.exit(bool(found["lost"]))


class Place:
    """A cache folder and a target."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder, self._cache = folder, folder / "cache"
        self._cache.mkdir()
        for name in SHARED:
            (self._cache / name).symlink_to(cache_folder() / name)

    def begin(self, tools: Path, demos: Path) -> subprocess.Popen[str]:
        """Starts a build."""
        target = self._folder / "bundle"
        command = ["build", "--tools", str(tools), "--demos", str(demos), "-o", str(target), "--offline", "--json"]
        run = f"import sys; from edgeret_export.cli import main; sys.exit(main({command!r}))"
        environment = {**os.environ, "EDGERET_CACHE": str(self._cache)}
        return subprocess.Popen(
            [sys.executable, "-c", run], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def finish(self, tools: Path, demos: Path) -> str:
        """The content hash of a build that is left alone."""
        told, complaint = (child := self.begin(tools, demos)).communicate()
        if child.returncode:
            raise SystemExit(f"a build that nobody killed failed: {complaint}")
        return str(json.loads(told)["content_hash"])

    def encoded(self) -> Counter[bytes]:
        """How often each text was encoded."""
        files = sorted((self._cache / "vectors").glob("*/*"))
        return Counter(file.parent.name.encode() + key for file in files for key, _, _ in records_of(file))


def kill_at_random(folder: Path, tools: Path, demos: Path, kills: int, seed: int) -> dict[str, Any]:
    """Kills that many builds a random time after they began, and compares what the next ones give."""
    dice, lost, kept = random.Random(seed), [], []
    whole = Place(folder / "whole")
    started = time.perf_counter()
    expected = whole.finish(tools, demos)
    seconds = time.perf_counter() - started
    for number in range(kills):
        place = Place(folder / str(number))
        after = dice.uniform(0, seconds)
        child = place.begin(tools, demos)
        time.sleep(after)
        child.kill()
        child.communicate()
        kept.append(place.encoded().total())
        if child.returncode == -signal.SIGKILL:
            found = place.finish(tools, demos)
            encoded = place.encoded()
            if found != expected:
                lost.append(f"killed after {after:.2f} s: content hash {found}, expected {expected}")
            if encoded.total() > len(encoded) or set(encoded) != set(whole.encoded()):
                lost.append(f"killed after {after:.2f} s: {encoded.total()} encoded, {len(whole.encoded())} expected")
    return {
        "killed": kills,
        "seconds_of_a_build": round(seconds, 1),
        "texts": whole.encoded().total(),
        "kept_when_killed": kept,
        "lost": lost,
    }


if __name__ == "__main__":
    main()
