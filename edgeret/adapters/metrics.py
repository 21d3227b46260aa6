"""Counters and times in the text format that Prometheus reads, for all servers here. Knows nothing of HTTP.

Written here and not taken from `prometheus-client`: this is two of its types, and a device installs one package less.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from edgeret import Call, Decision
from edgeret.usage.observer import Observer, Seen, corrects

KIND = b"text/plain; version=0.0.4; charset=utf-8"
BOUNDS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Histogram:
    """How many seconds things took, in `BOUNDS_S` and beyond."""

    def __init__(self) -> None:
        self._counts, self._sum = [0] * (len(BOUNDS_S) + 1), 0.0

    def add(self, seconds: float) -> None:
        """One more."""
        self._counts[bisect_left(BOUNDS_S, seconds)] += 1
        self._sum += seconds

    def lines(self, name: str, labels: str) -> Iterator[str]:
        """The samples of one series; `labels` as they stand between braces, or nothing."""
        before, total = f"{labels}," if labels else "", 0
        for bound, count in zip((*map(repr, BOUNDS_S), "+Inf"), self._counts, strict=True):
            total += count
            yield f'{name}_bucket{{{before}le="{bound}"}} {total}'
        braces = f"{{{labels}}}" if labels else ""
        yield f"{name}_sum{braces} {self._sum!r}"
        yield f"{name}_count{braces} {total}"


class Metrics:
    """Thread-safe: one thread may be asked for the text while others count."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._decisions: Counter[tuple[str, str]] = Counter()
        self._answers: dict[str, Histogram] = {}
        self._decided = Histogram()
        self._asked = self._corrected = 0

    @property
    def requests(self) -> int:
        """All of them."""
        return sum(self._requests.values())

    @property
    def refused(self) -> int:
        """Those that were not answered as asked."""
        return sum(count for (_, status), count in self._requests.items() if status >= 400)

    @property
    def decisions(self) -> int:
        """All of them."""
        return sum(self._decisions.values())

    def answered(self, path: str, status: int, seconds: float | None) -> None:
        """A request was answered, in so long where that was looked at; `path` is one of few, whatever was asked for."""
        with self._lock:
            self._requests[path, status] += 1
            if seconds is not None:
                self._answers.setdefault(path, Histogram()).add(seconds)

    def decided(self, outcome: str, stage: str, seconds: float, asked: bool = False) -> None:
        """A decision was made, in so long; `asked` says whether a planner was. Both names are of few."""
        with self._lock:
            self._decisions[outcome, stage] += 1
            self._decided.add(seconds)
            self._asked += asked

    def corrected(self) -> None:
        """Another tool was called than was decided, or stood first."""
        with self._lock:
            self._corrected += 1

    def text(self, version: str, gauges: Mapping[str, tuple[str, float]]) -> bytes:
        """All of it, with `gauges` by name: what each is, and its value."""
        with self._lock:
            lines = [*_build(version), *self._counted(), *self._timed()]
        for name, (told, value) in gauges.items():
            lines += _family(name, "gauge", told, [f"{name} {value:g}"])
        return ("\n".join(lines) + "\n").encode()

    def _counted(self) -> Iterator[str]:
        requests, decisions = sorted(self._requests.items()), sorted(self._decisions.items())
        yield from _family(
            "edgeret_requests_total",
            "counter",
            "Requests by path and status.",
            [f'edgeret_requests_total{{path="{path}",code="{code}"}} {count}' for (path, code), count in requests],
        )
        yield from _family(
            "edgeret_decisions_total",
            "counter",
            "Decisions by outcome and by the stage that decided.",
            [
                f'edgeret_decisions_total{{outcome="{outcome}",stage="{stage}"}} {count}'
                for (outcome, stage), count in decisions
            ],
        )
        for name, told, count in (
            ("edgeret_planner_asked_total", "Decisions for which a planner was asked.", self._asked),
            ("edgeret_corrections_total", "Calls of other tools than decided.", self._corrected),
        ):
            yield from _family(name, "counter", told, [f"{name} {count}"])

    def _timed(self) -> Iterator[str]:
        named = [
            line
            for path, times in sorted(self._answers.items())
            for line in times.lines("edgeret_request_seconds", f'path="{path}"')
        ]
        yield from _family("edgeret_request_seconds", "histogram", "From a request's header to its answer.", named)
        took = list(self._decided.lines("edgeret_decision_seconds", ""))
        yield from _family("edgeret_decision_seconds", "histogram", "The decision itself.", took)


class Corrections(Observer):
    """Counts what users call instead."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def called(self, seen: Seen, call: Call, decision: Decision | None) -> None:
        """Counts a call that is another one than was decided."""
        if decision is not None and corrects(call, decision):
            self._metrics.corrected()


def _build(version: str) -> list[str]:
    return _family("edgeret_build_info", "gauge", "The version.", [f'edgeret_build_info{{version="{version}"}} 1'])


def _family(name: str, kind: str, told: str, samples: Sequence[str]) -> list[str]:
    return [f"# HELP {name} {told}", f"# TYPE {name} {kind}", *samples]
