"""Kills processes that apply deltas, and says what was lost. A command: `kill_delta.py --help`.

A child brings a bundle up to date where it stands, and back, by two deltas; then a store gets the newer version by its
delta, and switches to it. Each operation is acknowledged on a pipe. The child is killed before its n-th call that
changes the disk, or half way through where that writes, for one n after another. Bundle and store must then be what the
last acknowledged operation left, or what the one after it leaves; and the next writer must clear away what is left.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import killed
from conftest import TOOLS, build_tiny

import edgeret
from edgeret import BundleStore
from edgeret.bundle.delta import apply_delta
from edgeret.bundle.reader import read_manifest, verify_bundle
from edgeret_export.delta import write_delta

State = tuple[str, frozenset[str], str]
"""The content hash of the bundle that is updated where it stands, the store's versions, and the active one."""


@dataclass(frozen=True)
class Update:
    """Two bundles with the same encoder, deltas from one to the other, and a store in which the older one is active."""

    older: Path
    newer: Path
    forth: Path
    back: Path
    store: Path

    def prepare(self, place: Path) -> None:
        """Copies what a child is to change."""
        shutil.copytree(self.older, place / "bundle")
        shutil.copytree(self.store, place / "store")

    def state(self, newer: bool, added: bool, active: str) -> State:
        content_hash = read_manifest(self.newer if newer else self.older).content_hash
        return content_hash, frozenset(("older", "newer") if added else ("older",)), active


def update(folder: Path, build: Callable[..., Path]) -> Update:
    """The newer bundle has a tool more."""
    older = build(folder / "older")
    newer = build(folder / "newer", tools=[*TOOLS, edgeret.Tool("share_pack", "share a pack")])
    forth = write_delta(older, newer, folder / "forth.delta").path
    back = write_delta(newer, older, folder / "back.delta").path
    with BundleStore(folder / "store", threads=1) as store:
        store.add(older, "older")
        store.activate("older")
    return Update(older, newer, forth, back, folder / "store")


def operations(made: Update, place: Path) -> list[tuple[Callable[[BundleStore], object], State]]:
    """What the child does, and how all is after each."""
    bundle = place / "bundle"
    return [
        (lambda _: apply_delta(bundle, made.forth, bundle, overwrite=True), made.state(True, False, "older")),
        (lambda _: apply_delta(bundle, made.back, bundle, overwrite=True), made.state(False, False, "older")),
        (lambda store: store.add(made.forth, "newer"), made.state(False, True, "older")),
        (lambda store: store.activate("newer"), made.state(False, True, "newer")),
    ]


def write(made: Update, place: Path, fatal_call: int, acknowledge: Callable[[], object]) -> None:
    """Does all operations, and dies on the way."""
    made.prepare(place)
    killed.die_at(fatal_call)
    store = BundleStore(place / "store", threads=1)
    for operation, _ in operations(made, place):
        operation(store)
        acknowledge()


def judge(made: Update, place: Path, acknowledged: int) -> str | None:
    """What is wrong after so many acknowledged operations, or None."""
    states = [made.state(False, False, "older"), *(state for _, state in operations(made, place))]
    allowed = states[acknowledged : acknowledged + 2]
    bundle = place / "bundle"
    try:
        with BundleStore(place / "store", threads=1) as store:
            found = verify_bundle(bundle).content_hash, frozenset(one.name for one in store.versions)
            active = store.active.name if store.active else "none"
            if (*found, active) not in allowed:
                return f"found {found}, {active}, expected one of {allowed}"
            assert store.runtime.task("find my file").next().tool == "find_file"
            if found[0] == states[0][0]:
                apply_delta(bundle, made.forth, bundle, overwrite=True)
            apply_delta(bundle, made.back, bundle, overwrite=True)
            store.activate(store.add(made.forth, "again"))
            left = {path.name for path in (place / "store" / "bundles").iterdir()}
            left ^= {version.content_hash for version in store.versions}
            left |= {path.name for path in place.iterdir()} - {"bundle", "store"}
            return f"left behind: {left}" if left else None
    except (edgeret.EdgeretError, AssertionError) as error:
        return f"{type(error).__name__}: {error}"


def kill(
    folder: Path, moments: int, stride: int, first: int = 1, build: Callable[..., Path] = build_tiny
) -> dict[str, Any]:
    """Kills so many children that apply deltas between two small bundles."""
    made = update(folder, build)
    return killed.kill_at_calls(folder, partial(write, made), partial(judge, made), moments, stride, first)


if __name__ == "__main__":
    killed.command(__doc__, kill)
