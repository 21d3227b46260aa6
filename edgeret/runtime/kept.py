"""What an overlay keeps, by its records: which tools changed, and which plans were learned. Changes nothing, and knows
nothing of how anything is learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle.codec import get_array
from edgeret.bundle.overlay import Record, senseless
from edgeret.errors import BundleError, InputError
from edgeret.records import dataclass
from edgeret.runtime.learned_plan import LearnedPlan, read_plan

CHANGE = "tools"
"""The kind of an overlay's records that hold a change of tools."""
PLAN, STATE, WORDS = "plan", "learned-state", "learned-plan"
"""A plan to learn again; all that was learned, as arrays; and, before that, what is told of each of its plans."""
SAME_QUERY = 0.9995
"""Cosine from which on two queries are one: float16 keeps a unit vector to about 1e-4."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Names of tools that changed, from a bundle's to those of today, sorted."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    replaced: tuple[str, ...]


def summed(records: Sequence[Record]) -> Changes:
    """All changes that an overlay holds as one. Takes records as they are: `replayed` is what checks them."""
    added: set[str] = set()
    removed: set[str] = set()
    replaced: set[str] = set()
    for record in records:
        if record.kind != CHANGE:
            continue
        for name in record.value["removed"]:
            if name not in added:
                removed.add(name)
            added.discard(name)
            replaced.discard(name)
        for tool in record.value["added"]:
            (replaced if tool["name"] in removed else added).add(tool["name"])
            removed.discard(tool["name"])
        replaced |= {tool["name"] for tool in record.value["replaced"]} - added
    return Changes(*(tuple(sorted(names)) for names in (added, removed, replaced)))


def plans_kept(records: Sequence[Record], dimension: int, where: str) -> tuple[LearnedPlan, ...]:
    """The plans that an overlay holds, the oldest first, those with the same calls for the same query once. Beyond
    10,000 steps what decides drops some of them. Raises OverlayError for records that make no sense."""
    plans: dict[int, LearnedPlan] = {}
    vectors: dict[int, NDArray[np.float32]] = {}
    try:
        for record in records:
            if record.kind == STATE:
                vectors.update(_vectors(record.value, dimension, where))
            elif record.kind == WORDS:
                told = read_plan(record.value, where)
                plans[told.id] = told
            elif record.kind == PLAN:
                told = read_plan(record.value, where)
                vector = get_array(record.value, "vector", "<f2", (dimension,), where).astype(np.float32)
                same = (n for n, plan in plans.items() if plan.calls == told.calls and n in vectors)
                number = next((n for n in same if vectors[n] @ vector >= SAME_QUERY), max(plans, default=-1) + 1)
                plans[number], vectors[number] = replace(told, id=number), vector
    except (BundleError, InputError) as error:
        raise senseless(error, where) from None
    return tuple(plan for _, plan in sorted(plans.items()))


def _vectors(state: Mapping[str, Any], dimension: int, where: str) -> dict[int, NDArray[np.float32]]:
    ids = get_array(state, "ids", "<i8", (None,), where)
    rows = get_array(state, "vectors", "<f2", (len(ids), dimension), where).astype(np.float32)
    return dict(zip(ids.tolist(), rows, strict=True))
