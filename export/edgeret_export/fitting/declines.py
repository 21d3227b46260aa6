"""How often a finished bundle declines: sayings that no tool fits, and held-out requests that one does.

The sayings were written for this and are no data set. Which of them a set of tools could serve after all is told by the
words of these tools, and by what was demonstrated: not by what the bundle makes of them, or it would judge itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.inputs.tool_text import name_in_words
from edgeret.inputs.words import words
from edgeret.runtime.runtime import Runtime
from edgeret.types import END, Tool
from edgeret_export.fitting.crossfit import Fitted
from edgeret_export.fitting.spoken import read_lines, spoken
from edgeret_export.fitting.training_set import TrainingSet
from edgeret_export.reference.encoders.base import Encoder
from edgeret_export.reference.inputs.language_rules import ENGLISH

SAYINGS = "foreign"
"""Others than those that anything is fitted on."""
DEMONSTRATED = 0.75
"""Cosine to a demonstrated request from which on a saying counts as demonstrated. Of requests in scope half lie above
it with 100 demonstrations a tool, and of foreign ones next to none."""
FEWEST = 20
"""Sayings below which a share says nothing."""


def in_scope(training: TrainingSet | None, fitted: Fitted) -> dict[str, Any]:
    """`n_inside`, the held-out requests that a tool fits, and the share of them `lost`: declined as the first decision.
    Empty where nothing was held out."""
    held = fitted.held_out
    if training is None or held is None:
        return {}
    judged = np.zeros(len(training.decisions), bool)
    judged[held.rows] = True
    decisions = training.decisions.select(judged)
    end = held.names.index(END)
    inside = decisions.first() & ~decisions.acceptable()[:, end]
    if not inside.any():
        return {}
    found = held.probabilities[inside]
    declined = (found.argmax(axis=1) == end) | (found.max(axis=1) < fitted.calibration.min_probability)
    return {"n_inside": len(found), "lost": round(float(declined.mean()), 4)}


def foreign(runtime: Runtime, tools: Sequence[Tool], encoder: Encoder, training: TrainingSet | None) -> dict[str, Any]:
    """`n_foreign`, the sayings that none of the tools fits, and the share of them `declined` by the runtime as it
    ships; the encoder is the one that read what was demonstrated. Empty where fewer than FEWEST are left."""
    demonstrated = np.empty((0, 0), np.float32)
    if training is not None:
        demonstrated = training.queries.vectors[[bool(shown.calls) for shown in training.demonstrations]]
    languages = spoken(() if training is None else training.demonstrations, tools)
    left = [said for said in sayings(tools, languages) if not _near(encoder, said, demonstrated)]
    if len(left) < FEWEST:
        return {}
    declined = [not runtime.task(said).next(k=1).is_call for said in left]
    return {"n_foreign": len(left), "declined": round(float(np.mean(declined)), 4)}


def sayings(tools: Sequence[Tool], languages: tuple[str, ...] = (ENGLISH,)) -> list[str]:
    """The sayings in these languages whose words none of the tools has in its name or description."""
    known = {word for tool in tools for word in words(f"{name_in_words(tool.name)} {tool.description}")}
    return [said for served_by, every in _sections(languages) if not served_by & known for said in every]


@cache
def _sections(languages: tuple[str, ...]) -> tuple[tuple[frozenset[str], tuple[str, ...]], ...]:
    """The files' sections: words of tools that might serve the sayings, and these."""
    found: list[tuple[frozenset[str], list[str]]] = []
    for line in read_lines(SAYINGS, languages):
        if line.startswith("["):
            found.append((frozenset(words(line.strip("[]"))), []))
        elif not line.startswith("#"):
            found[-1][1].append(line)
    return tuple((served_by, tuple(every)) for served_by, every in found)


def _near(encoder: Encoder, said: str, demonstrated: NDArray[np.float32]) -> bool:
    if not len(demonstrated):
        return False
    return bool((demonstrated @ encoder.encode_query(said).vector).max() >= DEMONSTRATED)
