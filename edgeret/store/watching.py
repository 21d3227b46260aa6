"""A thread that looks again and again whether another process switched. Knows nothing of what a switch is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

from edgeret.errors import BundleError, EdgeretError, InputError


class Refreshing(Protocol):
    """What can be watched."""

    trouble: EdgeretError | None

    def refresh(self) -> Any:
        """Takes up what changed, None for nothing. Raises EdgeretError."""


class Watching:
    """Refreshes until it is ended. Its thread ends with the process."""

    def __init__(self, store: Refreshing, every_s: float, told: Callable[[Any], object] | None) -> None:
        """`told` hears of what `refresh` gave, and of what it raised."""
        self._store, self._every_s, self._told = store, every_s, told
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="edgeret-store", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Ends it; waits for a switch that has begun, unless that is who ends it."""
        self._over.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(self._every_s):
            try:
                found = self._store.refresh()
            except EdgeretError as error:
                self._store.trouble = found = error
            except Exception as error:  # for instance a file system that went away: the next look may find it
                self._store.trouble = found = BundleError(f"{type(error).__name__}: {error}")
            if found is not None and self._told is not None:
                try:
                    self._told(found)
                except Exception as error:  # whoever hears of a switch must not end the next one
                    self._store.trouble = InputError(f"told of a switch, it raised {type(error).__name__}: {error}")
