"""What tools' names, descriptions and parameters say in words: which of them a request shares, and which tool gives
what another one takes. Knows nothing of vectors and decisions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.inputs.tool_text import name_in_words
from edgeret.inputs.words import words
from edgeret.scoring.prior import Flow, Hits, Overlaps
from edgeret.types import Tool

FIELDS = ("name", "text", "parameters")
"""What words are counted in: the name; name and description; name and names of parameters."""
MOST_PAIRS = 1 << 18
"""Of flow of one kind. Where everything gives to everything, flow tells nothing: 5,000 tools that all take and give one
key made 25 million pairs in two minutes."""
_PRODUCERS = frozenset(
    words("browse check create detect fetch find get identify list locate look lookup query read retrieve search show")
)
_IDENTIFIER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*[A-Za-z0-9_]")
_KEY = re.compile(r"(.+?)[_ ]?(?:ids?|IDs?|Ids?|identifier|number|code|token|key|name)")


@dataclass(frozen=True, slots=True)
class ToolWords:
    """One tool's words, by field; the identifiers that its description and parameters mention, lower case; and, for
    every required parameter that is somebody's key (`order_id`), the words of that somebody."""

    name: frozenset[str]
    text: frozenset[str]
    parameters: frozenset[str]
    mentions: tuple[str, ...]
    keys: tuple[frozenset[str], ...]


def tool_words(tool: Tool) -> ToolWords:
    """What a tool says in words."""
    name = frozenset(words(name_in_words(tool.name)))
    properties = _mapping(tool.parameters.get("properties"))
    told = [tool.description, *(str(_mapping(value).get("description", "")) for value in properties.values())]
    found = (match for text in told for match in _IDENTIFIER.findall(text))
    required = tool.parameters.get("required")
    keys = (_KEY.fullmatch(key) for key in (required if isinstance(required, list) else ()) if isinstance(key, str))
    owners = (frozenset(words(name_in_words(match[1]))) for match in keys if match)
    return ToolWords(
        name,
        name | frozenset(words(tool.description)),
        name | frozenset(word for key in properties for word in words(name_in_words(str(key)))),
        # A plain word is no mention of a tool that happens to be called so.
        tuple(dict.fromkeys(m.lower() for m in found if not m.islower() or not m.isalpha())),
        tuple(dict.fromkeys(owner for owner in owners if owner)),
    )


class Lexicon:
    """The words of a set of tools. Immutable and thread-safe."""

    def __init__(self, tools: Sequence[ToolWords]) -> None:
        """Counts; `tools` in the order in which all arrays are."""
        self._n = n = len(tools)
        counted: dict[str, int] = {}
        for tool in tools:
            for word in tool.text:
                counted[word] = counted.get(word, 0) + 1
        for tool in tools:
            for word in tool.parameters:
                counted.setdefault(word, 0)
        self._number = {word: i for i, word in enumerate(counted)}
        # What only parameters say is as rare as a word can be.
        self._rarity = np.array([math.log1p(n / max(1, count)) for count in counted.values()], np.float32)
        # The fields one behind the other, so that one look finds what a word is in.
        self._postings = _Postings(self._number, [getattr(tool, field) for field in FIELDS for tool in tools])
        name, text, parameters = self._postings.total(self._rarity, len(FIELDS) * n).reshape(len(FIELDS), n)
        self._per_name = _inverse(name)
        self._per_parameters = _inverse(parameters)
        # Long descriptions share words with everything; the root keeps them from winning by length.
        self._per_text = np.float32(0.25) * np.sqrt(_inverse(text))
        self._named: dict[frozenset[str], list[int]] = {}
        for position, tool in enumerate(tools):
            self._named.setdefault(tool.name, []).append(position)

    def overlaps(self, said: Sequence[str]) -> Overlaps:
        """What the words of a request, as `words` gives them, share with every tool."""
        distinct = frozenset(said)
        known = [number for word in distinct if (number := self._number.get(word)) is not None]
        word, place = self._postings.hits(known)
        rarity, n = self._rarity[known], self._n
        weight = rarity[word]
        name, text, parameters = np.bincount(place, weight, len(FIELDS) * n).astype(np.float32).reshape(len(FIELDS), n)
        total = np.float32(max(1e-6, rarity.sum().item()))
        return Overlaps(
            name * self._per_name,
            parameters * self._per_parameters,
            text / total,
            text * self._per_text,
            tuple(self._named.get(distinct, ())) if distinct else (),
            Hits(word, place, weight, self._per_name, total),
        )


class _Postings:
    """For every word the places that have it, one after the other."""

    def __init__(self, number: Mapping[str, int], fields: Sequence[Iterable[str]]) -> None:
        numbers = [np.array([number[word] for word in field], np.intp) for field in fields]
        places = np.repeat(np.arange(len(fields)), [len(found) for found in numbers])
        every = np.concatenate(numbers) if numbers else np.empty(0, np.intp)
        self._places = places[np.argsort(every, kind="stable")]
        self._starts = np.concatenate(([0], np.cumsum(np.bincount(every, minlength=len(number))))).tolist()

    def hits(self, known: Sequence[int]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Where these words are: which of them, numbered from 0, and the place, (hits,) each."""
        parts = [self._places[self._starts[word] : self._starts[word + 1]] for word in known]
        if not parts:
            return np.empty(0, np.intp), np.empty(0, np.intp)
        return np.arange(len(parts)).repeat([len(part) for part in parts]), np.concatenate(parts)

    def total(self, rarity: NDArray[np.float32], n: int) -> NDArray[np.float32]:
        """The rarities of all words, added up by place, float32 (n,)."""
        return np.bincount(self._places, np.repeat(rarity, np.diff(self._starts)), n).astype(np.float32)


def tool_flow(tools: Sequence[ToolWords], names: Sequence[str]) -> Flow:
    """The flow among tools with these names, both in one order."""
    position = {name.lower(): i for i, name in enumerate(names)}
    givers: dict[str, set[int]] = {}
    for i, tool in enumerate(tools):
        if tool.name & _PRODUCERS:
            for word in tool.name:
                givers.setdefault(word, set()).add(i)
    named = _few((i, j) for i, tool in enumerate(tools) for m in tool.mentions if (j := position.get(m, i)) != i)

    @cache
    def having(owner: frozenset[str]) -> set[int]:
        return set.intersection(*(givers.get(word, set()) for word in owner))

    keyed = _few((i, j) for i, tool in enumerate(tools) for owner in tool.keys for j in having(owner) if j != i)
    pairs = [*named, *keyed]
    takers, producers = zip(*pairs, strict=True) if pairs else ((), ())
    return Flow(np.array(takers, np.intp), np.array(producers, np.intp), np.arange(len(pairs)) < len(named))


def _few(pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Different pairs, ascending; none where there are more than MOST_PAIRS."""
    found: set[tuple[int, int]] = set()
    for pair in pairs:
        found.add(pair)
        if len(found) > MOST_PAIRS:
            return []
    return sorted(found)


def _inverse(totals: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.reciprocal(np.maximum(totals, np.float32(1e-6)), dtype=np.float32)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
