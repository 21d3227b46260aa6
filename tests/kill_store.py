"""Kills processes that write to a store, and says what was lost. A command: `kill_store.py --help`.

A child adds, activates, learns, rolls back, changes tools and removes, and acknowledges each operation on a pipe. It is
killed before its n-th call that changes the disk, or half way through where that writes, for one n after another. The
store must then hold what the last acknowledged operation left, or what the one after it leaves; the active version must
load and decide; and the next writer must clear away what is left.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conftest import build_tiny

import edgeret
from edgeret import BundleStore
from edgeret.bundle import placing
from edgeret.types import Call, Tool

CALLS = ("write", "fsync", "replace", "rename", "unlink", "rmdir", "mkdir", "ftruncate")
"""Of the module os."""
State = tuple[frozenset[str], str | None, int, bool]
"""Versions, the active one, plans that were learned, and whether a tool was added."""


def _learn(store: BundleStore) -> None:
    query = ("zip it", "ring mother")[store.runtime.learned.count]
    store.runtime.learn([edgeret.Demonstration("d", query, (Call("find_file"),))])


def operations(first: Path, second: Path) -> list[tuple[Callable[[BundleStore], object], State]]:
    """What the child does, and how the store is after each."""
    both = frozenset(("one", "two"))
    return [
        (lambda store: store.add(first, "one"), (frozenset(("one",)), None, 0, False)),
        (lambda store: store.activate("one"), (frozenset(("one",)), "one", 0, False)),
        (lambda store: store.add(second, "two"), (both, "one", 0, False)),
        (_learn, (both, "one", 1, False)),
        (lambda store: store.activate("two"), (both, "two", 1, False)),
        (lambda store: store.with_tools(add=[Tool("extra", "stop it")], keep=True), (both, "two", 1, True)),
        (lambda store: store.rollback("why not"), (both, "one", 1, True)),
        (_learn, (both, "one", 2, True)),
        (lambda store: store.remove("two"), (frozenset(("one",)), "one", 2, True)),
    ]


def main() -> None:
    """Kills children and prints one JSON object; exits 1 if anything was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moments", type=int, default=50, help="children to kill")
    parser.add_argument("--stride", type=int, default=1, help="calls from one child's end to the next one's")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        bundles = (build_tiny(place / "first"), build_tiny(place / "second", demonstrations=()))
        found = kill_at_calls(place, bundles, arguments.moments, arguments.stride)
    sys.stdout.write(f"{json.dumps(found, indent=1)}\n")
    sys.exit(bool(found["lost"]))


def write(store: Path, bundles: tuple[Path, Path], fatal_call: int, acknowledge: int) -> None:
    """Does all operations; dies at the `fatal_call`-th call that changes the disk: before it, or half way through."""
    real_write, calls = os.write, itertools.count(1)

    def deadly(function: Any, name: str) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            if next(calls) == fatal_call:
                if name == "write":
                    function(arguments[0], arguments[1][: len(arguments[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **options)

        return call

    for name in CALLS:
        setattr(os, name, deadly(getattr(os, name), name))
    placing.renamed = deadly(placing.renamed, "renameat2")
    opened = BundleStore(store, overlay=True, threads=1)
    for operation, _ in operations(*bundles):
        operation(opened)
        real_write(acknowledge, b".")


def kill_at_calls(
    folder: Path, bundles: tuple[Path, Path], kills: int, stride: int = 1, first: int = 1
) -> dict[str, Any]:
    """Kills that many children, each `stride` calls later than the one before, from the `first` call on and from the
    next again after one that got through."""
    lost, killed, call, rounds = [], 0, first, 0
    while killed < kills:
        with tempfile.TemporaryDirectory(dir=folder) as own:
            store = Path(own) / "store"
            ours, theirs = os.pipe()
            gc.collect()  # a child that did would wait for threads of ONNX Runtime that it does not have
            child = os.fork()
            if child == 0:
                try:
                    write(store, bundles, call, theirs)
                    os._exit(0)
                finally:
                    os._exit(1)
            os.close(theirs)
            with os.fdopen(ours, "rb") as stream:
                acknowledged = len(stream.read())
            status = os.waitpid(child, 0)[1]
            if status == 0:
                rounds += 1
                call = first + rounds % stride
                assert rounds < kills, "more moments were asked for than there are calls"
                continue
            assert os.WIFSIGNALED(status), f"the child failed at call {call}"
            killed += 1
            if wrong := judge(store, bundles, acknowledged):
                lost.append(f"call {call}: after {acknowledged} operations: {wrong}")
        call += stride
    return {"killed": killed, "rounds": rounds, "lost": lost}


def seen(store: BundleStore) -> State:
    """How a store is, to a process that has just come."""
    names = frozenset(version.name for version in store.versions)
    active = store.active
    if active is None:
        return names, None, 0, False
    runtime = store.runtime
    assert runtime.task("find my file").next().tool == "find_file"
    return names, active.name, runtime.learned.count, "extra" in runtime.tools


def judge(folder: Path, bundles: tuple[Path, Path], acknowledged: int) -> str | None:
    """What is wrong after so many acknowledged operations, or None."""
    told = operations(*bundles)
    states: list[State] = [(frozenset(), None, 0, False), *(state for _, state in told)]
    allowed = states[acknowledged : acknowledged + 2]
    try:
        store = BundleStore(folder, overlay=True, threads=1)
        found = seen(store)
        if found not in allowed:
            return f"found {found}, expected one of {allowed}"
        store.activate(store.add(bundles[0], "again"))
        left = {path.name for path in (folder / "bundles").iterdir()}
        listed = {version.content_hash for version in store.versions}
        if left != listed:
            return f"left behind: {left ^ listed}"
        store.close()
    except (edgeret.EdgeretError, AssertionError) as error:
        return f"{type(error).__name__}: {error}"
    return None


if __name__ == "__main__":
    main()
