"""One question at a time: who asks waits for its turn until a deadline, and no longer. Knows nothing of models."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from time import perf_counter


class BusyError(Exception):
    """Others kept the turn until the deadline."""


class Turn:
    """Whose turn it is. Thread-safe; who waits is not in any order."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    @contextmanager
    def by(self, deadline: float = inf) -> Iterator[None]:
        """The turn, for as long as the context lasts; who has it began before the `deadline` (of `time.perf_counter`).
        Raises BusyError."""
        seconds = -1.0 if deadline == inf else max(0.0, min(deadline - perf_counter(), threading.TIMEOUT_MAX))
        if not self._lock.acquire(timeout=seconds):
            raise BusyError
        try:
            yield
        finally:
            self._lock.release()
