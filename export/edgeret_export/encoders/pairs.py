"""What an encoder is tuned on: a text of a request, a tool that it needs, and a tool that only looks like it.

Pure: vectors come from whoever asks. Knows nothing of torch, of training and of files.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.inputs.tool_text import name_in_words, tool_text
from edgeret.types import Tool
from edgeret_export.reference.inputs.clauses import split_clauses

ANCHORS = ("query", "clauses", "history", "tnd", "qtnd")
"""Texts of a request: itself; its clauses; itself with the calls made so far; a tool that somebody imagined for it
(thought, name, description: paper 003's TND), alone and behind the request."""
IMAGINED = frozenset({"tnd", "qtnd"})
TOOL_FORM = "name+description"
HARD = slice(2, 10)
"""Where hard negatives stand in the base encoder's ranking: ranks 3 to 10. Nearer ones are often right as well."""
NEAREST = 5
"""Wrong tools from which an anchor's negatives are drawn, where each step draws its own."""
LARGE = 500
"""In sets of more tools than this the nearest wrong one is left out as well: often it would serve."""
STORY = (2, 3)
"""Requests that are joined to one."""


@dataclass(frozen=True, slots=True)
class ToolSet:
    """Tools and the requests that they solve, of one origin."""

    name: str
    tools: Sequence[Tool]
    demonstrations: Sequence[Demonstration]


@dataclass(frozen=True, slots=True)
class Pair:
    """An anchor's text with the texts of a tool that it needs and of one that it does not need. `needed` are the texts
    of all tools that its request needs: none of them may be a negative of this anchor."""

    anchor: str
    positive: str
    negative: str
    needed: frozenset[str]


@dataclass(frozen=True, slots=True)
class Anchor:
    """A text that searches, with the texts of the tools that are right for it (none where nothing fits), of all that
    its request needs, and of the wrong ones nearest to it, from which negatives are drawn."""

    text: str
    right: tuple[str, ...]
    needed: frozenset[str]
    near: tuple[str, ...]


class Vectors(Protocol):
    """An encoder: unit vectors, float32 (texts, dimension)."""

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Of texts that search."""

    def tools(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Of texts that are searched."""


@dataclass(frozen=True, slots=True)
class PairOptions:
    """Which anchors there are, how many stories for each request, and the tools that were imagined for requests."""

    anchors: tuple[str, ...] = ("query", "clauses")
    stories: float = 0.2
    seed: int = 0
    imagined: Mapping[str, Sequence[str]] | None = None

    def __post_init__(self) -> None:
        """Raises InputError for unknown anchors, and for those of imagined tools where none were given."""
        for anchor in self.anchors:
            if anchor not in ANCHORS:
                raise InputError(f"--anchors: unknown '{anchor}'; choose some of: {','.join(ANCHORS)}")
        if not self.anchors:
            raise InputError(f"--anchors: none given; choose some of: {','.join(ANCHORS)}")
        if not 0 <= self.stories <= 10:
            raise InputError(f"--stories: expected 0 to 10 for each request, found {self.stories:g}")
        if IMAGINED & set(self.anchors) and self.imagined is None:
            raise InputError("--anchors tnd and qtnd need the tools that were imagined; give --hypothetical FILE")


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request with the names of the tools that it needs: each once, and as they are called."""

    query: str
    tools: tuple[str, ...]
    calls: tuple[str, ...]


def match(similarities: NDArray[np.floating]) -> list[tuple[int, int]]:
    """Rows and columns one to one, so that the sum of their similarities (rows, columns) is largest, by row."""
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(similarities, maximize=True)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def make_pairs(tool_set: ToolSet, vectors: Vectors, options: PairOptions) -> list[Pair]:
    """The pairs of one set, in its order; `vectors` is the encoder before it is tuned. The same seed, the same pairs.

    Requests without calls give none, and neither do those that need every tool.
    """
    rng = _rng(tool_set, options)
    texts = _texts_of(tool_set)
    told = list(texts.values())
    found: dict[tuple[str, str], Pair] = {}
    for text, name, needed, scores in _searched(tool_set, vectors.tools(told), vectors, options, rng):
        negative = _negative(scores, told, needed, rng)
        if negative is not None:
            found.setdefault((text, name), Pair(text, texts[name], negative, needed))
    return list(found.values())


def make_anchors(tool_set: ToolSet, vectors: Vectors, options: PairOptions) -> list[Anchor]:
    """The anchors of one set, each text once; `vectors` is the encoder before it is tuned. Requests without calls are
    anchors without a right tool. Those that need every tool give none. The same seed, the same anchors."""
    texts = _texts_of(tool_set)
    told = list(texts.values())
    tools = vectors.tools(told)
    right: dict[str, dict[str, None]] = {}
    needed: dict[str, frozenset[str]] = {}
    scores: dict[str, NDArray[np.float32]] = {}
    for text, name, wanted, row in _searched(tool_set, tools, vectors, options, _rng(tool_set, options)):
        right.setdefault(text, {})[texts[name]] = None
        needed[text] = needed.get(text, frozenset()) | wanted
        scores[text] = row
    # What one plan solves fits, whatever another plan says.
    solved = right.keys() | {d.query for d in tool_set.demonstrations if d.calls}
    nothing = list(dict.fromkeys(d.query for d in tool_set.demonstrations if d.query not in solved))
    if nothing:
        scores |= zip(nothing, vectors.queries(nothing) @ tools.T, strict=True)
    found = []
    for text, row in scores.items():
        apart = needed.get(text, frozenset())
        near = _near(row, told, apart, bool(apart) and len(told) > LARGE)
        if near:
            found.append(Anchor(text, tuple(right.get(text, ())), apart, near))
    return found


def _rng(tool_set: ToolSet, options: PairOptions) -> random.Random:
    return random.Random(f"{tool_set.name} {options.seed}")


def _texts_of(tool_set: ToolSet) -> dict[str, str]:
    """The tools' texts, by name."""
    return {tool.name: tool_text(tool, TOOL_FORM) for tool in tool_set.tools}


def _searched(
    tool_set: ToolSet, tools: NDArray[np.float32], vectors: Vectors, options: PairOptions, rng: random.Random
) -> Iterator[tuple[str, str, frozenset[str], NDArray[np.float32]]]:
    """Every text that searches with the name of a tool that it is to find, the texts of all that its request needs,
    and the encoder's cosines with `tools` (tools, dimension), float32 (tools,)."""
    texts = _texts_of(tool_set)
    position = {name: i for i, name in enumerate(texts)}
    asked = _asked(tool_set.demonstrations)
    asked += _stories(asked, round(options.stories * len(asked)), rng)
    known = _known(asked, vectors, options)
    for request in asked:
        wanted = [position[name] for name in request.tools]
        needed = frozenset(texts[name] for name in request.tools)
        for text, name in _anchors(request, known, tools[wanted], options):
            yield text, name, needed, known[text] @ tools.T


def _asked(demonstrations: Sequence[Demonstration]) -> list[_Asked]:
    """The requests that call something. Where plans differ on the same words, these need the tools of all of them."""
    tools: dict[str, dict[str, None]] = {}
    for demonstration in demonstrations:
        tools.setdefault(demonstration.query, {}).update(dict.fromkeys(call.tool for call in demonstration.calls))
    return [
        _Asked(d.query, tuple(tools[d.query]), tuple(call.tool for call in d.calls)) for d in demonstrations if d.calls
    ]


def _stories(asked: Sequence[_Asked], count: int, rng: random.Random) -> list[_Asked]:
    """Several requests told in one breath, with all their tools."""
    if len(asked) < STORY[-1]:
        return []
    told = []
    for _ in range(count):
        parts = rng.sample(list(asked), rng.choice(STORY))
        query = " ".join(p.query if p.query.rstrip()[-1:] in (".", "!", "?") else f"{p.query.rstrip()}." for p in parts)
        names = tuple(dict.fromkeys(name for part in parts for name in part.tools))
        told.append(_Asked(query, names, tuple(name for part in parts for name in part.calls)))
    return told


def _known(asked: Sequence[_Asked], vectors: Vectors, options: PairOptions) -> dict[str, NDArray[np.float32]]:
    """The vectors of every text that may be an anchor, encoded in one go."""
    texts: dict[str, None] = {}
    for request in asked:
        for kind in options.anchors:
            texts.update(dict.fromkeys(_texts(request, kind, options.imagined or {})))
    return dict(zip(texts, vectors.queries(list(texts)), strict=True))


def _texts(request: _Asked, kind: str, imagined: Mapping[str, Sequence[str]]) -> list[str]:
    """The texts of a request that are anchors of this kind; those of `history` one for each call."""
    if kind == "query":
        return [request.query]
    if kind == "clauses":
        return split_clauses(request.query)
    if kind == "history":
        words = [name_in_words(name) for name in request.calls]
        return [" | ".join((request.query, *words[:i])) for i in range(len(words))]
    tools = imagined.get(request.query, ())
    return list(dict.fromkeys(tools if kind == "tnd" else (f"{request.query} {tool}" for tool in tools)))


def _anchors(
    request: _Asked, known: Mapping[str, NDArray[np.float32]], wanted: NDArray[np.float32], options: PairOptions
) -> Iterator[tuple[str, str]]:
    """Texts of a request, each with the name of a tool that it needs. `wanted` are its tools' vectors."""
    for kind in options.anchors:
        texts = _texts(request, kind, options.imagined or {})
        if kind == "query":
            yield from ((request.query, name) for name in request.tools)
        elif kind == "history":
            yield from zip(texts, request.calls, strict=True)
        elif texts:
            for row, column in match(np.stack([known[text] for text in texts]) @ wanted.T):
                yield texts[row], request.tools[column]


def _negative(
    scores: NDArray[np.float32], texts: Sequence[str], needed: frozenset[str], rng: random.Random
) -> str | None:
    """A tool that the base encoder takes for near and that the request does not need; of few tools, any other one."""
    others = [texts[i] for i in _order(scores)[HARD] if texts[i] not in needed] or [t for t in texts if t not in needed]
    return rng.choice(others) if others else None


def _near(scores: NDArray[np.float32], texts: Sequence[str], needed: frozenset[str], skip: bool) -> tuple[str, ...]:
    """The nearest tools that the request does not need; with `skip` those behind the first."""
    wrong = [texts[i] for i in _order(scores) if texts[i] not in needed]
    return tuple(wrong[skip:][:NEAREST])


def _order(scores: NDArray[np.float32]) -> list[int]:
    """Positions from the highest score to the lowest."""
    # Rounded, so that a sum's last bit does not decide which of two equal tools comes first.
    order: list[int] = np.argsort(-np.round(scores, 5), kind="stable").tolist()
    return order
