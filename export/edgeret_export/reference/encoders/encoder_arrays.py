"""Where a transformer's weights lie in its ONNX file (docs/FORMAT.md, section 5.4): for whoever has arithmetic of their
own and no use for the graph. Made by a build; decides nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle.codec import pack
from edgeret.bundle.private_copy import PrivateBytes
from edgeret.encoders.base import EncoderSpec
from edgeret.encoders.checks.onnx_graph import Data
from edgeret_export.reference.encoders.transformer_graph import Layer, Norm, Product, Transformer, read_transformer


def pack_arrays(model: bytes | PrivateBytes, spec: EncoderSpec, where: str = "encoder") -> bytes | None:
    """The file with the role `encoder-arrays` for a graph, None for one that is no such transformer. Raises BundleError
    for a graph that is not one of an encoder."""
    if spec.precision != "int8":
        return None
    data = model if isinstance(model, bytes) else model.data
    weights = weights_in(data, spec, where)
    return None if weights is None else arrays_of(weights, data, spec)


def weights_in(data: Data, spec: EncoderSpec, where: str = "encoder") -> Transformer | None:
    """The weights in a graph's file, None for one that is no such transformer. Raises BundleError for a graph that is
    not one of an encoder."""
    from edgeret.encoders.checks import onnx_file  # with the first bundle, as the libraries that it guards

    return read_transformer(onnx_file.check(data, spec.max_tokens, where), data, spec)


def arrays_of(weights: Transformer, data: Data, spec: EncoderSpec) -> bytes:
    """The file with the role `encoder-arrays`, of weights that `weights_in` found in this file."""
    return pack(_Places(data).of(weights, spec))


class _Places:
    """Finds arrays that read a file in it."""

    def __init__(self, data: Any) -> None:
        self._data = data
        self._begin = np.frombuffer(data, np.uint8).ctypes.data

    def of(self, weights: Transformer, spec: EncoderSpec) -> dict[str, Any]:
        """The map that the file holds."""
        return {
            "encoder": hashlib.sha256(self._data).hexdigest(),
            "heads": weights.heads,
            "pooling": spec.pooling,
            "normalised": spec.normalised,
            "words": self._at(weights.words),
            "word_scales": self._at(weights.word_scales),
            "places": self._at(weights.positions),
            "type": self._at(weights.first_type),
            "embedded": self._norm(weights.embedded),
            "layers": [self._layer(layer) for layer in weights.layers],
        }

    def _layer(self, layer: Layer) -> dict[str, Any]:
        return {
            "together": self._product(layer.together),
            "attended": self._product(layer.attended),
            "between": self._norm(layer.between),
            "wide": self._product(layer.wide),
            "narrow": self._product(layer.narrow),
            "behind": self._norm(layer.behind),
        }

    def _product(self, product: Product) -> dict[str, Any]:
        return {
            "weights": self._at(product.weights),
            "scales": self._at(product.scales),
            "bias": self._at(product.bias, 0),
            "shrink": self._at(product.shrink, 1),
        }

    def _norm(self, norm: Norm) -> dict[str, Any]:
        return {"gain": self._at(norm.gain), "bias": self._at(norm.bias), "epsilon": norm.epsilon}

    def _at(self, array: NDArray[Any] | None, usual: int | None = None) -> Mapping[str, Any] | None:
        """Where an array lies. None for none, and for one that is not in the file: all its numbers are the `usual`."""
        if array is None:
            return None
        at = array.ctypes.data - self._begin
        if not 0 <= at <= len(self._data) - array.nbytes:
            assert usual is not None and (array == usual).all()
            return None
        return {"at": at, "dtype": array.dtype.str, "shape": list(array.shape)}
