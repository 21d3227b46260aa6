"""How long a planner takes to read, as its last reading told. Knows nothing of tokens' meaning and of caches."""

from __future__ import annotations

from time import perf_counter

_GUESS, _GROWING = 0.005, 0.1
"""Seconds that a token and a larger cache may take, as long as none was read and made."""
_FORGIVEN = 0.999
"""What is left of a pace after a refusal that it led to: one slow moment must not end all asking."""
_SPENT = 0.7
"""Of the time that is left, what a piece may be expected to take: the next one can take longer than the last."""
_LONGER = 2
"""Times as long as the last cache that a larger one may take."""
LEAST = 16
"""Tokens that tell a pace: of a few, each takes longer."""


class Pace:
    """What there is time for before a deadline, which is a moment of `time.perf_counter`. Not thread-safe."""

    def __init__(self) -> None:
        self._token, self._cache = _GUESS, _GROWING

    def tokens_before(self, deadline: float) -> float:
        """Tokens that can be read until then."""
        return _SPENT * (deadline - perf_counter()) / self._token

    def refused(self) -> None:
        """Something was not read, for lack of time."""
        self._token *= _FORGIVEN

    def read(self, tokens: int, started: float) -> None:
        """So many tokens were read, from `started` until now."""
        self._token = (perf_counter() - started) / tokens

    def lets_grow(self, deadline: float) -> bool:
        """Whether a larger cache can be made until then."""
        return perf_counter() + _LONGER * self._cache < deadline

    def grew(self, started: float) -> None:
        """A cache was made, from `started` until now."""
        self._cache = perf_counter() - started
