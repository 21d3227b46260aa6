"""Text to unit vector with a transformer, whatever runs it: long texts in windows. Knows nothing of tools.

ONNX Runtime encodes texts one at a time: its dynamic int8 quantisation may scale activations over a whole batch, so a
text's vector would depend on its neighbours. What comes out is checked before anybody uses it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.encoders.base import EncodedQuery, EncoderSpec, check_tokens, check_unit, failure, segment_means
from edgeret.types import SEGMENTS
from edgeret_export.reference.encoders.base import LoadedTokenizer
from edgeret_export.reference.encoders.tokenizer import load_tokenizer, takes_spaces, without_spaces
from edgeret_export.reference.stopwatch import Stopwatch


class WindowEncoder(ABC):
    """An embedding model that reads so many tokens at a time. Immutable after construction and safe to use from several
    threads."""

    threads: int
    requested: tuple[str, ...]

    def __init__(self, tokenizer: bytes, spec: EncoderSpec, longest: int, where: str) -> None:
        """Reads at most `longest` tokens at a time; `where` is what messages call this encoder. Raises BundleError for
        a tokenizer that is not one of an encoder."""
        self.spec = spec
        self._where = where
        self._longest = longest
        self._tokenizer = load_tokenizer(tokenizer, longest, where)
        before, behind = self._tokenizer.frame
        self._frame = np.array(before, np.int64), np.array(behind, np.int64)
        self._before, self._behind = len(before), len(behind)
        self._spaces = self._tokenizer.words is None and takes_spaces(self._tokenizer.library)

    @property
    @abstractmethod
    def providers(self) -> tuple[str, ...]:
        """What it really runs on, first the one that counts."""

    @property
    @abstractmethod
    def engine(self) -> str:
        """Whose arithmetic it runs with, for reports."""

    @abstractmethod
    def _vector(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """The vector of tokenized text, float32 (dimension,), not checked yet."""

    @abstractmethod
    def _vectors(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The same, and those of its tokens, float32 (tokens, dimension)."""

    @property
    def longest(self) -> int:
        """How many tokens are read at a time, special ones among them."""
        return self._longest

    @property
    def tokenizer(self) -> LoadedTokenizer:
        """What it splits texts with, cut at the windows that it reads; not to be changed."""
        return self._tokenizer

    @property
    def vocabulary(self) -> int:
        """How many tokens the tokenizer knows."""
        return self._tokenizer.size

    @property
    def frame(self) -> tuple[list[int], list[int]]:
        """The ids that the tokenizer puts before every text, and those behind it."""
        before, behind = self._tokenizer.frame
        return list(before), list(behind)

    def tokenize(self, text: str) -> NDArray[np.int64]:
        """Token ids of `text`, shape (tokens,), cut at the spec's `max_tokens`. Raises BundleError if the tokenizer
        fails."""
        return np.array(self._encoded(text).ids, np.int64)

    def tokenize_words(self, text: str) -> NDArray[np.intp]:
        """Token ids of all of `text`, shape (tokens,), without the special ones."""
        if self._tokenizer.words is not None and (read := self._tokenizer.words(text)) is not None:
            return read.ids
        return np.array([token for w in self._windows(self._encoded(text)) for token in self._words(w.ids)], np.intp)

    def _encoded(self, text: str) -> Any:
        """The tokenizer's reading of a text; `overflowing` holds what did not fit, in further windows."""
        try:
            return self._tokenizer.library.encode(text)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a Rust panic is no Exception
            raise failure(self._where, "the tokenizers library cannot encode a text", error) from None

    def embed(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """The unit vector of tokenized text: ids (tokens,) to float32 (dimension,). Raises BundleError, here and below,
        if the model fails or gives something else."""
        vector = self._vector(ids)
        check_unit(float(vector.dot(vector)), self._where)
        return vector

    def embed_all(self, texts: Sequence[NDArray[np.int64]]) -> NDArray[np.float32]:
        """The unit vectors of tokenized texts, float32 (len(texts), dimension): the same as one by one."""
        vectors = self._side_by_side(texts) if texts else np.zeros((0, self.spec.dimension), np.float32)
        for squared in np.einsum("ij,ij->i", vectors, vectors).tolist():
            check_unit(squared, self._where)
        return vectors

    def _side_by_side(self, texts: Sequence[NDArray[np.int64]]) -> NDArray[np.float32]:
        """The vectors of tokenized texts, of which there are some (texts, dimension), not checked yet."""
        return np.stack([self._vector(ids) for ids in texts])

    def embed_tokens(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The unit vector of tokenized text and, from the same run, the vectors of its tokens: float32 (dimension,)
        and (tokens, dimension)."""
        vector, words = self._vectors(ids)
        check_unit(float(vector.dot(vector)), self._where)
        check_tokens(words, self._where)
        return vector, words

    def encode_batch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of several queries, float32 (len(texts), dimension), each cut at what is read at a time."""
        return self.embed_all([self.tokenize(self.spec.query_prefix + text) for text in texts])

    def encode(self, text: str) -> NDArray[np.float32]:
        """The unit vector of a query's text, float32 (dimension,); the spec's query prefix is put before it. A text
        that is longer than the model reads is read in windows."""
        windows, _ = self._split(self.spec.query_prefix + text)
        return self._joined([self.embed(ids) for ids in windows], windows)

    def encode_query(self, text: str, watch: Stopwatch | None = None) -> EncodedQuery:
        """The unit vectors of a query and of its parts, and those of its tokens. `watch` is told of the stages
        `tokenize` and `encode`."""
        watch = watch or Stopwatch()
        prefix = self.spec.query_prefix
        windows, spans = self._split(prefix + text)
        watch.lap("tokenize")
        found = [self.embed_tokens(ids) for ids in windows]
        parts = [self._words(words) for _, words in found]
        tokens = parts[0] if len(parts) == 1 else np.concatenate(parts)
        rows = np.empty((1 + SEGMENTS, self.spec.dimension), np.float32)
        rows[0] = self._joined([vector for vector, _ in found], windows)
        rows[1:] = segment_means(tokens)
        if prefix:
            spans = spans - len(prefix)
            tokens, spans = tokens[spans[:, 1] > 0], spans[spans[:, 1] > 0]
        watch.lap("encode")
        return EncodedQuery(rows, tokens, spans, len(windows))

    def _split(self, text: str) -> tuple[list[NDArray[np.int64]], NDArray[np.intp]]:
        """The token ids of a text's windows, in order, and the characters that each token of its words stands for,
        (tokens, 2)."""
        read = None if self._tokenizer.words is None else self._tokenizer.words(text)
        if read is not None and len(read.ids) + self._before + self._behind <= self._longest:
            before, behind = self._frame
            return [np.concatenate((before, read.ids, behind))], read.spans
        windows = self._windows(self._encoded(text))
        spans = np.array([span for w in windows for span in self._words(w.offsets)], np.intp).reshape(-1, 2)
        spans = without_spaces(spans, text) if self._spaces else spans
        return [np.array(window.ids, np.int64) for window in windows], spans

    def _words(self, window: Any) -> Any:
        """What a window has for the tokens of its text, without those ([CLS], [SEP]) that stand for no word."""
        return window[self._before : len(window) - self._behind]

    @staticmethod
    def _windows(encoding: Any) -> list[Any]:
        """A text's windows, in order."""
        return [encoding, *encoding.overflowing]

    @staticmethod
    def _joined(vectors: Sequence[NDArray[np.float32]], windows: Sequence[NDArray[np.int64]]) -> NDArray[np.float32]:
        """One unit vector for all windows, each counting by its tokens."""
        if len(vectors) == 1:
            return vectors[0]
        mean = np.average(vectors, axis=0, weights=[len(ids) for ids in windows])
        joined: NDArray[np.float32] = (mean / max(float(np.linalg.norm(mean)), 1e-12)).astype(np.float32)
        return joined

    def encode_tools(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of tool texts, float32 (len(texts), dimension)."""
        return self.embed_all([self.tokenize(self.spec.tool_prefix + text) for text in texts])
