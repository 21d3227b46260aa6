"""Kills processes that write to a store, and says what was lost. A command: `kill_store.py --help`.

A child adds, activates, learns, rolls back, changes tools and removes, and acknowledges each operation on a pipe. It is
killed before its n-th call that changes the disk, or half way through where that writes, for one n after another. The
store must then hold what the last acknowledged operation left, or what the one after it leaves; the active version must
load and decide; and the next writer must clear away what is left.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import killed
from conftest import build_tiny

import edgeret
from edgeret import BundleStore
from edgeret.types import Call, Tool

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


def kill(folder: Path, moments: int, stride: int) -> dict[str, Any]:
    """Kills so many children that write to a store of two small bundles."""
    bundles = (build_tiny(folder / "first"), build_tiny(folder / "second", demonstrations=()))
    return kill_at_calls(folder, bundles, moments, stride)


def kill_at_calls(
    folder: Path, bundles: tuple[Path, Path], kills: int, stride: int = 1, first: int = 1
) -> dict[str, Any]:
    """The same with two bundles, as `killed.kill_at_calls` has it."""
    write_both, judge_both = partial(write, bundles), partial(judge, bundles)
    return killed.kill_at_calls(folder, write_both, judge_both, kills, stride, first)


def write(bundles: tuple[Path, Path], place: Path, fatal_call: int, acknowledge: Callable[[], object]) -> None:
    """Does all operations, and dies on the way."""
    killed.die_at(fatal_call)
    opened = BundleStore(place / "store", overlay=True, threads=1)
    for operation, _ in operations(*bundles):
        operation(opened)
        acknowledge()


def seen(store: BundleStore) -> State:
    """How a store is, to a process that has just come."""
    names = frozenset(version.name for version in store.versions)
    active = store.active
    if active is None:
        return names, None, 0, False
    runtime = store.runtime
    assert runtime.task("find my file").next().tool == "find_file"
    return names, active.name, runtime.learned.count, "extra" in runtime.tools


def judge(bundles: tuple[Path, Path], place: Path, acknowledged: int) -> str | None:
    """What is wrong after so many acknowledged operations, or None."""
    folder = place / "store"
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
    killed.command(__doc__, kill)
