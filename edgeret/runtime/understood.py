"""What search reads in a text beside its meaning, for whoever asks why: loaded then, and worked out anew. Ranks
nothing."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from edgeret.inputs.asking import only_asks
from edgeret.inputs.clauses import split_clauses
from edgeret.inputs.language import language_of
from edgeret.inputs.values import KINDS, values_in
from edgeret.records import dataclass
from edgeret.runtime.evidence import passages
from edgeret.runtime.scorer import Scorer

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


def understood(scorer: Scorer, text: str) -> Understood:
    """As `Runtime.understood`."""
    names, takers = scorer.components.index.names, scorer.hybrid.values
    values = {}
    if takers is not None:
        for kind in values_in(text):
            taking = takers.taking(kind)
            values[KINDS[kind]] = len(taking), tuple(names[i] for i in taking[:MOST_NAMED])
    clauses = tuple(split_clauses(text)[:MOST_CLAUSES])
    return Understood(text, language_of(text), clauses, only_asks(text), values, _near(scorer, text))


def _near(scorer: Scorer, text: str) -> tuple[NearExample, ...]:
    held = scorer.components
    index, examples = held.index, held.index.examples
    if examples is None:
        return ()
    asked = passages(text, held.encoder.encode_query(text))
    near = (np.vstack((asked.vectors[:1], asked.clauses)) @ examples.vectors.T).max(axis=0)
    owners, found = examples.owners, []
    for row in np.argsort(-near, kind="stable")[:MOST_NEAR].tolist():
        owner = int(owners[row])
        place = row - int(np.searchsorted(owners, owner))
        cosine = round(float(near[row]), 4)
        said = held.tools[index.names[owner]].examples[place]
        found.append(NearExample(index.names[owner], said, cosine, _shown_by(examples.vectors, row)))
    return tuple(found)


def _shown_by(vectors: np.ndarray[Any, np.dtype[np.float32]], row: int) -> int:
    """How many sentences have the same vector."""
    return int((vectors == vectors[row]).all(axis=1).sum())
