"""What a check asks of two bundles: demonstrations step by step, requests that no tool fits, and those that must be
decided so. Reads files and asks runtimes; judges nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.inputs.jsonl import json_type, read_objects, text_field
from edgeret.inputs.query import check_query
from edgeret.inputs.tool_text import name_in_words
from edgeret.quoting import quoted, suggestion
from edgeret.runtime.runtime import Runtime
from edgeret.types import END, Tool


@dataclass(frozen=True, slots=True)
class Request:
    """One decision that is asked for: words, calls so far, and what may come next (`END` where nothing may). Those of
    one `group` share their words; `foreign` ones fit no tool."""

    group: int
    query: str
    calls: tuple[str, ...]
    acceptable: frozenset[str]
    foreign: bool = False

    @property
    def first(self) -> bool:
        """Whether no call was made yet for a request that some tool fits."""
        return not self.calls and not self.foreign


@dataclass(frozen=True, slots=True)
class Answer:
    """What a bundle says: its best candidate, and what it calls, None where it declines or ends."""

    best: str
    called: str | None


@dataclass(frozen=True, slots=True)
class Must:
    """A request that has to be decided so: by this tool, or by none."""

    query: str
    calls: tuple[str, ...]
    tool: str | None


def requests_of(demonstrations: Sequence[Demonstration], nothing: Sequence[str]) -> list[Request]:
    """Every step of the demonstrations, histories as demonstrated, and the requests that no tool fits. A demonstration
    without calls is such a one."""
    found = []
    for group, demonstration in enumerate(demonstrations):
        if not demonstration.calls:
            found.append(Request(group, demonstration.query, (), frozenset((END,)), foreign=True))
            continue
        for step in demonstration.steps():
            found.append(Request(group, demonstration.query, step.history, step.acceptable))
    begin = len(demonstrations)
    return found + [Request(begin + i, query, (), frozenset((END,)), True) for i, query in enumerate(nothing)]


def own_words(before: Mapping[str, Tool], after: Mapping[str, Tool]) -> list[Request]:
    """What tools of both bundles say of themselves: the name in words, and the sentences that either one shows."""
    found = []
    for group, name in enumerate(sorted(before.keys() & after.keys())):
        texts = dict.fromkeys((name_in_words(name), *before[name].examples, *after[name].examples))
        found += [Request(group, text, (), frozenset((name,))) for text in texts if text.strip()]
    return found


def answers(runtime: Runtime, requests: Sequence[Request]) -> Iterator[Answer]:
    """What the bundle decides by policy "auto", as an assistant would ask it. A request's words are read once."""
    task, asked, made = None, (-1, ""), 0
    for request in requests:
        if task is None or (request.group, request.query) != asked or len(request.calls) < made:
            task, asked, made = runtime.task(request.query), (request.group, request.query), 0
        for name in request.calls[made:]:
            task.call(name, foreign=name not in runtime.tools)
        made = len(request.calls)
        decision = task.next(k=1)
        best = decision.candidates[0].tool if decision.candidates else END
        yield Answer(best, decision.tool if decision.is_call else None)


def read_must(path: str | Path, tools: Collection[str]) -> list[Must]:
    """The requests of a JSONL file: "query", "calls" (names, or objects with "tool"; none if left out) and "tool", null
    where nothing may be called. `tools` are the names that either bundle has. Raises InputError at the first line that
    is none."""
    found = [_must(where, value, tools) for where, value in read_objects(Path(path), "requests as JSONL")]
    if not found:
        raise InputError(f"{path}: no requests in it")
    return found


def _must(where: str, value: Mapping[str, object], tools: Collection[str]) -> Must:
    query = check_query(text_field(where, dict(value), "query"), where)
    calls = value.get("calls") or []
    if not isinstance(calls, list):
        raise InputError(f'{where}: "calls" must be an array, found {json_type(calls)}')
    names: list[str] = []
    for call in calls:
        name = call.get("tool") if isinstance(call, dict) else call
        if not isinstance(name, str):
            raise InputError(f'{where}: a call must be a tool\'s name or {{"tool": …}}, found {json_type(name)}')
        names.append(name)
    if "tool" not in value:
        raise InputError(f'{where}: "tool" is missing; give the name of the one to call, or null')
    tool = value["tool"]
    if tool is not None and not isinstance(tool, str):
        raise InputError(f'{where}: "tool" must be a name or null, found {json_type(tool)}')
    for name in [*names, *([] if tool is None or tool == END else [tool])]:
        if name not in tools:
            raise InputError(f"{where}: neither bundle has the tool {quoted(name)}{suggestion(name, tools)}")
    return Must(query, tuple(names), None if tool == END else tool)


def decided(runtime: Runtime, must: Must) -> str | None:
    """What the bundle calls, None where it declines or ends."""
    request = Request(0, must.query, must.calls, frozenset((must.tool or END,)))
    return next(answers(runtime, [request])).called
