"""What search reads in a text beside its meaning, for whoever asks why: loaded then, and worked out anew. Ranks
nothing."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.core.understood import Words, kinds_of, words_of
from edgeret.records import dataclass
from edgeret.runtime.loaded import Loaded

MOST_NEAR = 3
"""Examples that are told."""
MOST_NAMED, MOST_CLAUSES = 20, 16
"""Tools that are named for a kind of values, and clauses that are told."""


@dataclass(frozen=True, slots=True)
class NearExample:
    """A sentence that a tool shows, its cosine to the text or the clause of it that is nearest, and how many tools show
    it: of several it counts less for each."""

    tool: str
    text: str
    cosine: float
    shown_by: int


@dataclass(frozen=True, slots=True)
class Understood:
    """What a text says beside its meaning. `language` is a code, English where there is doubt; `clauses` are what is
    searched for beside the whole; `only_asks` says that nothing is to be changed. `values` are the kinds of values that
    stand in it, each with the first tools that take one by their parameters' names, and how many tools do. `examples`
    are the nearest ones first."""

    text: str
    language: str
    clauses: tuple[str, ...]
    only_asks: bool
    values: dict[str, tuple[int, tuple[str, ...]]]
    examples: tuple[NearExample, ...]

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON-ready data."""
        values = {kind: {"tools": count, "first": list(names)} for kind, (count, names) in self.values.items()}
        return asdict(self) | {"values": values}


def understood(loaded: Loaded, text: str) -> Understood:
    """As `Runtime.understood`."""
    read, values = words_of(text), {}
    if read.values:
        numbers = zip(loaded.tools, loaded.numbers_of(loaded.tools).tolist(), strict=True)
        taken = {name: kinds_of(loaded.core.takes(number)) for name, number in numbers}
        for kind in read.values:
            taking = [name for name, takes in taken.items() if kind in takes]
            values[kind] = len(taking), tuple(taking[:MOST_NAMED])
    return Understood(
        *(text, read.language, read.parts[:MOST_CLAUSES], read.only_asks, values, _near(loaded, text, read))
    )


def _near(loaded: Loaded, text: str, read: Words) -> tuple[NearExample, ...]:
    shown = [(name, said) for name, tool in loaded.tools.items() for said in tool.examples]
    _, vectors = loaded.vectors_of(list(dict.fromkeys(name for name, _ in shown)))
    if not len(vectors) == len(shown) > 0:  # some became demonstrations, or never were encoded
        return ()
    near = (_asked(loaded, text, read) @ vectors.T).max(axis=0)
    return tuple(
        NearExample(shown[row][0], shown[row][1], round(float(near[row]), 4), _shown_by(vectors, row))
        for row in np.argsort(-near, kind="stable")[:MOST_NEAR].tolist()
    )


def _asked(loaded: Loaded, text: str, read: Words) -> NDArray[np.float32]:
    """Unit vectors of the whole text and of its clauses, float32 (1 + clauses, dimension)."""
    encoded, spans = loaded.own_encoder.encode_query(text), read.clauses[:MOST_CLAUSES]
    inside = [(encoded.spans[:, 0] >= begin) & (encoded.spans[:, 1] <= end) for begin, end in spans]
    means = [encoded.tokens[here].mean(axis=0) for here in inside if here.any()]
    found: NDArray[np.float32] = np.stack([encoded.vector, *(mean / np.linalg.norm(mean) for mean in means)])
    return found


def _shown_by(vectors: np.ndarray[Any, np.dtype[np.float32]], row: int) -> int:
    """How many sentences have the same vector."""
    return int((vectors == vectors[row]).all(axis=1).sum())
