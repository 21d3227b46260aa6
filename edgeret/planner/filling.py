"""The arguments of a call, by the planner: asked under a grammar, checked, and named where they are missing. Where they
were read from the request already, it is asked for no more than what is missing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from edgeret.arguments import references
from edgeret.inputs.jsonl import decode
from edgeret.planner.arguments import Filled, settle
from edgeret.planner.exemplars import Exemplars
from edgeret.planner.grammar import UnsupportedSchemaError, grammar
from edgeret.planner.lazy import LazyPlanner
from edgeret.planner.prompts import filling_prompt
from edgeret.planner.reranker import UNMEASURED
from edgeret.types import Argument, Arguments, Call, Tool, Usage

_APART = frozenset(
    (
        *("$schema", "$id", "$defs", "definitions", "$comment", "type", "title", "description", "properties"),
        *("required", "additionalProperties", "examples", "default", "deprecated", "minProperties", "maxProperties"),
    )
)
"""Keywords of a tool's schema under which each parameter stands for itself, or that only count them."""
_OF_TEXT = frozenset(("type", "properties", "required", "additionalProperties", "title", "description"))
"""Keywords of an object that needs no more than its properties: lists of those that need one text are read."""
_ANY_OBJECT = r"""
root ::= object
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" (string ":" value ("," string ":" value)*)? "}"
array ::= "[" (value ("," value)*)? "]"
string ::= "\"" ([^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F]))* "\""
number ::= "-"? [0-9]+ ("." [0-9]+)? ([eE] [-+]? [0-9]+)?
"""


class _Question(NamedTuple):
    """What a planner is asked: a function with the parameters that it is asked for, those that are known, and values
    of which it may choose one, by name."""

    tool: Tool
    known: Mapping[str, Argument]
    choices: Mapping[str, Sequence[Any]]


def fill(
    planner: LazyPlanner,
    exemplars: Exemplars,
    tool: Tool,
    query: str,
    calls: Sequence[Call],
    read: Arguments | None = None,
    sure: float = UNMEASURED,
    said: str | None = None,
) -> tuple[Filled, Usage | None]:
    """The arguments of a call of `tool` behind `calls`, as far as the query and earlier outputs give them, and what
    that cost (None if there was nothing to ask). Raises PlannerError, InputError or MissingExtraError.

    Where they were `read` already, the planner is asked only for what `read` calls missing, among the values that
    may be meant if there are any, and for objects and lists of objects. How `sure` its word is, is told with it, and
    where it stands in what was `said` last (None: in `query`).

    A schema that no grammar expresses is asked for as any JSON object, checked, and asked once more with what was
    wrong; what is then not right is missing.
    """
    asked, said = _question(tool, read), query if said is None else said
    if not asked.tool.parameters.get("properties"):
        if asked.tool is tool:
            return _merged({}, {}, tool, len(calls), said, sure)[0], None
        # All of it was read, and checked then.
        values = {name: argument.value for name, argument in asked.known.items()}
        return Filled(
            values, tuple(name for name in required(tool.parameters) if name not in values), (), asked.known
        ), None
    shown = exemplars.calling(tool.name, query)
    try:
        gbnf, tries = grammar(asked.tool.parameters, query, len(calls), asked.choices), 1
    except UnsupportedSchemaError:
        gbnf, tries = _ANY_OBJECT, 2
    filled = Filled({}, required(tool.parameters), ())
    known = {name: argument.value for name, argument in asked.known.items()}
    usage: Usage | None = None
    wrong: tuple[str, ...] = ()
    for _ in range(tries):
        text, _, cost = planner.get().write(filling_prompt(asked.tool, query, calls, shown, wrong, known), gbnf)
        usage = cost if usage is None else usage + cost
        answer = _parse(text)
        if asked.tool is not tool and isinstance(answer, dict):
            answer = {name: value for name, value in answer.items() if name in asked.tool.parameters["properties"]}
        filled, checked = _merged(answer, asked.known, tool, len(calls), said, sure)
        if not checked or not (filled.missing or filled.problems):
            break
        wrong = (text, *filled.problems)
    return filled, usage


def asked_for(tool: Tool, read: Arguments) -> tuple[str, ...]:
    """Parameters that a planner is asked for where arguments were `read`: those that are missing, and objects, which
    nobody reads."""
    properties = tool.parameters.get("properties")
    inside = properties.items() if isinstance(properties, Mapping) else ()
    nested = (str(name) for name, schema in inside if isinstance(schema, Mapping) and _nested(schema))
    return tuple(dict.fromkeys((*read.missing, *(name for name in nested if name not in read.given))))


def _nested(schema: Mapping[str, Any]) -> bool:
    """Whether a parameter is an object, or a list of lists or of objects of more than one text."""
    schema = _one_of(schema)
    if schema.get("type") == "array":
        items = schema.get("items")
        schema = _one_of(items) if isinstance(items, Mapping) else {}
        if _OF_TEXT.issuperset(schema) and len(needed := required(schema)) == 1:
            properties = schema.get("properties")
            inner = properties.get(needed[0]) if isinstance(properties, Mapping) else None
            if isinstance(inner, Mapping) and _one_of(inner).get("type") == "string":
                return False
    return "enum" not in schema and (schema.get("type") in ("object", "array") or "properties" in schema)


def _one_of(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The one alternative that is not null, where there is one such; the schema itself otherwise."""
    for key in ("anyOf", "oneOf"):
        options = schema.get(key)
        if isinstance(options, list) and "type" not in schema and "enum" not in schema:
            kept = [one for one in options if isinstance(one, Mapping) and one.get("type") != "null"]
            if len(kept) == 1:
                return kept[0]
    kinds = schema.get("type")
    named = [kind for kind in kinds if kind != "null"] if isinstance(kinds, list) else []
    return {**schema, "type": named[0]} if len(named) == 1 else schema


def _question(tool: Tool, read: Arguments | None) -> _Question:
    properties = tool.parameters.get("properties")
    if read is None or not isinstance(properties, Mapping) or not _APART.issuperset(tool.parameters):
        return _Question(tool, {}, {})
    names = asked_for(tool, read)
    known = {name: argument for name, argument in read.given.items() if name not in names}
    choices = {name: (one.value, *one.alternatives) for name, one in read.given.items() if name in names}
    part = {
        **tool.parameters,
        "properties": {name: schema for name, schema in properties.items() if name in names},
        "required": [name for name in required(tool.parameters) if name in names],
    }
    return _Question(Tool(tool.name, tool.description, part), known, choices)


def _merged(
    answer: Any, known: Mapping[str, Argument], tool: Tool, n_outputs: int, said: str, sure: float
) -> tuple[Filled, bool]:
    """What was written beside what is known, checked, and whether it could be: nothing else that a model wrote is
    trusted to fit. What was read was checked when it was."""
    # An output is given once: what may be left out yields to what was missing.
    needed, taken = required(tool.parameters), frozenset(references(answer))
    known = {
        name: argument
        for name, argument in known.items()
        if argument.source != "output" or name in needed or taken.isdisjoint(references(argument.value))
    }
    values = {name: argument.value for name, argument in known.items()}
    try:
        filled = settle({**answer, **values} if isinstance(answer, dict) else answer, tool.parameters, n_outputs)
    except UnsupportedSchemaError as error:
        missing = tuple(name for name in required(tool.parameters) if name not in known)
        return Filled(values, missing, (str(error),), known), False
    given = {
        name: known[name] if name in known else Argument(value, "planner", _span(value, said), sure)
        for name, value in filled.arguments.items()
    }
    return Filled(filled.arguments, filled.missing, filled.problems, given), True


def _span(value: Any, said: str) -> tuple[int, int] | None:
    """Where a value's words stand, if they stand in one place."""
    if not isinstance(value, str) or not value:
        return None
    found = [match.span() for match in re.finditer(rf"(?<!\w){re.escape(value)}(?!\w)", said)]
    return found[0] if len(found) == 1 else None


def required(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The parameters that a function cannot do without; none where the schema lists them in no way that counts."""
    names = schema.get("required")
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list | tuple) else ()


def _parse(text: str) -> Any:
    try:
        return decode(text)
    except ValueError:
        return {}
