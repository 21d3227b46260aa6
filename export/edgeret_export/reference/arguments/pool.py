"""What the rules and the head say of one parameter, put together: both have shares of every value, and what each
of them counts for was fitted on requests that neither had seen. Knows nothing of how either comes to its shares."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from edgeret.inputs.words import COMMON
from edgeret_export.reference.arguments.spans import Fit, Suitor, shares
from edgeret_export.reference.inputs.chunks import Chunk, Chunks
from edgeret_export.reference.inputs.parameters import Parameter, Same, parameters
from edgeret_export.reference.scoring.argument_head import LogShares
from edgeret_export.reference.scoring.argument_joining import Joining
from edgeret_export.reference.scoring.argument_shape import LONGEST

LEAST_LOG = -12.0
"""No share counts for less."""
LEAST_JUDGED = LEAST_LOG
"""The head's log-share from which on a chunk is possible. From -6 on, those that are left gained the others' share, and
a fragment of a long request was taken for a message."""
MOST_NEW, LEAST_NEW = 8, math.log(0.02)
"""Spans of the head's own beside those of the rules, and the log of the least share of each."""
_GROUPS = ("when", "number", "name", "text", "token")
_GROUP_OF = {
    **{"when": "when", "number": "number", "duration": "number", "person": "name", "place": "name"},
    **{"text": "text", "command": "text", "email": "token", "url": "token", "phone": "token"},
    **{"path": "token", "id": "token"},
}
_TALK = COMMON | {"hey", "hi", "pls", "i'm", "i'd", "i'll"}
_CAMEL = re.compile(r"[a-z][A-Z]")


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


class Answers(NamedTuple):
    """The answers of a parameter, "nobody said it" last: what each has of `argument_joining.SPAN` or OPTION, and what
    is known of the parameter."""

    features: Sequence[Sequence[float]]
    about: Sequence[float]


def told(suitor: Suitor, one: Parameter, by_head: LogShares, number: int, joining: Joining) -> Told:
    """What both say of the parameter that has this number before the head. Where the head was tuned, the rules judge
    only what it holds for possible, but for lists, whose other values it may not see."""
    spans = by_head.spans[number]

    def is_possible(first: int, last: int) -> bool:
        return last - first > LONGEST or bool(spans[first, last - first - 1] >= LEAST_JUDGED)

    fitting = suitor.fits(one, is_possible if joining.is_tuned and not one.many else None)
    kept: dict[tuple[int, int, str], tuple[Fit, list[float]]] = {}
    for fit in fitting:
        kept.setdefault((fit.chunk.first, fit.chunk.last, repr(fit.value)), (fit, []))[1].append(fit.score)
    places = {(first, last) for first, last, _ in kept}
    new: set[tuple[int, int, str]] = set()
    flat = spans.reshape(-1)
    order = flat.argpartition(-MOST_NEW)[-MOST_NEW:] if len(flat) > MOST_NEW else range(len(flat))
    for at in sorted(int(i) for i in order if flat[i] >= LEAST_NEW):
        first, last = at // LONGEST, at // LONGEST + at % LONGEST + 1
        own = None if (first, last) in places else suitor.fit(one, first, last, joining.any_script)
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


def known_of(tool: Same, found: Chunks, by_head: LogShares) -> tuple[float, ...]:
    """What is known of a call (`argument_joining.CALL`)."""
    needed, camel, described = _known_of(tool)
    units = found.reading.units
    talk = sum(unit.lower in _TALK for unit in units) / len(units)
    likeliest = np.maximum(by_head.spans.reshape(len(by_head.absent), -1).max(1), by_head.absent)
    for i, options in enumerate(by_head.options):
        if len(options):
            likeliest[i] = max(float(options.max()), float(by_head.absent[i]))
    return needed, camel, talk, math.log(len(units) + 1) - 2.7, described, float(likeliest.mean()) + 0.5


@lru_cache(512)
def _known_of(key: Same) -> tuple[float, float, float]:
    wanted = parameters(key.tool)
    count = max(len(wanted), 1)
    described = sum(math.log(len(one.described) + 1) for one in wanted) / count
    return sum(one.required for one in wanted) / count, float(bool(_CAMEL.search(key.tool.name))), described - 3.5


def span_answers(one: Parameter, of: Told) -> Answers:
    """A parameter's values as answers, in their order."""
    rules, head = [*(v.rules for v in of.values), of.rules], [*(v.head for v in of.values), of.head]
    news = [*(v.new for v in of.values), False]
    by_rules, by_head, last = max(rules), max(head), len(of.values)
    first, second = rules.index(by_rules), head.index(by_head)
    features = [
        (r, h, float(new), float(i == last), float(i == first), float(i == second), math.exp(h))
        for i, (r, h, new) in enumerate(zip(rules, head, news, strict=True))
    ]
    group = _GROUP_OF.get(one.kind)
    about = (
        *(float(one.required), float(one.many), *(float(group == each) for each in _GROUPS)),
        *(float(one.unit is not None), by_head + 0.5, by_rules + 0.5, float(first == second)),
    )
    return Answers(features, about)


def option_answers(one: Parameter, by_head: LogShares, number: int, by_rule: Sequence[bool]) -> Answers:
    """A parameter's options as answers, one of which may be found `by_rule`."""
    each = [max(float(share), LEAST_LOG) for share in by_head.options[number]]
    absent = max(float(by_head.absent[number]), LEAST_LOG)
    features = [(share, float(same), 0.0) for share, same in zip(each, by_rule, strict=True)]
    about = (float(one.required), float(one.kind == "boolean"), float(any(by_rule)), max(*each, absent) + 0.5)
    return Answers([*features, (absent, 0.0, 1.0)], about)


def pooled(one: Parameter, of: Told, joining: Joining, call: Sequence[float]) -> tuple[list[Fit], float]:
    """The values with scores of both, the best first, and the score that nobody said it."""
    answers = span_answers(one, of)
    weights = joining.of_spans(answers.about, call)
    *scores, absent = [_by(weights, row) for row in answers.features]
    fits = [Fit(score, v.chunk, v.value) for score, v in zip(scores, of.values, strict=True)]
    fits.sort(key=lambda fit: (-fit.score, fit.chunk.first))
    return fits, absent


def option_shares(
    one: Parameter,
    by_head: LogShares,
    number: int,
    by_rule: Sequence[bool],
    joining: Joining,
    call: Sequence[float],
) -> tuple[list[float], float]:
    """The shares of a parameter's options, one of which may be found `by_rule`, and that nobody said it."""
    answers = option_answers(one, by_head, number, by_rule)
    weights = joining.of_options(answers.about, call)
    *found, nobody = shares([_by(weights, row) for row in answers.features])
    return found, nobody


def _by(weights: Sequence[float], features: Sequence[float]) -> float:
    return sum([weight * feature for weight, feature in zip(weights, features, strict=True)])
