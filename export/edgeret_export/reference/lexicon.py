"""What tools' names, descriptions and parameters say in words: which of them a request shares, and which tool gives
what another one takes. Knows nothing of vectors and decisions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.inputs.tool_text import name_in_words
from edgeret.inputs.words import forms, words
from edgeret.types import Tool
from edgeret_export.reference.inputs.asking import only_asks
from edgeret_export.reference.inputs.changing import changes
from edgeret_export.reference.inputs.language_rules import Rules
from edgeret_export.reference.inputs.opposites import tool_sides
from edgeret_export.reference.inputs.values import values_taken
from edgeret_export.reference.inputs.word_numbers import WordNumbers
from edgeret_export.reference.opposites import Opposites
from edgeret_export.reference.scoring.flow import Flow
from edgeret_export.reference.scoring.prior import Hits, Overlaps, Values
from edgeret_export.reference.values import ToolValues
from edgeret_export.reference.word_table import FIELDS, ToolWords, WordTable, arrange, spans

_DEPTH = 4
"""Levels of parameters inside parameters whose words are read."""
MOST_PAIRS = 1 << 18
"""Of flow of one kind. Where everything gives to everything, flow tells nothing: 5,000 tools that all take and give one
key made 25 million pairs in two minutes."""
_PRODUCERS = frozenset(
    words("browse check create detect fetch find get identify list locate look lookup query read retrieve search show")
)
_IDENTIFIER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*[A-Za-z0-9_]")
_KEY = re.compile(r"(.+?)[_ ]?(?:ids?|IDs?|Ids?|identifier|number|code|token|key|name)")


def tool_words(tool: Tool) -> ToolWords:
    """What a tool says in words."""
    name = frozenset(words(name_in_words(tool.name)))
    properties = _mapping(tool.parameters.get("properties"))
    told = [tool.description, *(str(_mapping(value).get("description", "")) for value in properties.values())]
    found = (match for text in told for match in _IDENTIFIER.findall(text))
    required = tool.parameters.get("required")
    keys = (_KEY.fullmatch(key) for key in (required if isinstance(required, list) else ()) if isinstance(key, str))
    owners = (frozenset(words(name_in_words(match[1]))) for match in keys if match)
    shown = (word for said in tool.examples for word in words(said))
    text = name | frozenset(words(tool.description)) | frozenset(shown)
    return ToolWords(
        name,
        text,
        name | frozenset(word for key in properties for word in words(name_in_words(str(key)))),
        # A plain word is no mention of a tool that happens to be called so.
        tuple(dict.fromkeys(m.lower() for m in found if not m.islower() or not m.isalpha())),
        tuple(dict.fromkeys(owner for owner in owners if owner)),
        tool_sides(tool),
        text.union(_told(properties, _DEPTH)),
        values_taken(tool),
        changes(tool),
    )


def _told(properties: Mapping[str, Any], depth: int) -> Iterator[str]:
    """The words of parameters, of their descriptions and of the values that they may have, so many levels of them."""
    for key, value in properties.items():
        yield from words(name_in_words(str(key)))
        for schema in (part := _mapping(value), _mapping(part.get("items"))):
            values = schema.get("enum")
            listed = (schema.get("description"), *(values if isinstance(values, list) else ()))
            yield from (word for text in listed if isinstance(text, str) for word in words(text))
            if depth > 1:
                yield from _told(_mapping(schema.get("properties")), depth - 1)


class Lexicon:
    """The words of a set of tools. Immutable and thread-safe."""

    def __init__(self, tools: Sequence[ToolWords] | WordTable) -> None:
        """Counts; `tools` in the order in which all arrays are."""
        table = tools if isinstance(tools, WordTable) else arrange(tools)
        self._opposites = None if isinstance(tools, WordTable) else Opposites(tools)
        self._values = None if isinstance(tools, WordTable) else ToolValues([tool.takes for tool in tools])
        self._tools = None if isinstance(tools, WordTable) else tools
        self._changing = None if self._tools is None else np.array([tool.changes for tool in self._tools], bool)
        self._n = n = table.tools
        self._words = table.words
        counted = np.bincount(table.text()[1], minlength=len(table.words))
        # What only parameters say is as rare as a word can be.
        self._rarity = np.log1p(n / np.maximum(1, counted)).astype(np.float32)
        self._postings = _Postings(table)

    @cached_property
    def _per(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        """What the shared words of every tool's name, parameters and text are multiplied with, float32 (tools,) each.
        With the first request that is compared with all tools."""
        return self._inverses(self._postings.total(self._rarity))

    def _inverses(
        self, totals: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        """The same from what all words of each place weigh (places,)."""
        name, text, parameters = totals.reshape(len(FIELDS), -1)
        # Long descriptions share words with everything; the root keeps them from winning by length.
        return _inverse(name), _inverse(parameters), np.float32(0.25) * np.sqrt(_inverse(text))

    @cached_property
    def _named(self) -> dict[frozenset[int], list[int]]:
        """The positions of tools by the numbers of their names' words."""
        named: dict[frozenset[int], list[int]] = {}
        for position, numbers in enumerate(self._postings.names()):
            named.setdefault(frozenset(numbers), []).append(position)
        return named

    @cached_property
    def _said(self) -> WordNumbers:
        """Which words a request says; made with the first one."""
        return WordNumbers(self._words)

    def lacking(self, query: str) -> list[str]:
        """The words of a request that no tool has, as they are written."""
        known = set(self._words)
        return [word for stem, word in forms(query).items() if stem not in known]

    def covering(self, query: str, k: int) -> NDArray[np.intp]:
        """Positions of the `k` tools with the largest `Overlaps.coverage`, of equal ones the first; of fewer, where
        fewer share any word. In no order."""
        known = self._said(query).known
        coverage = self._postings.coverage(known, self._rarity[known])
        # What the k-th best has at least is known from the tools of one word that enough have, the fewer the better:
        # among very many tools a request shares some word with thousands.
        found = coverage[self._postings.fewest(known, k)]
        above = np.flatnonzero(coverage >= np.sort(found)[-k] if len(found) else coverage > 0)
        if len(above) <= k:
            return above
        found = coverage[above]
        least = np.sort(found)[-k]  # where many are equal np.partition takes ten times as long
        ahead = above[found > least]
        return np.concatenate((ahead, above[found == least][: k - len(ahead)]))

    def overlaps(self, query: str, positions: NDArray[np.intp] | None = None) -> Overlaps:
        """What the words of a request share with every tool, or with those at `positions`, rising, as if there were no
        others."""
        (known, others), n = self._said(query), self._n
        # A name that is all of the request has no word less than the request, those that no tool has among them.
        all_known = len(known) > 0 and not others
        if positions is None:
            named = self._named.get(frozenset(known.tolist()), []) if all_known else []
            per_name, per_parameters, per_text = self._per
            word, place = self._postings.hits(known)
        else:
            n = len(positions)
            word, place, sizes, totals = self._postings.hits_at(known, positions, self._rarity)
            per_name, per_parameters, per_text = self._inverses(totals)
            held = np.bincount(place[place < n], minlength=n)
            named = ((held == len(known)) & (sizes[:n] == len(known))).nonzero()[0].tolist() if all_known else []
        weight, total = self._rarity[known][word], self._total(known)
        name, text, parameters = np.bincount(place, weight, len(FIELDS) * n).astype(np.float32).reshape(len(FIELDS), n)
        shared = np.stack((name * per_name, parameters * per_parameters, text / total, text * per_text))
        return Overlaps(shared, tuple(named), lambda: Hits(word, place, weight, per_name, total))

    def opposed(self, query: str, rules: Rules | None = None) -> NDArray[np.float32] | None:
        """Which tools are against a query, and which do as it says, as `Opposites` has it by a language's rules. None
        for most queries, and for tools whose words a bundle keeps: these are very many, and a graph narrows them down.
        """
        return None if self._opposites is None else self._opposites(query, rules)

    def values(self, query: str) -> Values | None:
        """Which tools take the kinds of values that a query holds; None where it holds none, and for tools whose words
        a bundle keeps."""
        return None if self._values is None else self._values(query)

    def changing(self, query: str, rules: Rules | None = None) -> NDArray[np.bool_] | None:
        """Which tools change something, bool (tools,), for a query that only asks; None for any other, and for tools
        whose words a bundle keeps."""
        return None if self._changing is None or not only_asks(query, rules) else self._changing

    def said_in(self, query: str, parts: Sequence[str]) -> NDArray[np.bool_]:
        """Which of a query's words each of its parts says, in the order of `Hits`, bool (parts, words)."""
        known = self._said(query).known
        return np.array([np.isin(known, self._said(part).known) for part in parts])

    @cached_property
    def _told(self) -> Mapping[str, NDArray[np.intp]] | None:
        """The positions of the tools that say each word anywhere, parameters' descriptions and values included; None
        where a bundle has very many tools, and not these words."""
        if self._tools is None:
            return None
        told: dict[str, list[int]] = {}
        for position, tool in enumerate(self._tools):
            for word in tool.told:
                told.setdefault(word, []).append(position)
        return {word: np.array(positions) for word, positions in told.items()}

    def explained(self, query: str, few: bool = False) -> tuple[int, int]:
        """The most of a request's different words that one tool says anywhere, and how many there are: all, as if one
        did, where only a few of very many tools are asked."""
        said = set(words(query))
        told = None if few else self._told
        if told is None:
            return len(said), len(said)
        if not (found := [told[word] for word in said if word in told]):
            return 0, len(said)
        counts = np.bincount(np.concatenate(found))
        return counts.item(counts.argmax()), len(said)  # in half the time that `max` takes for few

    def _hits(self, known: NDArray[np.int64], total: np.float32) -> Hits:
        """Where these words are, whose rarities add up to `total`."""
        word, place = self._postings.hits(known)
        return Hits(word, place, self._rarity[known][word], self._per[0], total)

    def _total(self, known: NDArray[np.int64]) -> np.float32:
        return np.float32(max(1e-6, self._rarity[known].sum().item()))


class _Postings:
    """For every word the places that have it, one after the other, and for every place its words. A place is a tool's
    position, with the number of tools added once for each field before."""

    def __init__(self, table: WordTable) -> None:
        self._table, self._n = table, table.tools

    @cached_property
    def places(self) -> tuple[NDArray[np.intp], list[int]]:
        """The places by word, rising, and where those of a word begin."""
        return self._by_word(self._table.starts, self._table.numbers)

    @cached_property
    def _texts(self) -> tuple[NDArray[np.intp], list[int]]:
        """The same of texts alone, by the tools' positions."""
        return self._by_word(*self._table.text())

    def arrays(self) -> tuple[NDArray[np.integer], ...]:
        """Where each word's tools begin, and the tools whose texts have it, rising; where each place's words begin, and
        the words."""
        tools, starts = self._by_word(*self._table.text())
        return np.array(starts), tools, self._table.starts, self._table.numbers

    def _by_word(self, starts: NDArray[np.integer], numbers: NDArray[np.integer]) -> tuple[NDArray[np.intp], list[int]]:
        words = len(self._table.words)
        # numpy sorts numbers of 16 bits by counting, in a sixth of the time.
        order = np.argsort(numbers.astype(np.uint16) if words <= 1 << 16 else numbers, kind="stable")
        found = np.repeat(np.arange(len(starts) - 1), np.diff(starts))[order]
        return found, [0, *np.cumsum(np.bincount(numbers, minlength=words)).tolist()]

    def names(self) -> list[list[int]]:
        """The words of every tool's name, by number."""
        starts, numbers = self._table.starts[: self._n + 1].tolist(), self._table.numbers.tolist()
        return [numbers[begin:end] for begin, end in pairwise(starts)]

    def hits(self, known: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Where these words are: which of them, numbered from 0, and the place, (hits,) each."""
        places, starts = self.places
        parts = [places[starts[word] : starts[word + 1]] for word in known.tolist()]
        if not parts:
            return np.empty(0, np.intp), np.empty(0, np.intp)
        return np.arange(len(parts)).repeat([len(part) for part in parts]), np.concatenate(parts)

    def hits_at(
        self, known: NDArray[np.int64], positions: NDArray[np.intp], rarity: NDArray[np.float32]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp], NDArray[np.float32]]:
        """The same at some tools' positions, whose places are numbered as if there were no others; and for each of
        these places how many words it has, and their `rarity` added up, float32."""
        starts, n = self._table.starts, len(FIELDS) * len(positions)
        places = np.concatenate([positions + field * self._n for field in range(len(FIELDS))])
        begins = starts[places]
        counts = starts[places + 1] - begins
        words, ends = self._table.numbers[spans(begins, counts)], np.cumsum(counts)
        asked = np.full(len(rarity), -1, np.int16 if len(known) < 1 << 15 else np.int32)
        asked[known] = np.arange(len(known))
        found = asked[words]
        there = np.flatnonzero(found >= 0)
        there = there[np.argsort(found[there], kind="stable")]
        totals, some = np.zeros(n, np.float32), counts > 0
        if len(words):
            totals[some] = np.add.reduceat(rarity[words].astype(np.float64), (ends - counts)[some])
        return found[there].astype(np.intp), np.searchsorted(ends, there, side="right"), counts, totals

    def coverage(self, known: NDArray[np.int64], rarity: NDArray[np.float32]) -> NDArray[np.float32]:
        """The rarities of these words, added up where a tool's text has them, float32 (tools,)."""
        found = np.zeros(self._n, np.float32)
        tools, starts = self._texts
        for word, weight in zip(known.tolist(), rarity, strict=True):
            found[tools[starts[word] : starts[word + 1]]] += weight  # a text has a word once
        return found

    def fewest(self, known: NDArray[np.int64], least: int) -> NDArray[np.intp]:
        """The positions of the tools whose texts have one of these words, the one that fewest but at least so many
        have; none where no word is in so many."""
        tools, starts = self._texts
        sizes = [(size, word) for word in known.tolist() if (size := starts[word + 1] - starts[word]) >= least]
        _, word = min(sizes, default=(0, -1))
        return tools[starts[word] : starts[word + 1]] if sizes else tools[:0]

    def total(self, rarity: NDArray[np.float32]) -> NDArray[np.float32]:
        """The rarities of all words, added up by place, float32 (places,)."""
        starts, numbers = self._table.starts, self._table.numbers
        at = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        return np.bincount(at, rarity[numbers], len(starts) - 1).astype(np.float32)


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
