"""Tokens of a text by WordPiece, as the tokenizers library reads it. Knows nothing of vectors.

The library keeps track of every letter through every change and takes some 30 us for a request of ten words, and nearly
as long again to hand over what it found. Of printable ASCII nothing needs that: it reads each word once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

KEPT = 1 << 14
"""Words whose tokens are kept."""
LONGEST = 255
"""Characters of a word; a tokenizer that takes longer ones is left to the library."""
LONGEST_PREFIX = 16
"""Of a piece that goes on with a word."""
_Tokens = tuple[tuple[int, ...], tuple[int, ...]]
"""A word's tokens, and where each begins and ends in it, one after the other."""


class Read(NamedTuple):
    """A text's tokens (tokens,), and the characters that each stands for (tokens, 2)."""

    ids: NDArray[np.int64]
    spans: NDArray[np.int64]


class WordTokens:
    """Texts of printable ASCII to tokens. Immutable and thread-safe."""

    def __init__(self, library: Callable[[], Any]) -> None:
        """A tokenizer that `of` takes: each word by the library, and only once."""

        def read(word: str) -> _Tokens:
            encoded = library().encode(word, add_special_tokens=False)
            return tuple(encoded.ids), tuple([place for span in encoded.offsets for place in span])

        self._new, self._read = read, lru_cache(KEPT)(read)

    @staticmethod
    def of(value: Mapping[str, Any], library: Callable[[], Any]) -> WordTokens | None:
        """Such a reader by what a tokenizer.json says, or None for one that is no WordPiece over words of letters and
        marks. `library` gives the `tokenizers.Tokenizer` of it; special tokens are left out."""
        kinds = ((value.get(part) or {}).get("type") for part in ("normalizer", "pre_tokenizer", "model"))
        if tuple(kinds) != ("BertNormalizer", "BertPreTokenizer", "WordPiece"):
            return None
        model = value["model"]
        prefix = model["continuing_subword_prefix"]
        if model["max_input_chars_per_word"] > LONGEST or len(prefix) > LONGEST_PREFIX or not prefix.isascii():
            return None
        for token in value.get("added_tokens", ()):
            name = token["content"]
            if token["lstrip"] or token["rstrip"] or len(name) < 2 or name.isalnum() or name.split() != [name]:
                return None
        return WordTokens(library) if model["unk_token"] in model["vocab"] else None

    def __call__(self, text: str) -> Read | None:
        """None for a text that the library has to read: of other characters, or with some that added tokens have."""
        if not (text.isascii() and text.isprintable()):
            return None
        ids: list[int] = []
        places: list[int] = []
        at = 0
        for word in text.split(" "):
            tokens, within = (self._read if len(word) <= LONGEST else self._new)(word)
            ids += tokens
            places += [at + place for place in within]
            at += len(word) + 1
        return Read(np.array(ids, np.int64), np.array(places, np.int64).reshape(-1, 2))
