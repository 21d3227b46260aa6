"""What a version must get right before it decides for anybody. Knows nothing of stores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from edgeret.errors import CheckFailedError, EdgeretError, InputError
from edgeret.inputs.jsonl import list_field, read_objects, text_field
from edgeret.inputs.query import check_query
from edgeret.quoting import quoted
from edgeret.records import dataclass
from edgeret.runtime.golden import golden_checks
from edgeret.runtime.runtime import Runtime
from edgeret.types import END, Decision

Probe = Callable[[Runtime], object]
"""Raises for a runtime that must not decide; what it returns is left alone."""
MAX_REQUESTS = 1000
TOLD = 3
"""Requests that a message names; the numbers count all."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request that must be decided so: the `tool`, or None where nothing may be called."""

    query: str
    calls: tuple[str, ...]
    tool: str | None


def read_must_decide(path: str | Path) -> tuple[Request, ...]:
    """The requests of a file, as `edgeret-export check --must` reads them: "query", "calls" (names, or objects with
    "tool"; none if left out) and "tool", null where nothing may be called, a line. Raises InputError."""
    found = []
    for where, value in read_objects(Path(path), 'requests, one {"query", "tool"} a line'):
        query, tool = check_query(text_field(where, value, "query"), where), value.get("tool")
        if "tool" not in value or not isinstance(tool, str | None):
            raise InputError(f'{where}: "tool" must be a tool\'s name, or null where nothing may be called')
        calls = list_field(where, value, "calls") if value.get("calls") is not None else []
        made = [call.get("tool") if isinstance(call, dict) else call for call in calls]
        names = tuple(name for name in made if isinstance(name, str))
        if len(names) != len(made):
            raise InputError(f'{where}: a call must be a tool\'s name or {{"tool": …}}')
        found.append(Request(query, names, None if tool == END else tool))
    if not 0 < len(found) <= MAX_REQUESTS:
        raise InputError(f"{path}: {len(found)} requests, from 1 to {MAX_REQUESTS} are allowed")
    return tuple(found)


def own_checks(runtime: Runtime) -> list[dict[str, Any]]:
    """What the bundle says of itself, done again here: vectors, decisions, and probabilities that sum to 1; each
    `{"name", "ok", "detail"}`. Takes the runtime with the tools that it was built with. Raises BundleError."""
    task = runtime.task("what can you do")
    total = float(task.probabilities().sum())
    whole = {"name": "a decision", "ok": abs(total - 1) < 1e-3, "detail": f"probabilities sum to {total:.5f}"}
    return [*golden_checks(runtime), whole]


def must_decide(runtime: Runtime, requests: Sequence[Request]) -> dict[str, Any]:
    """A check that the runtime decides all these requests as it must."""
    wrong = []
    for request in requests:
        wanted = request.tool or "nothing"
        try:
            found = _told(runtime.task(request.query, request.calls).next())
        except EdgeretError as error:
            found = str(error)
        if found != wanted:
            wrong.append(f"{quoted(request.query)}: expected {wanted}, found {found}")
    detail = f"{len(requests) - len(wrong)} of {len(requests)} as they must be"
    if wrong:
        detail += f"; {'; '.join(wrong[:TOLD])}"
    return {"name": "requests that must be decided so", "ok": not wrong, "detail": detail}


def caller_check(runtime: Runtime, probe: Probe) -> dict[str, Any]:
    """A check that the caller's probe raises nothing."""
    try:
        probe(runtime)
    except Exception as error:
        return {"name": "the caller's probe", "ok": False, "detail": f"{type(error).__name__}: {error}"}
    return {"name": "the caller's probe", "ok": True, "detail": "raised nothing"}


def require(checks: Sequence[dict[str, Any]], name: str) -> None:
    """Raises CheckFailedError, which says why, if a check does not hold."""
    failed = [check for check in checks if not check["ok"]]
    if failed:
        told = "; ".join(f"{check['name']}: {check['detail']}" for check in failed[:TOLD])
        raise CheckFailedError(f"{name}: refused, it failed {len(failed)} of {len(checks)} checks: {told}")


def _told(decision: Decision) -> str:
    return str(decision.tool) if decision.is_call else "nothing"
