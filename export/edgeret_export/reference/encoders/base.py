"""What every encoder of the reference has in common. Knows nothing of tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from edgeret.encoders.base import EncodedQuery, EncoderSpec
from edgeret_export.reference.stopwatch import Stopwatch

if TYPE_CHECKING:
    from edgeret_export.reference.encoders.word_tokens import WordTokens


class LoadedTokenizer:
    """What cuts texts: the tokenizers library, and `words`, which read most texts in its place, if anything can. It
    knows `size` tokens, and `frame` are the ids that stand before every text, and behind it."""

    def __init__(
        self,
        make: Callable[[], Any],
        size: int,
        words: WordTokens | None,
        frame: tuple[Sequence[int], Sequence[int]],
    ) -> None:
        """`make` gives the library's `tokenizers.Tokenizer`, always the same one."""
        self._make, self.size, self.words, self.frame = make, size, words, frame

    @property
    def library(self) -> Any:
        """The library's, not to be changed; it may be made only now. Raises BundleError for a file that the library
        cannot read."""
        return self._make()


class Encoder(Protocol):
    """Text to unit vectors. Immutable, and safe to use from several threads."""

    spec: EncoderSpec
    threads: int
    requested: tuple[str, ...]

    @property
    def tokenizer(self) -> LoadedTokenizer:
        """What it splits texts with."""

    @property
    def providers(self) -> tuple[str, ...]:
        """What it really runs on, first the one that counts."""

    @property
    def engine(self) -> str:
        """Whose arithmetic it runs with, for reports: "onnxruntime", or ours."""

    def encode(self, text: str) -> NDArray[np.float32]:
        """The unit vector of a query, float32 (dimension,)."""

    def encode_query(self, text: str, watch: Stopwatch | None = None) -> EncodedQuery:
        """Everything about a query that deciding needs, in windows where it is longer than the model reads."""

    def encode_batch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of many queries, float32 (len(texts), dimension), for bulk work. Raises InputError where only
        one at a time can be had."""

    def encode_tools(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of tool texts, float32 (len(texts), dimension)."""
