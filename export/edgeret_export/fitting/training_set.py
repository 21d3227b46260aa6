"""What every fit takes: decisions, queries, words and folds of demonstrations, in one frozen value. Fits nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from edgeret.inputs.demonstrations import Demonstration
from edgeret.types import SEGMENTS, Tool
from edgeret_export.fitting.decisions import Decisions, number_decisions

FOLDS = 5


@dataclass(frozen=True, slots=True)
class Queries:
    """What the head sees of all plans' queries: unit vectors (plans, dimension), the unit vectors of their parts
    (plans, SEGMENTS, dimension), and the vectors of the labels' tools (labels - 1, dimension)."""

    vectors: NDArray[np.float32]
    segments: NDArray[np.float32]
    label_vectors: NDArray[np.float32]

    def parts(self, plan: int) -> NDArray[np.float32]:
        """Unit vectors of one plan's query and its parts, as the runtime has them (1 + SEGMENTS, dimension)."""
        return np.vstack((self.vectors[plan], self.segments[plan]))

    def cosines(self) -> NDArray[np.float32]:
        """Cosines of every query to the labels' tools, 0 for `<end>`, float32 (plans, labels)."""
        return _with_end(self.vectors @ self.label_vectors.T)

    def segment_cosines(self) -> NDArray[np.float32]:
        """Cosines of every part to the labels' tools, 0 for `<end>`, float32 (SEGMENTS, plans, labels)."""
        return np.stack([_with_end(self.segments[:, j] @ self.label_vectors.T) for j in range(SEGMENTS)])


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """Demonstrations to learn from, or a part of their decisions.

    `decisions` number the plans as `demonstrations`, `queries` and `folds` (plans,) do, whatever part of them is left;
    plans with the same words share a fold, or the answer would be known. `seed` is of everything that a fit draws.
    """

    demonstrations: tuple[Demonstration, ...]
    tools: tuple[Tool, ...]
    decisions: Decisions
    queries: Queries
    folds: NDArray[np.intp]
    seed: int

    @property
    def plans(self) -> NDArray[np.intp]:
        """The numbers of the plans that have decisions here, ascending."""
        return np.unique(self.decisions.plan)

    @property
    def row_folds(self) -> NDArray[np.intp]:
        """The fold of every decision (rows,)."""
        return self.folds[self.decisions.plan]

    def different(self) -> int:
        """How many different queries the demonstrations have, whatever their case and spaces."""
        return len({plain(d.query) for d in self.demonstrations})

    def select(self, rows: NDArray[np.bool_]) -> TrainingSet:
        """The same with the decisions that the mask (rows,) marks."""
        return replace(self, decisions=self.decisions.select(rows))

    def written(self) -> TrainingSet:
        """The same with the decisions that follow the order of the file."""
        return self.select(self.decisions.written)


def training_set(
    demonstrations: Sequence[Demonstration],
    tools: Sequence[Tool],
    vectors: NDArray[np.float32],
    tool_vectors: NDArray[np.float32],
    seed: int,
) -> TrainingSet:
    """The training set of demonstrations whose queries have `vectors` (plans, 1 + SEGMENTS, dimension), as
    `Encoder.encode_query` gives them; `tool_vectors` (tools, dimension)."""
    decisions = number_decisions(demonstrations, tools)
    position = {tool.name: i for i, tool in enumerate(tools)}
    labels = np.array([position[name] for name in decisions.labels[:-1]], np.intp)
    queries = Queries(vectors[:, 0], vectors[:, 1:], tool_vectors[labels])
    folds = assign_folds([d.query for d in demonstrations], seed)
    return TrainingSet(tuple(demonstrations), tuple(tools), decisions, queries, folds, seed)


def plain(query: str) -> str:
    """The query's words, whatever its case and spaces."""
    return " ".join(query.lower().split())


def assign_folds(queries: Sequence[str], seed: int) -> NDArray[np.intp]:
    """A fold for every plan; plans with the same words share one."""
    groups: dict[str, int] = {}
    group = np.array([groups.setdefault(plain(query), len(groups)) for query in queries], np.intp)
    folds: NDArray[np.intp] = np.random.default_rng(seed).permutation(np.arange(len(groups)) % FOLDS)[group]
    return folds.astype(np.intp)


def _with_end(cosines: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.hstack((cosines, np.zeros((len(cosines), 1), np.float32)))
