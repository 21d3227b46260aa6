"""What happened in a task: its calls, and what was tried and failed. Knows nothing of queries, scores and bundles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from edgeret.errors import InputError
from edgeret.inputs.demonstrations import MAX_ARGUMENTS_BYTES, MAX_CALLS
from edgeret.inputs.jsonl import is_text, plain
from edgeret.quoting import shortened
from edgeret.types import Call, Failure

MAX_RESULT_BYTES = 20_000
"""Of what a call gave, as JSON; no prompt shows more than its first 400 characters."""
MAX_REASON_CHARS = 1_000
"""Kept of why a tool failed; a stack trace has more, and says nothing more that counts here."""
_MOST_EXPLAINED = 3
_NOTHING: frozenset[str] = frozenset()


@dataclass(slots=True)
class History:
    """The calls so far and the failures, in order.

    `now` is what days such as "tomorrow" are counted from, None where nobody told.

    A failure stands behind as many calls as it says, so the order of all that happened is known.
    """

    calls: list[Call] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    now: datetime | None = None

    @property
    def blocked(self) -> frozenset[str]:
        """Names of the tools that may not be chosen now: they failed, and nothing has changed since."""
        return frozenset(self._open()) if self.failures else _NOTHING

    @property
    def left_out(self) -> str:
        """Why the blocked tools are left out, in words; "" if none is."""
        reasons = list(self._open().items())
        told = [
            f"{tool} was left out: it failed" + (f" ({shortened(reason)})" if reason.strip() else "")
            for tool, reason in reasons[:_MOST_EXPLAINED]
        ]
        if len(reasons) > _MOST_EXPLAINED:
            told.append(f"{len(reasons) - _MOST_EXPLAINED} more were left out, which failed too")
        return "; ".join(told)

    def add(self, call: Call) -> None:
        """Adds a call. Raises InputError for more than MAX_CALLS."""
        if len(self.calls) == MAX_CALLS:
            raise InputError(f"{MAX_CALLS} calls were made already, more than any plan has; open a new task")
        self.calls.append(call)

    def fail(self, failure: Failure) -> None:
        """Adds a failure. Raises InputError for more than MAX_CALLS."""
        if len(self.failures) == MAX_CALLS:
            raise InputError(f"{MAX_CALLS} tools failed already, more than any plan has calls; open a new task")
        self.failures.append(failure)

    def retry(self, tool: str) -> bool:
        """Lets a blocked tool be chosen again; whether it was blocked."""
        found = tool in self.blocked
        for i, failure in enumerate(self.failures):
            if failure.tool == tool and failure.after == len(self.calls):
                self.failures[i] = replace(failure, retried=True)
        return found

    def undo(self) -> Call | Failure:
        """Takes back what happened last, and gives it. Raises InputError if nothing did."""
        if self.failures and self.failures[-1].after == len(self.calls):
            return self.failures.pop()
        if not self.calls:
            raise InputError("nothing to undo: no call was made, and no tool failed")
        return self.calls.pop()

    def copy(self) -> History:
        """Another history with the same calls and failures."""
        return History(self.calls.copy(), self.failures.copy(), self.now)

    def _open(self) -> dict[str, str]:
        """Why each blocked tool failed, the last time that it did."""
        made = len(self.calls)
        return {f.tool: f.reason for f in self.failures if f.after == made and not f.retried}


def check_arguments(value: Any) -> dict[str, Any]:
    """A copy of a call's arguments as plain JSON, whatever the function. Raises InputError for what is no mapping, what
    JSON cannot hold, what holds itself, and what is nested more than MAX_DEPTH deep or has more than 1 MB as JSON."""
    if not isinstance(value, Mapping):
        raise InputError(f"arguments must be an object, found {type(value).__name__}; give values by name")
    try:
        return dict(plain(value, MAX_ARGUMENTS_BYTES))
    except ValueError as error:
        raise InputError(f"arguments cannot be taken ({error}); give fewer or simpler values") from None


def check_result(value: Any) -> Any:
    """A copy of what a call gave, as plain JSON. Raises InputError for what JSON cannot hold, what is nested more than
    MAX_DEPTH deep, and what has more than MAX_RESULT_BYTES as JSON."""
    try:
        return None if value is None else plain(value, MAX_RESULT_BYTES)
    except ValueError as error:
        raise InputError(f"the result cannot be taken ({error}); give what matters of it, or none") from None


def check_reason(value: object) -> str:
    """Why a tool failed: text, of which the first MAX_REASON_CHARS are kept. Raises InputError for anything else."""
    if not isinstance(value, str):
        raise InputError(f"the reason of a failure must be text, found {type(value).__name__}; give str(error)")
    if not is_text(value):
        raise InputError("the reason of a failure holds half a surrogate pair, which no text can; give repr(error)")
    return value[:MAX_REASON_CHARS]


def check_clock(now: object) -> None:
    """Raises InputError for what is no moment."""
    if now is not None and not isinstance(now, datetime):
        raise InputError(f"now must be a datetime, found {type(now).__name__}; give datetime.now()")
