"""What a store's file says: which versions there are, which one is active, and what became of them. Loads no bundle.

`store.json` is replaced by renaming, so a reader finds what was there before a change or after it, whoever died
meanwhile. Writers hold the file `lock`, one at a time.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from edgeret.bundle.locked_file import LockedFile, open_regular, read_all
from edgeret.bundle.placing import flush_folder
from edgeret.errors import BundleError, InputError, OverlayError
from edgeret.fields import get
from edgeret.quoting import quoted
from edgeret.records import dataclass

FORMAT = 1
FILE, LOCK = "store.json", "lock"
MAX_BYTES = 4 << 20
MAX_VERSIONS = 1000
MAX_EVENTS = 100
"""What happened last; older events go."""
MAX_REASON = 500
WAIT_S = 60.0
"""How long another process may hold the store: it holds it while it renames, not while it copies or loads."""
_HASH = re.compile("[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
_KINDS = ("activated", "rolled back", "refused")
_ATTEMPTS, _PAUSE_S = 50, 0.02


@dataclass(frozen=True, slots=True)
class Version:
    """A bundle in a store: its content hash, 64 hex digits, and what people call it."""

    content_hash: str
    name: str


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a version: it was "activated", "rolled back" to, or "refused". `at` is seconds since
    1970, `reason` why in words, empty where nobody said."""

    at: float
    what: str
    version: str
    reason: str


@dataclass(frozen=True, slots=True)
class State:
    """All that the file says. `active` is a content hash or None, `good` are those that were active before, the latest
    first."""

    active: str | None = None
    good: tuple[str, ...] = ()
    versions: tuple[Version, ...] = ()
    events: tuple[Event, ...] = ()

    def find(self, version: str) -> Version:
        """The version of this name, content hash, or beginning of a hash (8 digits and more). Raises InputError."""
        named = [each for each in self.versions if version in (each.name, each.content_hash)]
        if not named and re.fullmatch("[0-9a-f]{8,63}", version):
            named = [each for each in self.versions if each.content_hash.startswith(version)]
        if len(named) != 1:
            there = ", ".join(each.name for each in self.versions[-10:]) or "none yet"
            what = "several versions are" if named else "no version is"
            raise InputError(f"{what} called {quoted(version)}; there are: {there}; see: edgeret store list")
        return named[0]

    def named(self, content_hash: str) -> Version:
        """The version of a content hash that is there."""
        return next(each for each in self.versions if each.content_hash == content_hash)

    def with_version(self, version: Version) -> State:
        """With one more version; one of its hash gets its name. Raises InputError for a name that another one has, and
        for more versions than a store may have."""
        others = tuple(each for each in self.versions if each.content_hash != version.content_hash)
        if any(each.name == version.name for each in others):
            raise InputError(f"another version is called {quoted(version.name)}; give it another name")
        if len(others) == MAX_VERSIONS:
            raise InputError(f"{MAX_VERSIONS} versions are here, and no more fit; remove some: edgeret store remove")
        same = len(others) < len(self.versions)
        listed = tuple(version if each.content_hash == version.content_hash else each for each in self.versions)
        return replace(self, versions=listed if same else (*others, version))

    def without(self, version: Version) -> State:
        """Without a version. Raises InputError for the active one."""
        if version.content_hash == self.active:
            raise InputError(f"{version.name} is active; activate another one, then remove it")
        left = tuple(each for each in self.versions if each != version)
        return replace(self, versions=left, good=tuple(each for each in self.good if each != version.content_hash))

    def activated(self, version: Version, what: str, reason: str = "") -> State:
        """With this version active. The one before is good from now on, unless it is left for a better one: then it is
        forgotten as such."""
        before = [] if self.active is None or what == "rolled back" else [self.active]
        good = [each for each in (*before, *self.good) if each != version.content_hash]
        return replace(self.told(version, what, reason), active=version.content_hash, good=tuple(dict.fromkeys(good)))

    def told(self, version: Version, what: str, reason: str) -> State:
        """With an event."""
        event = Event(round(time.time(), 3), what, version.content_hash, reason[:MAX_REASON])
        return replace(self, events=(*self.events[-(MAX_EVENTS - 1) :], event))


def check_version_name(name: object) -> str:
    """Raises InputError unless this can be a version's name."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or _HASH.fullmatch(name):
        raise InputError(
            f"a version's name has up to 64 letters, digits and . _ + - and begins with a letter or digit, found "
            f"{quoted(name) if isinstance(name, str) else type(name).__name__}"
        )
    return name


def read_state(folder: Path) -> State:
    """What the store at `folder` says; nothing of one that was never written. Raises BundleError for a damaged one."""
    where = folder / FILE
    try:
        descriptor = open_regular(where, os.O_RDONLY)
    except FileNotFoundError:
        return State()
    except OverlayError as error:
        raise BundleError(str(error)) from None
    try:
        data = read_all(descriptor, MAX_BYTES, where)
    except (OverlayError, OSError) as error:
        raise BundleError(f"{where}: cannot be read ({error})") from None
    finally:
        os.close(descriptor)
    try:
        return _parsed(json.loads(data), str(where))
    except (ValueError, RecursionError) as error:
        raise _damaged(str(where), str(error)) from None


def stamp(folder: Path, *names: str) -> tuple[object, ...]:
    """What changes whenever one of these files is replaced."""
    found: list[object] = []
    for name in names:
        try:
            status = (folder / name).stat()
        except OSError:
            found.append(None)
        else:
            found.append((status.st_ino, status.st_mtime_ns, status.st_size))
    return tuple(found)


def write_state(folder: Path, state: State) -> None:
    """Puts the state in place, on disk when it returns. Hold `locked`. Raises InputError; then what was there stays."""
    value = {"format": FORMAT, **asdict(state)}
    replace_file(folder / FILE, json.dumps(value, ensure_ascii=False, indent=1).encode())


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keeps other writers of the store out. Raises InputError where that cannot be had."""
    try:
        file = LockedFile(folder / LOCK, WAIT_S)
    except OverlayError as error:
        raise InputError(str(error)) from None
    try:
        yield
    finally:
        file.close()


def replace_file(place: Path, data: bytes) -> None:
    """Puts a file with `data` in place by renaming, both the file and its name flushed. Raises InputError."""
    partial = place.with_name(f".{place.name}.partial")  # one writer at a time, so one name will do
    try:
        with suppress(FileNotFoundError):
            partial.unlink()
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(descriptor, left) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        _rename(partial, place)
        flush_folder(place.parent)
    except OSError as error:
        with suppress(OSError):
            partial.unlink()
        raise InputError(
            f"{place}: cannot be written ({error.strerror or error}); what was in it is kept; make room"
        ) from None


def _rename(partial: Path, place: Path) -> None:
    """Windows replaces no file that somebody reads at the moment, so there it is tried for a second."""
    for attempt in range(_ATTEMPTS):
        try:
            partial.replace(place)
            return
        except PermissionError:
            if sys.platform != "win32" or attempt + 1 == _ATTEMPTS:
                raise
            time.sleep(_PAUSE_S)


def _parsed(value: Any, where: str) -> State:
    if not isinstance(value, dict):
        raise _damaged(where, "no map")
    try:
        if (version := get(value, "format", int, where)) != FORMAT:
            raise BundleError(f"{where}: a store of format {version}, this edgeret reads {FORMAT}; use a newer one")
        versions = tuple(_version(each, where) for each in get(value, "versions", list, where))
        events = tuple(_event(each, where) for each in get(value, "events", list, where))
        good, active = get(value, "good", list, where), value.get("active")
    except BundleError as error:
        raise BundleError(str(error).removesuffix("; build the bundle again")) from None
    known = {each.content_hash for each in versions}
    names = {each.name for each in versions}
    if not len(known) == len(names) == len(versions) <= MAX_VERSIONS or len(events) > MAX_EVENTS:
        raise _damaged(where, "versions twice, or too many")
    if not all(isinstance(each, str) and each in known for each in (*good, *([] if active is None else [active]))):
        raise _damaged(where, "a version that is not listed")
    return State(active, tuple(good), versions, events)


def _version(value: Any, where: str) -> Version:
    if not isinstance(value, dict) or not _HASH.fullmatch(get(value, "content_hash", str, where)):
        raise _damaged(where, "a version without a content hash")
    if not _NAME.fullmatch(get(value, "name", str, where)):
        raise _damaged(where, "a version without a name")
    return Version(value["content_hash"], value["name"])


def _event(value: Any, where: str) -> Event:
    if not isinstance(value, Mapping):
        raise _damaged(where, "an event that is no map")
    texts: Sequence[str] = [get(value, key, str, where) for key in ("what", "version", "reason")]
    if texts[0] not in _KINDS or len(texts[2]) > MAX_REASON:
        raise _damaged(where, "an event of an unknown kind")
    return Event(float(get(value, "at", (int, float), where)), texts[0], texts[1], texts[2])


def _damaged(where: str, why: str) -> BundleError:
    return BundleError(
        f"{where}: damaged ({why[:100]}); move it away and add the bundles again: their folders are in "
        f"{Path(where).parent / 'bundles'}"
    )
