"""One clock for the stages of a decision. Imports nothing of ours."""

from __future__ import annotations

from time import perf_counter


class Stopwatch:
    """Milliseconds by stage: every moment since the start, or since `resume`, belongs to exactly one of them."""

    __slots__ = ("_last", "ms")

    def __init__(self) -> None:
        self.ms: dict[str, float] = {}
        self._last = perf_counter()

    def resume(self) -> None:
        """Goes on now; what passed since the last lap belongs to nobody."""
        self._last = perf_counter()

    def lap(self, stage: str) -> None:
        """Gives the time since the last lap to `stage`, which may be met more than once."""
        now = perf_counter()
        self.ms[stage] = self.ms.get(stage, 0.0) + (now - self._last) * 1e3
        self._last = now

    def total(self) -> dict[str, float]:
        """A copy of the stages, in the order they were met, with their sum as `total`."""
        return {**self.ms, "total": sum(self.ms.values())}
