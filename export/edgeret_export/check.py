"""Whether a newer bundle may take an older one's place: accuracy, risk, latency, size, and what must be decided so.

Both bundles answer the same requests in one run, so that only what they answer differently counts. A loss stops a
release if it is larger than the budget and chance does not explain it (`encoders.bound`): a gate that compares a mean
with a limit refuses by chance. Steps of a request share its words, so whole requests are what is drawn from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle.layout import Manifest
from edgeret.inputs.demonstrations import Demonstration
from edgeret.runtime.runtime import Runtime
from edgeret.terminal.progress import track
from edgeret.types import END
from edgeret_export.check_budget import SHARES, Budget
from edgeret_export.check_requests import Answer, Must, Request, answers, decided, own_words, requests_of
from edgeret_export.encoders.bound import CONFIDENCE, lower_bound, upper_bound

MOST_TIMED, ROUNDS = 200, 5
"""Requests that are timed, and how often by each bundle; the fastest of a request's times counts."""
MOST_CHANGED = 200
"""Requests listed of one measure; the numbers beside them count all."""
_FELL, _OK, _UNSURE = "fell", "ok", "unsure"


@dataclass(frozen=True, slots=True)
class Measure:
    """A share that is measured: of which requests, and whether an answer to one of them is good."""

    name: str
    told: str
    of: Callable[[Request], bool]
    good: Callable[[Request, Answer], bool]


def _right(request: Request, answer: Answer) -> bool:
    return answer.best in request.acceptable


MEASURES = (
    Measure("next_function", "next function right", lambda r: not r.foreign, _right),
    Measure("first_function", "first function right", lambda r: r.first, _right),
    Measure("declined", "answered, where a tool fits", lambda r: r.first, lambda _, a: a.called is not None),
    Measure(
        "wrong", "no wrong call", lambda r: not r.foreign, lambda r, a: a.called is None or a.called in r.acceptable
    ),
    Measure("foreign", "declined, where no tool fits", lambda r: r.foreign, lambda _, a: a.called is None),
)
"""All of them as shares that should be large."""
OWN_WORDS = Measure("own_words", "tools found by their own words", lambda _: True, _right)


def check(
    before: Runtime,
    after: Runtime,
    demonstrations: Sequence[Demonstration] = (),
    nothing: Sequence[str] = (),
    must: Sequence[Must] = (),
    budget: Budget | None = None,
) -> dict[str, Any]:
    """All that was measured, JSON-ready; `ok` is False if anything fell, and `fell` names it. `measures` has rows:
    shares of both bundles, the loss, the least that it surely is and the most that it may be, what is allowed, and the
    requests that only the older one gets right. `unchecked` says what could not be looked at, and why."""
    budget = budget or Budget()
    shared = before.tools.keys() & after.tools.keys()
    named = [(d, {call.tool for call in d.calls}) for d in demonstrations]
    known = [d for d, tools in named if tools <= shared]
    only_new = [d for d, tools in named if not tools <= shared and tools <= after.tools.keys()]
    requests = requests_of(known, nothing)
    asked = [(measure, requests) for measure in MEASURES]
    if not any(request.first for request in requests):
        asked.append((OWN_WORDS, own_words(before.tools, after.tools)))
    rows = _shares(before, after, asked, budget)
    if must:
        rows.append(_must(before, after, must, budget))
    timed = list(dict.fromkeys([r.query for _, each in asked for r in each] + [m.query for m in must]))
    if timed:
        rows.append(_latency(before, after, timed, budget))
    rows.append(_size(before.manifest, after.manifest, budget))
    fell = [row["name"] for row in rows if row["verdict"] == _FELL]
    unsure = [row["name"] for row in rows if row["verdict"] == _UNSURE]
    return {
        "ok": not fell and not (unsure and budget.unsure == "fail"),
        "content_hash": [before.manifest.content_hash, after.manifest.content_hash],
        "fell": fell,
        "unsure": unsure,
        "measures": rows,
        "only_new": _only_new(after, only_new),
        "unchecked": _unchecked(before, after, demonstrations, known, only_new, requests, must),
    }


def _shares(
    before: Runtime, after: Runtime, asked: Sequence[tuple[Measure, Sequence[Request]]], budget: Budget
) -> list[dict[str, Any]]:
    """A row for each share that some request measures."""
    chosen = [(measure, [r for r in requests if measure.of(r)], requests) for measure, requests in asked]
    chosen = [each for each in chosen if each[1]]
    said: dict[int, list[tuple[Answer, Answer]]] = {}
    for _, _, requests in chosen:
        if id(requests) not in said:
            pairs = zip(answers(before, requests), answers(after, requests), strict=True)
            said[id(requests)] = list(track(pairs, "decisions", len(requests)))
    # Each may stop the release, so each gets its part of the error that all may make together.
    confidence = 1 - (1 - CONFIDENCE) / max(1, len(chosen))
    return [
        _share(measure, list(zip(requests, said[id(requests)], strict=True)), budget, confidence)
        for measure, _, requests in chosen
    ]


def _share(
    measure: Measure, said: Sequence[tuple[Request, tuple[Answer, Answer]]], budget: Budget, confidence: float
) -> dict[str, Any]:
    of = [(request, pair) for request, pair in said if measure.of(request)]
    good = np.array([[measure.good(request, answer) for answer in pair] for request, pair in of], np.float64)
    _, group = np.unique([request.group for request, _ in of], return_inverse=True)
    # By request, in units of the mean number of steps: their mean is the difference of both shares.
    lost = np.bincount(group, good[:, 0] - good[:, 1]) * len(np.unique(group)) / len(of)
    loss, shown = float(good[:, 0].mean() - good[:, 1].mean()), lower_bound(lost, confidence)
    at_most = max(upper_bound(lost, confidence), _never_seen(lost, confidence, len(of)))
    allowed = float(getattr(budget, measure.name))
    changed = [(request, pair) for (request, pair), (old, new) in zip(of, good, strict=True) if old and not new]
    return {
        "name": measure.name,
        "told": measure.told,
        "requests": len(lost),
        "decisions": len(of),
        "old": float(good[:, 0].mean()),
        "new": float(good[:, 1].mean()),
        "loss": loss,
        "shown": shown,
        "at_most": at_most,
        "allowed": allowed,
        "verdict": _FELL if loss > allowed and shown > 0 else _OK if at_most <= allowed else _UNSURE,
        "lost": len(changed),
        "gained": int((good[:, 1] > good[:, 0]).sum()),
        "changed": [_changed(request, *pair) for request, pair in changed[:MOST_CHANGED]],
    }


def _never_seen(lost: Any, confidence: float, decisions: int) -> float:
    """What may be lost though no request lost anything: with that confidence, a larger share would have shown."""
    return 0.0 if (lost > 0).any() else min(1.0, -math.log(1 - confidence) / len(lost)) * len(lost) / decisions


def _changed(request: Request, old: Answer, new: Answer) -> dict[str, Any]:
    return {
        "query": request.query,
        "calls": list(request.calls),
        "expected": sorted(request.acceptable),
        "old": old.best if old.called is not None or old.best == END else f"{old.best} (declined)",
        "new": new.best if new.called is not None or new.best == END else f"{new.best} (declined)",
    }


def _must(before: Runtime, after: Runtime, must: Sequence[Must], budget: Budget) -> dict[str, Any]:
    said = [(each, decided(before, each), decided(after, each)) for each in must]
    wrong = [(each, old, new) for each, old, new in said if new != each.tool]
    changed = [
        {
            "query": each.query,
            "calls": list(each.calls),
            "expected": [each.tool or END],
            "old": old or "nothing",
            "new": new or "nothing",
        }
        for each, old, new in wrong
    ]
    return {
        "name": "must",
        "told": "must-decide requests",
        "requests": len(must),
        "decisions": len(must),
        "old": sum(old == each.tool for each, old, _ in said),
        "new": len(must) - len(wrong),
        "loss": len(wrong),
        "allowed": budget.must,
        "verdict": _FELL if len(wrong) > budget.must else _OK,
        "lost": len(wrong),
        "gained": 0,
        "changed": changed,
    }


def _latency(before: Runtime, after: Runtime, queries: Sequence[str], budget: Budget) -> dict[str, Any]:
    """First decisions, the words read anew: how many times the older bundle's time the newer one takes. The older one
    is asked twice: what it differs by from itself is this machine's noise, and counts for neither."""
    queries = queries[:: -(-len(queries) // MOST_TIMED)]
    runtimes = (before, after, before)
    fastest = np.full((len(runtimes), len(queries)), np.inf)
    for round_ in range(ROUNDS + 1):  # the first one is cold, and does not count
        for i, query in enumerate(queries):
            for turn in range(len(runtimes)):
                side = (i + round_ + turn) % len(runtimes)
                begin = perf_counter()
                runtimes[side].task(query).next(k=1)
                took = perf_counter() - begin
                if round_:
                    fastest[side, i] = min(fastest[side, i], took)
    ratio, shown, at_most = ratio_of(fastest)
    return {
        "name": "latency",
        "told": "time of a first decision",
        "requests": len(queries),
        "decisions": len(queries),
        "old": float(np.median(fastest[::2]) * 1e3),
        "new": float(np.median(fastest[1]) * 1e3),
        "loss": ratio,
        "shown": shown,
        "at_most": at_most,
        "allowed": budget.latency,
        "verdict": _FELL if ratio > budget.latency and shown > 1 else _OK if at_most <= budget.latency else _UNSURE,
        "changed": [],
    }


def ratio_of(times: NDArray[np.float64]) -> tuple[float, float, float]:
    """How many times the older bundle's time the newer one takes, at least and at most, of `times` (3, requests): the
    older one's, the newer one's, the older one's again. In the geometric mean, so that each request counts alike."""
    logs = np.log(times)
    ratios, noise = logs[1] - (logs[0] + logs[2]) / 2, abs(float((logs[2] - logs[0]).mean()))
    low, high = lower_bound(ratios) - noise, upper_bound(ratios) + noise
    return math.exp(float(ratios.mean())), math.exp(low), math.exp(high)


def _size(before: Manifest, after: Manifest, budget: Budget) -> dict[str, Any]:
    old, new = (sum(entry.size for entry in manifest.files) for manifest in (before, after))
    ratio = new / max(1, old)
    return {
        "name": "size",
        "told": "size of the bundle",
        "old": old / 1e6,
        "new": new / 1e6,
        "loss": ratio,
        "allowed": budget.size,
        "verdict": _FELL if ratio > budget.size else _OK,
        "changed": [],
    }


def _only_new(after: Runtime, demonstrations: Sequence[Demonstration]) -> dict[str, Any] | None:
    """How the newer bundle does where only it has the tools; there is nothing to compare that with."""
    if not demonstrations:
        return None
    requests = requests_of(demonstrations, ())
    right = [_right(request, answer) for request, answer in zip(requests, answers(after, requests), strict=True)]
    return {"demonstrations": len(demonstrations), "decisions": len(right), "right": float(np.mean(right))}


def _unchecked(
    before: Runtime,
    after: Runtime,
    demonstrations: Sequence[Demonstration],
    known: Sequence[Demonstration],
    only_new: Sequence[Demonstration],
    requests: Sequence[Request],
    must: Sequence[Must],
) -> list[str]:
    """What nobody should believe was looked at."""
    found = []
    if not any(request.first for request in requests):
        found.append(
            "next and first functions, what is declined and what is wrong: no demonstrations of tools that both have "
            "(--demos)"
        )
    if not any(request.foreign for request in requests):
        found.append("what becomes of requests that no tool fits: none given (--nothing)")
    if not must:
        found.append("must-decide requests: none given (--must)")
    if only_new:
        found.append(f"{len(only_new)} demonstrations, against the older bundle: it lacks their tools")
    if gone := len(demonstrations) - len(known) - len(only_new):
        found.append(f"{gone} demonstrations: the newer bundle lacks their tools")
    for which, runtime in (("older", before), ("newer", after)):
        golden = runtime.manifest.info.get("golden")
        queries = golden.get("queries") if isinstance(golden, Mapping) else None
        if isinstance(queries, list) and {d.query for d in demonstrations} & {q for q in queries if isinstance(q, str)}:
            found.append(
                f"how the {which} bundle does on requests that it never saw: it was built from some of these "
                "demonstrations, which flatters it; hold some back"
            )
    return found


assert {measure.name for measure in (*MEASURES, OWN_WORDS)} == set(SHARES)
