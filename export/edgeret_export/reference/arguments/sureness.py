"""How sure a value is that was found for an argument, as the share of such ones that were right. Knows nothing of how
it was found."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from edgeret.types import ArgumentSource

ASKED, ASKED_TUNED = 0.5, 0.4
"""What a call must have and is less sure than this is asked for too, beside the guess. A tuned head's confidence is
fitted where more is left unsaid than people leave."""
SUREST, LEAST_SURE = 0.95, 0.02
SUREST_PART = 0.6
""""Berkeley" where "Berkeley, CA" is shown: of 85 such values of strangers' tools 74 were not what was meant."""
_SUREST_COUNTED = 0.98
_GROUPS = {
    **dict.fromkeys(("email", "url", "path", "phone", "code", "quoted"), "token"),
    **dict.fromkeys(("date", "time", "moment"), "when"),
    **dict.fromkeys(("measure", "money", "percent", "duration"), "measure"),
    **{"number": "number", "name": "name", "addressee": "name", "told": "told", "command": "told", "option": "option"},
}
"""Kinds of chunks that are right as often as each other; all others are plain words."""
_SURE_WORDS = 1.0
"""From this score on the words of two tools name an output surely."""
_RIGHT = {
    **{"named id": 0.98, "named text": 0.88, "words id": 0.96, "words text": 0.85, "reference": 0.83, "earlier": 0.85},
    **{"words id, weak": 0.8, "result": 0.8, "named result": 0.95},
    **{"only optional": 0.84, "only required": 0.83, "several required": 0.5, "boolean": 0.71, "boolean not": 0.6},
    **{"switch": 0.88, "switch both": 0.5, "default": 0.6},
}
"""By rule; (right + 1) / (found + 2) of 715 values of examples/transfer, less for choices, of which strangers' sets
have few, and for rules that found fewer than four a guess below that. Of "words text" these sets have five; the desktop
example's demonstrations have 500, of which .93 are right. Results are in no set: theirs are guesses."""


class Found(NamedTuple):
    """A value with the rule that found it and how well it suits, before anything is known of how sure that is."""

    value: Any
    source: ArgumentSource
    rule: str
    score: float
    span: tuple[int, int] | None
    others: tuple[Any, ...] = ()


def confidence(found: Found, by_trait: Mapping[str, float] | None = None, parted: bool = False) -> float:
    """How sure a value is: the share of such ones that were right, where each of examples/transfer's sets was read with
    weights fitted on the others. Of words of the request their own share tells, and what kind of words they are. Words
    without a comma lack something where all examples have parts (`parted`)."""
    if found.rule == "counted":
        return round(min(found.score, _SUREST_COUNTED), 3)
    if found.source != "rule" and found.rule != "option":
        return _RIGHT[f"{found.rule}, weak" if found.rule == "words id" and found.score < _SURE_WORDS else found.rule]
    told = _told() if by_trait is None else by_trait
    sure = sum(told.get(name, 0.0) * value for name, value in traits(found).items())
    lacks = parted and found.source == "rule" and isinstance(found.value, str) and "," not in found.value
    return min(round(1.0 / (1.0 + math.exp(-sure)), 3), SUREST_PART if lacks else SUREST)


def traits(found: Found) -> dict[str, float]:
    """What tells how sure words of a request are: their share and their group."""
    share = min(max(found.score, LEAST_SURE), 0.995)
    many = {"many": 1.0} if isinstance(found.value, list) else {}
    return {"share": math.log(share / (1.0 - share)), "all": 1.0, _GROUPS.get(found.rule, "plain"): 1.0, **many}


@cache
def _told() -> Mapping[str, float]:
    told = json.loads(Path(__file__).with_name("argument_weights.json").read_text("utf-8"))
    return {str(name): float(weight) for name, weight in told["confidence"].items()}
