"""Text to unit vector by the library that devices decide with, for int8 graphs on CPUs that sum bytes fast. Knows
nothing of tools.

A build fits heads on the very vectors that devices will have. The library rounds each token by itself, so a vector does
not depend on the texts beside it, and ONNX Runtime need not be loaded.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle.private_copy import PrivateBytes
from edgeret.core.embedder import Embedder
from edgeret.core.library import the_library
from edgeret.encoders.base import EncoderSpec
from edgeret.encoders.checks.onnx_graph import Data
from edgeret.errors import BundleError
from edgeret.host import instruction_set
from edgeret_export.reference.encoders.encoder_arrays import arrays_of, weights_in
from edgeret_export.reference.encoders.transformer_graph import Layer, Transformer
from edgeret_export.reference.encoders.windows import WindowEncoder

QUICK = frozenset({"avx2", "avx_vnni", "avx512", "avx512_vnni", "arm64_dotprod"})
"""Sets of instructions that sum bytes fast, as the library names them."""
SEVEN_BITS = frozenset({"avx2", "avx512"})
"""Sets of instructions that add two products in 16 bits, where weights of 8 bits could overflow."""
MAX_SEVEN = 64


class CoreEncoder(WindowEncoder):
    """A transformer in int8 on this CPU. Immutable, and safe to use from several threads, which then encode side by
    side; how many threads share a text changes no bit of it."""

    requested: tuple[str, ...] = ("cpu",)

    def __init__(
        self,
        data: Data,
        arrays: bytes,
        tokenizer: bytes,
        spec: EncoderSpec,
        where: str = "encoder",
        threads: int = 1,
    ) -> None:
        """Of a graph's file and where its weights lie in it (`pack_arrays`), or of no bytes and arrays that hold them;
        up to `threads` CPUs share a long text.
        Raises BundleError for files that are not those of an encoder."""
        super().__init__(tokenizer, spec, spec.max_tokens, where)
        self._embedder = Embedder(the_library(), data, arrays, spec.dimension, spec.max_tokens)
        self.threads = threads

    @property
    def providers(self) -> tuple[str, ...]:
        """The CPU."""
        return self.requested

    @property
    def engine(self) -> str:
        """Ours, and for which instructions."""
        return f"edgeret ({instruction_set()})"

    def _vector(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        return self._vectors(ids)[0]

    def _vectors(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        try:
            return self._embedder.embed(np.ascontiguousarray(ids, np.int64), self.threads)
        except BundleError as error:
            raise BundleError(f"{self._where}: {error}") from None


def core_encoder(
    model: bytes | PrivateBytes, tokenizer: bytes, spec: EncoderSpec, where: str = "encoder", threads: int = 1
) -> CoreEncoder | None:
    """An encoder that the library runs, if it runs this graph and this CPU sums bytes fast; else None. Up to `threads`
    CPUs share a long text. Raises BundleError for a graph or a tokenizer that is not one of an encoder, or could take
    too much time or memory."""
    if spec.precision != "int8" or (name := instruction_set()) not in QUICK:
        return None
    data = model if isinstance(model, bytes) else model.data
    weights = weights_in(data, spec, where)
    if weights is None or (name in SEVEN_BITS and _largest(weights) > MAX_SEVEN):
        return None
    return CoreEncoder(data, arrays_of(weights, data, spec), tokenizer, spec, where, threads)


def _largest(weights: Transformer) -> int:
    """The largest weight of any product, without its sign."""
    return max(max(map(_magnitude, _products(layer))) for layer in weights.layers)


def _products(layer: Layer) -> tuple[NDArray[np.int8], ...]:
    """The weights of a layer's products."""
    return layer.together.weights, layer.attended.weights, layer.wide.weights, layer.narrow.weights


def _magnitude(weights: NDArray[np.int8]) -> int:
    return max(int(weights.max()), -int(weights.min()))
