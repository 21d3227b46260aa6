"""Text to unit vector without a network: the mean of one vector a token, looked up in a table. Knows nothing of tools.

The table was fitted so that a text's mean meets what a large encoder makes of the text. No ONNX Runtime is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle.codec import get_array, pack, unpack
from edgeret.bundle.few_bits import from_bytes, get_scales
from edgeret.encoders.base import EncodedQuery, EncoderSpec, failure, segment_means
from edgeret.errors import BundleError, InputError
from edgeret.types import SEGMENTS
from edgeret_export.reference.encoders.base import LoadedTokenizer
from edgeret_export.reference.encoders.tokenizer import load_tokenizer, takes_spaces, without_spaces
from edgeret_export.reference.few_bits import to_bytes
from edgeret_export.reference.stopwatch import Stopwatch

REBUILD = "build the bundle again"


class StaticEncoder:
    """Means of token vectors. Immutable, and safe to use from several threads."""

    threads = 1
    requested: tuple[str, ...] = ("cpu",)

    def __init__(
        self, table: bytes, tokenizer: bytes | LoadedTokenizer, spec: EncoderSpec, where: str = "encoder"
    ) -> None:
        """`tokenizer` is a tokenizer.json, or what one was loaded into; `where` is what messages call this encoder.
        Raises BundleError for a table or a tokenizer that makes no sense."""
        if spec.query_prefix or spec.tool_prefix:
            raise BundleError(f"{where}: a table of token vectors takes no prefixes; {REBUILD}")
        self.spec = spec
        self._where = where
        self._tokenizer = (
            load_tokenizer(tokenizer, spec.max_tokens, where) if isinstance(tokenizer, bytes) else tokenizer
        )
        self._words = self._tokenizer.words
        self._spaces = self._words is None and takes_spaces(self._tokenizer.library)
        self._rows, self._scales = read_table(unpack(table, where), spec.dimension, where)
        if (tokens := self._tokenizer.size) != len(self._rows):
            raise BundleError(f"{where}: {len(self._rows)} token vectors for {tokens} tokens; {REBUILD}")

    @property
    def tokenizer(self) -> LoadedTokenizer:
        """What it splits texts with; not to be changed."""
        return self._tokenizer

    @property
    def providers(self) -> tuple[str, ...]:
        """A table is read by the CPU, whatever else there is."""
        return self.requested

    @property
    def engine(self) -> str:
        """Ours: numbers are looked up."""
        return "edgeret (table)"

    def encode(self, text: str) -> NDArray[np.float32]:
        """The unit vector of a query, float32 (dimension,). Raises InputError for a text without a token, and
        BundleError if the tokenizer fails."""
        return self._mean(self._vectors(self._tokens(text)[0]))

    def encode_query(self, text: str, watch: Stopwatch | None = None) -> EncodedQuery:
        """The unit vectors of a query and of its parts, and those of its tokens. `watch` is told of the stages
        `tokenize` and `encode`. Raises as `encode` does."""
        watch = watch or Stopwatch()
        ids, spans = self._tokens(text)
        watch.lap("tokenize")
        tokens, rows = self._read(ids)
        watch.lap("encode")
        return EncodedQuery(rows, tokens, spans)

    def encode_batch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of many queries, float32 (len(texts), dimension)."""
        rows = [self.encode(text) for text in texts]
        return np.stack(rows) if rows else np.zeros((0, self.spec.dimension), np.float32)

    def encode_tools(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of tool texts, float32 (len(texts), dimension)."""
        return self.encode_batch(texts)

    def _tokens(self, text: str) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """The text's token ids, and the characters that each stands for (tokens, 2)."""
        try:
            if self._words is not None and (found := self._words(text)) is not None:
                return found
            encoded = self._tokenizer.library.encode(text, add_special_tokens=False)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a Rust panic is no Exception
            raise failure(self._where, "the tokenizers library cannot encode a text", error) from None
        ids, offsets = encoded.ids, encoded.offsets
        for more in encoded.overflowing:  # the tokenizer of an encoder that reads in windows
            ids, offsets = ids + more.ids, offsets + more.offsets
        spans = np.array(offsets, np.intp).reshape(-1, 2)
        return np.array(ids, np.int64), without_spaces(spans, text) if self._spaces else spans

    def _read(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The vectors of tokens (tokens, dimension), and unit means of all and of their parts (1 + SEGMENTS,
        dimension), float32."""
        rows = np.empty((1 + SEGMENTS, self.spec.dimension), np.float32)
        tokens = self._vectors(ids)
        rows[0] = self._mean(tokens)
        rows[1:] = segment_means(tokens)
        return tokens, rows

    def _vectors(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """The vectors of tokens, float32 (tokens, dimension)."""
        if not len(ids):
            raise InputError("a text without a single token has no vector; give one with words")
        return from_bytes(self._rows[ids], self._scales[ids])

    @staticmethod
    def _mean(tokens: NDArray[np.float32]) -> NDArray[np.float32]:
        total: NDArray[np.float32] = np.add.reduce(tokens)
        total /= np.float32(max(float(total @ total), 1e-24) ** 0.5)
        return total


def pack_table(vectors: NDArray[np.float32]) -> bytes:
    """The file with the role `table`: token vectors (tokens, dimension) as int8, with a scale a row."""
    rows, scales = to_bytes(vectors)
    return pack({"rows": rows, "scales": scales})


def read_table(value: Mapping[str, Any], dimension: int, where: str) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Rows (tokens, dimension) and their scales (tokens,). Raises BundleError."""
    rows = get_array(value, "rows", "|i1", (None, dimension), where)
    return rows, get_scales(value, "scales", len(rows), where)
