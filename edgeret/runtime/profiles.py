"""The same bundle by another profile while it runs: less work for each decision when a battery is low or a device is
hot, and back. Decides nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.inputs.query import plain
from edgeret.runtime.components import fingerprint_of
from edgeret.runtime.core_learned import Elsewhere, Key
from edgeret.runtime.learned_plan import LearnedPlan
from edgeret.runtime.loaded import Loaded, load_bundle
from edgeret.runtime.options import Profile
from edgeret.runtime.other_tools import changed, instead
from edgeret.runtime.runtime import Runtime
from edgeret.types import Call


def by_profile(runtime: Runtime, profile: Profile) -> Runtime:
    """See `Runtime.with_profile`."""
    held = runtime.loaded
    options, teacher = held.options, held.teacher
    if options is None or teacher is None:
        raise InputError(f"{held.path}: here Python decides; load the bundle again, with profile={profile!r}")
    asked = replace(options, profile=profile, content_hash=held.bundle_hash, overlay=False)
    if profile == options.profile:
        return runtime
    other = _with_tools_of(load_bundle(held.path, asked), held)
    encoder, before = fingerprint_of(other.manifest), fingerprint_of(held.manifest)
    if encoder == before:
        return Runtime(other, teacher)
    origin = teacher.origin
    if origin is not None and origin.encoder == encoder:
        found = Runtime(other, origin.learned)
        _catch_up(teacher.plans, origin.brought, found)
        return found
    found = Runtime(other)
    if (learned := found.loaded.teacher) is None:
        raise InputError(f"{held.path}: with profile={profile!r} Python decides; load the bundle again for that")
    learned.observers = teacher.observers
    _learn(teacher.plans, found)
    learned.origin = Elsewhere(teacher, before, frozenset(_keyed(learned.plans)))
    return found


def _with_tools_of(fresh: Loaded, held: Loaded) -> Loaded:
    """With the tools of today."""
    there, wanted = fresh.tools, held.tools
    if held.alone:
        return instead(fresh, list(wanted.values()))
    add = [tool for name, tool in wanted.items() if name not in there]
    remove = [name for name in there if name not in wanted]
    substitute = [tool for name, tool in wanted.items() if name in there and there[name] != tool]
    return changed(fresh, add, remove, substitute) if add or remove or substitute else fresh


def _catch_up(plans: Sequence[LearnedPlan], brought: frozenset[Key], back: Runtime) -> None:
    """Learns what was learned meanwhile, and forgets what was forgotten."""
    here = _keyed(plans)
    if gone := {plan.id for key, plan in _keyed(back.loaded.learned.plans).items() if key in brought - here.keys()}:
        back.loaded.learned.forget(lambda plan: plan.id in gone)
    _learn([plan for key, plan in here.items() if key not in brought], back)


def _learn(plans: Sequence[LearnedPlan], runtime: Runtime) -> None:
    """Those that have words, and call tools that are here."""
    tools = runtime.tools
    fresh = [plan for plan in _keyed(plans).values() if all(name in tools for name in plan.calls)]
    runtime.learn([Demonstration(f"learned-{p.id}", str(p.query), tuple(map(Call, p.calls))) for p in fresh])


def _keyed(plans: Sequence[LearnedPlan]) -> dict[Key, LearnedPlan]:
    return {(plain(plan.query), tuple(plan.calls)): plan for plan in plans if plan.query is not None}
