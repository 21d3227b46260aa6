"""Queries, and queries with the tools that fit them: reads and checks. Knows nothing of calls."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, TypeGuard

from edgeret.errors import InputError
from edgeret.inputs.jsonl import is_text, json_type, list_field, parse_objects, read_text, text_field
from edgeret.inputs.query import MAX_QUERY_CHARS, check_query
from edgeret.quoting import quoted, suggestion
from edgeret.records import dataclass


@dataclass(frozen=True, slots=True)
class RetrievalQuery:
    """A query with the tools that fit it; an empty set means that none does. `steps` are its sub-tasks, where somebody
    took it apart."""

    id: str
    query: str
    tools: frozenset[str]
    steps: tuple[str, ...] = ()


def read_texts(path: str | Path) -> list[str]:
    """The queries of a file, in file order, whatever stands beside them: plain text with one query a line, or JSONL
    whose objects have a "query" (retrieval queries, demonstrations). Blank lines are skipped.

    A file is JSONL if it is called so or its first line begins with a brace; then every line must be an object.
    Lines end at "\\n" alone. Raises InputError at the first line that is no query, and for a file without any.
    """
    path = Path(path)
    text = read_text(path, 'queries: plain text, one a line, or JSONL of {"query": …}')
    if text.lstrip().startswith("["):
        raise InputError(f"{path}: looks like a JSON array; write one query a line, as plain text or as an object")
    if path.suffix == ".jsonl" or text.lstrip().startswith("{"):
        found = [check_query(text_field(where, value, "query"), where) for where, value in parse_objects(text, path)]
    else:
        lines = ((f"{path}:{number}", line.strip()) for number, line in enumerate(text.split("\n"), 1))
        found = [check_query(line, where) for where, line in lines if line]
    if not found:
        raise InputError(f"{path}: no queries in it; give one a line")
    return found


def read_queries(path: str | Path, tools: Collection[str] | None = None) -> list[RetrievalQuery]:
    """Retrieval queries of a JSONL file, in file order; names are checked against `tools` unless None. Sub-tasks are
    `steps` or, where a line has none, the `step` of each of its `calls`.

    Raises InputError at the first line that does not parse or names an unknown tool.
    """
    path = Path(path)
    known = None if tools is None else frozenset(tools)
    found: list[RetrievalQuery] = []
    for where, value in parse_objects(read_text(path, "queries as JSONL"), path):
        query = check_query(text_field(where, value, "query"), where)
        names = list_field(where, value, "tools")
        for name in names:
            if not isinstance(name, str) or (known is not None and name not in known):
                shown = quoted(name) if isinstance(name, str) else json_type(name)
                raise InputError(
                    f'{where}: unknown tool {shown} in "tools"; it is not among the tools given'
                    + (suggestion(name, known or ()) if isinstance(name, str) else "")
                )
        found.append(RetrievalQuery(str(value.get("id", len(found))), query, frozenset(names), _steps(where, value)))
    if not found:
        raise InputError(f"{path}: no queries in it")
    return found


def _steps(where: str, value: dict[str, Any]) -> tuple[str, ...]:
    """The sub-tasks of one line. Raises InputError for `steps` that are none; what else calls hold is not ours."""
    if "steps" in value:
        steps = list_field(where, value, "steps")
        if not all(map(_is_step, steps)):
            raise InputError(f'{where}: "steps" must be an array of texts, the query\'s sub-tasks')
        return tuple(steps)
    calls = value.get("calls")
    told = [call.get("step") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    return tuple(step for step in told if _is_step(step))


def _is_step(step: Any) -> TypeGuard[str]:
    return isinstance(step, str) and is_text(step) and len(step) <= MAX_QUERY_CHARS
