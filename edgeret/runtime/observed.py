"""Letting others know what a runtime decides. What they do with it is elsewhere."""

from __future__ import annotations

import threading

from edgeret.errors import InputError
from edgeret.runtime.learning import Learned
from edgeret.usage.observer import Observer, Observers

_CHANGING = threading.Lock()


class Observed:
    """A runtime's doors for whoever watches it."""

    __slots__ = ()
    _learned: Learned

    def observe(self, observer: Observer) -> None:
        """Has an `edgeret.usage.observer.Observer` told of every decision from now on, and of what becomes of it; of
        this runtime's tasks and of those of its other generations of tools. Raises InputError for anything else."""
        if not isinstance(observer, Observer):
            raise InputError(f"observe takes an edgeret.usage.observer.Observer, found {type(observer).__name__}")
        learned = self._learned
        with _CHANGING:
            before = () if learned.observers is None else learned.observers.watching
            learned.observers = Observers(*before, observer)
