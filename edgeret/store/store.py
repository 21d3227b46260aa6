"""Bundles in versions, one of them active: added, tried, switched to and back, while others decide.

A store is a folder: `store.json` says what there is and what is active, `bundles/` holds the versions, `learned/` what
was learned. What decides is never changed: a switch makes another runtime, and puts it in the place of the one before.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from edgeret.bundle.reader import verify_bundle
from edgeret.errors import BundleError, CheckFailedError, EdgeretError, InputError
from edgeret.runtime.options import LoadOptions, check_path
from edgeret.runtime.runtime import Runtime
from edgeret.store import versions
from edgeret.store.generation import Generation, Loading, Switched
from edgeret.store.learned_moves import FOLDER as LEARNED
from edgeret.store.learned_moves import learned_path
from edgeret.store.probing import Probe, Request, read_must_decide
from edgeret.store.state import (
    FILE,
    Event,
    State,
    Version,
    check_version_name,
    locked,
    read_state,
    stamp,
    write_state,
)
from edgeret.store.tool_changes import FILE as TOOLS
from edgeret.store.tool_changes import NO_CHANGES, ToolChanges, read_changes, write_changes
from edgeret.store.watching import Watching
from edgeret.types import Tool

if TYPE_CHECKING:
    from edgeret.bundle.signature_trust import Trusted


class BundleStore:
    """A folder of bundles, and the runtime of the one that is active. Thread-safe; many processes may share a folder.

    `runtime` is what decides now. Take it anew for each task: a task keeps the runtime that opened it, so its decisions
    are all of one version, whatever is activated meanwhile.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        trust: Trusted | Sequence[Trusted] | None = None,
        overlay: bool = False,
        probe: Probe | None = None,
        must_decide: str | Path | None = None,
        **options: Any,
    ) -> None:
        """Opens the store in `folder`, which is made where it is not there. Nothing is loaded yet.

        `trust` names who must have signed every version, as in `edgeret.load`, whose other `options` are taken, too.
        With `overlay` what is learned is kept in the store, and goes on over all versions with one encoder; without
        it, it lasts as long as this object. `probe` is called with each runtime before it decides for anybody, and
        raises for one that must not. `must_decide` is a file of requests that must be decided so (see
        `edgeret.store.probing.read_must_decide`). Raises InputError.
        """
        check_path("a store's folder", folder)
        if "content_hash" in options:
            raise InputError("a store knows its versions' content hashes; give the hash of a new one to add")
        if not isinstance(overlay, bool):
            raise InputError("overlay must be True or False: a store has a file of its own for each encoder")
        if probe is not None and not callable(probe):
            raise InputError(f"probe must be a function of a runtime, found {type(probe).__name__}")
        try:
            LoadOptions(trust=trust, **options)
        except TypeError as error:
            raise InputError(f"{str(error).partition(' ')[2]}; options are those of edgeret.load") from None
        self.folder = Path(folder).absolute()
        self.trouble: EdgeretError | None = None
        """Why the latest switch that `watch` or the first load tried did not happen; None after one that did."""
        requests = () if must_decide is None else read_must_decide(must_decide)
        self._trust = trust
        self._loading = Loading(self.folder, overlay, {**options, "trust": trust}, probe, requests)
        self._current: Generation | None = None
        self._unkept = NO_CHANGES
        self._stamp: tuple[object, ...] = ()
        self._turn = threading.RLock()
        self._watching: Watching | None = None
        try:
            for path in (self.folder, self.folder / versions.FOLDER, self.folder / LEARNED):
                path.mkdir(mode=0o700, parents=path == self.folder, exist_ok=True)
        except OSError as error:
            raise InputError(f"{self.folder}: no folder can be made there ({error.strerror})") from None
        read_state(self.folder)

    @property
    def runtime(self) -> Runtime:
        """What decides now; costs nothing after the first time, which loads the active version.

        Should that one not load any more, or fail its checks, the last good one is activated, a warning says why, and
        so does `trouble`. Raises InputError where none is active, BundleError or CheckFailedError where none is left.
        """
        current = self._current
        return (self._started() if current is None else current).runtime

    @property
    def version(self) -> Version:
        """Which version `runtime` is of; raises as that does."""
        current = self._current
        return (self._started() if current is None else current).version

    @property
    def changes(self) -> ToolChanges:
        """Which of its tools are not as its bundle has them; raises as `runtime` does."""
        current = self._current
        return (self._started() if current is None else current).changes

    @property
    def overlay(self) -> Path | None:
        """The file of what is learned over `version`; None where that lasts as long as this object. Raises as `runtime`
        does."""
        return learned_path(self.folder, self.runtime.manifest.fingerprint) if self._loading.overlay else None

    @property
    def active(self) -> Version | None:
        """Which version the store says is active; None for none. Loads nothing. Raises BundleError."""
        state = read_state(self.folder)
        return None if state.active is None else state.named(state.active)

    @property
    def versions(self) -> tuple[Version, ...]:
        """All versions, in the order in which they were added. Raises BundleError."""
        return read_state(self.folder).versions

    @property
    def events(self) -> tuple[Event, ...]:
        """What happened last, the oldest first. Raises BundleError."""
        return read_state(self.folder).events

    def find(self, version: str | Version) -> Version:
        """The version of this name, content hash, or first digits of a hash (8 and more). Raises InputError for none
        and for several, and BundleError."""
        name = version.content_hash if isinstance(version, Version) else version
        if not isinstance(name, str):
            raise InputError(f"a version is named by text, found {type(name).__name__}")
        return read_state(self.folder).find(name)

    def add(self, bundle: str | Path, name: str | None = None, *, content_hash: str | None = None) -> Version:
        """Copies a bundle into the store, each byte proved, and its signatures with it; it is not active yet. One that
        is there already is mended if it was damaged. On disk when it returns. `name` is what to call it; None for the
        beginning of its content hash, and for the name that it has if it is there already; another one renames it, and
        a RuntimeWarning says which name nobody finds it by any more. A file is a delta, of which and of the version
        that it was made for the bundle is made. Raises BundleError for a bundle that is not whole,
        not the one of `content_hash` or not trusted, for a delta that does not fit, and InputError."""
        check_path("a bundle's folder", bundle)
        if name is not None:
            check_version_name(name)
        if Path(bundle).is_file():
            listed = {each.content_hash for each in self.versions}
            with versions.made_of(self.folder, Path(bundle), listed, content_hash, self._trust) as made:
                version, old = self._add(made, name, content_hash)
        else:
            version, old = self._add(Path(bundle), name, content_hash)
        if old not in (None, version.name):
            told = f"these bytes were here as {old}; they are called {version.name} from now on"
            warnings.warn(f"{bundle}: {told}", RuntimeWarning, stacklevel=2)
        return version

    def _add(self, bundle: Path, name: str | None, content_hash: str | None) -> tuple[Version, str | None]:
        """A bundle's folder, added; and what its bytes were called before, if they were here."""
        with versions.arriving(self.folder, bundle, content_hash, self._trust) as arrival, locked(self.folder):
            state = read_state(self.folder)
            there = {each.content_hash: each for each in state.versions}
            versions.sweep(self.folder, there)
            old = there.get(arrival.content_hash)
            version = Version(arrival.content_hash, name or (old.name if old else arrival.content_hash[:12]))
            changed = state.with_version(version)
            try:
                if old is None or not self._is_whole(old):
                    arrival.put_in_place()
                arrival.put_signatures()
                if changed != state:
                    write_state(self.folder, changed)
            except Exception:
                with suppress(OSError):  # where there was no room for all, none of it stays
                    versions.sweep(self.folder, there)
                raise
        return version, old.name if old else None

    def activate(
        self, version: str | Version, *, probe: Probe | None = None, must_decide: str | Path | None = None
    ) -> Switched:
        """Loads a version, has it decide what it must, and then makes it the active one, here at once and in other
        processes when they look. `version` is a name, a content hash or its first digits.

        It is verified, loaded and warmed up, its golden vectors and decisions are done again, then the requests of
        `must_decide` and `probe` (None: those that the store has). If any of this fails, nothing was switched and the
        store says why (`events`). Tasks that are open go on with the runtime that opened them. Raises InputError for a
        version that is not there, BundleError, CheckFailedError, OverlayError, and what `edgeret.load` raises.
        """
        requests = None if must_decide is None else read_must_decide(must_decide)
        with self._turn:
            found = self.find(version)
            return self._switch(found, "activated", "", probe, requests)

    def rollback(self, reason: str = "") -> Switched:
        """Activates the version that was active before, as `activate` does; should it fail, the one before that. The
        version that is left is not gone back to by itself. Raises InputError where there is none, or what the last one
        that was tried raised."""
        with self._turn:
            state = read_state(self.folder)
            failure: EdgeretError = InputError(f"{self.folder}: no version was active before this one")
            for content_hash in state.good:
                try:
                    return self._switch(state.named(content_hash), "rolled back", reason, None, None)
                except EdgeretError as error:
                    failure = error
            raise failure

    def remove(self, version: str | Version) -> Version:
        """Deletes a version that is not active; what was learned stays. Runtimes that are loaded go on. Raises
        InputError."""
        with self._turn, locked(self.folder):
            found = self.find(version)
            state = read_state(self.folder).without(found)
            write_state(self.folder, state)
            versions.sweep(self.folder, [each.content_hash for each in state.versions])
        return found

    def with_tools(
        self,
        *,
        add: Sequence[Tool] = (),
        remove: Collection[str] = (),
        replace: Sequence[Tool] = (),
        keep: bool = False,
    ) -> Runtime:
        """Changes the tools of what decides now, as `Runtime.with_tools` does, and of every version after it as far as
        it allows: see `Switched.tools_left`. With `keep` for later starts and other processes, too. Gives the runtime
        with them. Raises InputError."""
        with self._turn:
            current = self._started()
            runtime = current.runtime.with_tools(add=add, remove=remove, replace=replace)
            if keep:
                with locked(self.folder):
                    write_changes(self.folder, read_changes(self.folder).then(add, remove, replace))
                self._unkept = self._unkept.without({*remove, *(tool.name for tool in (*add, *replace))})
            else:
                self._unkept = self._unkept.then(add, remove, replace)
            self._current = current.with_tools(runtime, current.changes.then(add, remove, replace))
            return runtime

    def refresh(self) -> Switched | None:
        """Takes up what other processes activated since, or which tools they kept; None if that is nothing. What has
        changed is loaded and checked here, too; if that fails, this process goes on as it was, and the error is raised
        once. Costs two looks at files where nothing changed."""
        with self._turn:
            if self._current is None or (found := self._stamped()) == self._stamp:
                return None
            self._stamp = found
            state = read_state(self.folder)
            if state.active is None:
                return None
            version, before, changes = state.named(state.active), self._current, self._changes()
            if version.content_hash != before.version.content_hash:
                return self._taken(*self._loading.prepare(version, before, changes))
            if changes == before.changes:
                return None
            runtime, left = changes.applied(before.pristine)
            self._current = before.with_tools(runtime, changes)
            return Switched(version, before.version, tools_left=tuple(left))

    def watch(self, every_s: float = 1.0, told: Callable[[Switched | EdgeretError], object] | None = None) -> None:
        """Refreshes every so many seconds from now on, in a thread of its own, until `close`; `told` hears of each
        switch and of each that failed. Raises InputError if it watches already."""
        if not isinstance(every_s, int | float) or not 0 < every_s <= 86_400:
            raise InputError(f"every_s must lie above 0 and be a day at most, found {every_s}")
        with self._turn:
            if self._watching is not None:
                raise InputError(f"{self.folder}: is watched already")
            self._watching = Watching(self, every_s, told)

    def close(self) -> None:
        """Ends watching, and closes the file of what was learned; the runtime still decides."""
        with self._turn:
            watching, self._watching = self._watching, None
        if watching is not None:
            watching.end()  # without the turn, which it may be waiting for
        with self._turn:
            if self._current is not None:
                self._current.pristine.close()

    def __enter__(self) -> Self:
        """Itself; closed at the end."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes it."""
        self.close()

    def _is_whole(self, version: Version) -> bool:
        """Whether all that lies there is as it was added."""
        try:
            verify_bundle(versions.version_path(self.folder, version.content_hash), content_hash=version.content_hash)
        except BundleError:
            return False
        return True

    def _stamped(self) -> tuple[object, ...]:
        return stamp(self.folder, FILE, TOOLS)

    def _changes(self) -> ToolChanges:
        """All changes of tools: those that the store keeps, and those of this process after them."""
        return self._unkept.over(read_changes(self.folder))

    def _started(self) -> Generation:
        """The generation that decides; loads it the first time."""
        with self._turn:
            if self._current is not None:
                return self._current
            self._stamp = self._stamped()
            state = read_state(self.folder)
            if state.active is None:
                raise InputError(f"{self.folder}: no version is active; activate one: edgeret store activate")
            version = state.named(state.active)
            try:
                prepared, report = self._loading.prepare(version, None, self._changes())
            except (BundleError, CheckFailedError) as error:
                if not state.good:
                    raise
                self.rollback(f"{version.name} could not be used: {error}")
                self.trouble = error
                assert self._current is not None, "a rollback that raises nothing has switched"
                warnings.warn(f"{error}; {self._current.version.name} is active again", RuntimeWarning, stacklevel=3)
                return self._current
            self._taken(prepared, report)
            return prepared

    def _switch(
        self, version: Version, what: str, reason: str, probe: Probe | None, requests: Sequence[Request] | None
    ) -> Switched:
        """Prepares a version, says in the store that it is active, and lets it decide."""
        before = self._current
        state = read_state(self.folder)
        active = None if state.active is None else state.named(state.active)
        try:
            prepared, report = self._loading.prepare(version, before, self._changes(), active, probe, requests)
        except EdgeretError as error:
            self._note(version, str(error))
            raise
        with locked(self.folder):
            now: State = read_state(self.folder)
            now.find(version.content_hash)  # nobody removed it meanwhile
            write_state(self.folder, now.activated(version, what, reason))
        return self._taken(prepared, report)

    def _taken(self, prepared: Generation, report: Switched) -> Switched:
        before, self._current, self.trouble = self._current, prepared, None
        if before is not None:
            before.retire()
        return report

    def _note(self, version: Version, reason: str) -> None:
        """Says in the store why a version was refused, if it can be said."""
        with suppress(EdgeretError), locked(self.folder):  # what went wrong first is what is raised
            write_state(self.folder, read_state(self.folder).told(version, "refused", reason))
