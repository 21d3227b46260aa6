"""Ranks without demonstrations: what is called next, from the tools' words, vectors and flow alone.

A linear score whose few weights were fitted on other people's tools (`edgeret-export lab prior`), the same ones for
everybody. It is all that a bundle without demonstrations has, what a tool without demonstrations is scored by, and what
the head's logits start from. Knows nothing of text.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import asdict, astuple, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.fields import get_number
from edgeret.records import dataclass
from edgeret_export.reference.scoring.examples import Examples
from edgeret_export.reference.scoring.flow import Flow, Pairs
from edgeret_export.reference.scoring.nothing import NothingWeights, Put
from edgeret_export.reference.scoring.passages import Passages
from edgeret_export.reference.scoring.products import product
from edgeret_export.reference.scoring.wishes import Wishes

CALLED = 20.0
"""What a tool that was called already loses, in nats."""
SAID = 10.0
"""What a tool gains whose name is all that the request says, in nats; so plain a wish is no matter of weights."""
COSINE = np.float32(10.0)
"""Cosines are counted in tenths, so that weights are of one size."""
ASKED = 2.0
"""What a tool loses that changes something where a request only asks, in nats."""
KEPT_NUMBERS = 1 << 20
"""Cosines among tools that are kept, 4 MB."""
_LIMIT = 1e3


@dataclass(frozen=True, slots=True)
class ToolWeights:
    """What each piece of evidence for a tool weighs; cosines count ten times.

    Words shared with the request: `name`, `parameters`, `coverage` (of the request by the tool's text), `text`.
    Cosines: `window` (the best few words of the request), `clause` (the best clause), `next_clause` (the one behind
    that of the last call), `third` (the part of the request that is due, less the others), `later` (the best words
    behind those of the last call), `related` (to the last tool, both centred). Flow: a giver `was_called`, is
    `still_needed`, or gives to what the request wants (`gives`); of mentioned givers, and `key_…` of those that only
    share a key's words. Of `name` and `coverage`, what is `spent`: words that a called tool has too.
    """

    name: float
    parameters: float
    coverage: float
    text: float
    window: float
    clause: float
    next_clause: float
    third: float
    later: float
    related: float
    was_called: float
    still_needed: float
    gives: float
    key_was_called: float
    key_still_needed: float
    key_gives: float
    spent_name: float
    spent_coverage: float
    due: float
    opposed: float
    agrees: float
    values: float


@dataclass(frozen=True, slots=True)
class EndWeights:
    """The logit that a plan is complete after at least one call: a constant, the logarithm of words by call, how well
    the called tools cover the least covered window and clause, how far the best score fell, the best score, the share
    of windows behind the last call's, and the logarithm of the number of tools: a few are all near to everything.

    What is left: `fresh_name` and `fresh_coverage` are the most that any tool shares of the words that no called tool
    has; `fresh_window` and `fresh_clause` how much nearer than the called tools another one is, in tenths of a cosine;
    and whether the last call gives to tools of which none was called (`unused` by mention, `key_unused` by a key).
    """

    constant: float
    words_by_call: float
    least_window: float
    least_clause: float
    drop: float
    best: float
    windows_left: float
    tools: float
    fresh_name: float
    fresh_coverage: float
    fresh_window: float
    fresh_clause: float
    unused: float
    key_unused: float
    open: float
    open_clear: float
    answered: float


@dataclass(frozen=True, slots=True)
class WishWeights:
    """What each piece of evidence weighs for the tool that one of several wishes is for: its clause's cosine, and how
    much nearer that is than the other wishes' (`apart`), both ten times, and what its words share with the `name` and,
    beside the tool that has most of them, with the text (`coverage`)."""

    cosine: float
    apart: float
    name: float
    coverage: float


@dataclass(frozen=True, slots=True)
class SearchWeights:
    """What each piece of evidence weighs where tools are searched for a whole request: the best cosine of its windows,
    how near a tool comes to leading in a clause, both ten times; and words, as in `ToolWeights`, but that words of like
    meaning count for `name` and `coverage` too."""

    window: float
    clause_lead: float
    name: float
    coverage: float
    text: float
    parameters: float


@dataclass(frozen=True, slots=True)
class ValueWeights:
    """What a request's value of each kind weighs for a tool that takes it, by the rarity of such tools among all:
    log((n + 1) / (takers + 1)). In search as it is; for the next function all together times `ToolWeights.values`."""

    url: float
    email: float
    path: float
    channel: float
    iban: float
    money: float
    time: float
    date: float
    duration: float
    phone: float
    quoted: float
    number: float
    percent: float


@dataclass(frozen=True, slots=True)
class PriorWeights:
    """All that is fitted on other people's tools."""

    tool: ToolWeights
    end: EndWeights
    nothing: NothingWeights
    search: SearchWeights
    wish: WishWeights
    values: ValueWeights

    def to_dict(self) -> dict[str, Any]:
        """The weights as plain data."""
        return asdict(self)

    @staticmethod
    def from_dict(value: Mapping[str, Any], where: str) -> PriorWeights:
        """Reads them back. Raises BundleError when one is missing, of another type or out of range."""
        found: dict[str, Any] = {}
        for key, kind in KINDS.items():
            part = value.get(key)
            part = part if isinstance(part, Mapping) else {}
            found[key] = kind(
                **{f.name: get_number(part, f.name, -_LIMIT, _LIMIT, f"{where}: {key}") for f in fields(kind)}
            )
        return PriorWeights(**found)


KINDS: Mapping[str, Any] = {
    "tool": ToolWeights,
    "end": EndWeights,
    "nothing": NothingWeights,
    "search": SearchWeights,
    "wish": WishWeights,
    "values": ValueWeights,
}
"""The blocks of weights, by name."""


@dataclass(frozen=True, slots=True)
class Hits:
    """Where the words of a request are among the tools', one hit each (hits,): the `word`, numbered from 0; its
    `place`, the tool's position if it is in the name, with the number of tools added once for the text, and twice for
    the parameters; and its `rarity`, float32. A text has the words of its name too, and so have parameters.

    `per_name` (tools,) and `said` divide what is added up, by what all words of a name and of the request weigh.
    """

    word: NDArray[np.intp]
    place: NDArray[np.intp]
    rarity: NDArray[np.float32]
    per_name: NDArray[np.float32]
    said: np.float32

    def tables(self) -> tuple[NDArray[np.bool_], NDArray[np.float32], NDArray[np.float32]]:
        """For every word of the request, which tools have it, and what it adds to the tools' `name` and `coverage` of
        `Overlaps`: bool, float32 and float32, each (words, tools)."""
        n = len(self.per_name)
        found = np.zeros((len(self.word) and self.word[-1] + 1, 3 * n), np.float32)
        found[self.word, self.place] = self.rarity
        name, text, parameters = found[:, :n], found[:, n : 2 * n], found[:, 2 * n :]
        coverage = text * np.float32(1 / self.said)
        return (text > 0) | (parameters > 0), name * self.per_name, coverage

    def among(self, positions: NDArray[np.intp]) -> Hits:
        """The same for some of the tools."""
        n, here = len(self.per_name), len(positions)
        moved = np.full((3, n), -1)
        moved[:, positions] = np.arange(3 * here).reshape(3, here)
        place = moved.ravel()[self.place]
        kept = place >= 0
        return Hits(self.word[kept], place[kept], self.rarity[kept], self.per_name[positions], self.said)


@dataclass(frozen=True, slots=True)
class Overlaps:
    """What a request shares with each tool, the rows of `shared`, float32 (4, tools): the share of the `name`'s and of
    the `parameters`' words, weighted by how rare they are; the share of the request's words that the tool's text has
    (`coverage`); and how much of the `text` they are. `said` are the positions of the tools whose names the request
    consists of; `hits` looks up where the words are, which most requests never ask."""

    shared: NDArray[np.float32]
    said: tuple[int, ...]
    hits: Callable[[], Hits]

    @property
    def name(self) -> NDArray[np.float32]:
        """Of the names' words."""
        row: NDArray[np.float32] = self.shared[0]
        return row

    @property
    def parameters(self) -> NDArray[np.float32]:
        """Of the parameters' words."""
        row: NDArray[np.float32] = self.shared[1]
        return row

    @property
    def coverage(self) -> NDArray[np.float32]:
        """Of the request's words."""
        row: NDArray[np.float32] = self.shared[2]
        return row

    @property
    def text(self) -> NDArray[np.float32]:
        """Of the texts' words."""
        row: NDArray[np.float32] = self.shared[3]
        return row

    def among(self, positions: NDArray[np.intp]) -> Overlaps:
        """The same for some of the tools."""
        place = {position: i for i, position in enumerate(positions.tolist())}
        return Overlaps(
            self.shared[:, positions],
            tuple(place[position] for position in self.said if position in place),
            lambda: self.hits().among(positions),
        )


@dataclass(frozen=True, slots=True)
class Values:
    """The kinds of values that a request holds, as places in `ValueWeights`, and how rare those are that take them
    where a tool does, else 0: float32 (kinds, tools)."""

    kinds: tuple[int, ...]
    takes: NDArray[np.float32]

    def weighed(self, weights: ValueWeights) -> NDArray[np.float32]:
        """What that weighs for each tool, float32 (tools,)."""
        every = astuple(weights)
        found: NDArray[np.float32] = np.array([every[kind] for kind in self.kinds], np.float32) @ self.takes
        return found


@dataclass(frozen=True, slots=True)
class Evidence:
    """A request as numbers: the unit vectors of the whole and its parts, and what its words share with each tool.
    `words` counts those of the request. `wishes` looks up what it asks for one after the other, which only a later step
    asks; None for a request that asks for one thing. `opposed` is how often each tool is opposed to the request and how
    often it agrees with it, float32 (2, tools); None where the request says nothing of opposites.
    `put` looks up how the request is put, which few requests ask. `values` is what kinds of values it holds, and who
    takes them; None where it holds none. `changing` are the tools that change something, bool (tools,), where the
    request only asks; None where it does not."""

    passages: Passages
    shared: Overlaps
    words: Callable[[], int]
    wishes: Callable[[], Wishes | None] | None = None
    opposed: NDArray[np.float32] | None = None
    put: Callable[[], Put] = Put
    values: Values | None = None
    changing: NDArray[np.bool_] | None = None

    def among(self, positions: NDArray[np.intp]) -> Evidence:
        """The same for some of the tools."""
        values = None if self.values is None else Values(self.values.kinds, self.values.takes[:, positions])
        opposed = None if self.opposed is None else self.opposed[:, positions]
        changing = None if self.changing is None else self.changing[positions]
        shared = self.shared.among(positions)
        return replace(self, shared=shared, values=values, changing=changing, opposed=opposed)


class Prior:
    """A set of tools, arranged for requests. Immutable and thread-safe."""

    def __init__(self, vectors: NDArray[np.float32], end: int, flow: Flow, weights: PriorWeights) -> None:
        """`vectors` are the tools' unit rows (n, dimension) with a row of zeros for `<end>` at the position `end`."""
        self.weights, self.end, self.n = weights, end, len(vectors)
        self.vectors = vectors
        self.examples: Examples | None = None  # set by whoever arranges tools that show some
        self.named = Pairs(flow.taker[flow.named], flow.giver[flow.named], self.n, True)
        self.keyed = Pairs(flow.taker[~flow.named], flow.giver[~flow.named], self.n, False)
        self._related: dict[int, NDArray[np.float32]] = {}

    def cosines(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Cosines of unit rows (m, dimension), contiguous, to all tools, float32 (m, n)."""
        return product(rows, self.vectors)

    @cached_property
    def _centred(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The mean of all tools' vectors (dimension,), and their distances from it (n,)."""
        vectors = self.vectors
        centre = vectors.sum(axis=0) / max(1, self.n - 1)
        squares = np.einsum("ij,ij->i", vectors, vectors) - 2 * vectors @ centre + centre @ centre
        return centre, np.sqrt(np.maximum(squares, 1e-9))

    def weighing(self, weights: PriorWeights) -> Prior:
        """The same tools under other weights, without arranging anything again."""
        other = copy.copy(self)
        other.weights = weights
        vars(other)["_related"] = {}
        vars(other).pop("owed", None)
        return other

    @cached_property
    def owed(self) -> NDArray[np.float32] | None:
        """What tools lack that need others before any call, as it enters the scores, float32 (n,); None where no tool
        needs another."""
        w = self.weights.tool
        kinds = ((self.named, w.still_needed), (self.keyed, w.key_still_needed))
        terms = [np.float32(weight) * pairs.needed for pairs, weight in kinds if pairs.any]
        return sum(terms[1:], terms[0]) if terms else None

    def related(self, position: int) -> NDArray[np.float32]:
        """Cosines of all tools to one, both less the mean of all: float32 (n,)."""
        centre, length = self._centred
        own = self.vectors[position] - centre
        cosines: NDArray[np.float32] = (self.vectors @ own - centre @ own) / (length * length[position])
        cosines[self.end] = 0.0
        return cosines

    def related_weighed(self, position: int) -> NDArray[np.float32]:
        """`related` as it enters the scores; kept, since plans call the same tools again and again."""
        found = self._related.get(position)
        if found is None:
            found = self.related(position) * np.float32(self.weights.tool.related * COSINE)
            if len(self._related) * self.n < KEPT_NUMBERS:
                self._related[position] = found
        return found
