"""What a runtime learned and which tools it has, as values that tests compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from edgeret.inputs.demonstrations import Demonstration
from edgeret.runtime.runtime import Runtime
from edgeret.types import Call
from edgeret_export.reference.components import learner_for, load_components
from edgeret_export.reference.learning import Learned
from edgeret_export.reference.overlays import of_bytes
from edgeret_export.reference.scoring.learned_state import pack_learner
from edgeret_export.reference.scoring.learner import Learner


def plan(query: str, *tools: str) -> Demonstration:
    """A demonstration."""
    return Demonstration("t", query, tuple(Call(tool) for tool in tools))


def taught(runtime: Runtime) -> Learner:
    """What it learned, as Python has it."""
    held = runtime.learned
    if isinstance(held, Learned):
        return held._learner  # noqa: SLF001
    options = replace(runtime.loaded.options, content_hash=None)
    made = Learned(learner_for(load_components(runtime.path, options)))
    made.read(of_bytes(bytes(held.learner), runtime.manifest.fingerprint))
    return made._learner  # noqa: SLF001


def state(runtime: Runtime) -> dict[str, Any]:
    """All that was learned, as plain data that can be compared, and what is told of its plans."""
    packed = pack_learner(taught(runtime))
    plain = {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in packed.items()}
    return {**plain, "plans": runtime.learned.plans}


def stored(runtime: Runtime) -> list[tuple[str | None, tuple[str, ...]]]:
    """The words and calls of the plans that are stored, the oldest first."""
    return [(learned.query, learned.calls) for learned in runtime.learned.plans]


def chances(runtime: Runtime, query: str, history: Sequence[str] = ()) -> dict[str, float]:
    """Every candidate's probability, rounded as little as float32 is."""
    return {c.tool: c.probability for c in runtime.task(query, history).candidates()}
