"""What a public set says of its plans beside the calls: which values are right too, and what time it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.inputs.jsonl import json_type, read_objects
from edgeret.quoting import quoted

MOST_VALUES = 1_000
"""Accepted values of one argument."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`calls` are, for each call of a plan, the accepted values of its arguments, null among them where one may be left
    out; none where the plan's own calls say all. `now` is what its days are counted from."""

    calls: tuple[Mapping[str, Sequence[Any]], ...] = ()
    now: datetime | None = None

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON-ready data."""
        told = {} if self.now is None else {"now": self.now.isoformat()}
        return told | ({"calls": [{k: list(v) for k, v in call.items()} for call in self.calls]} if self.calls else {})


def read_answers(path: str | Path, demonstrations: Sequence[Demonstration]) -> dict[str, Answer]:
    """The answers of a JSONL file, by the plans' ids: `{"id", "now"?: ISO 8601, "calls"?: [{argument: [value, …]}]}` a
    line. Those of other plans are passed over. Raises InputError at the first line that does not fit its plan."""
    plans = {one.id: one for one in demonstrations}
    found: dict[str, Answer] = {}
    for where, value in read_objects(Path(path), "answers of a public set, as fetch writes them"):
        identity = value.get("id")
        if not isinstance(identity, str):
            raise InputError(
                f'{where}: "id" must be text, found {json_type(identity)}; give the id of a plan in --demos'
            )
        if identity in found:
            raise InputError(f"{where}: {quoted(identity)} has an answer already; give one a plan")
        if identity in plans:
            found[identity] = Answer(_calls(value.get("calls"), plans[identity], where), _now(value.get("now"), where))
    if not found:
        raise InputError(f"{path}: no answer is of a plan in --demos; give the two files that one fetch wrote")
    return found


def _now(value: Any, where: str) -> datetime | None:
    if value is None:
        return None
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise InputError(f'{where}: "now" must be a time such as "2026-11-27T09:00:00"') from None


def _calls(value: Any, plan: Demonstration, where: str) -> tuple[Mapping[str, Sequence[Any]], ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) != len(plan.calls):
        raise InputError(f'{where}: "calls" must be a list of {len(plan.calls)} objects, one for each call of the plan')
    for number, call in enumerate(value, 1):
        if not isinstance(call, dict):
            raise InputError(f"{where}: call {number} must be an object, found {json_type(call)}")
        for name, values in call.items():
            if not isinstance(values, list) or not 0 < len(values) <= MOST_VALUES:
                raise InputError(
                    f"{where}: call {number}, {quoted(name)}: give 1 to {MOST_VALUES} accepted values as a list"
                )
    return tuple(value)
