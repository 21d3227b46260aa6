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
from edgeret.records import dataclass
from edgeret.runtime.kept import plans_kept
from edgeret.runtime.learned_plan import LearnedPlan, callable_here, keyed
from edgeret.runtime.runtime import Runtime

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
    plans = runtime.learned.plans
    waiting = len(plans) - len(callable_here(plans, runtime.tools))
    left = [("wait for tools that this version has not", waiting)] if waiting else []
    return Moved(kept=len(plans) - waiting, left=tuple(left))


def learn_again(plans: Sequence[LearnedPlan], had: Collection[str], runtime: Runtime) -> Moved:
    """Brings what `runtime` has learned to these plans, made with another encoder over the tools that one `had`: those
    whose words were kept are learned again, and those that it could have brought there, and that are not there any
    more, are forgotten. Raises OverlayError."""
    wanted, there = keyed(plans), keyed(runtime.learned.plans)
    # A plan of a tool that the other version had not was never there: nobody forgot it.
    if gone := {plan.id for plan in callable_here((there[key] for key in there.keys() - wanted.keys()), had)}:
        runtime.learned.forget(lambda plan: plan.id in gone)
    fresh = [plan for key, plan in wanted.items() if key not in there]
    known = callable_here(fresh, runtime.tools)
    runtime.learn([plan.demonstration for plan in known])
    counts = {
        "have no words, and another encoder made their vectors": sum(plan.query is None for plan in plans),
        "call tools that this version has not": len(fresh) - len(known),
    }
    left = tuple((why, count) for why, count in counts.items() if count)
    return Moved(kept=len(wanted) - len(fresh), again=len(known), left=left)
