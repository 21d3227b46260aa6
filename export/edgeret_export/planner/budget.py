"""What asking a planner costs a build: bounded by tokens, and told while it lasts."""

from __future__ import annotations

from statistics import median

from edgeret.terminal.progress import say
from edgeret.types import Usage

MOST_TOKENS = 30_000
"""Tokens that a planner reads and writes for one purpose. Not a time: what a bundle holds must not depend on how busy
the host is."""
TOLD_FROM, TOLD_EVERY = 5, 20
"""Questions after which it is told how long the rest may take, and between two lines."""


class Budget:
    """Counts what questions of one purpose cost."""

    def __init__(self, what: str, most: int, fewer: str = "") -> None:
        """For at most so many questions, of at least one; `fewer` says how to have fewer."""
        self._what, self._most, self._fewer = what, most, f"; {fewer}" if fewer else ""
        self._ms: list[float] = []
        self._tokens = 0
        say(f"{what}: a planner is asked at most {most} times")

    @property
    def is_spent(self) -> bool:
        """Whether there is nothing left for another question."""
        return len(self._ms) >= self._most or self._tokens >= MOST_TOKENS

    def add(self, usage: Usage) -> None:
        """Counts a question, and tells how far it is where it is time to."""
        self._ms.append(usage.ms)
        self._tokens += usage.tokens_evaluated
        asked = len(self._ms)
        if asked == TOLD_FROM and not self.is_spent:
            by_tokens = (MOST_TOKENS - self._tokens) * asked / max(self._tokens, 1)
            minutes = min(self._most - asked, by_tokens) * median(self._ms) / 60e3
            each = median(self._ms) / 1e3
            say(f"{self._what}: {each:.1f} s a question here, so {max(minutes, 0.1):.1f} minutes at most{self._fewer}")
        elif asked % TOLD_EVERY == 0:
            say(f"{self._what}: {asked} asked")

    def close(self, is_sure: bool) -> None:
        """Tells why there are no more questions, of those that there could be."""
        if is_sure:
            say(f"{self._what}: {len(self._ms)} were enough, it does not help")
        elif self._tokens >= MOST_TOKENS and len(self._ms) < self._most:
            say(f"{self._what}: stopped after {len(self._ms)} questions, which took {self._tokens} tokens")
