"""Which texts the parity gate compares encoders on: requests from demonstrations, and texts made from the tools.

Knows no encoder. The made texts are for tool sets without demonstrations, and ask for tools that none asks for.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgeret.inputs.demonstrations import Demonstration
from edgeret.inputs.query import plain
from edgeret.inputs.tool_text import name_in_words
from edgeret.types import Tool

MAX_ITEMS = 1024
"""Items of a `sample`, at most."""
LOOKS = (128, 256, 512, 1024, 2048, 4096)
"""So many demonstrations, or tools that texts are made from, are asked about until what was found decides; all of them
where there are fewer."""
MAX_SENTENCES = 2
FIRST_WORDS = 5
_SENTENCE = re.compile(r"(?<=[.!?。])\s+|\n+")


@dataclass(frozen=True, slots=True)
class Questions:
    """Texts, each with the positions of the tools that it needs (none: for cosines only), and the observation that it
    belongs to: texts of one tool, or of the same words, are lost or kept together and count once."""

    texts: tuple[str, ...]
    relevant: tuple[frozenset[int], ...]
    observation: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.texts)

    def first(self, count: int) -> Questions:
        """The texts before the one that begins the observation behind the first `count`."""
        later = np.flatnonzero(self.observation >= count)
        end = int(later[0]) if len(later) else len(self)
        return Questions(self.texts[:end], self.relevant[:end], self.observation[:end])


def sample(count: int, limit: int = MAX_ITEMS) -> NDArray[np.intp]:
    """Positions of at most `limit` of `count` items, evenly spaced, so that no part of a sorted file is left out."""
    return np.unique(np.linspace(0, count - 1, min(count, limit)).round().astype(np.intp))


def mixed(count: int) -> list[int]:
    """Positions of as many of `count` items as are ever asked about, in an order of which every beginning is a sample;
    always the same."""
    if count <= LOOKS[0]:
        return list(range(count))
    mixed: list[int] = np.random.default_rng(0).permutation(count)[: LOOKS[-1]].tolist()
    return mixed


def from_demonstrations(demonstrations: Sequence[Demonstration], tools: Sequence[Tool]) -> Questions:
    """The demonstrations' queries, in the order of `mixed`."""
    position = {tool.name: i for i, tool in enumerate(tools)}
    chosen = [demonstrations[i] for i in mixed(len(demonstrations))]
    return _numbered([(d.query, frozenset(position[c.tool] for c in d.calls), plain(d.query)) for d in chosen])


def from_tools(tools: Sequence[Tool]) -> Questions:
    """Each tool's name in words, first sentences and first words, as queries that need this tool; tools in the order of
    `mixed`."""
    rows = [(text, frozenset({i}), i) for i in mixed(len(tools)) for text in _made_of(tools[i])]
    return _numbered(rows)


def _made_of(tool: Tool) -> Iterator[str]:
    sentences = [s.strip() for s in _SENTENCE.split(tool.description) if s.strip()]
    first_words = " ".join(tool.description.split()[:FIRST_WORDS])
    name = name_in_words(tool.name) or tool.name
    yield from dict.fromkeys(text for text in (name, *sentences[:MAX_SENTENCES], first_words) if text)


def _numbered(rows: Sequence[tuple[str, frozenset[int], Hashable]]) -> Questions:
    numbers: dict[Hashable, int] = {}
    observation = np.array([numbers.setdefault(key, len(numbers)) for _, _, key in rows], np.intp)
    return Questions(tuple(text for text, _, _ in rows), tuple(tools for _, tools, _ in rows), observation)
