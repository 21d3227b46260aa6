"""What was learned over one version of a bundle, brought to the next one, as far as its encoder and tools allow. Knows
nothing of which version is active.

What is learned lies in a file for each encoder, not for each version: all versions with one encoder read and write the
same. To another encoder the vectors mean nothing, so there the plans whose words were kept are learned again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from edgeret.bundle.overlay_file import read_overlay
from edgeret.inputs.demonstrations import Demonstration
from edgeret.inputs.query import plain
from edgeret.records import dataclass
from edgeret.runtime.kept import plans_kept
from edgeret.runtime.learned_plan import LearnedPlan
from edgeret.runtime.runtime import Runtime
from edgeret.types import Call

FOLDER = "learned"


@dataclass(frozen=True, slots=True)
class Moved:
    """What became of what was learned: plans that count on (`kept`, by the same vectors), those that were learned again
    from their words, and why others were not, with how many."""

    kept: int = 0
    again: int = 0
    left: tuple[tuple[str, int], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready data."""
        return {"kept": self.kept, "learned_again": self.again, "left": dict(self.left)}


def learned_path(store: Path, fingerprint: str) -> Path:
    """The file of what was learned with an encoder."""
    return store / FOLDER / f"{fingerprint}.overlay"


def plans_in(path: Path, fingerprint: str, dimension: int, key: bytes | None) -> tuple[LearnedPlan, ...]:
    """The plans that a file bound to `key` holds, none of one that is not there. Raises OverlayError."""
    return plans_kept(read_overlay(path, fingerprint, key), dimension, str(path))


def kept(runtime: Runtime) -> Moved:
    """What counts on, where the encoder is the same. A plan whose tools this version has not waits until one has."""
    tools = runtime.tools
    plans = runtime.learned.plans
    waiting = sum(any(name not in tools for name in plan.calls) for plan in plans)
    left = [("wait for tools that this version has not", waiting)] if waiting else []
    return Moved(kept=len(plans) - waiting, left=tuple(left))


def learn_again(plans: Sequence[LearnedPlan], had: Collection[str], runtime: Runtime) -> Moved:
    """Brings what `runtime` has learned to these plans, made with another encoder over the tools that one `had`: those
    whose words were kept are learned again, and those that it could have brought there, and that are not there any
    more, are forgotten. Raises OverlayError."""
    wanted = {_key(plan.query, plan.calls): plan for plan in plans if plan.query is not None}
    there = {_key(plan.query, plan.calls): plan.id for plan in runtime.learned.plans if plan.query is not None}
    # A plan of a tool that the other version had not was never there: nobody forgot it.
    if gone := {number for key, number in there.items() if key not in wanted and all(name in had for name in key[1])}:
        runtime.learned.forget(lambda plan: plan.id in gone)
    tools = runtime.tools
    fresh = [plan for key, plan in wanted.items() if key not in there]
    known = [plan for plan in fresh if all(name in tools for name in plan.calls)]
    runtime.learn([Demonstration(f"learned-{p.id}", str(p.query), tuple(map(Call, p.calls))) for p in known])
    counts = {
        "have no words, and another encoder made their vectors": sum(plan.query is None for plan in plans),
        "call tools that this version has not": len(fresh) - len(known),
    }
    left = tuple((why, count) for why, count in counts.items() if count)
    return Moved(kept=len(wanted) - len(fresh), again=len(known), left=left)


def _key(query: str, calls: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    return plain(query), tuple(calls)
