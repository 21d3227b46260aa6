"""The library's encoder, for what reads arguments. Knows nothing of what is made of vectors."""

from __future__ import annotations

import numpy as np

from edgeret.core.model import Model, Task
from edgeret.encoders.base import EncodedQuery, EncoderSpec, segment_means
from edgeret.types import SEGMENTS


class OwnEncoder:
    """Texts to vectors by the library. Immutable and thread-safe."""

    def __init__(self, model: Model, spec: EncoderSpec) -> None:
        """`spec` is what the bundle says of its encoder."""
        self._model, self.spec = model, spec

    def encode_query(self, text: str) -> EncodedQuery:
        """Everything about a query that reading it needs. Raises InputError and BundleError."""
        return self.of(self._model.begin(text, None))

    def of(self, task: Task) -> EncodedQuery:
        """The same of a request that was begun."""
        vector, tokens, spans = task.encoding()
        rows = np.empty((1 + SEGMENTS, len(vector)), np.float32)
        rows[0], rows[1:] = vector, segment_means(tokens)
        if prefix := len(self.spec.query_prefix):
            spans = spans - prefix
            tokens, spans = tokens[spans[:, 1] > 0], spans[spans[:, 1] > 0]
        return EncodedQuery(rows, tokens, spans)
