"""The same bundle by another profile while it runs: less work for each decision when a battery is low or a device is
hot, and back. Decides nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from edgeret.runtime.learned import Elsewhere
from edgeret.runtime.learned_plan import Key, LearnedPlan, callable_here, keyed
from edgeret.runtime.loaded import Loaded, load_bundle
from edgeret.runtime.options import Profile


def by_profile(runtime: Any, profile: Profile) -> Any:
    """See `Runtime.with_profile`; it makes another one of its kind."""
    kind, held = type(runtime), runtime.loaded
    options, teacher = held.options, held.learned
    asked = replace(options, profile=profile, content_hash=held.bundle_hash, overlay=False)
    if profile == options.profile:
        return runtime
    other = _with_tools_of(load_bundle(held.path, asked), held)
    encoder, before = other.manifest.fingerprint, held.manifest.fingerprint
    if encoder == before:
        return kind(other, teacher)
    origin = teacher.origin
    if origin is not None and origin.encoder == encoder:
        found = kind(other, origin.learned)
        _catch_up(teacher.plans, origin.brought, found)
        return found
    found = kind(other)
    learned = found.loaded.learned
    learned.observers = teacher.observers
    _learn(teacher.plans, found)
    learned.origin = Elsewhere(teacher, before, frozenset(keyed(learned.plans)))
    return found


def _with_tools_of(fresh: Loaded, held: Loaded) -> Loaded:
    """With the tools of today."""
    there, wanted = fresh.tools, held.tools
    if held.alone:
        return fresh.instead(list(wanted.values()))
    add = [tool for name, tool in wanted.items() if name not in there]
    remove = [name for name in there if name not in wanted]
    substitute = [tool for name, tool in wanted.items() if name in there and there[name] != tool]
    return fresh.changed(add, remove, substitute) if add or remove or substitute else fresh


def _catch_up(plans: Sequence[LearnedPlan], brought: frozenset[Key], back: Any) -> None:
    """Learns what was learned meanwhile, and forgets what was forgotten."""
    here = keyed(plans)
    if gone := {plan.id for key, plan in keyed(back.loaded.learned.plans).items() if key in brought - here.keys()}:
        back.loaded.learned.forget(lambda plan: plan.id in gone)
    _learn([plan for key, plan in here.items() if key not in brought], back)


def _learn(plans: Sequence[LearnedPlan], runtime: Any) -> None:
    """Those that have words, and call tools that are here."""
    fresh = callable_here(keyed(plans).values(), runtime.tools)
    runtime.learn([plan.demonstration for plan in fresh])
