"""The examples that tools show, encoded as the requests that they stand for. Knows nothing of scores."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from edgeret.types import Tool
from edgeret_export.reference.encoders.base import Encoder
from edgeret_export.reference.scoring.examples import Examples
from edgeret_export.reference.scoring.index import Index


def texts_of(tools: Sequence[Tool]) -> list[str]:
    """All sentences, in the tools' order."""
    return [said for tool in tools for said in tool.examples]


def owners_of(tools: Sequence[Tool]) -> NDArray[np.intp]:
    """The position of the tool that shows each of them, intp (sentences,)."""
    return np.repeat(np.arange(len(tools)), [len(tool.examples) for tool in tools])


def worded(tools: Sequence[Tool], shown: Collection[str]) -> list[Tool]:
    """The same, without the sentences of all that are not among `shown`: whose became demonstrations, or never were
    encoded, and say nothing in words either."""
    return [replace(tool, examples=()) if tool.examples and tool.name not in shown else tool for tool in tools]


def encode_examples(tools: Sequence[Tool], encoder: Encoder) -> NDArray[np.float32]:
    """Unit vectors of all sentences, float32 (sentences, dimension)."""
    found = [encoder.encode_query(said).vector for said in texts_of(tools)]
    return np.stack(found) if found else np.empty((0, encoder.spec.dimension), np.float32)


def with_examples(
    index: Index, names: Sequence[str], fresh: Sequence[Tool], vectors: NDArray[np.float32]
) -> Examples | None:
    """What tools with these names show: those of the index, but for the `fresh` ones, whose sentences' `vectors` are
    given in their order."""
    place = {name: i for i, name in enumerate(names)}
    again = {tool.name for tool in fresh}
    kept = None
    if index.examples is not None:
        stay = [-1 if name in again else place.get(name, -1) for name in index.names]
        kept = index.examples.at(np.array(stay, np.intp))
    owners = np.array([place[tool.name] for tool in fresh], np.intp)[owners_of(fresh)]
    if kept is None:
        return Examples.of(vectors, owners)
    return Examples.of(np.concatenate((kept.vectors, vectors)), np.concatenate((kept.owners, owners)))


def examples_at(index: Index, rows: Sequence[int]) -> NDArray[np.float32]:
    """The vectors of what the tools at these rows show, in this order, float32 (examples, dimension)."""
    shown = index.examples
    if shown is None:
        return np.empty((0, index.vectors.shape[1]), np.float32)
    begins, ends = (np.searchsorted(shown.owners, np.array(rows, np.intp) + i).tolist() for i in (0, 1))
    return np.concatenate([shown.vectors[:0], *(shown.vectors[a:b] for a, b in zip(begins, ends, strict=True))])
