"""A BertModel's weights as codes (docs/FORMAT.md, section 5.4): which code a weight gets, and the map of all."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeret_export.reference.encoders.codebook import BOOK, Tensors, pack_codes
from edgeret_export.reference.few_bits import to_bytes

LARGEST = 63
"""Of a book's numbers: sums of two products of seven bits fit into 16."""
_FAR, _ROUNDS = 9.0, 2000


class Words(NamedTuple):
    """The rows of words, as `codes`, uint8 (tokens, pieces), for vectors of `books`, float32 (pieces, 256, width)."""

    codes: NDArray[np.uint8]
    books: NDArray[np.float32]


class Levels(NamedTuple):
    """The whole numbers that codes stand for, ascending, int8 (2^bits,), and by how many deviations the largest lies
    from the mean."""

    book: NDArray[np.int8]
    reach: float


@cache
def levels(bits: int) -> Levels:
    """Those that lose least of numbers with a normal distribution (Lloyd and Max), the largest as LARGEST."""
    normal, found = NormalDist(), np.linspace(-2.2, 2.2, 1 << bits)
    for _ in range(_ROUNDS):
        edges = [-_FAR, *((found[1:] + found[:-1]) / 2), _FAR]
        parts = pairwise(edges)
        found = np.array([(normal.pdf(a) - normal.pdf(b)) / (normal.cdf(b) - normal.cdf(a)) for a, b in parts])
    return Levels(np.rint(found / found[-1] * LARGEST).astype(np.int8), float(found[-1]))


def scales_of(rows: NDArray[np.float32], bits: int) -> NDArray[np.float32]:
    """What 1 counts for in each row of weights (n, m), float32 (n,): by the row's spread."""
    spread = np.maximum(np.sqrt(np.mean(np.square(rows, dtype=np.float32), axis=1)), np.float32(1e-8))
    found: NDArray[np.float32] = spread * np.float32(levels(bits).reach / LARGEST)
    return found


def encoder_map(tensors: Tensors, words: Words, bits: int, heads: int, epsilon: float) -> dict[str, Any]:
    """What the file with the role `encoder-arrays` holds of an encoder that takes the mean and divides by its length;
    `tensors` are by their names in transformers' BertModel, and its layers' products get codes of so many bits."""
    pieces, _, width = words.books.shape
    whole, scales = to_bytes(words.books.reshape(pieces, -1))
    first = tensors["embeddings.token_type_embeddings.weight"][0]
    places, place_scales = to_bytes(tensors["embeddings.position_embeddings.weight"] + first)
    count = 1 + max(int(name.split(".")[2]) for name in tensors if name.startswith("encoder.layer."))
    return {
        "heads": heads,
        "pooling": "mean",
        "normalised": True,
        "words": words.codes,
        "books": whole.reshape(pieces * BOOK, width),
        "book_scales": scales,
        "places": places,
        "place_scales": place_scales,
        "embedded": _norm(tensors, "embeddings.LayerNorm", epsilon),
        "layers": [_layer(tensors, f"encoder.layer.{i}.", bits, epsilon) for i in range(count)],
    }


def _layer(tensors: Tensors, begin: str, bits: int, epsilon: float) -> dict[str, Any]:
    parts = [f"{begin}attention.self.{name}" for name in ("query", "key", "value")]
    return {
        "together": _product(tensors, parts, bits),
        "attended": _product(tensors, [f"{begin}attention.output.dense"], bits),
        "between": _norm(tensors, f"{begin}attention.output.LayerNorm", epsilon),
        "wide": _product(tensors, [f"{begin}intermediate.dense"], bits),
        "narrow": _product(tensors, [f"{begin}output.dense"], bits),
        "behind": _norm(tensors, f"{begin}output.LayerNorm", epsilon),
    }


def _product(tensors: Tensors, names: list[str], bits: int) -> dict[str, Any]:
    """Of torch's weights (columns, rows), side by side."""
    weights = np.concatenate([tensors[f"{name}.weight"] for name in names])
    book, scales = levels(bits).book, scales_of(weights, bits)
    edges = (book[1:].astype(np.float32) + book[:-1]) / 2
    codes = np.searchsorted(edges, weights / scales[:, None]).astype(np.uint8)
    bias = np.concatenate([tensors[f"{name}.bias"] for name in names])
    return {"book": book, "weights": pack_codes(codes.T, bits), "scales": scales, "bias": bias}


def _norm(tensors: Mapping[str, NDArray[np.float32]], name: str, epsilon: float) -> dict[str, Any]:
    return {"gain": tensors[f"{name}.weight"], "bias": tensors[f"{name}.bias"], "epsilon": epsilon}
