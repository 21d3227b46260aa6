"""What a build has when everything is encoded. Fits nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.encoders.variants import Variant
from edgeret.inputs.demonstrations import Demonstration
from edgeret.inputs.tool_text import name_in_words
from edgeret.types import Tool
from edgeret_export.encoders.argument_card import ArgumentCard
from edgeret_export.encoders.export import ExportedEncoder
from edgeret_export.encoders.parity import Parity
from edgeret_export.encoders.pretrained import TokenVectors
from edgeret_export.encoders.questions import sample
from edgeret_export.fitting.training_set import TrainingSet
from edgeret_export.reference.encoders.base import Encoder
from edgeret_export.reference.scoring.examples import Examples
from edgeret_export.sources.priors import PriorCard

GOLDEN = 16
"""Queries whose vectors travel in the bundle, for `edgeret doctor` to repeat on the device."""


@dataclass(frozen=True, slots=True)
class TriedVariant:
    """A graph for other hardware, its files' bytes by role, and what is told of how it compares with the original."""

    variant: Variant
    files: Mapping[str, bytes]
    report: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Encoded:
    """An encoder that passed the parity gate, the tools with their vectors (tools, dimension), the vectors of
    pieces of words (pieces, DIMENSION of `word_vectors`), the training set of the
    demonstrations (None if there are none), queries whose vectors travel along, and the prior for all of it. `report`
    tells of the expansion, if there was one; `variants` are graphs that stand in for the encoder, and a table of token
    vectors starts at those of `token_vectors`, where there are any. `sayings` are unit vectors of what people say to
    assistants that few tools serve (sayings, dimension); `examples` are what the tools show, None for nothing. The head
    that reads arguments begins at `argument_card`; without one, and beside a table, signs alone read them."""

    exported: ExportedEncoder
    tools: Sequence[Tool]
    tool_vectors: NDArray[np.float32]
    sayings: NDArray[np.float32]
    word_vectors: NDArray[np.float32]
    training: TrainingSet | None
    golden: Mapping[str, Any]
    prior: PriorCard
    parity: Parity
    report: Mapping[str, Any] = field(default_factory=dict)
    variants: Sequence[TriedVariant] = ()
    token_vectors: TokenVectors | None = None
    examples: Examples | None = None
    argument_card: ArgumentCard | None = None


def golden_of(encoder: Encoder, demonstrations: Sequence[Demonstration], tools: Sequence[Tool]) -> dict[str, Any]:
    """Some of the demonstrations' queries with their vectors (queries, dimension); without demonstrations tools' names
    in words."""
    chosen = sample(len(demonstrations) or len(tools), GOLDEN)
    queries = [demonstrations[i].query if demonstrations else name_in_words(tools[i].name) for i in chosen]
    return {"queries": queries, "vectors": np.stack([encoder.encode_query(query).vector for query in queries])}
