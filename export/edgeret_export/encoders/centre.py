"""Where an encoder's vectors of requests lie in the mean, for a card to take off. Knows nothing of their use.

Some encoders' vectors all lie in one narrow cone: any two of multilingual-e5-small have cosines of .7 to .9, so that
tools hardly differ, and weights that were fitted to other encoders' cosines mean little. The mean of other people's
requests is taken off every token's vector, by the last normalisation's bias. So pooled vectors, thirds, windows and
clauses are all centred, on whatever runs the graph, and no bundle needs to say so. The same mean serves tools: what is
left of theirs is one direction that all of them share.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.errors import InputError
from edgeret.terminal.progress import say, track
from edgeret_export.encoders.encodings import start
from edgeret_export.encoders.export import encoder_of, export_encoder
from edgeret_export.encoders.pairs import Vectors
from edgeret_export.sources.cards import Card
from edgeret_export.sources.centres import weights_of

LEAST_TEXTS = 100
DIGITS = 4
"""Behind the point. Numbers of a vector are about .2 in size; the last digit moves no cosine's fifth."""


def make_centre(card: Card, texts: Sequence[str], offline: bool = False) -> Mapping[str, Any]:
    """What a file of a centre holds: the mean of the fp32 encoder's vectors of these requests before they get length 1,
    and what it was made of. Raises InputError for too few texts and for an encoder that does not pool by the mean."""
    encoder = encoder_of(card)
    if encoder.pooling != "mean":
        raise InputError(f"model card '{card.name}' pools by {encoder.pooling}; a centre is that of a mean")
    if len(texts) < LEAST_TEXTS:
        raise InputError(f"{len(texts)} different texts, at least {LEAST_TEXTS} are needed; thousands do some good")
    bare = replace(card, encoder=replace(encoder, centre=None, truncate=None))
    reader = start(export_encoder(bare, "fp32", offline))
    say("reading requests")
    total: NDArray[np.float64] = np.zeros(encoder.dimension)
    for text in track(texts, "reading requests", len(texts)):
        _, tokens = reader.embed_tokens(reader.tokenize(encoder.query_prefix + text))
        total += tokens.mean(axis=0, dtype=np.float64)
    return {
        "card": card.name,
        "made_for": weights_of(card),
        "texts": len(texts),
        "centre": [round(number, DIGITS) for number in (total / len(texts)).tolist()],
    }


class Centred:
    """Vectors of an encoder (`pairs.Vectors`) less their centre, float32 (dimension,), of length 1 again."""

    def __init__(self, vectors: Vectors, centre: NDArray[np.float32]) -> None:
        self._vectors, self._centre = vectors, centre

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, float32 (texts, dimension)."""
        return self._less(self._vectors.queries(texts))

    def tools(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, float32 (texts, dimension)."""
        return self._less(self._vectors.tools(texts))

    def _less(self, found: NDArray[np.float32]) -> NDArray[np.float32]:
        less = found - self._centre
        return np.asarray(less / np.maximum(np.linalg.norm(less, axis=1, keepdims=True), 1e-12), np.float32)


def write_centre(path: Path, told: Mapping[str, Any]) -> None:
    """Writes the file. Raises InputError where that is not possible."""
    try:
        path.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None
