"""How much of a request a tool's words say where they need not be the same ones: "translator" and "interpret". Knows
nothing of contexts, of vectors of whole texts, and of how this is weighed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from edgeret.inputs.tool_text import name_in_words
from edgeret.inputs.words import forms, merge_form
from edgeret.types import Tool
from edgeret_export.reference.encoders.word_vectors import DIMENSION, WordVectors
from edgeret_export.reference.lexicon import tool_words
from edgeret_export.reference.scoring.products import cosines
from edgeret_export.reference.word_table import WordTable, arrange, spans

FLOOR = np.float32(0.3)
"""A cosine that says nothing yet: what is above counts up to 1. Between 0.25 and 0.45 nothing changes by more than a
thousandth on sets that no fit saw."""

AT_ONCE, NEW_AT_ONCE = 64, 2048
"""Words of a request that are compared at once, and words of tools whose vectors are made at once: a request of 20,000
characters has thousands."""


def table_of(tools: Sequence[Tool]) -> WordTable:
    """The words of tools, in their order, with their forms."""
    table, found = arrange([tool_words(tool) for tool in tools]), tool_forms(tools)
    return replace(table, forms=[found.get(word, word) for word in table.words])


def tool_forms(tools: Iterable[Tool]) -> dict[str, str]:
    """The shortest written form of every word of the tools' names, descriptions and examples, as `forms` has it."""
    found: dict[str, str] = {}
    for tool in tools:
        for stem, word in forms(" ".join((name_in_words(tool.name), tool.description, *tool.examples))).items():
            merge_form(found, stem, word)
    return found


class SimilarWords:
    """The words of a set of tools, with vectors. Thread-safe: what it keeps is the same whoever made it."""

    def __init__(self, table: WordTable, vectors: WordVectors) -> None:
        """`table` with its forms; all arrays are in the order of its tools."""
        self._table, self._vectors, self._n = table, vectors, table.tools
        self._number = {word: i for i, word in enumerate(table.words)}
        counted = np.bincount(table.text()[1], minlength=len(table.words))
        self._rarity = np.log1p(self._n / np.maximum(1, counted)).astype(np.float32)
        self._rows = np.zeros((len(table.words), DIMENSION), np.float32)
        self._known = np.zeros(len(table.words), bool)

    def overlaps(self, said: Mapping[str, str], positions: NDArray[np.intp] | None = None) -> NDArray[np.float32]:
        """What the words of a request, as `forms` gives them, say of every tool or of those at `positions`: how much of
        its name they mean, and how much of them its text means, each word by its rarity, float32 (2, tools)."""
        places = self._all if positions is None else _Places(self._table, positions)
        found = np.zeros((2, places.tools), np.float32)
        if not said or not len(places.words):
            return found
        best = np.zeros(len(places.words), np.float32)
        asked = self._asked(said)
        asked /= asked.sum()
        stems = list(said)
        for begin in range(0, len(stems), AT_ONCE):
            piece = stems[begin : begin + AT_ONCE]
            near = self._nearness(piece, [said[stem] for stem in piece], places.words)
            nearest = near.max(axis=1)
            np.maximum(best, nearest, out=best)
            found[1] += places.covered(near, nearest, asked[begin : begin + AT_ONCE])
        name, tools = places.name
        weights = self._rarity[places.words][name]
        total = np.bincount(tools, weights, places.tools)
        found[0] = np.bincount(tools, weights * best[name], places.tools) / np.maximum(total, 1e-6)
        return found

    def _nearness(self, stems: Sequence[str], written: Sequence[str], words: NDArray[np.intp]) -> NDArray[np.float32]:
        """How near each of the words with these numbers is to each word said, by its stem and as it is written, from 0
        to 1, float32 (words, said)."""
        unknown = words[~self._known[words]]
        for begin in range(0, len(unknown), NEW_AT_ONCE):
            numbers = unknown[begin : begin + NEW_AT_ONCE]
            self._rows[numbers] = self._vectors.of([self._table.forms[word] for word in numbers.tolist()])
            self._known[numbers] = True
        with _unwarned():
            near = cosines(self._rows[words], self._vectors.of(written).T)
        near -= FLOOR
        near *= 1 / (1 - FLOOR)
        np.maximum(near, 0, out=near)
        for column, stem in enumerate(stems):
            number = self._number.get(stem, -1)
            at = int(np.searchsorted(words, number))
            if at < len(words) and words[at] == number:
                near[at, column] = 1  # what is the same needs no vector
        return near

    def _asked(self, said: Mapping[str, str]) -> NDArray[np.float32]:
        """The rarities of the words said; one that no tool has is as rare as a word can be."""
        numbers = (self._number.get(stem) for stem in said)
        rarest = float(np.log1p(self._n))
        return np.array([rarest if number is None else self._rarity[number] for number in numbers], np.float32)

    @cached_property
    def _all(self) -> _Places:
        return _Places(self._table, np.arange(self._n))


def _unwarned() -> np.errstate:
    """For products of few columns, where OpenBLAS may look at what lies behind an array; it uses nothing of that, but
    numpy warns if no number stands there."""
    return np.errstate(invalid="ignore")


class _Places:
    """Which words the names and texts of some tools have: `words` are the numbers of all of them, rising; `name` and
    `text` are pairs of arrays (entries,), positions in `words` and the tool of each, rising."""

    def __init__(self, table: WordTable, positions: NDArray[np.intp]) -> None:
        self.tools = len(positions)
        fields = [self._entries(table, positions + field * table.tools) for field in (0, 1)]
        self.words = np.unique(np.concatenate([numbers for numbers, _ in fields]))
        self.name, self.text = ((np.searchsorted(self.words, numbers), tools) for numbers, tools in fields)

    def covered(
        self, near: NDArray[np.float32], nearest: NDArray[np.float32], asked: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """How much of some words said every tool's text means, float32 (tools,): `near` (words, said), its largest for
        each word `nearest` (words,), and what each word said counts for `asked` (said,)."""
        found = np.zeros(self.tools, np.float32)
        text, tools = self.text
        # Of a hundred words of tools a request comes near to two or three.
        kept = np.flatnonzero((nearest > 0)[text])
        if len(kept):
            tools = tools[kept]
            begins = np.flatnonzero(np.diff(tools, prepend=-1))
            with _unwarned():
                found[tools[begins]] = np.maximum.reduceat(near[text[kept]], begins).dot(asked)
        return found

    @staticmethod
    def _entries(table: WordTable, places: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        begins = table.starts[places].astype(np.intp)
        counts = table.starts[places + 1] - begins
        return table.numbers[spans(begins, counts)].astype(np.intp), np.repeat(np.arange(len(places)), counts)
