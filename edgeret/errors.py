"""Every exception edgeret raises on purpose. This room imports nothing of ours but what makes words visible.

A message says what is wrong, where, what was expected and found, and how to mend it. `exit_code` is what the command
lines return: 2 for bad usage or bad input, 1 for a check that failed.
"""

from __future__ import annotations

from edgeret.quoting import visible


class EdgeretError(Exception):
    """Root of all errors that a caller can act on. A message may quote files, folders, libraries and servers, and goes
    into logs and onto terminals: whatever these would obey, or a reader not see, stands in it as an escape."""

    exit_code = 2

    def __init__(self, message: str = "") -> None:
        super().__init__(visible(message))


class InputError(EdgeretError):
    """Tools, demonstrations, queries or options that do not fit."""


class BundleError(EdgeretError):
    """A bundle that is missing, altered, truncated, newer than this release, or put together from strangers."""


class OverlayError(EdgeretError):
    """What was learned on the device that cannot be read, written or locked, is damaged, or is another encoder's."""


class ProviderError(EdgeretError):
    """The execution provider that was asked for cannot be had."""


class MissingExtraError(EdgeretError):
    """A part of edgeret that was not installed."""

    def __init__(self, extra: str, needed_for: str) -> None:
        """`extra` is one of edgeret's, another distribution, or one of its extras: "cpu", "edgeret-export",
        "edgeret-export[train]"."""
        wanted = extra if extra.startswith("edgeret-") else f"edgeret[{extra}]"
        distribution, _, name = wanted.removesuffix("]").partition("[")
        missing = f"extra '{name}'" if name else distribution
        super().__init__(f"{needed_for} requires {missing}. Install it with: pip install '{wanted}'")


class NoMemoryError(EdgeretError, MemoryError):
    """There is no memory to load a bundle."""


class CheckFailedError(EdgeretError):
    """A gate or a self-test that did not hold (parity at export, golden vectors on the device)."""

    exit_code = 1


class LanguageWarning(UserWarning):
    """A query is in a language, or in a script, that the encoder was not trained on, so what is decided is chance."""

    def __init__(self, message: str = "") -> None:
        super().__init__(visible(message))


class PlannerError(EdgeretError):
    """The planner cannot be loaded or cannot answer; the heads still can."""
