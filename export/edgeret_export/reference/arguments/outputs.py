"""Which earlier call's output a parameter takes, by the words of both. Knows nothing of requests."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from edgeret.inputs.needs import facts_of
from edgeret.inputs.words import words
from edgeret.types import Call, Tool, references
from edgeret_export.reference.arguments.role import Counts
from edgeret_export.reference.inputs.parameters import Parameter, Same

LEAST_COUNTED, LEAST_SEEN, COUNTED = 2, 8, 10.0
"""Demonstrations from which on a count says something; those of a parameter from which on an output that none of them
took needs more words; and what a counted output has beside its share, so that it goes before all words."""
FLOOR, FLOOR_SEEN = 0.5, 1.4
"""From these scores on an output is taken; the second where demonstrations show that the parameter takes outputs, but
of other tools than this one."""
NAMED, FIRST, EMAIL, USED, USED_ID, REMADE, OWNED, TOLD = 3.0, 0.5, 1.0, 0.6, 0.2, 0.5, 1.2, 0.8
"""What the description says by name; the share of a sentence's first stems; an address; one that was taken already,
which counts against it, and more where the like was made of it; an id of what the earlier tool is about, and one whose
description says what that is."""
_FIRST_STEMS = 6
_HANDLES = frozenset(("id", "path"))
"""What a tool gives to be used, not to be read."""
_NAMES = frozenset(("nam", "who"))
_SAID = re.compile(r"\breturns?\b(.*?)(?:\.\s|\.$|$)", re.IGNORECASE | re.DOTALL)
_TAKES_NONE = frozenset(("number", "boolean", "choice", "nested"))
"""Kinds that take an output only where the description names its tool."""
_IDLE = frozenset(("id", "it", "need", "needed", "other", "tool", "take", "user", "nam", "text", "first", "function"))


class Output(NamedTuple):
    """An earlier call, counted from 1, and how surely it is meant; `named` if the description says so. `beside` are the
    other calls of its tool whose output nobody took: a list takes them all. `counted` if demonstrations say so: then
    the score is the share of them in which it was taken. A `leftover` is what no parameter asks for and no call
    took."""

    call: int
    score: float
    named: bool
    beside: tuple[int, ...] = ()
    counted: bool = False
    leftover: bool = False


class _Gives(NamedTuple):
    """A tool's name in lower case, what it is about, the words of that name and of what it says that it returns;
    `finds` where it only tells, and changes nothing."""

    name: str
    about: frozenset[str]
    spelt: frozenset[str]
    returns: tuple[str, ...]
    finds: bool


def outputs(
    tool: Tool, wanted: Sequence[Parameter], calls: Sequence[Call], tools: Mapping[str, Tool], counts: Counts
) -> dict[str, Output]:
    """For each parameter of a tool the earlier call whose output it takes; none where none fits. Each output is taken
    once, but where descriptions name it. `counts` are those of demonstrations, which go before words."""
    if not calls:
        return {}
    used = {k: j for j, call in enumerate(calls) for k in references(call.arguments)}  # by whom, the last one
    # Of several calls of one tool the last counts, but where its output was taken and another one's was not.
    scored: list[tuple[float, int, int, bool]] = []
    by_count: set[tuple[int, int]] = set()
    for number, parameter in enumerate(wanted):
        if parameter.inside:  # an output is one value, and no part of an object
            continue
        for k, call in enumerate(calls, 1):
            giver = tools.get(call.tool)
            if giver is None:
                continue
            counted = _counted(counts, tool.name, parameter.name, call.tool, k in used)
            if counted is not None:
                if counted >= FLOOR:
                    scored.append((COUNTED + counted, number, k, True))
                    by_count.add((number, k))
                continue
            floor = _floor(counts, tool.name, parameter.name)
            if floor is None:
                continue
            score, named = _score(parameter, _gives(Same(giver)))
            score -= 0.0 if k not in used else USED_ID if parameter.kind == "id" else USED
            if k in used and parameter.kind != "id" and _is_made_of(tools.get(calls[used[k]].tool), giver):
                score -= REMADE
            if parameter.kind in _TAKES_NONE and not named:
                continue
            # What takes the value itself gives no new one.
            if score >= floor and (named or giver.name != tool.name):
                scored.append((score, number, k, named))
    scored.sort(key=lambda one: (-one[0], one[1], -one[2]))
    found: dict[str, Output] = {}
    taken: set[int] = set()
    for score, number, k, named in scored:
        name = wanted[number].name
        is_counted = (number, k) in by_count
        if name not in found and ((named and not is_counted) or k not in taken):
            # What lay unused together, or went to one call together.
            same = [
                i for i, call in enumerate(calls, 1) if call.tool == calls[k - 1].tool and used.get(i) == used.get(k)
            ]
            beside = tuple(i for i in same if i != k and i not in taken) if wanted[number].many else ()
            found[name] = Output(k, score - COUNTED if is_counted else score, named, beside, is_counted)
            taken.update((k, *beside))
    _leave_rest(found, tool, wanted, calls, tools, counts, used.keys() | taken)
    return _in_order(found, wanted, calls)


def _is_made_of(maker: Tool | None, giver: Tool) -> bool:
    """Whether what took an output gives the like of it, as a PDF is a file like the one that it was made of."""
    both = [set(_gives(Same(one)).returns[:_FIRST_STEMS]) for one in (maker, giver) if one is not None]
    return len(both) > 1 and not both[0].isdisjoint(both[1] & _HANDLES)


def _leave_rest(
    found: dict[str, Output],
    tool: Tool,
    wanted: Sequence[Parameter],
    calls: Sequence[Call],
    tools: Mapping[str, Tool],
    counts: Counts,
    taken: set[int],
) -> None:
    """What nobody took yet goes to a text that nobody dictated: the latest output that is there to be read, to one that
    is required if there is any; one a call."""
    for one in sorted(wanted, key=lambda one: not one.required):
        if one.name in found or one.kind != "text" or one.inside or one.many:
            continue
        if _floor(counts, tool.name, one.name) is None:
            continue
        for k in range(len(calls), 0, -1):
            giver = tools.get(calls[k - 1].tool)
            if giver is None or k in taken or giver.name == tool.name:
                continue
            gives = _gives(Same(giver))
            if not _HANDLES.isdisjoint(gives.returns[:_FIRST_STEMS]) or not (gives.returns or gives.finds):
                continue
            if _counted(counts, tool.name, one.name, giver.name, False) is None:
                found[one.name] = Output(k, FLOOR, False, leftover=True)
                return


def _counted(counts: Counts, tool: str, parameter: str, giver: str, is_used: bool) -> float | None:
    """The share of demonstrations in which a parameter took such an output; None where too few say anything."""
    told = counts.get((tool, parameter), {}).get(giver)
    if told is None:
        return None
    seen, taken = (told[2], told[3]) if is_used else (told[0], told[1])
    return taken / (seen + 0.5) if seen >= LEAST_COUNTED else None


def _floor(counts: Counts, tool: str, parameter: str) -> float | None:
    """The score from which on words say that a parameter takes an output; None where so many demonstrations call its
    tool behind others that they would have shown it."""
    told = counts.get((tool, parameter), {}).values()
    if sum(row[0] + row[2] for row in told) < LEAST_SEEN:
        return FLOOR
    return FLOOR_SEEN if any(row[1] + row[3] for row in told) else None


def _in_order(found: dict[str, Output], wanted: Sequence[Parameter], calls: Sequence[Call]) -> dict[str, Output]:
    """Two parameters that take from one tool, called twice: the first of them from the first call."""
    by_tool: dict[str, list[str]] = {}
    for parameter in wanted:
        if parameter.name in found and found[parameter.name].named:
            by_tool.setdefault(calls[found[parameter.name].call - 1].tool, []).append(parameter.name)
    for tool, names in by_tool.items():
        made = [k for k, call in enumerate(calls, 1) if call.tool == tool]
        if 1 < len(names) <= len(made):
            for name, k in zip(names, made[-len(names) :], strict=True):
                found[name] = found[name]._replace(call=k)
    return found


def _gives_other(parameter: Parameter, gives: _Gives) -> bool:
    """An id is of no use where none is wanted, and what is told of a person is not the name."""
    first = frozenset(gives.returns[:_FIRST_STEMS])
    if parameter.kind == "person":
        return first.isdisjoint(_NAMES)
    return parameter.kind != "id" and "id" in first and "id" not in parameter.stems | parameter.told


def _score(parameter: Parameter, gives: _Gives) -> tuple[float, bool]:
    told = parameter.described.lower()
    named = bool(gives.name) and re.search(rf"(?<![\w.-]){re.escape(gives.name)}(?![\w-])", told) is not None
    score = NAMED if named else 0.0
    if not named and _gives_other(parameter, gives):
        return score, named
    wanted = (parameter.stems | parameter.told) - _IDLE
    for stems, weight in ((gives.returns, 1.0), (gives.returns[:_FIRST_STEMS], FIRST)):
        kept = set(stems) - _IDLE
        if kept and wanted:
            score += weight * len(kept & wanted) / min(len(kept), len(wanted))
    if parameter.kind == "email" and "email" in gives.spelt:
        score += EMAIL
    if parameter.kind == "id" and gives.finds and gives.about:
        owner = parameter.stems - _IDLE
        if owner & gives.about:
            score += OWNED * len(owner & gives.about) / len(owner | gives.about)
        elif gives.about <= parameter.told:
            score += TOLD
    return score, named


@lru_cache(2048)
def _gives(key: Same) -> _Gives:
    tool = key.tool
    facts = facts_of(tool)
    match = _SAID.search(tool.description)
    returns = tuple(words(match[1])) if match else ()
    return _Gives(tool.name.lower(), facts.object, facts.name, returns, facts.verb in ("find", "make"))
