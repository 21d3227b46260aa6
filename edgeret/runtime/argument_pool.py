"""What the rules and the head say of one parameter, put together: both have shares of every value, and what each
of them counts for was fitted on requests that neither had seen. Knows nothing of how either comes to its shares."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from edgeret.inputs.chunks import Chunk
from edgeret.inputs.parameters import Parameter
from edgeret.runtime.spans import Fit, Suitor, shares
from edgeret.scoring.argument_head import LogShares
from edgeret.scoring.argument_shape import LONGEST

LEAST_LOG = -12.0
"""No share counts for less."""
LEAST_JUDGED = LEAST_LOG
"""The head's log-share from which on a chunk is possible. From -6 on, those that are left gained the others' share, and
a fragment of a long request was taken for a message."""
LEAST_RULES_MEASURED, MOST_HEAD_MEASURED = 0.8, 0.2
"""What both count for where a parameter has a unit: "an hour" is sixty minutes, however few demonstrations say it so,
and a head that was tuned on "60 minutes" takes it for nothing."""
MOST_NEW, LEAST_NEW = 8, math.log(0.02)
"""Spans of the head's own beside those of the rules, and the log of the least share of each."""


class Joined(NamedTuple):
    """A value with its log-shares by the rules and by the head, and whether it is the head's alone."""

    chunk: Chunk
    value: Any
    rules: float
    head: float
    new: bool


class Told(NamedTuple):
    """All values of a parameter, and the log-shares that nobody said it by the rules and by the head."""

    values: Sequence[Joined]
    rules: float
    head: float


def told(suitor: Suitor, one: Parameter, by_head: LogShares, number: int, pool: Mapping[str, float]) -> Told:
    """What both say of the parameter that has this number before the head. Where the head counts for more than the
    rules, these judge only what it holds for possible, but for lists, whose other values it may not see."""
    spans = by_head.spans[number]

    def is_possible(first: int, last: int) -> bool:
        return last - first > LONGEST or bool(spans[first, last - first - 1] >= LEAST_JUDGED)

    fitting = suitor.fits(one, is_possible if pool["head"] >= pool["rules"] and not one.many else None)
    kept: dict[tuple[int, int, str], tuple[Fit, list[float]]] = {}
    for fit in fitting:
        kept.setdefault((fit.chunk.first, fit.chunk.last, repr(fit.value)), (fit, []))[1].append(fit.score)
    places = {(first, last) for first, last, _ in kept}
    new: set[tuple[int, int, str]] = set()
    flat = spans.reshape(-1)
    order = flat.argpartition(-MOST_NEW)[-MOST_NEW:] if len(flat) > MOST_NEW else range(len(flat))
    for at in sorted(int(i) for i in order if flat[i] >= LEAST_NEW):
        first, last = at // LONGEST, at // LONGEST + at % LONGEST + 1
        own = None if (first, last) in places else suitor.fit(one, first, last)
        if own is not None:
            key = first, last, repr(own.value)
            kept[key] = own, [own.score]
            new.add(key)
    scores = [score for _, each in kept.values() for score in each]
    parts = iter(shares([*scores, suitor.absent(one)]))
    values = []
    for key, (fit, each) in kept.items():
        share = sum(next(parts) for _ in each)
        first, last, _ = key  # where the head points, which a mark may begin or end
        head = float(spans[first, last - first - 1]) if last - first <= LONGEST else LEAST_LOG
        values.append(Joined(fit.chunk, fit.value, log(share), max(head, LEAST_LOG), key in new))
    return Told(values, log(next(parts)), max(float(by_head.absent[number]), LEAST_LOG))


def log(share: float) -> float:
    """The log of a share, LEAST_LOG at least."""
    return max(math.log(max(share, 1e-9)), LEAST_LOG)


def pooled(one: Parameter, of: Told, pool: Mapping[str, float]) -> tuple[list[Fit], float]:
    """The values with scores of both, the best first, and the score that nobody said it."""
    rules, head, new = pool["rules"], pool["head"], pool["new"]
    if one.unit is not None:
        rules, head = max(rules, LEAST_RULES_MEASURED), min(head, MOST_HEAD_MEASURED)
    fits = [Fit(rules * v.rules + head * v.head + new * v.new, v.chunk, v.value) for v in of.values]
    fits.sort(key=lambda fit: (-fit.score, fit.chunk.first))
    absent = pool["absent required" if one.required else "absent optional"]
    return fits, rules * of.rules + head * of.head + absent


def option_shares(
    one: Parameter, by_head: LogShares, number: int, by_rule: Sequence[bool], pool: Mapping[str, float]
) -> tuple[list[float], float]:
    """The shares of a parameter's options, one of which may be found `by_rule`, and that nobody said it."""
    weight, ruled = pool["options"], pool["option by rule"]
    scores = [
        weight * max(float(log_share), LEAST_LOG) + ruled * same
        for log_share, same in zip(by_head.options[number], by_rule, strict=True)
    ]
    absent = weight * max(float(by_head.absent[number]), LEAST_LOG)
    *found, nobody = shares([*scores, absent + pool["no option required" if one.required else "no option optional"]])
    return found, nobody
