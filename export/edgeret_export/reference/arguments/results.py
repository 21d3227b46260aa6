"""What an earlier call gave, as a parameter's value: the field of its JSON that has the parameter's name. Knows nothing
of requests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from edgeret.inputs.needs import facts_of
from edgeret.inputs.tool_text import name_in_words
from edgeret.inputs.words import words
from edgeret.types import Call, Tool, references
from edgeret_export.reference.inputs.parameters import Parameter
from edgeret_export.reference.inputs.value_forms import MISSING, fits

MOST_FIELDS, MOST_DEPTH, MOST_CHARS = 400, 3, 20_000
"""Of a result that are looked at; a text of more characters is no JSON that anybody means."""
_MOST_PLAIN = 100
_WITHOUT = frozenset(("boolean", "nested", "choice"))


def value_of(call: Call, giver: Tool | None, parameter: Parameter, named: bool) -> Any:
    """The value that a call's result has for a parameter, MISSING where it has none or several. If the parameter is
    `named` as that call's output, a result that is one plain value is it."""
    result = _parsed(call.result)
    if result is None or parameter.kind in _WITHOUT:
        return MISSING
    if not isinstance(result, dict | list):
        is_one = named and (not isinstance(result, str) or (len(result) <= _MOST_PLAIN and " " not in result.strip()))
        return result if is_one and not references(result) and fits(result, parameter.schema) else MISSING
    about = facts_of(giver).object if giver is not None else frozenset()
    ranked: dict[int, list[Any]] = {}
    for name, value in _fields(result):
        rank = _rank(name, parameter, about)
        if (
            rank
            and not references(value)
            and fits(value, parameter.schema)
            and value not in ranked.setdefault(rank, [])
        ):
            ranked[rank].append(value)
    best = next((ranked[rank] for rank in sorted(ranked, reverse=True) if ranked[rank]), [])
    # Of several records nobody knows which one is meant.
    return best[0] if len(best) == 1 else MISSING


def _parsed(result: Any) -> Any:
    if not isinstance(result, str) or not result.lstrip().startswith(("{", "[")) or len(result) > MOST_CHARS:
        return result
    try:
        return json.loads(result)
    except (ValueError, RecursionError):
        return result


def _fields(result: Any) -> Iterator[tuple[str, Any]]:
    """The plain fields of a result, those outside first."""
    waiting = [(result, 0)]
    seen = 0
    while waiting and seen < MOST_FIELDS:
        value, depth = waiting.pop(0)
        for name, inner in value.items() if isinstance(value, dict) else (("", one) for one in value):
            seen += 1
            if seen >= MOST_FIELDS:
                break
            if isinstance(inner, dict | list):
                if depth < MOST_DEPTH:
                    waiting.append((inner, depth + 1))
            elif (
                name and isinstance(inner, str | int | float) and not isinstance(inner, bool) and not references(inner)
            ):
                yield str(name), inner


def _rank(name: str, parameter: Parameter, about: frozenset[str]) -> int:
    """How well a field's name fits: the same, the same words, or the "id" of what the earlier tool is about."""
    if name == parameter.name:
        return 3
    stems = frozenset(words(name_in_words(name)))
    if stems and stems == parameter.stems:
        return 2
    owner = parameter.stems - {"id"}
    return int(parameter.kind == "id" and stems == {"id"} and bool(owner) and owner <= about)
