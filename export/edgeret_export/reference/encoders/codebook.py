"""An encoder's weights in codes (docs/FORMAT.md, section 5.4): how codes lie in bytes, and what they stand for.

The oracle of what the library reads; knows nothing of how codes were chosen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle.codec import get_array
from edgeret.errors import BundleError
from edgeret.fields import get

Tensors = dict[str, NDArray[np.float32]]
BOOK = 256
"""Vectors that a piece of a word's row is chosen from."""
MOST_BITS = 7
_PARTS = {
    "attended": "attention.output.dense",
    "wide": "intermediate.dense",
    "narrow": "output.dense",
}
_NORMS = {"between": "attention.output.LayerNorm", "behind": "output.LayerNorm"}
_TOGETHER = ("query", "key", "value")


def pack_codes(codes: NDArray[np.uint8], bits: int) -> NDArray[np.uint8]:
    """Codes (rows, columns) below 2^bits, of a row one after the other from the lowest bit on: (rows, columns · bits /
    8). Columns are a multiple of 8."""
    each = codes[:, :, None] >> np.arange(bits, dtype=np.uint8) & 1
    return np.packbits(each.reshape(len(codes), -1), axis=1, bitorder="little")


def unpack_codes(packed: NDArray[np.uint8], bits: int) -> NDArray[np.uint8]:
    """What `pack_codes` packed."""
    each = np.unpackbits(packed, axis=1, bitorder="little").reshape(len(packed), -1, bits)
    found: NDArray[np.uint8] = (each << np.arange(bits, dtype=np.uint8)).sum(axis=2, dtype=np.uint8)
    return found


def tensors_of(arrays: Mapping[str, Any], dimension: int, where: str) -> Tensors:
    """The numbers that the arrays of `encoder-arrays` stand for, by their names in transformers' BertModel. Raises
    BundleError for arrays that are none."""
    tensors: Tensors = {
        "embeddings.word_embeddings.weight": words_of(arrays, dimension, where),
        "embeddings.position_embeddings.weight": _rows(arrays, "places", "place_scales", dimension, where),
        "embeddings.token_type_embeddings.weight": np.zeros((1, dimension), np.float32),
    }
    if arrays.get("type") is not None:
        tensors["embeddings.token_type_embeddings.weight"][0] = get_array(arrays, "type", "<f4", (dimension,), where)
    tensors |= _norm(arrays, "embedded", "embeddings.LayerNorm", dimension, where)
    for i, layer in enumerate(get(arrays, "layers", list, where)):
        begin = f"encoder.layer.{i}."
        weights, bias = _product(layer, "together", dimension, 3 * dimension, where)
        for part, rows, numbers in zip(_TOGETHER, np.split(weights, 3), np.split(bias, 3), strict=True):
            tensors |= {f"{begin}attention.self.{part}.weight": rows, f"{begin}attention.self.{part}.bias": numbers}
        wide = 0
        for key, name in _PARTS.items():
            rows_in = wide if key == "narrow" else dimension
            weights, bias = _product(layer, key, rows_in, None if key == "wide" else dimension, where)
            tensors[f"{begin}{name}.weight"], tensors[f"{begin}{name}.bias"] = weights, bias
            wide = len(weights) if key == "wide" else wide
        for key, name in _NORMS.items():
            tensors |= _norm(layer, key, begin + name, dimension, where)
    return tensors


def words_of(arrays: Mapping[str, Any], dimension: int, where: str) -> NDArray[np.float32]:
    """What tokens begin as, float32 (tokens, dimension). Raises BundleError for arrays that are none."""
    if arrays.get("books") is None:
        return _rows(arrays, "words", "word_scales", dimension, where)
    codes = get_array(arrays, "words", "|u1", (None, None), where)
    pieces = codes.shape[1]
    if not 0 < pieces <= dimension or dimension % pieces:
        raise BundleError(f'{where}: "words" have {pieces} pieces, no part of {dimension}; build the bundle again')
    books = get_array(arrays, "books", "|i1", (pieces * BOOK, dimension // pieces), where)
    scales = get_array(arrays, "book_scales", "<f4", (pieces,), where)
    found: NDArray[np.float32] = numbers_in(books, scales)[np.arange(pieces), codes].reshape(len(codes), dimension)
    return found


def numbers_in(books: NDArray[np.int8], scales: NDArray[np.float32]) -> NDArray[np.float32]:
    """What codes of words stand for, float32 (pieces, 256, width): books (pieces · 256, width), scales (pieces,)."""
    found: NDArray[np.float32] = books.astype(np.float32).reshape(len(scales), BOOK, -1) * scales[:, None, None]
    return found


def _rows(arrays: Mapping[str, Any], key: str, scales: str, dimension: int, where: str) -> NDArray[np.float32]:
    if arrays.get(scales) is None:
        return get_array(arrays, key, "<f4", (None, dimension), where)
    rows = get_array(arrays, key, "|i1", (None, dimension), where)
    found: NDArray[np.float32] = rows * get_array(arrays, scales, "<f4", (len(rows),), where)[:, None]
    return found


def _product(
    layer: Mapping[str, Any], key: str, rows: int, columns: int | None, where: str
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """A product's weights as torch has them, (columns, rows), and its bias (columns,)."""
    of, where = get(layer, key, dict, where), f"{where}: {key}"
    if of.get("book") is None:
        whole = get_array(of, "weights", "|i1", (rows, columns), where)
    else:
        book = get_array(of, "book", "|i1", (None,), where)
        bits = len(book).bit_length() - 1
        if not 1 <= bits <= MOST_BITS or len(book) != 1 << bits:
            raise BundleError(f"{where}: a book of {len(book)} numbers, not 2, 4, 8 … or 128; build the bundle again")
        packed = None if columns is None else columns * bits // 8
        codes = get_array(of, "weights", "|u1", (rows, packed), where)
        whole = book[unpack_codes(codes, bits)]
    count = whole.shape[1]
    weights = whole.T * get_array(of, "scales", "<f4", (count,), where)[:, None]
    if of.get("shrink") is not None:
        weights = weights * get_array(of, "shrink", "<f4", (rows,), where)
    missing = of.get("bias") is None
    bias = np.zeros(count, np.float32) if missing else get_array(of, "bias", "<f4", (count,), where)
    return np.ascontiguousarray(weights, np.float32), bias


def _norm(arrays: Mapping[str, Any], key: str, name: str, dimension: int, where: str) -> Iterable[tuple[str, Any]]:
    of = get(arrays, key, dict, where)
    return (
        (f"{name}.weight", get_array(of, "gain", "<f4", (dimension,), where)),
        (f"{name}.bias", get_array(of, "bias", "<f4", (dimension,), where)),
    )
