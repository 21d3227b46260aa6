"""What rules and head count for, call by call: weights that rest on what is known of the call, by name or as arrays.
Knows nothing of text.

An answer's score is its features by their weights, and a feature's weight is what `pool` has under its name, and under
"feature, context" for each number that is known of the call and the parameter, times that number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

SPAN = ("rules", "head", "new", "absent", "surest by rules", "surest by head", "share by head")
"""Features of a span: both log-shares, whether it is the head's alone, whether it is "nobody said it", whether it is
the likeliest by either, and its share by the head."""
OPTION = ("options", "option by rule", "no option")
"""Features of an option: the head's log-share, whether it was found by rule, whether it is "nobody said it"."""
CALL = ("needed", "camel", "talk", "long", "described", "sure")
"""What is known of a call: the share of parameters that it must have, a name in camel case, the share of small words in
the request and how long it is, how much is told of the parameters, and how sure the head is of its likeliest."""
ABOUT_SPANS = ("required", "many", "when", "number", "name", "text", "token", "unit", "by head", "by rules", "agree")
"""What is known of a parameter that takes words: by schema, by kind, the largest log-shares, and whether both have the
same for the likeliest."""
ABOUT_OPTIONS = ("required", "boolean", "ruled", "by head")
SPAN_CONTEXT, OPTION_CONTEXT = (*ABOUT_SPANS, *CALL), (*ABOUT_OPTIONS, *CALL)
NAMES = tuple(
    name
    for features, contexts in ((SPAN, SPAN_CONTEXT), (OPTION, OPTION_CONTEXT))
    for feature in features
    for name in (feature, *(f"{feature}, {context}" for context in contexts))
)
"""All names of weights."""
TUNED = "tuned"
"""The name under which 1 stands where the head was tuned on demonstrations, and 0 where it was not."""
ANY_SCRIPT = "any script"
"""The name under which 1 stands where the head was fitted on requests in scripts whose small words no rule knows, so
that its word is taken for where a value ends there."""
LEAST_RULES_MEASURED, MOST_HEAD_MEASURED = 0.8, 0.2
"""What both count for where a head was tuned and a parameter has a unit: "an hour" is sixty minutes, however few
demonstrations say it so, and a head that was tuned on "60 minutes" takes it for nothing."""


class Joining:
    """Weights by name. Immutable and thread-safe."""

    def __init__(self, pool: Mapping[str, float]) -> None:
        self.pool = pool
        self.is_tuned = bool(pool.get(TUNED, pool["head"] >= pool["rules"]))
        """Whether the head was tuned on demonstrations of these very tools."""

    @property
    def any_script(self) -> bool:
        """Whether the head tells values in scripts whose small words no rule knows."""
        return bool(self.pool.get(ANY_SCRIPT, 0.0))

    @cached_property
    def _spans(self) -> NDArray[np.float64]:
        return _table(self.pool, SPAN, SPAN_CONTEXT)

    @cached_property
    def _options(self) -> NDArray[np.float64]:
        return _table(self.pool, OPTION, OPTION_CONTEXT)

    def of_spans(self, about: Sequence[float], call: Sequence[float]) -> list[float]:
        """The weights of SPAN for a parameter, from what is known of it (ABOUT_SPANS) and of its call (CALL)."""
        found = self._spans @ np.array((1.0, *about, *call))
        name = "absent required" if about[0] else "absent optional"
        found[3] += self.pool.get(name, 0.0)
        if self.is_tuned and about[7]:
            found[0], found[1] = max(found[0], LEAST_RULES_MEASURED), min(found[1], MOST_HEAD_MEASURED)
        weights: list[float] = found.tolist()
        return weights

    def of_options(self, about: Sequence[float], call: Sequence[float]) -> list[float]:
        """The weights of OPTION for a parameter, from ABOUT_OPTIONS and CALL."""
        found = self._options @ np.array((1.0, *about, *call))
        found[2] += self.pool.get("no option required" if about[0] else "no option optional", 0.0)
        weights: list[float] = found.tolist()
        return weights


def _table(pool: Mapping[str, float], features: Sequence[str], contexts: Sequence[str]) -> NDArray[np.float64]:
    return np.array(
        [[pool.get(one, 0.0), *(pool.get(f"{one}, {context}", 0.0) for context in contexts)] for one in features]
    )
