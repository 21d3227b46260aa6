"""What the rules and the head count for, fitted on calls that the head was not fitted on; and how sure a value is that
both found. Knows nothing of bundles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeret.types import Call, Tool, references
from edgeret_export.fitting.argument_cases import values_of
from edgeret_export.fitting.compared import comparable, same
from edgeret_export.reference.arguments.choices import same_option
from edgeret_export.reference.arguments.features import options
from edgeret_export.reference.arguments.filling import Filling
from edgeret_export.reference.arguments.pool import option_answers, span_answers, told
from edgeret_export.reference.arguments.reader import ArgumentReader
from edgeret_export.reference.arguments.sureness import traits
from edgeret_export.reference.scoring.argument_joining import (
    ABOUT_OPTIONS,
    ABOUT_SPANS,
    NAMES,
    OPTION,
    OPTION_CONTEXT,
    SPAN,
    SPAN_CONTEXT,
    Joining,
)
from edgeret_export.reference.scoring.argument_shape import POOL, TRAITS

Step = tuple[Tool, str, Sequence[Call], Call]
"""A call of a tool, with the request's words and the calls before it."""

STEPS, L2, L2_OF_CONTEXT, PARTS = 200, 1.0, 30.0, 5
START: Mapping[str, float] = {"rules": 0.5, "head": 0.5, "options": 0.7}


class Row(NamedTuple):
    """One parameter: what the answers have of SPAN or OPTION, "nobody said it" last, (answers, features), what is known
    of it and of its call, with 1 in front, and which answers are right."""

    features: NDArray[np.float64]
    context: NDArray[np.float64]
    right: NDArray[np.bool_]


def steps_of(tools: Mapping[str, Tool], plans: Iterable[tuple[str, Sequence[Call]]]) -> list[Step]:
    """All calls of some plans."""
    return [(tools[call.tool], query, calls[:i], call) for query, calls in plans for i, call in enumerate(calls)]


def rows_of(
    steps: Iterable[Step], tools: Mapping[str, Tool], reader: ArgumentReader, by_sign: Mapping[str, float] | None
) -> list[Row]:
    """What both say of each parameter of these calls that takes no output."""
    rows = []
    for tool, query, before, call in steps:
        filling = Filling(tool, (), query, before, tools, None, by_sign, reader)
        if filling.by_head is None:
            continue
        for name, number in filling.numbers.items():
            one = filling.named[name]
            given = call.arguments.get(name)
            if references({"": given}):
                continue
            values = [comparable(value) for value in values_of(one, given)]
            listed = options(one)
            if listed:
                hits = [any(type(v) is type(comparable(o)) and v == comparable(o) for v in values) for o in listed]
                by_rule = filling.chosen.found(one)
                ruled = [same_option(one, value, by_rule) for value in listed]
                answers = option_answers(one, filling.by_head, number, ruled)
            else:
                of = told(filling.suitor, one, filling.by_head, number, reader.joining)
                if not of.values:
                    continue
                hits = [comparable(value.value) in values for value in of.values]
                answers = span_answers(one, of)
            context = np.array((1.0, *answers.about, *filling.known))
            rows.append(Row(np.array(answers.features), context, np.array([*hits, not any(hits)])))
    return rows


class _Side(NamedTuple):
    """All rows of one kind: (answers, features x contexts) with each row's number of answers and weight."""

    features: NDArray[np.float64]
    right: NDArray[np.bool_]
    sizes: NDArray[np.int64]
    weights: NDArray[np.float64]


def _side(rows: Sequence[tuple[Row, float]], width: int, known: int) -> _Side | None:
    own = [(row, weight) for row, weight in rows if row.features.shape[1] == width]
    if not own:
        return None
    return _Side(
        np.concatenate(
            [(row.features[:, :, None] * row.context[:known]).reshape(len(row.right), -1) for row, _ in own]
        ),
        np.concatenate([row.right for row, _ in own]),
        np.array([len(row.right) for row, _ in own]),
        np.array([weight for _, weight in own]),
    )


def fit_pool(
    rows: Sequence[Row],
    begin: Mapping[str, float] = START,
    weights: Sequence[float] | None = None,
    by_style: bool = True,
) -> dict[str, float]:
    """The weights that make the right answers most probable, near those at the beginning where little is known; a row
    may count for more or less than others. Not `by_style`, they are the same for all calls."""
    found = {name: float(begin.get(name, 0.0)) for name in (*POOL, *NAMES)}
    weighed = list(zip(rows, [1.0] * len(rows) if weights is None else weights, strict=True))
    for features, styles, kind in ((SPAN, SPAN_CONTEXT, "absent"), (OPTION, OPTION_CONTEXT, "no option")):
        contexts: tuple[str, ...] = styles if by_style else ()
        side = _side(weighed, len(features), 1 + len(contexts))
        names = [name for one in features for name in (one, *(f"{one}, {context}" for context in contexts))]
        # Once for each of the two that a reader must have: what must be given, and what may.
        needed, may = f"{kind} required", f"{kind} optional"
        found[f"{kind}, required"] += found.pop(needed) - found[may]
        found[kind] += found.pop(may)
        if side is not None:
            fitted = _fitted(side, np.array([found[name] for name in names]), [name in features for name in names])
            found |= dict(zip(names, fitted.tolist(), strict=True))
        found[may] = found.pop(kind)
        found[needed] = found[may] + found.pop(f"{kind}, required")
    found = {name: round(weight, 3) for name, weight in found.items() if round(weight, 3) or name in POOL}
    return found | {name: max(found[name], 0.0) for name in ("rules", "head", "options")}


def fit_tuned(rows: Sequence[Row], begin: Mapping[str, float]) -> dict[str, float]:
    """What joins a head with the rules that was tuned: from what joined it before, which knows styles of strangers, or
    without them from nothing; whichever makes the right answers of rows left out more probable."""

    def fitted(listed: Sequence[Row], by_style: bool) -> dict[str, float]:
        return fit_pool(listed, begin if by_style else START, by_style=by_style)

    def lost(by_style: bool) -> float:
        cuts = [len(rows) * part // PARTS for part in range(PARTS + 1)]
        return sum(
            _lost(rows[first:last], Joining(fitted([*rows[:first], *rows[last:]], by_style)))
            for first, last in pairwise(cuts)
        )

    return fitted(rows, lost(True) <= lost(False))


def _lost(rows: Sequence[Row], joining: Joining) -> float:
    total = 0.0
    for row in rows:
        known = row.context[1:].tolist()
        if row.features.shape[1] == len(SPAN):
            weights = joining.of_spans(known[: len(ABOUT_SPANS)], known[len(ABOUT_SPANS) :])
        else:
            weights = joining.of_options(known[: len(ABOUT_OPTIONS)], known[len(ABOUT_OPTIONS) :])
        scores = row.features @ np.array(weights)
        powers = np.exp(scores - scores.max())
        total -= float(np.log(max(float(powers[row.right].sum() / powers.sum()), 1e-9)))
    return total


def _fitted(side: _Side, start: NDArray[np.float64], always: Sequence[bool]) -> NDArray[np.float64]:
    """Weights by the gradient of the logarithms; those that are not `always` there stay nearer to the beginning."""
    features, right, sizes, counts = side
    of = np.repeat(np.arange(len(sizes)), sizes)
    begins = np.cumsum(sizes) - sizes
    near = np.where(always, L2, L2_OF_CONTEXT)
    weights, first, second = start.copy(), np.zeros(len(start)), np.zeros(len(start))
    for step in range(1, STEPS + 1):
        scores = features @ weights
        powers = np.exp(scores - np.maximum.reduceat(scores, begins)[of])
        share = powers / np.add.reduceat(powers, begins)[of]
        good = np.add.reduceat(share * right, begins)
        pull = (share * right / np.maximum(good, 1e-12)[of] - share) * counts[of]
        gradient = pull @ features - near * (weights - start)
        first, second = 0.9 * first + 0.1 * gradient, 0.99 * second + 0.01 * gradient**2
        rate = 0.05 * min(1.0, 2 * (1 - step / (STEPS + 1)))
        weights += rate * first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.99**step)) + 1e-9)
    return weights


NEWTON, L2_OF_TRAITS = 40, 2.0


BARE: Mapping[str, float] = {"share": 1.0}


def fit_traits(
    judged: Sequence[tuple[Mapping[str, float], bool]], begin: Mapping[str, float] = BARE
) -> dict[str, float]:
    """The weights of the traits by which values are right, of values with what they have of TRAITS."""
    prior = np.array([begin.get(trait, 0.0) for trait in TRAITS])
    weights = prior.copy()
    seen = np.array([[one.get(trait, 0.0) for trait in TRAITS] for one, _ in judged]).reshape(-1, len(TRAITS))
    good = np.array([float(right) for _, right in judged])
    for _ in range(NEWTON):
        probability = 1.0 / (1.0 + np.exp(-np.clip(seen @ weights, -30, 30)))
        pull = seen.T @ (good - probability) - L2_OF_TRAITS * (weights - prior)
        bend = (seen.T * (probability * (1.0 - probability))) @ seen + L2_OF_TRAITS * np.eye(len(TRAITS))
        weights = weights + np.linalg.solve(bend, pull)
    return {trait: round(float(weight), 3) for trait, weight in zip(TRAITS, weights, strict=True)}


class Judged(NamedTuple):
    """How calls came out: arguments found, right and wanted, calls right and all of them, and each value that traits
    tell the confidence of, with whether it is right."""

    found: int
    right: int
    wanted: int
    calls: int
    of: int
    values: list[tuple[Mapping[str, float], bool]]

    @property
    def f1(self) -> float:
        """Of the arguments, by precision and recall."""
        return 2 * self.right / (self.found + self.wanted) if self.found + self.wanted else 0.0


def judge(
    steps: Iterable[Step],
    tools: Mapping[str, Tool],
    reader: ArgumentReader | None,
    by_sign: Mapping[str, float] | None = None,
) -> Judged:
    """Reads calls and compares with what they really took; the true calls stand before each."""
    found = right = wanted = calls = of = 0
    values: list[tuple[Mapping[str, float], bool]] = []
    for tool, query, before, call in steps:
        filling = Filling(tool, None, query, before, tools, None, by_sign, reader)
        read = filling.found()
        good = {name: same(call.arguments.get(name), one.value) for name, one in read.items()}
        found, right, wanted = found + len(read), right + sum(good.values()), wanted + len(call.arguments)
        calls += all(good.values()) and read.keys() == call.arguments.keys()
        of += 1
        told_of = [(name, one) for name, one in read.items() if one.source == "rule" or one.rule == "option"]
        values += [(traits(one), good[name]) for name, one in told_of]
    return Judged(found, right, wanted, calls, of, values)


def summed(parts: Iterable[Judged]) -> Judged:
    """Several as one."""
    found = Judged(0, 0, 0, 0, 0, [])
    for one in parts:
        found = Judged(
            *(found.found + one.found, found.right + one.right, found.wanted + one.wanted),
            *(found.calls + one.calls, found.of + one.of),
            [*found.values, *one.values],
        )
    return found
