"""What a reader gathers, checked as edgeret's own readers will check it. What does not fit is counted by its reason."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import field as attribute
from datetime import datetime
from typing import Any

from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.inputs.hygiene import without_hidden
from edgeret.inputs.jsonl import is_text
from edgeret.inputs.queries import RetrievalQuery
from edgeret.inputs.query import check_query
from edgeret.inputs.tools import MAX_DESCRIPTION_CHARS, check_tools
from edgeret.types import Call, Tool
from edgeret_bench.answers import Answer

UNKNOWN_TOOL = "calls a tool that the dataset does not define"
NO_CALL = "no call in it"
UNREADABLE = "a call that cannot be parsed"


@dataclass(frozen=True, slots=True)
class Dataset:
    """An original in edgeret's formats. `skipped` counts, by reason, what was left out or mended on the way. `answers`
    say more of plans by their ids, where the original does: which values are right too, and what time it was."""

    name: str
    tools: tuple[Tool, ...]
    demonstrations: tuple[Demonstration, ...]
    queries: tuple[RetrievalQuery, ...]
    skipped: Mapping[str, int]
    answers: Mapping[str, Answer] = attribute(default_factory=dict)


class DirtyError(Exception):
    """A record that does not fit; its text is the reason under which it is counted."""


class Collector:
    """Takes tools, plans and queries one by one; gives the dataset. Plans may call only tools that came before."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.tools: dict[str, Tool] = {}
        self._demonstrations: list[Demonstration] = []
        self._queries: list[RetrievalQuery] = []
        self._skipped: Counter[str] = Counter()
        self._answers: dict[str, Answer] = {}

    def skip(self, reason: str) -> None:
        """Counts one more of them."""
        self._skipped[reason] += 1

    @contextmanager
    def record(self) -> Iterator[None]:
        """Around the reading of one record: a DirtyError skips and counts it."""
        try:
            yield
        except DirtyError as error:
            self.skip(str(error))

    def tool(self, name: str, description: str, parameters: Mapping[str, Any]) -> None:
        """Adds a tool. A second definition of a name is left out, a blank description gives way to the name's words."""
        name = name.strip()
        visible = without_hidden(description)
        if visible != description:
            self.skip("mended: invisible characters in a tool's description were dropped")
        if not visible.strip():
            self.skip("mended: a tool without a description is described by its name")
            visible = name
        if len(visible) > MAX_DESCRIPTION_CHARS:
            self.skip("mended: a tool's description was cut to the length allowed")
            visible = visible[:MAX_DESCRIPTION_CHARS]
        tool = Tool(name, visible.strip(), parameters)
        if name in self.tools:
            if self.tools[name] != tool:
                self.skip("another definition of a tool's name; the first one is kept")
            return
        try:
            if not name or not is_text(name):
                raise InputError("no name")
            check_tools([("", tool)], "")
            _check_json(parameters)
        except (InputError, ValueError, RecursionError):
            self.skip("a tool whose name or parameters edgeret cannot take")
            return
        self.tools[name] = tool

    def plan(
        self,
        identity: str,
        query: str,
        calls: Sequence[tuple[str, Mapping[str, Any]]],
        links: Sequence[tuple[int, int]] | None = None,
        *,
        accepted: Sequence[Mapping[str, Sequence[Any]]] = (),
        now: datetime | None = None,
    ) -> None:
        """Adds a demonstration. Arguments that a tool does not have are left out. `accepted` are, call by call, the
        values that are right for an argument, null among them where it may be left out. Raises DirtyError."""
        query = self._text(query)
        if not calls:
            raise DirtyError(NO_CALL)
        found: list[Call] = []
        allowed: list[Mapping[str, Sequence[Any]]] = []
        for position, (name, arguments) in enumerate(calls):
            values = accepted[position] if position < len(accepted) else {}
            if name not in self.tools:
                raise DirtyError(UNKNOWN_TOOL)
            known = self.tools[name].parameters.get("properties")
            values = {key: value for key, value in values.items() if known is None or key in known}
            if known is not None:
                for _ in arguments.keys() - known.keys():
                    self.skip("mended: an argument that the tool does not have was left out")
                arguments = {key: value for key, value in arguments.items() if key in known}
            try:
                _check_json([arguments, values])
            except (ValueError, RecursionError, TypeError):
                raise DirtyError("an argument that JSON cannot hold") from None
            found.append(Call(name, arguments))
            allowed.append(values)
        self._demonstrations.append(
            Demonstration(identity, query, tuple(found), None if links is None else tuple(sorted(set(links))))
        )
        if any(allowed) or now is not None:
            self._answers[identity] = Answer(tuple(allowed) if any(allowed) else (), now)

    def nothing(self, identity: str, query: str) -> None:
        """Adds a demonstration of a request that no tool fits: one without calls. Raises DirtyError."""
        self._demonstrations.append(Demonstration(identity, self._text(query), ()))

    def query(self, identity: str, query: str, tools: Iterable[str], steps: Iterable[Any] = ()) -> None:
        """Adds a retrieval query with its sub-tasks, as far as they are texts. Raises DirtyError."""
        tools = frozenset(tools)
        query = self._text(query)
        if not all(name in self.tools for name in tools):
            raise DirtyError("names a tool that the dataset does not define")
        said = tuple(step.strip() for step in steps if isinstance(step, str) and is_text(step) and step.strip())
        self._queries.append(RetrievalQuery(identity, query, tools, said))

    def dataset(self) -> Dataset:
        """What was gathered. Raises InputError when there are no tools, or neither plans nor queries."""
        if not self.tools or not (self._demonstrations or self._queries):
            what = "tools" if not self.tools else "plans or queries"
            reasons = "; ".join(f"{count} × {reason}" for reason, count in self._skipped.most_common(3))
            raise InputError(
                f"dataset {self.name}: no {what} could be read from its files; are they of another release? "
                f"Skipped: {reasons or 'nothing'}"
            )
        return Dataset(
            self.name,
            tuple(self.tools.values()),
            tuple(self._demonstrations),
            tuple(self._queries),
            dict(self._skipped.most_common()),
            self._answers,
        )

    @staticmethod
    def _text(query: str) -> str:
        try:
            return check_query(query.strip())
        except InputError:
            raise DirtyError("a query that is empty, too long or no text") from None


def field(record: Any, kind: Any, *names: str) -> Any:
    """The first of the named fields that is there, if it is of that kind. Raises DirtyError."""
    if isinstance(record, dict):
        for name in names:
            if name in record:
                if isinstance(record[name], kind):
                    return record[name]
                raise DirtyError(f'"{name}" of a record is no {getattr(kind, "__name__", kind)}')
    raise DirtyError(f'a record without "{names[0]}"')


def _check_json(value: Any) -> None:
    """Raises ValueError or TypeError unless the value can be written as JSON in UTF-8."""
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
