"""One clock for the stages of a decision. Imports nothing of ours."""

from __future__ import annotations

from time import perf_counter


class Stopwatch:
    """Milliseconds by stage: every moment since the start belongs to exactly one of them."""

    __slots__ = ("marks",)

    def __init__(self, before: Stopwatch | None = None) -> None:
        """Starts now, with what `before` has measured; what passed since then belongs to nobody."""
        # Marks are kept and added up later: a lap stands between two stages of a few microseconds.
        self.marks: list[tuple[str, float]] = [] if before is None else before.marks.copy()
        self.marks.append(("", perf_counter()))

    def lap(self, stage: str) -> None:
        """Gives the time since the last lap to `stage`, which may be met more than once."""
        self.marks.append((stage, perf_counter()))

    def ms(self) -> dict[str, float]:
        """Milliseconds by stage, in the order they were met, with their sum as `total`; a copy."""
        found: dict[str, float] = {}
        total, last = 0.0, 0.0
        for stage, mark in self.marks:
            if stage:
                passed = (mark - last) * 1e3
                found[stage] = found.get(stage, 0.0) + passed
                total += passed
            last = mark
        found["total"] = total
        return found
