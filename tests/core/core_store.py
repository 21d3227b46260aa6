"""The header's store from Python, and writers of it that are killed. A command, with tests in PYTHONPATH:
`core_store.py --help`.

A child adds, activates, rolls back and removes with the library alone, and acknowledges each operation on a pipe. It is
killed before its n-th call that changes the disk, or half way through where that writes, for one n after another. The
store must then be what the last acknowledged operation left, or what the one after it leaves, to Python as to C.
"""

from __future__ import annotations

import ctypes as c
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import killed
from binding import Core, Failure, LoadOptions, Model, Text
from conftest import build_tiny
from core_build import CORE, compiled

from edgeret import BundleStore
from edgeret_export.recipe import Recipe

COUNTED = ("write", "fsync", "rename", "mkdir", "unlink", "rmdir")
Probe = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_void_p, c.POINTER(Failure))
State = tuple[frozenset[str], str | None]
"""Versions, and the active one."""


class StoreOptions(c.Structure):
    _fields_ = (
        ("size", c.c_size_t), ("load", c.POINTER(LoadOptions)), ("probe", Probe), ("context", c.c_void_p),
        ("wait_s", c.c_double),
    )  # fmt: skip


class Version(c.Structure):
    _fields_ = (("content_hash", c.c_char * 65), ("name", c.c_char * 65), ("active", c.c_int32), ("good", c.c_int32))


class Store:
    """`er_store`. `probe` gets each model, and gives the words that refuse it, or None; it must outlive no store."""

    def __init__(
        self,
        core: Core,
        folder: Path,
        probe: Callable[[Model], str | None] | None = None,
        wait_s: float = 0.0,
        **options: Any,
    ) -> None:
        self.core, self.folder, self.handle = core, folder, c.c_void_p()

        def asked(_context: Any, model: int, failure: Any) -> int:
            words = probe(Model(core, c.c_void_p(model))) if probe else None
            if words is not None:
                failure[0].text = words.encode()
            return 0 if words is None else 2

        self._probe = Probe(asked) if probe else Probe()
        told = LoadOptions(c.sizeof(LoadOptions), **options)
        given = StoreOptions(c.sizeof(StoreOptions), c.pointer(told), self._probe, None, wait_s)
        core("er_store_open", os.fsencode(folder), c.byref(given), c.byref(self.handle))

    def add(self, bundle: Path, name: str = "", content_hash: str = "") -> Version:
        found = Version()
        self.core(
            "er_store_add", self.handle, os.fsencode(bundle), Text.of(name), Text.of(content_hash), c.byref(found)
        )
        return found

    def versions(self, room: int = 100) -> list[Version]:
        found, count = (Version * max(room, 1))(), c.c_size_t(room)
        self.core("er_store_list", self.handle, found if room else None, c.byref(count))
        return list(found[: min(room, count.value)])

    def activate(self, version: str) -> Model:
        return self._made("er_store_activate", Text.of(version))

    def rollback(self, reason: str | bytes = "") -> Model:
        return self._made("er_store_rollback", Text.of(reason))

    def load(self) -> tuple[Model, str]:
        """The model that decides, and why it is not the active one's."""
        trouble = Failure()
        return self._made("er_store_load", then=(c.byref(trouble),)), trouble.text.decode("utf-8", "replace")

    def remove(self, version: str) -> None:
        self.core("er_store_remove", self.handle, Text.of(version))

    def state(self) -> State:
        told = self.versions()
        return frozenset(one.name.decode() for one in told), next((v.name.decode() for v in told if v.active), None)

    def close(self) -> None:
        self.core.library.er_store_close(self.handle)

    def _made(self, name: str, *arguments: Any, then: tuple[Any, ...] = ()) -> Model:
        model = c.c_void_p()
        self.core(name, self.handle, *arguments, c.byref(model), *then)
        return Model(self.core, model)


def counting(kept: Path) -> Core:
    """The library, whose calls that change the disk `probe_disk` counts."""
    sources = [*sorted((CORE / "src").glob("*.c")), CORE / "test" / "probe_disk.c"]
    flags = {CORE / "src" / "disk.c": tuple(f"-D{name}=probe_{name}" for name in COUNTED)}
    found = Core(compiled(sources, kept, flags))
    found.library.probe_disk.restype, found.library.probe_disk.argtypes = None, (c.c_long, c.c_long)
    return found


def two_bundles(folder: Path) -> tuple[Path, Path]:
    """A bundle whose table runs in the library, and one of tools alone."""
    recipe = Recipe(precision="fp32", profile="tiny")
    return build_tiny(folder / "first", recipe=recipe), build_tiny(folder / "second", recipe=recipe, demonstrations=())


def operations(first: Path, second: Path) -> list[tuple[Callable[[Store], object], State]]:
    """What the child does, and how the store is after each."""
    both = frozenset(("one", "two"))
    return [
        (lambda store: store.add(first, "one"), (frozenset(("one",)), None)),
        (lambda store: store.activate("one"), (frozenset(("one",)), "one")),
        (lambda store: store.add(second, "two"), (both, "one")),
        (lambda store: store.activate("two"), (both, "two")),
        (lambda store: _damage(store), (both, "two")),
        (lambda store: store.add(first), (both, "two")),
        (lambda store: store.rollback("why not"), (both, "one")),
        (lambda store: store.remove("two"), (frozenset(("one",)), "one")),
    ]


def _damage(store: Store) -> None:
    """As a disk does it, to the version that is not active."""
    (store.folder / "bundles" / store.versions()[0].content_hash.decode() / "tools.json").write_bytes(b"[]")


def kill_at_calls(
    core: Core, folder: Path, bundles: tuple[Path, Path], kills: int, stride: int = 1, first: int = 1
) -> dict[str, Any]:
    """Kills writers to a store of two bundles, as `killed.kill_at_calls` has it; the library counts its own calls."""

    def write(place: Path, fatal_call: int, acknowledge: Callable[[], object]) -> None:
        core.library.probe_disk(fatal_call, 0)
        store = Store(core, place / "store", threads=1)
        for operation, _ in operations(*bundles):
            operation(store)
            acknowledge()

    def judged(place: Path, acknowledged: int) -> str | None:
        return judge(core, place / "store", bundles, acknowledged)

    return killed.kill_at_calls(folder, write, judged, kills, stride, first)


def judge(core: Core, folder: Path, bundles: tuple[Path, Path], acknowledged: int) -> str | None:
    """What is wrong after so many acknowledged operations, or None."""
    allowed = [(frozenset[str](), None), *(state for _, state in operations(*bundles))][acknowledged : acknowledged + 2]
    try:
        theirs = BundleStore(folder, threads=1)
        found = frozenset(one.name for one in theirs.versions), theirs.active and theirs.active.name
        store = Store(core, folder, threads=1)
        if store.state() != found or found not in allowed:
            return f"found {store.state()}, Python {found}, expected one of {allowed}"
        if found[1] is not None:
            model, trouble = store.load()
            if trouble or model.task("find my file").next().tool != "find_file":
                return f"the active one does not decide: {trouble}"
            model.close()
            assert theirs.runtime.task("find my file").next().tool == "find_file"
        store.activate(store.add(bundles[0], "again").name.decode()).close()
        left = {path.name for path in (folder / "bundles").iterdir()}
        listed = {one.content_hash.decode() for one in store.versions()}
        store.close()
        theirs.close()
        return f"left behind: {left ^ listed}" if left != listed else None
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def kill(folder: Path, moments: int, stride: int) -> dict[str, Any]:
    """Kills so many children that write to a store of two small bundles."""
    return kill_at_calls(counting(folder), folder, two_bundles(folder), moments, stride)


if __name__ == "__main__":
    killed.command(__doc__, kill)
