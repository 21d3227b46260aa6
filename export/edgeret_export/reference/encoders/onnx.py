"""Text to unit vector, on ONNX Runtime as a device runs it. Knows nothing of tools."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from edgeret.encoders.base import OUTPUT, EncoderSpec, check_unit
from edgeret.encoders.onnx import Model, OnnxGraphs
from edgeret.encoders.providers import ProviderChoice
from edgeret.errors import InputError
from edgeret_export.reference.encoders.windows import WindowEncoder


class OnnxEncoder(WindowEncoder):
    """An embedding model on ONNX Runtime: `graphs` run it. Safe to use from several threads."""

    def __init__(
        self,
        model: Model | Sequence[tuple[Model, int]],
        tokenizer: bytes,
        spec: EncoderSpec,
        choice: ProviderChoice,
        threads: int,
        static_tokens: int | None = None,
        where: str = "encoder",
    ) -> None:
        """As `OnnxGraphs`. Raises as it does, and BundleError for a tokenizer that is not one of an encoder."""
        self.graphs = OnnxGraphs(model, spec, choice, threads, static_tokens, where)
        super().__init__(tokenizer, spec, self.graphs.longest, where)
        self.threads, self.requested = threads, choice.requested

    @property
    def providers(self) -> tuple[str, ...]:
        """The execution providers that the session really has, first the one that runs."""
        return self.graphs.providers

    @property
    def engine(self) -> str:
        """ONNX Runtime's."""
        return self.graphs.engine

    def _vector(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        return self.graphs.vector(ids)

    def _vectors(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        return self.graphs.vectors(ids)

    def encode_batch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of several queries in one run, float32 (len(texts), dimension), padded to the longest.

        For bulk work where throughput counts: with int8 a vector depends, a little, on its neighbours. Raises
        InputError where shapes are static.
        """
        if self.graphs.one_at_a_time:
            raise InputError("this encoder takes one text at a time: its shapes are static")
        if not texts:
            return np.zeros((0, self.spec.dimension), np.float32)
        vectors = self.graphs.run([self.tokenize(self.spec.query_prefix + text) for text in texts], [OUTPUT])[0]
        for squared in np.einsum("ij,ij->i", vectors, vectors).tolist():
            check_unit(squared, self._where)
        return vectors
