"""One version that decides: loaded, proved, with what was learned and with the tools of today. Decides nothing about
which version that should be."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from edgeret.bundle import roles
from edgeret.bundle.reader import open_bundle, read_manifest
from edgeret.encoders.base import EncoderSpec
from edgeret.errors import BundleError
from edgeret.fields import get_strings
from edgeret.records import dataclass
from edgeret.runtime.learned_plan import LearnedPlan
from edgeret.runtime.loading import load, with_overlay
from edgeret.runtime.runtime import Runtime
from edgeret.store.learned_moves import Moved, kept, learn_again, learned_path, plans_in
from edgeret.store.probing import Probe, Request, caller_check, must_decide, own_checks, require
from edgeret.store.state import Version
from edgeret.store.tool_changes import ToolChanges
from edgeret.store.versions import version_path


@dataclass(frozen=True, slots=True)
class Switched:
    """What a switch did: the `version` that decides now and the one `before`; the `checks` that it passed, each
    `{"name", "ok", "detail"}`; what became of what was `learned`; and which changes of tools it could not take over, a
    line each."""

    version: Version
    before: Version | None
    checks: tuple[Mapping[str, Any], ...] = ()
    learned: Moved = Moved()
    tools_left: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready data."""
        return {
            "version": self.version.name,
            "content_hash": self.version.content_hash,
            "before": None if self.before is None else self.before.name,
            "checks": [dict(check) for check in self.checks],
            "learned": self.learned.to_dict(),
            "tools_left": list(self.tools_left),
        }


@dataclass(frozen=True, slots=True)
class Generation:
    """A version that is loaded: the runtime as its bundle is, `pristine`, and the one with the tools of today."""

    version: Version
    pristine: Runtime
    runtime: Runtime
    changes: ToolChanges

    def with_tools(self, runtime: Runtime, changes: ToolChanges) -> Generation:
        """The same version with other tools."""
        return replace(self, runtime=runtime, changes=changes)

    def retire(self) -> None:
        """Lets go of the file of what was learned; tasks that are open open it again if they learn."""
        self.pristine.close()


@dataclass(frozen=True, slots=True)
class Loading:
    """How a store loads its versions: its folder, whether what is learned is kept there, the options of
    `edgeret.load`, and what each version must get right."""

    folder: Path
    overlay: bool
    options: Mapping[str, Any]
    probe: Probe | None
    requests: Sequence[Request]

    def prepare(
        self,
        version: Version,
        before: Generation | None,
        changes: ToolChanges,
        active: Version | None = None,
        probe: Probe | None = None,
        requests: Sequence[Request] | None = None,
    ) -> tuple[Generation, Switched]:
        """A version ready to decide in the place of `before`, with nothing switched yet. `active` is what this version
        takes the place of in the store, None where that was done before; `probe` and `requests` stand in for the
        store's own. Raises CheckFailedError, which says why, for a version that must not decide."""
        path = version_path(self.folder, version.content_hash)
        bare = load(path, content_hash=version.content_hash, **self.options)
        bare.warmup()
        checks = [{"name": "integrity", "ok": True, "detail": f"all files as listed, {version.content_hash[:12]}…"}]
        checks += own_checks(bare)
        require(checks, version.name)
        pristine, again = self._with_learned(bare, before, changes, active)
        runtime, left = changes.applied(pristine)
        if asked := self.requests if requests is None else requests:
            checks.append(must_decide(runtime, asked))
        for each in (self.probe if probe is None else probe,):
            if each is not None:
                checks.append(caller_check(runtime, each))
        require(checks, version.name)
        moved = kept(runtime) if again is None else again
        generation = Generation(version, pristine, runtime, changes)
        last = active if before is None else before.version
        return generation, Switched(version, last, tuple(checks), moved, tuple(left))

    def _with_learned(
        self, bare: Runtime, before: Generation | None, changes: ToolChanges, active: Version | None
    ) -> tuple[Runtime, Moved | None]:
        """The runtime with what was learned so far; and what became of it, None where it simply goes on."""
        fingerprint = bare.manifest.fingerprint
        if not self.overlay:
            if before is None:
                return bare, None
            if before.pristine.manifest.fingerprint == fingerprint:
                return Runtime(bare.loaded, before.pristine.learned), None
            _observe(bare, before)
            return bare, learn_again(before.pristine.learned.plans, before.runtime.tools, bare)
        runtime = with_overlay(bare.loaded, learned_path(self.folder, fingerprint), self.options.get("overlay_key"))
        runtime.learned.kept = None  # the store keeps tools, for all versions; in this file they would be one version's
        if before is not None:
            _observe(runtime, before)
        found = self._plans_of_another(fingerprint, active, changes)
        return runtime, None if found is None else learn_again(*found, runtime)

    def _plans_of_another(
        self, fingerprint: str, active: Version | None, changes: ToolChanges
    ) -> tuple[Sequence[LearnedPlan], Collection[str]] | None:
        """The plans of the version that is left, as its file has them by now, and the names of its tools with today's
        changes; None if that has the same encoder, or if there is no such version. One that is damaged has none."""
        if active is None:
            return None
        try:
            place = version_path(self.folder, active.content_hash)
            manifest = read_manifest(place)
            where, old = str(self.folder), manifest.fingerprint
            dimension = EncoderSpec.of(manifest.info, where).dimension
            if old == fingerprint:
                return None
            bundle = open_bundle(place, content_hash=active.content_hash, only=(roles.INDEX,))
            names = get_strings(bundle.map(roles.INDEX), "names", where)
            had = {*names} - changes.removed | changes.added.keys()
        except BundleError:
            return None
        path = learned_path(self.folder, old)
        return plans_in(path, old, dimension, self.options.get("overlay_key")), had


def _observe(runtime: Runtime, before: Generation) -> None:
    """Those who watch go on watching."""
    runtime.learned.observers = before.pristine.learned.observers
