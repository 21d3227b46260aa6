"""What the rules and the head count for, fitted on calls that the head was not fitted on; and how sure a value is that
both found. Knows nothing of bundles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeret.inputs.argument_features import options
from edgeret.runtime.argument_pool import LEAST_LOG, told
from edgeret.runtime.argument_reader import ArgumentReader
from edgeret.runtime.arguments import Filling
from edgeret.runtime.choices import same_option
from edgeret.runtime.sureness import traits
from edgeret.scoring.argument_shape import POOL, TRAITS
from edgeret.types import Call, Tool, references
from edgeret_export.fitting.argument_cases import values_of
from edgeret_export.fitting.compared import comparable, same

Step = tuple[Tool, str, Sequence[Call], Call]
"""A call of a tool, with the request's words and the calls before it."""

STEPS, L2 = 400, 1.0
START: Mapping[str, float] = {"rules": 0.5, "head": 0.5, "options": 0.7}


class Row(NamedTuple):
    """One parameter: what the answers have of POOL, "nobody said it" last, (answers, weights), and which are right."""

    features: NDArray[np.float64]
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
                shares = np.maximum(filling.by_head.options[number], LEAST_LOG)
                hits = [any(type(v) is type(comparable(o)) and v == comparable(o) for v in values) for o in listed]
                by_rule = filling.chosen.found(one)
                ruled = [float(same_option(one, value, by_rule)) for value in listed]
                features = [_features(options=float(share)) for share in shares]
                for row, is_ruled in zip(features, ruled, strict=True):
                    row[POOL.index("option by rule")] = is_ruled
                nobody = _features(options=max(float(filling.by_head.absent[number]), LEAST_LOG))
            else:
                of = told(filling.suitor, one, filling.by_head, number, filling.pool)
                if not of.values:
                    continue
                hits = [comparable(value.value) in values for value in of.values]
                features = [_features(rules=v.rules, head=v.head, new=float(v.new)) for v in of.values]
                nobody = _features(rules=of.rules, head=of.head)
            kind = "no option" if listed else "absent"
            nobody[POOL.index(f"{kind} {'required' if one.required else 'optional'}")] = 1.0
            rows.append(Row(np.array([*features, nobody]), np.array([*hits, not any(hits)])))
    return rows


def _features(**told_of: float) -> list[float]:
    return [told_of.get(name, 0.0) for name in POOL]


def fit_pool(rows: Sequence[Row], begin: Mapping[str, float] = START) -> dict[str, float]:
    """The weights that make the right answers most probable, near those at the beginning where little is known."""
    start = np.array([begin.get(name, 0.0) for name in POOL])
    if not rows:
        return dict(zip(POOL, start.tolist(), strict=True))
    features = np.concatenate([row.features for row in rows])
    right = np.concatenate([row.right for row in rows])
    sizes = np.array([len(row.right) for row in rows])
    of = np.repeat(np.arange(len(rows)), sizes)
    begins = np.cumsum(sizes) - sizes
    weights, first, second = start.copy(), np.zeros(len(POOL)), np.zeros(len(POOL))
    for step in range(1, STEPS + 1):
        scores = features @ weights
        powers = np.exp(scores - np.maximum.reduceat(scores, begins)[of])
        share = powers / np.add.reduceat(powers, begins)[of]
        good = np.add.reduceat(share * right, begins)
        pull = share * right / np.maximum(good, 1e-12)[of] - share
        gradient = pull @ features - L2 * (weights - start)
        first, second = 0.9 * first + 0.1 * gradient, 0.99 * second + 0.01 * gradient**2
        rate = 0.05 * min(1.0, 2 * (1 - step / (STEPS + 1)))
        weights += rate * first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.99**step)) + 1e-9)
    # A weight below nothing would take the likelier for the less likely.
    found = {name: round(float(weight), 3) for name, weight in zip(POOL, weights, strict=True)}
    return found | {name: max(found[name], 0.0) for name in ("rules", "head", "options")}


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
