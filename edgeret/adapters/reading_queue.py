"""Whose list of tools is read next, where several wait: clients take turns, and of one client's lists the shortest goes
first. Knows nothing of tools and of what is made of them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from edgeret import EdgeretError


@dataclass(slots=True, eq=False)
class _Waiting:
    client: str
    left: int
    steps: Iterator[int]
    refuse: Callable[[EdgeretError], None]


class ReadingQueue:
    """Work in steps, done by one thread that lives as long as there is some. Thread-safe."""

    def __init__(self, most: int) -> None:
        """`most` may wait at once."""
        self._most = most
        self._waiting: list[_Waiting] = []
        self._served: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._works = False

    def add(self, client: str, size: int, steps: Iterator[int], refuse: Callable[[EdgeretError], None]) -> None:
        """Adds work of a client. Every step says how much is left, of `size` at first; steps raise nothing.

        Where too many wait, the longest of the client that has most of them is refused: this one, which raises
        EdgeretError, or another one, which is told by its `refuse`.
        """
        new = _Waiting(client, size, steps, refuse)
        error = EdgeretError(f"{self._most} other lists of tools are being read; try again in a moment")
        with self._lock:
            if client not in self._served:  # no debt, and no credit for having been away
                self._served[client] = min(self._served.values(), default=0)
            self._waiting.append(new)
            refused = self._too_many()
            if refused is new:
                raise error
            starts, self._works = not self._works, True
        if refused is not None:
            refused.refuse(error)
        if starts:
            threading.Thread(target=self._work, name="edgeret-tools", daemon=True).start()

    def _too_many(self) -> _Waiting | None:
        if len(self._waiting) <= self._most:
            return None
        counts = Counter(waiting.client for waiting in self._waiting)
        at = max(range(len(self._waiting)), key=lambda i: (counts[self._waiting[i].client], self._waiting[i].left, i))
        return self._waiting.pop(at)

    def _work(self) -> None:
        while (turn := self._next()) is not None:
            before, left = turn.left, next(turn.steps, 0)
            with self._lock:
                turn.left = left
                self._served[turn.client] += max(1, before - left)
                if left == 0 and turn in self._waiting:
                    self._waiting.remove(turn)

    def _next(self) -> _Waiting | None:
        with self._lock:
            if not self._waiting:
                self._served.clear()
                self._works = False
                return None
            return min(self._waiting, key=lambda waiting: (self._served[waiting.client], waiting.left))
