"""The arguments of a call, by the planner: asked under a grammar, checked, and named where they are missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edgeret.inputs.jsonl import decode
from edgeret.planner.arguments import Filled, settle
from edgeret.planner.exemplars import Exemplars
from edgeret.planner.grammar import UnsupportedSchemaError, grammar
from edgeret.planner.lazy import LazyPlanner
from edgeret.planner.prompts import filling_prompt
from edgeret.types import Call, Tool, Usage

_ANY_OBJECT = r"""
root ::= object
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" (string ":" value ("," string ":" value)*)? "}"
array ::= "[" (value ("," value)*)? "]"
string ::= "\"" ([^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F]))* "\""
number ::= "-"? [0-9]+ ("." [0-9]+)? ([eE] [-+]? [0-9]+)?
"""


def fill(
    planner: LazyPlanner, exemplars: Exemplars, tool: Tool, query: str, calls: Sequence[Call]
) -> tuple[Filled, Usage | None]:
    """The arguments of a call of `tool` behind `calls`, as far as the query and earlier outputs give them, and what
    that cost (None if there was nothing to ask). Raises PlannerError, InputError or MissingExtraError.

    A schema that no grammar expresses is asked for as any JSON object, checked, and asked once more with what was
    wrong; what is then not right is missing.
    """
    if not tool.parameters.get("properties"):
        return _settled("{}", tool, len(calls))[0], None
    shown = exemplars.calling(tool.name, query)
    try:
        gbnf, tries = grammar(tool.parameters, query, len(calls)), 1
    except UnsupportedSchemaError:
        gbnf, tries = _ANY_OBJECT, 2
    filled = Filled({}, required(tool.parameters), ())
    usage: Usage | None = None
    wrong: tuple[str, ...] = ()
    for _ in range(tries):
        text, _, cost = planner.get().write(filling_prompt(tool, query, calls, shown, wrong), gbnf)
        usage = cost if usage is None else usage + cost
        filled, checked = _settled(text, tool, len(calls))
        if not checked or not (filled.missing or filled.problems):
            break
        wrong = (text, *filled.problems)
    return filled, usage


def required(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The parameters that a function cannot do without; none where the schema lists them in no way that counts."""
    names = schema.get("required")
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list | tuple) else ()


def _settled(text: str, tool: Tool, n_outputs: int) -> tuple[Filled, bool]:
    """What was written, checked, and whether it could be: nothing else that a model wrote is trusted to fit."""
    try:
        return settle(_parse(text), tool.parameters, n_outputs), True
    except UnsupportedSchemaError as error:
        return Filled({}, required(tool.parameters), (str(error),)), False


def _parse(text: str) -> Any:
    try:
        return decode(text)
    except ValueError:
        return {}
