"""Kills writers and swaps bundles under readers, and says what was lost. A command: `python tests/swap_run.py --help`.

A writer is killed before its n-th call of fsync, rename, unlink or rmdir, for one n after another; a whole bundle must
stand at the target each time. Readers load while a writer replaces the bundle again and again.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

KILLED = -signal.SIGKILL


def main() -> None:
    """Runs both and prints one JSON object; exits 1 if anything was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50, help="writers to kill")
    parser.add_argument("--swaps", type=int, default=500, help="bundles to put in place")
    parser.add_argument("--loads", type=int, default=50_000, help="loads meanwhile, at least")
    parser.add_argument(
        "--build", nargs=argparse.REMAINDER, metavar="ARG", help="kill `edgeret-export build ARG …` instead"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kills = kill_writers(Path(folder), arguments.kills, arguments.build)
        swaps = swap_under_readers(Path(folder), arguments.swaps, arguments.loads)
    print(json.dumps({"kills": kills, "swaps": swaps}, indent=1))
    sys.exit(bool(kills["lost"] or kills["left_over"] or swaps["failures"]))


def kill_writers(folder: Path, kills: int, build: list[str] | None = None) -> dict[str, Any]:
    """Kills that many writers of one bundle, each a call later than the one before, from the first call again after
    one that got through: how often no whole bundle stood there, and what lay beside it after one more write."""
    target = folder / "killed"
    if build is not None:
        encode_once()
    write(target, 0, build)
    killed, lost, call = 0, 0, 0
    while killed < kills:
        call += 1
        # A forked build has the encoding of this one, which is where a build spends its time and touches no bundle.
        context = multiprocessing.get_context("spawn" if build is None else "fork")
        status = context.Process(target=write, args=(target, call, build))
        status.start()
        status.join()
        if status.exitcode != KILLED:
            assert status.exitcode == 0, status.exitcode
            call = 0
            continue
        killed += 1
        lost += not is_whole(target)
    write(target, 0, build)
    beside = sorted(path.name for path in folder.iterdir() if path.name.startswith(".killed"))
    return {"killed": killed, "lost": lost, "left_over": beside}


def encode_once() -> None:
    """Lets all builds of this process, and of those forked off it, use the first one's encoding."""
    from edgeret_export import build

    encode, encoded = build.encode, []

    def once(*arguments: Any) -> Any:
        if not encoded:
            encoded.append(encode(*arguments))
        return encoded[0]

    build.encode = once


def write(target: Path, fatal_call: int, build: list[str] | None) -> None:
    """Replaces the bundle; dies before the `fatal_call`-th call that changes the disk (0: does not)."""
    from edgeret.bundle import placing
    from edgeret_export.writer import writing

    calls = itertools.count(1)

    def deadly(function: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            if next(calls) == fatal_call:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **options)

        return call

    for name in ("fsync", "rename", "unlink", "rmdir"):
        setattr(os, name, deadly(getattr(os, name)))
    placing.renamed = deadly(placing.renamed)
    if build is not None:
        from edgeret_export.cli import main as export

        if export(["build", *build, "-o", str(target), "--force"]):
            raise SystemExit("the build failed")
        return
    with writing(target, overwrite=True) as writer:
        for role in ("encoder", "tokenizer", "graph", "head", "planner"):
            writer.add(role, role, os.urandom(1000), "MIT", "here")
        writer.finish({})


def is_whole(target: Path) -> bool:
    """Whether a reader finds a bundle there, all of it."""
    from edgeret.bundle.reader import verify_bundle
    from edgeret.errors import BundleError

    try:
        verify_bundle(target)
    except BundleError as error:
        print(error, file=sys.stderr)
        return False
    return True


def swap_under_readers(folder: Path, swaps: int, loads: int, readers: int = 2) -> dict[str, Any]:
    """Readers load while bundles take one another's place: how often that failed."""
    target, stop = folder / "swapped", folder / "stop"
    write(target, 0, None)
    command = [sys.executable, __file__, "--read", str(target), str(stop), str(loads // readers)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(readers)]
    done = 0
    while done < swaps or any(reader.poll() is None for reader in running):
        write(target, 0, None)
        done += 1
        if done >= swaps:
            stop.touch()
    found = [json.loads(reader.communicate()[0]) for reader in running]
    failures = [failure for one in found for failure in one["failures"]]
    return {"swaps": done, "loads": sum(one["loads"] for one in found), "failures": failures[:5]}


def read(target: Path, stop: Path, loads: int) -> None:
    """Loads until there were enough loads and enough swaps."""
    from edgeret.bundle.reader import open_bundle
    from edgeret.errors import EdgeretError

    count, failures = 0, []
    while count < loads or not stop.exists():
        count += 1
        try:
            open_bundle(target)
        except EdgeretError as error:
            failures.append(str(error))
    print(json.dumps({"loads": count, "failures": failures}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--read"]:
        read(Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
    else:
        main()
