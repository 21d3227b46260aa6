"""Vectors of texts and words: by a table against Python's to 1e-6, by a transformer to those of
Python's tokens and windows, to the bit."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from bert_samples import exported_bert
from numpy.typing import NDArray
from table_samples import table_bundle
from test_tokens import SOURCES, texts

from edgeret.bundle.codec import get_array, pack, unpack
from edgeret.encoders.base import EncoderSpec
from edgeret.errors import EdgeretError
from edgeret_export.reference.encoders import core
from edgeret_export.reference.encoders.encoder_arrays import pack_arrays
from edgeret_export.reference.encoders.static import StaticEncoder, read_table
from edgeret_export.reference.encoders.tokenizer import load_tokenizer
from edgeret_export.reference.encoders.word_vectors import WordVectors

Library = Callable[..., ctypes.CDLL]
Floats = NDArray[np.float32]
MORE = (
    "msgpack",
    "vectors",
    "encode",
    "transformer",
    "cpu",
    "transform",
    "workers",
    "probe_encode",
)
REQUESTS = (
    "mute the speakers",
    "Send the file to Anna, then remind me at 10:30.",
    "naïve café Überraschung 東京",
    "a" * 150,
)


class Refused(Exception):
    """By the core."""


def _at(numbers: NDArray[Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(numbers.ctypes.data)


class CoreEncoder:
    def __init__(self, library: ctypes.CDLL, tokenizer: bytes, spec: EncoderSpec) -> None:
        library.probe_encoder.restype, library.probe_encode.restype = ctypes.c_void_p, ctypes.c_int64
        prefix = spec.query_prefix.encode()
        self._library, self._spec, self._kept = library, spec, list[Any]((prefix,))
        self._why = ctypes.create_string_buffer(512)
        size = ctypes.c_size_t(len(tokenizer))
        at = library.probe_encoder(tokenizer, size, spec.dimension, spec.max_tokens, prefix, self._why)
        self._model = ctypes.c_void_p(at)

    def table(self, rows: NDArray[np.int8], scales: Floats) -> None:
        self._kept += [rows, scales]
        self._library.probe_table(self._model, _at(rows), _at(scales), len(rows))

    def words(self, pairs: NDArray[np.int8], scales: Floats) -> None:
        self._kept += [pairs, scales]
        self._library.probe_words(self._model, _at(pairs), _at(scales), len(pairs))

    def transformer(self, onnx: bytes, arrays: bytes) -> None:
        self._kept.append(onnx)
        size = ctypes.c_size_t
        if not self._library.probe_transformer(
            self._model, onnx, size(len(onnx)), arrays, size(len(arrays)), self._why
        ):
            raise Refused(self._why.value.decode())

    def threads(self, count: int) -> None:
        self._library.probe_threads(self._model, count)

    def __call__(self, text: str) -> tuple[Floats, Floats, Floats, NDArray[np.int64]]:
        """Vector, segment means, tokens' vectors and places."""
        data, d, size = text.encode(), self._spec.dimension, ctypes.c_size_t
        room = 4 * len(data) + 64
        vector, segments = np.empty(d, np.float32), np.empty((3, d), np.float32)
        tokens, places = np.empty((room, d), np.float32), np.empty((room, 2), np.uint32)
        found = (_at(vector), _at(segments), _at(tokens), _at(places))
        count = self._library.probe_encode(self._model, data, size(len(data)), *found, size(room), self._why)
        if count < 0:
            raise Refused(self._why.value.decode())
        return vector, segments, tokens[:count], places[:count].astype(np.int64)

    def word(self, word: str) -> Floats:
        vector, data = np.empty(64, np.float32), word.encode()
        self._library.probe_word(self._model, data, ctypes.c_size_t(len(data)), _at(vector))
        return vector


@pytest.fixture(scope="module")
def library(core_library: Library) -> ctypes.CDLL:
    return core_library(*SOURCES, *MORE)


def test_table_and_words(library: ctypes.CDLL) -> None:
    bundle = table_bundle()
    tokenizer, table = ((bundle / name).read_bytes() for name in ("tokenizer.json", "table.msgpack"))
    value = unpack(table, "table")
    dimension = get_array(value, "rows", "|i1", (None, None), "table").shape[1]
    spec = EncoderSpec(dimension, 512, "mean", True, "", "", "int8", "any")
    theirs, ours = StaticEncoder(table, tokenizer, spec), CoreEncoder(library, tokenizer, spec)
    ours.table(*map(np.ascontiguousarray, read_table(value, dimension, "table")))
    words = unpack((bundle / "word-vectors.msgpack").read_bytes(), "words")
    pairs = np.ascontiguousarray(get_array(words, "pairs", "|i1", (None, 32), "words"))
    scales = np.ascontiguousarray(get_array(words, "scales", "<f4", (None,), "words"))
    ours.words(pairs, scales)
    shown = [*REQUESTS, "short", *texts(300, 5)]
    refused = 0
    for text in shown:
        try:
            expected = theirs.encode_query(text)
        except EdgeretError:
            refused += 1
            with pytest.raises(Refused, match="without a single token"):
                ours(text)
            continue
        _same(ours(text), expected, 1e-6)
    assert 0 < refused < 100
    single = sorted({word for text in shown for word in text.split()})
    vectors = WordVectors(pairs, scales, load_tokenizer(tokenizer, 512, "words"))
    assert abs(np.stack([ours.word(word) for word in single]) - vectors.of(single)).max() < 1e-6


def _same(found: tuple[Any, ...], expected: Any, tolerance: float, prefix: int = 0) -> None:
    vector, segments, tokens, places = found
    places = places - prefix
    tokens, places = tokens[places[:, 1] > 0], places[places[:, 1] > 0]
    assert places.tolist() == expected.spans.tolist()
    assert abs(tokens - expected.tokens).max(initial=0) <= tolerance
    assert abs(vector - expected.vector).max() <= max(tolerance, 1e-7)
    if not prefix:
        assert abs(segments - expected.rows[1:]).max() <= max(tolerance, 1e-6)


@pytest.mark.parametrize("prefix", ["", "find the file: "])
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_transformer(library: ctypes.CDLL, pooling: str, prefix: str) -> None:
    exported = exported_bert(pooling=pooling)
    spec = EncoderSpec.from_dict({**exported.spec.to_dict(), "query_prefix": prefix}, "spec")
    arrays = pack_arrays(exported.model, spec)
    assert arrays is not None and len(arrays) < 4000
    theirs = core.CoreEncoder(exported.model, arrays, exported.tokenizer, spec)
    ours = CoreEncoder(library, exported.tokenizer, spec)
    ours.transformer(exported.model, arrays)
    for threads in (1, 3):
        ours.threads(threads)
        for text in (*REQUESTS, "find the files and send them to ann " * 12, *texts(40, 6)):
            _same(ours(text), theirs.encode_query(text), 0.0, len(prefix))


def _changes(value: dict[str, Any], path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*path, key)
        if isinstance(item, dict | list):
            yield from _changes(item, (*path, key))


def test_arrays_that_are_forged(library: ctypes.CDLL) -> None:
    """Whatever is wrong is refused, or read inside of the file."""
    exported = exported_bert()
    arrays = pack_arrays(exported.model, exported.spec)
    assert arrays is not None
    ours, refused = CoreEncoder(library, exported.tokenizer, exported.spec), 0
    for path in _changes(unpack(arrays, "arrays")):
        for new in (
            None,
            -1,
            0,
            1,
            1 << 62,
            len(exported.model) - 1,
            0.5,
            "<f4",
            [],
            {},
            [1, 1],
            [1 << 40, 64],
            [64, 0],
        ):
            value: Any = unpack(arrays, "arrays")
            at = value
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = new
            try:
                ours.transformer(exported.model, pack(value))
            except Refused:
                refused += 1
                continue
            try:
                ours("find the file")
            except Refused as error:
                assert any(told in str(error) for told in ("finite", "length 1", "does not know"))
    assert refused > 500
    for data in (b"", arrays[:-1], arrays + b"\0", b"\x80", b"\xc0"):
        with pytest.raises(Refused):
            ours.transformer(exported.model, data)
    with pytest.raises(Refused, match="outside"):
        ours.transformer(exported.model[:1000], arrays)


def test_fp32_has_none() -> None:
    spec = EncoderSpec.from_dict({**exported_bert().spec.to_dict(), "precision": "fp32"}, "spec")
    assert pack_arrays(exported_bert().model, spec) is None
