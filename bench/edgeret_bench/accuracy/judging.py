"""Whether the arguments of calls are right: value by value, call by call, and in sum. Knows nothing of how they were
read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgeret.types import Argument
from edgeret_bench.accuracy.rollouts import comparable

THRESHOLDS = (0.5, 0.7, 0.8, 0.9, 0.95)
MOST_POINTS = 60
"""Of a curve of coverage and precision; more cannot be told apart."""
_IGNORED = re.compile(r"[ ,./\-_*^]")
Form = Callable[[Any], Any]
"""What a value is compared in."""


@dataclass(frozen=True, slots=True)
class ReadCall:
    """One call's true arguments and the values that are accepted for each (null: it may be left out), what was read and
    asked for, the names that it must have, the kinds of its parameters by name, and microseconds, of an encoding of
    the request just before, too."""

    truth: Mapping[str, Any]
    accepted: Mapping[str, Sequence[Any]]
    given: Mapping[str, Argument]
    missing: frozenset[str]
    required: frozenset[str]
    kinds: Mapping[str, str]
    us: float
    encoding_us: float

    def right(self, name: str, form: Form) -> bool:
        """Whether a value that was read is one of those accepted."""
        if name not in self.accepted:
            return False
        found = form(self.given[name].value)
        return any(bool(found == form(value)) for value in self.accepted[name] if value is not None)

    def whole(self, form: Form) -> bool:
        """Whether all that was read is right and nothing is left out that may not be."""
        needed = (name for name, values in self.accepted.items() if None not in values)
        return all(name in self.given for name in needed) and all(self.right(name, form) for name in self.given)


def as_plan(value: Any) -> Any:
    """As `edgeret-bench plan` compares: JSON, text without regard to case and white space."""
    return comparable(value, range(10**6))


def as_bfcl(value: Any) -> Any:
    """As BFCL compares: text also without `,./-_*^`, and with one kind of quotation mark; a list in order."""
    if isinstance(value, str):
        return _IGNORED.sub("", value).lower().replace("'", '"')
    if isinstance(value, Mapping):
        return {key: as_bfcl(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [as_bfcl(inner) for inner in value]
    return ("truth", value) if isinstance(value, bool) else value


def summary(plans: Sequence[Sequence[ReadCall]], form: Form = as_plan) -> dict[str, float | None]:
    """Shares: `exact` of the arguments that reading and truth both have, `precision` of those read, `recall` of the
    true ones, `missing_told` of those that a call must have and the truth lacks; `calls_right` and `plans_right`, with
    all arguments right and no others. None where there is nothing to count."""
    calls = [call for plan in plans for call in plan]
    judged = [call.right(name, form) for call in calls for name in call.given]
    found = sum(call.right(name, form) for call in calls for name in call.given if name in call.truth)
    lacking = [name in call.missing for call in calls for name in call.required - call.accepted.keys()]
    return {
        "exact": _share(sum(judged), sum(name in call.accepted for call in calls for name in call.given)),
        "precision": _share(sum(judged), len(judged)),
        "recall": _share(found, sum(len(call.truth) for call in calls)),
        "missing_told": _share(sum(lacking), len(lacking)),
        "calls_right": _share(sum(call.whole(form) for call in calls), len(calls)),
        "plans_right": _share(sum(all(call.whole(form) for call in plan) for plan in plans), len(plans)),
    }


def by_source(calls: Sequence[ReadCall]) -> dict[str, Any]:
    """Precision by where values are from."""
    found, right = Counter[str](), Counter[str]()
    for call in calls:
        for name, argument in call.given.items():
            found[argument.source] += 1
            right[argument.source] += call.right(name, as_plan)
    return {source: {"n": count, "precision": right[source] / count} for source, count in sorted(found.items())}


def by_kind(calls: Sequence[ReadCall]) -> dict[str, Any]:
    """By what parameters take: how many true arguments there are, and precision and recall."""
    wanted, found, right, reached = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for call in calls:
        wanted.update(call.kinds.get(name, "unknown") for name in call.truth)
        for name in call.given:
            kind, good = call.kinds[name], call.right(name, as_plan)
            found[kind] += 1
            right[kind] += good
            reached[kind] += good and name in call.truth
    return {
        kind: {
            "n": wanted[kind],
            "precision": _share(right[kind], found[kind]),
            "recall": _share(reached[kind], wanted[kind]),
        }
        for kind in sorted({*wanted, *found})
    }


def thresholds(calls: Sequence[ReadCall]) -> dict[str, Any]:
    """How many of the arguments read are at least so sure, and how many of these are right."""
    judged = _judged(calls)
    rows = {least: [good for sure, good in judged if sure >= least] for least in THRESHOLDS}
    return {
        str(least): {"coverage": _share(len(row), len(judged)), "precision": _share(sum(row), len(row))}
        for least, row in rows.items()
    }


def curve(calls: Sequence[ReadCall]) -> list[dict[str, float]]:
    """Coverage and precision at every confidence that was told, the surest first, at most MOST_POINTS of them."""
    judged = sorted(_judged(calls), reverse=True)
    points: list[dict[str, float]] = []
    right = 0
    for count, (sure, good) in enumerate(judged, 1):
        right += good
        if count == len(judged) or judged[count][0] < sure:
            points.append({"confidence": sure, "coverage": count / len(judged), "precision": right / count})
    step = max(1, -(-len(points) // MOST_POINTS))
    return points[::-1][::step][::-1]  # the last one, with all that was read, always stays


def _judged(calls: Sequence[ReadCall]) -> list[tuple[float, bool]]:
    return [(a.confidence, call.right(name, as_plan)) for call in calls for name, a in call.given.items()]


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
