"""How careful a tool's definition asks to be: a risk of its own, and whether a person is to confirm its calls. Knows
nothing of decisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgeret.errors import InputError
from edgeret.inputs.jsonl import json_type

KEY = "edgeret"
"""The object in a tool's definition, or in its `_meta`, that says it: {"risk": 0.01, "confirm": true}."""
LEAST_RISK, MOST_RISK = 0.005, 0.5


def care_of(entry: Mapping[str, Any], function: Mapping[str, Any], where: str) -> tuple[float | None, bool]:
    """The risk and whether to confirm, from a definition as it came and the function in it. What MCP calls destructive
    is to be confirmed, unless the definition says otherwise. Raises InputError for a risk or a "confirm" that is
    none."""
    risk, confirm = None, _destructive(entry) or _destructive(function)
    for holder in (entry, function, _object(entry, "_meta"), _object(function, "_meta")):
        told = _object(holder, KEY)
        if told.get("risk") is not None:
            risk = check_risk(told["risk"], where)
        if told.get("confirm") is not None:
            confirm = check_confirm(told["confirm"], where)
    return risk, confirm


def check_risk(risk: object, where: str) -> float:
    """The risk that a tool may have. Raises InputError."""
    if isinstance(risk, bool) or not isinstance(risk, int | float) or not LEAST_RISK <= risk <= MOST_RISK:
        shown = risk if isinstance(risk, int | float) and abs(risk) < 1e9 else json_type(risk)
        raise InputError(f'{where}: "risk" must lie between {LEAST_RISK:g} and {MOST_RISK:g}, found {shown}')
    return float(risk)


def check_confirm(confirm: object, where: str) -> bool:
    """Whether a person is to confirm. Raises InputError."""
    if not isinstance(confirm, bool):
        raise InputError(f'{where}: "confirm" must be true or false, found {json_type(confirm)}')
    return confirm


def _destructive(holder: Mapping[str, Any]) -> bool:
    return _object(holder, "annotations").get("destructiveHint") is True


def _object(holder: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = holder.get(key)
    return found if isinstance(found, dict) else {}
