"""Letting others know what a runtime decides. What they do with it is elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from edgeret.errors import InputError
from edgeret.runtime.loaded import Loaded
from edgeret.usage.observer import Observer, Observers

if TYPE_CHECKING:
    from edgeret.usage.log import DecisionLog

_CHANGING = threading.Lock()


class Observed:
    """A runtime's doors for whoever watches it."""

    __slots__ = ()
    _loaded: Loaded

    def observe(self, observer: Observer) -> None:
        """Has an `edgeret.usage.observer.Observer` told of every decision from now on, and of what becomes of it; of
        this runtime's tasks and of those of its other generations of tools. Raises InputError for anything else."""
        if not isinstance(observer, Observer):
            raise InputError(f"observe takes an edgeret.usage.observer.Observer, found {type(observer).__name__}")
        with _CHANGING:
            known = self._loaded.observers
            before = () if known is None else known.watching
            self._loaded.observers = Observers(*before, observer)

    def log_to(
        self,
        folder: str | Path,
        *,
        words: bool = False,
        redact: Callable[[str], str] | Literal["values"] | None = "values",
        max_mb: float = 64,
        days: float = 30,
    ) -> DecisionLog:
        """Logs every decision from now on, and what becomes of it, as JSON lines in a folder (docs/LOG.md): names of
        tools, probabilities and times, and no words. With `words` the user's words and the calls' arguments too, as
        `redact` gives them: "values" replaces what is quoted, addresses, files and numbers; a function of a text does
        what it likes; None keeps all.

        All files together have at most `max_mb` megabytes, and those of more than `days` days ago go; several processes
        may share a folder. A full disk ends the log with a warning, and no decision. Raises InputError for options out
        of range, and for a folder that cannot be written to.
        """
        from edgeret.usage.log import DecisionLog
        from edgeret.usage.redaction import redacted

        log = DecisionLog(
            folder, words=words, redact=redacted if redact == "values" else redact, max_mb=max_mb, days=days
        )
        self.observe(log)
        return log
