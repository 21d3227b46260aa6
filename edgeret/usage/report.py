"""What a log says of a week, in numbers: what was asked, declined and corrected, whether probabilities held, how long
it took, and what to demonstrate next. Knows nothing of pages."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from edgeret.types import END
from edgeret.usage.read import Asked, Log, Step, steps_of
from edgeret.usage.worth import worth_most

BINS = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0)
"""Bounds of probabilities that are told together: finer where most decisions lie."""
BOUNDS_MS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 1000.0)
UNLIKE = 0.5
"""A first decision is unlike all that was demonstrated where the probability that nothing fits is above this."""
ENOUGH = 20
"""Decisions of a half without which no drift is told."""
SHOWN = 20
PHRASES = 3
"""Of each correction."""


def summarise(log: Log, most: int = 10) -> dict[str, Any]:
    """The report as JSON-ready data, the command line's `report --json`; `most` requests are named to demonstrate."""
    steps = sorted(steps_of(log.asked), key=lambda step: step.time)
    known = [step for step in steps if step.answer is not None]
    called = Counter(tool for one in log.asked for tool, _ in one.calls.values())
    proposed = Counter(step.tool for step in steps if step.tool not in (None, END))
    accepted = Counter(step.tool for step in known if step.is_right)
    return {
        "from": _when(steps[0].time) if steps else None,
        "to": _when(steps[-1].time) if steps else None,
        "lines": log.lines,
        "unread": log.unread,
        "requests": len(log.asked),
        "with_words": sum(one.query is not None for one in log.asked),
        "bundles": sorted({str(told["bundle"]) for told in log.sets.values()}),
        **_outcomes(log.asked, steps),
        "days": _days(steps),
        "sources": _by(steps, lambda step: f"{step.source}/{step.stage}"),
        "asked": [_tool(name, proposed, accepted, called) for name, _ in (proposed + called).most_common(SHOWN)],
        "declined": _declined(log.asked),
        "corrected": _corrected(log.asked),
        "failed": dict(Counter(tool for one in log.asked for _, tool in one.failed).most_common(SHOWN)),
        "never": _never(log, proposed, called),
        "calibration": _calibration(known),
        "drift": _drift(steps),
        "latency": {"bounds_ms": list(BOUNDS_MS), "stages": _latency(steps)},
        "demonstrate": [one.to_dict() for one in worth_most(log.asked, most)],
    }


def _when(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):
        return "?"


def _outcomes(asked: Sequence[Asked], steps: Sequence[Step]) -> dict[str, Any]:
    answers = Counter(step.answer for step in steps)
    right = answers["accepted"] + sum(_ended_well(one) for one in asked)
    told = answers["accepted"] + answers["corrected"] + sum(_ended_well(one) for one in asked)
    return {
        "decisions": len(steps),
        "declines": sum(step.tool is None for step in steps),
        "ends": sum(step.tool == END for step in steps),
        "accepted": answers["accepted"],
        "corrections": answers["corrected"],
        "learned": sum(one.learned for one in asked),
        "right": round(right / told, 4) if told else None,
    }


def _ended_well(one: Asked) -> bool:
    """Whether the request's last decision was that nothing is left, and nobody called anything behind it."""
    last = one.steps.get(len(one.calls))
    return last is not None and last.tool == END and bool(one.calls) and last.answer is None and not one.assumed


def _by(steps: Iterable[Step], key: Callable[[Step], str]) -> dict[str, int]:
    return dict(Counter(map(key, steps)).most_common(SHOWN))


def _days(steps: Sequence[Step]) -> list[dict[str, Any]]:
    days: dict[str, list[Step]] = defaultdict(list)
    for step in steps:
        days[_when(step.time)[:10]].append(step)
    return [
        {
            "day": day,
            "decisions": len(these),
            "declines": sum(step.tool is None for step in these),
            "corrections": sum(step.answer == "corrected" for step in these),
            "unlike": _unlike(these),
        }
        for day, these in sorted(days.items())
    ]


def _unlike(steps: Sequence[Step]) -> float | None:
    first = [step.nothing > UNLIKE for step in steps if step.nothing is not None]
    return round(sum(first) / len(first), 4) if first else None


def _tool(name: str | None, proposed: Counter[Any], accepted: Counter[Any], called: Counter[Any]) -> dict[str, Any]:
    return {"tool": name, "decided": proposed[name], "accepted": accepted[name], "called": called[name]}


def _declined(asked: Sequence[Asked]) -> list[dict[str, Any]]:
    """By why and by what would have been best: how often, and what users then called themselves."""
    found: dict[tuple[str, str], list[tuple[Step, Asked]]] = defaultdict(list)
    for one in asked:
        for step in one.steps.values():
            if step.tool is None:
                found[step.reason, step.best or ""].append((step, one))
    return [
        {
            "reason": reason,
            "best": best,
            "times": len(these),
            "then_called": dict(Counter(step.called for step, _ in these if step.called).most_common(PHRASES)),
            "phrases": _phrases(one for _, one in these),
        }
        for (reason, best), these in sorted(found.items(), key=lambda item: -len(item[1]))[:SHOWN]
    ]


def _corrected(asked: Sequence[Asked]) -> list[dict[str, Any]]:
    found: dict[tuple[str, str], list[tuple[Step, Asked]]] = defaultdict(list)
    for one in asked:
        for step in one.steps.values():
            if step.answer == "corrected" and step.tool is not None:
                found[step.tool, str(step.called)].append((step, one))
    return [
        {
            "decided": decided,
            "called": called,
            "times": len(these),
            "probability": round(sum(step.probability for step, _ in these) / len(these), 3),
            "phrases": _phrases(one for _, one in these),
        }
        for (decided, called), these in sorted(found.items(), key=lambda item: -len(item[1]))[:SHOWN]
    ]


def _phrases(asked: Iterable[Asked]) -> list[str]:
    return list(dict.fromkeys(one.query for one in asked if one.query))[:PHRASES]


def _never(log: Log, proposed: Counter[Any], called: Counter[Any]) -> dict[str, list[str]] | None:
    """Tools that were neither decided nor called, and those that were called and never decided; None where no file says
    which tools there are."""
    sets = [told["names"] for told in log.sets.values() if told["names"] is not None]
    if not sets:
        return None
    names = dict.fromkeys(name for each in sets for name in each)
    return {
        "fired": [name for name in names if not proposed[name] and not called[name]],
        "decided": [name for name in names if not proposed[name] and called[name]],
    }


def _calibration(known: Sequence[Step]) -> dict[str, Any] | None:
    """Promised against right, of decisions for a tool of which somebody said what became of them."""
    told = [step for step in known if step.tool not in (None, END)]
    if not told:
        return None
    rows, error = [], 0.0
    for low, high in pairwise(BINS):
        these = [step for step in told if low <= step.probability < high or (step.probability == high == BINS[-1])]
        if these:
            promised = sum(step.probability for step in these) / len(these)
            right = sum(bool(step.is_right) for step in these) / len(these)
            error += abs(promised - right) * len(these) / len(told)
            rows.append({
                "from": low, "to": high, "decisions": len(these), "promised": round(promised, 4),
                "right": round(right, 4),
            })  # fmt: skip
    return {"bins": rows, "error": round(error, 4), "decisions": len(told)}


def _drift(steps: Sequence[Step]) -> dict[str, Any] | None:
    """The share of requests that are unlike all that was demonstrated, in the first half of the time and in the second;
    z is how many standard errors lie between."""
    first = [step for step in steps if step.nothing is not None]
    half = len(first) // 2
    if half < ENOUGH:
        return None
    early, late = (sum((step.nothing or 0) > UNLIKE for step in part) for part in (first[:half], first[-half:]))
    pooled = (early + late) / (2 * half)
    error = (2 * pooled * (1 - pooled) / half) ** 0.5
    return {
        "early": round(early / half, 4),
        "late": round(late / half, 4),
        "z": round((late - early) / half / error, 2) if error else 0.0,
    }


def _latency(steps: Sequence[Step]) -> dict[str, Any]:
    """Milliseconds by stage, of first decisions, which read the request, and of later ones."""
    found: dict[str, list[float]] = defaultdict(list)
    for step in steps:
        found[f"{step.stage}, {'later' if step.step else 'first'}"].append(step.ms)
    told = {}
    for name, times in sorted(found.items()):
        times.sort()
        counts = [0] * (len(BOUNDS_MS) + 1)
        for ms in times:
            counts[next((i for i, bound in enumerate(BOUNDS_MS) if ms <= bound), len(BOUNDS_MS))] += 1
        shares = {
            f"p{share}": round(times[min(len(times) * share // 100, len(times) - 1)], 3) for share in (50, 95, 99)
        }
        told[name] = {"decisions": len(times), **shares, "counts": counts}
    return told
