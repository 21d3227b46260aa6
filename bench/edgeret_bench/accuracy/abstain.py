"""Whether the first decision knows that nothing fits: requests in scope against foreign ones.

Knows nothing of how a bundle comes to its probability of `<end>`; it asks the runtime as an assistant would.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.runtime.runtime import Runtime
from edgeret.terminal.progress import say, track
from edgeret.types import END
from edgeret_bench.accuracy.learner import fresh
from edgeret_bench.results.compare import CONFIDENCE
from edgeret_bench.results.files import order_of, rounded
from edgeret_bench.results.intervals import score_interval

LOSSES = (0.01, 0.05, 0.10)
"""Shares of requests in scope that a threshold may lose."""
RISKS = (0.02, 0.05, 0.10)
"""Shares of wrong calls that are asked for."""
CURVE_POINTS = 101
NORMAL_QUANTILE = 1.959964
"""Standard errors on either side of a mean that hold CONFIDENCE of a normal distribution."""
assert CONFIDENCE == 0.95, "NORMAL_QUANTILE goes with it"

ToolsFor = Callable[[int, Collection[str]], Collection[str] | None]
"""From a request's number and the tools that it may begin with, to those that are there; None for all."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request, and what its first decision may be; nothing for a foreign one, which no tool fits."""

    query: str
    acceptable: frozenset[str] = frozenset()

    @property
    def foreign(self) -> bool:
        """Whether no tool fits."""
        return not self.acceptable


@dataclass(frozen=True, slots=True)
class First:
    """A first decision: the probability of `<end>`, whether a call was made, and whether that is acceptable. `asked`
    is the same pair for each risk."""

    nothing: float
    called: bool
    right: bool
    asked: tuple[tuple[bool, bool], ...]


def requests_of(demonstrations: Iterable[Demonstration], foreign: Iterable[str]) -> list[Request]:
    """Those in scope, with their acceptable first tools, and the foreign ones. A demonstration without calls is
    foreign. Raises InputError unless there are some of both."""
    found = [Request(d.query, d.steps()[0].acceptable if d.calls else frozenset()) for d in demonstrations]
    found += map(Request, foreign)
    n_foreign = sum(request.foreign for request in found)
    if not 0 < n_foreign < len(found):
        missing = "--nothing: no request that no tool fits" if not n_foreign else "--demos: no request with a call"
        raise InputError(f"{missing}; give some of both kinds")
    return found


def run(runtime: Runtime, requests: Sequence[Request], counts: Sequence[int] = (), seed: int = 0) -> dict[str, Any]:
    """The contract's `abstain` result. With `counts`, also among so many tools: each request's own and others drawn."""
    firsts = decide(runtime, requests)
    result = {
        **row(requests, firsts, RISKS),
        "curve": _curve(*_split(requests, firsts)),
        "samples": _samples(requests, firsts),
    }
    if counts:
        result["among"] = {str(count): among(runtime, requests, count, seed) for count in counts}
    return result


def decide(runtime: Runtime, requests: Sequence[Request], tools_for: ToolsFor | None = None) -> list[First]:
    """Every request's first decision by policy "auto"."""
    found = []
    for number, request in enumerate(track(requests, "requests", len(requests))):
        tools = None if tools_for is None else tools_for(number, request.acceptable)
        task = runtime.task(request.query, tools=tools)
        decision = task.next(k=None)
        nothing = next((c.probability for c in decision.candidates if c.tool == END), 0.0)
        asked = []
        for risk in RISKS:
            made = task.next(k=1, risk=risk)
            asked.append((made.is_call, made.tool in request.acceptable))
        found.append(First(nothing, decision.is_call, decision.tool in request.acceptable, tuple(asked)))
    return found


def among(runtime: Runtime, requests: Sequence[Request], count: int, seed: int) -> dict[str, Any]:
    """The figures where each request has `count` tools to choose among: those that fit it, and others drawn."""
    names = list(runtime.tools)
    if not 0 < count <= len(names):
        raise InputError(f"--among: {count} of {len(names)} tools cannot be drawn; give numbers from 1 to {len(names)}")

    def drawn(number: int, acceptable: Collection[str]) -> Collection[str]:
        order = np.random.default_rng((seed, number)).permutation(len(names)).tolist()
        others = [names[i] for i in order if names[i] not in acceptable]
        return [*sorted(acceptable), *others][: max(count, len(acceptable))]

    found = row(requests, decide(runtime, requests, drawn))
    say(f"{count} tools: {told(found)}")
    return found


def learning(
    runtime: Runtime, requests: Sequence[Request], plans: Sequence[Demonstration], counts: Sequence[int]
) -> dict[str, Any]:
    """The figures before anything was learned and after so many of the plans were, in memory alone."""
    if max(counts, default=0) > len(plans):
        raise InputError(f"--learn {max(counts)}: --train has {len(plans)} demonstrations; give no more than there are")
    learner, done, found = fresh(runtime), 0, {}
    for count in sorted({0, *counts}):
        learner.learn(plans[done:count])
        done = count
        found[str(count)] = row(requests, decide(learner, requests))
        say(f"{count} plans learned: {told(found[str(count)])}")
    return found


def row(requests: Sequence[Request], firsts: Sequence[First], risks: Sequence[float] = ()) -> dict[str, Any]:
    """The figures of these decisions, shares but for counts and `auroc`, with `intervals` of 95 %."""
    inside, foreign = _split(requests, firsts)
    kept, declined = _called(requests, firsts, False), _called(requests, firsts, True)
    lost, refused = (1.0 - kept), (1.0 - declined)
    area, spread = auroc(inside, foreign)
    found: dict[str, Any] = {
        "n_inside": len(inside),
        "n_foreign": len(foreign),
        "auroc": area,
        "declined_at": {f"{loss:.2f}": declined_at(inside, foreign, loss) for loss in LOSSES},
        "declined": float(refused.mean()),
        "lost": float(lost.mean()),
        "intervals": {
            "auroc": (max(0.0, area - spread), min(1.0, area + spread)),
            "declined": score_interval(refused, range(len(refused))),
            "lost": score_interval(lost, range(len(lost))),
        },
    }
    if risks:
        found["risk"] = {f"{risk:.2f}": _kept(requests, firsts, i) for i, risk in enumerate(risks)}
    return found


def auroc(inside: NDArray[np.float64], foreign: NDArray[np.float64]) -> tuple[float, float]:
    """How often a foreign request has the higher probability of `<end>` (ties count half), and half its interval's
    width (DeLong, DeLong and Clarke-Pearson 1988)."""
    below = np.searchsorted(np.sort(inside), foreign, "left"), np.searchsorted(np.sort(inside), foreign, "right")
    above = np.searchsorted(np.sort(foreign), inside, "left"), np.searchsorted(np.sort(foreign), inside, "right")
    of_foreign = (below[0] + below[1]) / (2 * len(inside))
    of_inside = 1 - (above[0] + above[1]) / (2 * len(foreign))
    variance = sum(float(part.var(ddof=1)) / len(part) for part in (of_foreign, of_inside) if len(part) > 1)
    return float(of_foreign.mean()), NORMAL_QUANTILE * sqrt(variance)


def declined_at(inside: NDArray[np.float64], foreign: NDArray[np.float64], loss: float) -> float:
    """The share of foreign requests above the lowest threshold that at most a share `loss` of those inside exceeds."""
    threshold = np.sort(inside)[::-1][min(int(loss * len(inside) + 1e-9), len(inside) - 1)]
    return float((foreign > threshold).mean())


def told(found: dict[str, Any]) -> str:
    """A row in words."""
    return f"declined {found['declined']:.3f} of foreign, lost {found['lost']:.3f}, AUROC {found['auroc']:.3f}"


def _split(requests: Sequence[Request], firsts: Sequence[First]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The probabilities of `<end>` of requests in scope, and of foreign ones."""
    foreign = np.array([request.foreign for request in requests])
    nothing = np.array([first.nothing for first in firsts])
    return nothing[~foreign], nothing[foreign]


def _called(requests: Sequence[Request], firsts: Sequence[First], foreign: bool) -> NDArray[np.float64]:
    return np.array([float(f.called) for r, f in zip(requests, firsts, strict=True) if r.foreign is foreign])


def _kept(requests: Sequence[Request], firsts: Sequence[First], number: int) -> dict[str, float | None]:
    """What a risk that was asked for gave: the share of requests in scope that were answered and of these the share of
    wrong ones; and the latter with the foreign ones among them, whose every call is wrong."""
    every = [(request.foreign, *first.asked[number]) for request, first in zip(requests, firsts, strict=True)]
    inside = [(called, right) for foreign, called, right in every if not foreign]
    return {
        "coverage": float(np.mean([called for called, _ in inside])),
        "wrong": _wrong(inside),
        "wrong_with_foreign": _wrong([(called, right) for _, called, right in every]),
    }


def _wrong(asked: Sequence[tuple[bool, bool]]) -> float | None:
    made = [right for called, right in asked if called]
    return 1.0 - float(np.mean(made)) if made else None


def _curve(inside: NDArray[np.float64], foreign: NDArray[np.float64]) -> dict[str, list[float]]:
    """The share of foreign requests declined by the share of requests in scope that is lost, from 0 to 1."""
    lost = np.linspace(0, 1, CURVE_POINTS)
    return {"lost": lost.round(4).tolist(), "declined": [round(declined_at(inside, foreign, x), 5) for x in lost]}


def _samples(requests: Sequence[Request], firsts: Sequence[First]) -> dict[str, Any]:
    """Whether each request was rightly answered or rightly declined, and whether its decision was right, for
    `compare`."""
    told_apart = [float(first.called is not request.foreign) for request, first in zip(requests, firsts, strict=True)]
    right = [float(f.right if f.called else r.foreign) for r, f in zip(requests, firsts, strict=True)]
    return {
        "unit": "score",
        "order": order_of([request.query for request in requests]),
        "groups": list(range(len(requests))),
        "series": rounded({"told apart": told_apart, "right": right}),
    }
