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
        # Sorted, since a set gives its words in another order in every process, and sums are rounded in the order in
        # which they are added up: two builds of the same files would not give the same bytes.
        vocabulary = sorted(counted)
        self._number = {word: i for i, word in enumerate(vocabulary)}
        # What only parameters say is as rare as a word can be.
        self._rarity = np.array([math.log1p(n / max(1, counted[word])) for word in vocabulary], np.float32)
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

    def covering(self, said: Sequence[str], k: int) -> NDArray[np.intp]:
        """Positions of the `k` tools with the largest `Overlaps.coverage`, of equal ones the first; of fewer, where
        fewer share any word. In no order."""
        known = self._known(said)
        coverage = self._postings.coverage(known, self._rarity[known])
        above = np.flatnonzero(coverage > 0)
        if len(above) <= k:
            return above
        found = coverage[above]
        least = np.sort(found)[-k]  # where many are equal np.partition takes ten times as long
        ahead = above[found > least]
        return np.concatenate((ahead, above[found == least][: k - len(ahead)]))

    def overlaps(self, said: Sequence[str], positions: NDArray[np.intp] | None = None) -> Overlaps:
        """What the words of a request, as `words` gives them, share with every tool, or with those at `positions`,
        rising, as if there were no others."""
        distinct, known, n = frozenset(said), self._known(said), self._n
        named = self._named.get(distinct, []) if distinct else []
        per_name, per_parameters, per_text = self._per_name, self._per_parameters, self._per_text
        if positions is None:
            word, place = self._postings.hits(known)
        else:
            word, place = self._postings.hits_at(known, positions)
            per_name, per_parameters, per_text = (per[positions] for per in (per_name, per_parameters, per_text))
            n, at = len(positions), {position: i for i, position in enumerate(positions.tolist())}
            named = [at[position] for position in named if position in at]
        weight, total = self._rarity[known][word], self._total(known)
        name, text, parameters = np.bincount(place, weight, len(FIELDS) * n).astype(np.float32).reshape(len(FIELDS), n)
        return Overlaps(
            name * per_name,
            parameters * per_parameters,
            text / total,
            text * per_text,
            tuple(named),
            Hits(word, place, weight, per_name, total),
        )

    def _known(self, said: Sequence[str]) -> list[int]:
        """The numbers of a request's different words that any tool has."""
        return [number for word in dict.fromkeys(said) if (number := self._number.get(word)) is not None]

    def _total(self, known: Sequence[int]) -> np.float32:
        return np.float32(max(1e-6, self._rarity[known].sum().item()))


class _Postings:
    """For every word the places that have it, one after the other, and for every place its words. A place is a tool's
    position, with the number of tools added once for each field before."""

    def __init__(self, number: Mapping[str, int], fields: Sequence[Iterable[str]]) -> None:
        numbers = [np.array([number[word] for word in field], np.intp) for field in fields]
        self._words = np.concatenate(numbers) if numbers else np.empty(0, np.intp)
        self._of_place = np.cumsum([0, *map(len, numbers)])
        places = np.repeat(np.arange(len(fields)), np.diff(self._of_place))
        self._places = places[np.argsort(self._words, kind="stable")]
        starts = np.concatenate(([0], np.cumsum(np.bincount(self._words, minlength=len(number)))))
        self._starts = starts.tolist()
        self._n = n = len(fields) // len(FIELDS)
        # Where a word's places in texts begin and end: they lie between those in names and those in parameters.
        field_of_word = np.repeat(np.arange(len(number)), np.diff(starts)) * len(FIELDS) + self._places // max(1, n)
        counts = np.bincount(field_of_word, minlength=len(FIELDS) * len(number)).reshape(-1, len(FIELDS))
        self._texts = (starts[:-1, None] + np.cumsum(counts, axis=1)[:, :2]).tolist()

    def hits(self, known: Sequence[int]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Where these words are: which of them, numbered from 0, and the place, (hits,) each."""
        parts = [self._places[self._starts[word] : self._starts[word + 1]] for word in known]
        if not parts:
            return np.empty(0, np.intp), np.empty(0, np.intp)
        return np.arange(len(parts)).repeat([len(part) for part in parts]), np.concatenate(parts)

    def hits_at(self, known: Sequence[int], positions: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The same at some tools' positions, whose places are numbered as if there were no others."""
        places = np.concatenate([positions + field * self._n for field in range(len(FIELDS))])
        begins = self._of_place[places]
        counts = self._of_place[places + 1] - begins
        before = np.cumsum(counts) - counts
        words = self._words[np.arange(counts.sum()) + np.repeat(begins - before, counts)]
        asked = np.full(len(self._starts), -1)
        asked[list(known)] = np.arange(len(known))
        found = asked[words]
        there = np.flatnonzero(found >= 0)
        there = there[np.argsort(found[there], kind="stable")]
        return found[there], np.repeat(np.arange(len(places)), counts)[there]

    def coverage(self, known: Sequence[int], rarity: NDArray[np.float32]) -> NDArray[np.float32]:
        """The rarities of these words, added up where a tool's text has them, float32 (tools,)."""
        found = np.zeros(self._n, np.float32)
        for word, weight in zip(known, rarity, strict=True):
            begin, end = self._texts[word]
            found[self._places[begin:end] - self._n] += weight  # a text has a word once
        return found

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
