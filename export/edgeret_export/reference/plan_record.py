"""The record that keeps a learned plan in an overlay, written and read. Knows nothing of how anything is learned from
it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from edgeret.bundle.codec import get_array
from edgeret.errors import BundleError
from edgeret.fields import get_strings
from edgeret.inputs.hygiene import check_names
from edgeret.runtime.learned_plan import LearnedPlan
from edgeret_export.reference.scoring.increments import Lesson
from edgeret_export.reference.scoring.learner import STRANGER, Learner
from edgeret_export.reference.scoring.memory import END
from edgeret_export.reference.scoring.offsets import KEPT, LEAST_LOG, Offsets

MAX_NAMES = 400_000
"""In the table of names: those that 10,000 steps may refer to, those of the largest bundle twice, and as many more."""


def pack_plan(told: LearnedPlan, lesson: Lesson, new_names: Sequence[str]) -> dict[str, Any]:
    """A plan as it is kept: what is told of it, its vector (float16), the names that the table of names grew by, and of
    every step the labels that the bundle took to be most probable with their log-probabilities."""
    return {
        **asdict(told),
        "vector": lesson.vector.astype(np.float16),
        "new_names": list(new_names),
        "offset_labels": lesson.offsets.labels,
        "offset_log_p": lesson.offsets.log_p,
    }


def check_table(names: Sequence[str], known: int, where: str) -> None:
    """Raises BundleError and InputError unless these are names of tools, and with those `known` no more than there may
    be."""
    if known + len(names) > MAX_NAMES:
        raise BundleError(f"{where}: {known + len(names)} names of tools, at most {MAX_NAMES} are kept")
    check_names(names, where)


def read_lesson(learner: Learner, value: Mapping[str, Any], told: LearnedPlan, where: str) -> Lesson:
    """A plan that was kept, checked. Raises BundleError and InputError."""
    steps = len(told.calls) + 1
    vector = get_array(value, "vector", "<f2", (learner.dimension,), where).astype(np.float32)
    labels = get_array(value, "offset_labels", "<i4", (steps, KEPT), where)
    log_p = get_array(value, "offset_log_p", "<f2", (steps, KEPT), where)
    new_names = get_strings(dict(value), "new_names", where)
    check_table(new_names, len(learner.names), where)
    for name in new_names:
        if learner.known(name) != STRANGER:
            raise BundleError(f"{where}: a name that is new twice")
        learner.label(name)
    calls = [learner.known(name) for name in told.calls]
    learner.memory.check_length(calls)
    sound = abs(float(vector @ vector) - 1) < 1e-2 and labels.min() >= -1 and labels.max() < len(learner.names)
    if not sound or log_p.max() > 0.01 or log_p.min() < LEAST_LOG or min(calls, default=1) <= END:
        raise BundleError(f"{where}: a plan whose vector, calls or probabilities are none")
    return Lesson(vector, [*calls, END], Offsets.of(labels, log_p))
