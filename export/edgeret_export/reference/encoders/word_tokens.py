"""Tokens of a text by WordPiece, as the tokenizers library reads it. Knows nothing of vectors.

The library keeps track of every letter through every change and takes some 30 us for a request of ten words, and nearly
as long again to hand over what it found. Of printable ASCII nothing needs that: a compiled call cuts it in one or two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from ctypes import CDLL
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeret_export.reference.kernel import COUNT, LIBRARY, POINTER, Kept, KeptStrings, address, layout

KEPT = 1 << 14
"""Words that are kept where nothing is compiled."""
LONGEST = 255
"""Characters of a word, as in words.c; a tokenizer that takes longer ones is left to the library."""
LONGEST_PREFIX = 16
"""Of a piece that goes on with a word, as in words.c."""
_Tokens = tuple[tuple[int, ...], tuple[int, ...]]
"""A word's tokens, and where each begins and ends in it, one after the other."""
_NOT_OURS, _SPACE, _LETTER, _MARK = range(4)  # kinds of characters, as in words.c
_VOCABULARY = layout(  # as in words.c
    *KeptStrings.FIELDS, ("longest_piece", COUNT), ("longest_word", COUNT), ("unknown", COUNT),
    ("prefix_length", COUNT), ("folded", POINTER), ("prefix", POINTER), ("kinds", POINTER), ("ids", POINTER),
)  # fmt: skip


class Read(NamedTuple):
    """A text's tokens (tokens,), and the characters that each stands for (tokens, 2)."""

    ids: NDArray[np.int64]
    spans: NDArray[np.int64]


class WordTokens:
    """Texts of printable ASCII to tokens. Immutable and thread-safe."""

    def __init__(self, value: Mapping[str, Any], library: Callable[[], Any]) -> None:
        """A tokenizer that `of` takes."""
        made = None if LIBRARY is None else _compiled(LIBRARY, value)
        self._read: Callable[[str], Read | None] = made or _ByWord(library)

    @staticmethod
    def of(value: Mapping[str, Any], library: Callable[[], Any]) -> WordTokens | None:
        """Such a reader by what a tokenizer.json says, or None for one that is no WordPiece over words of letters and
        marks. `library` gives the `tokenizers.Tokenizer` of it, where nothing is compiled; special tokens are left
        out."""
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
        return WordTokens(value, library) if model["unk_token"] in model["vocab"] else None

    def __call__(self, text: str) -> Read | None:
        """None for a text that the library has to read: of other characters, or with some that added tokens have."""
        return self._read(text) if text.isascii() and text.isprintable() else None


def _compiled(library: CDLL, value: Mapping[str, Any]) -> Callable[[str], Read | None] | None:
    """One compiled call a text; None for a vocabulary that was made to take long."""
    model, lowercase = value["model"], value["normalizer"]["lowercase"]
    vocabulary, prefix = model["vocab"], model["continuing_subword_prefix"]
    pieces = {piece: i for piece, i in vocabulary.items() if piece.isascii() and piece.isprintable()}
    try:
        strings = KeptStrings(library, list(pieces))
    except ValueError:
        return None
    kept = Kept(
        (np.array([ord(chr(c).lower()) if lowercase else c for c in range(128)]), np.uint8),
        (np.frombuffer(prefix.encode() or b" ", np.uint8), np.uint8),
        (_kinds(value), np.uint8),
        (np.fromiter(pieces.values(), np.int32, len(pieces)), np.int32),
    )
    packed = _VOCABULARY.pack(
        *strings.packed,
        max(map(len, pieces), default=0),
        model["max_input_chars_per_word"],
        vocabulary[model["unk_token"]],
        len(prefix),
        *kept.at,
    )
    return _Compiled(library, packed, (strings, kept))


class _Compiled:
    def __init__(self, library: CDLL, vocabulary: bytes, kept: object) -> None:
        self._words, self._vocabulary, self._kept = library.edgeret_read_words, vocabulary, kept

    def __call__(self, text: str) -> Read | None:
        length = len(text)
        ids, spans = np.empty(length, np.int64), np.empty((length, 2), np.int64)
        count = self._words(self._vocabulary, text.encode(), length, address(ids), address(spans))
        return Read(ids[:count], spans[:count]) if count >= 0 else None


def _kinds(value: Mapping[str, Any]) -> list[int]:
    """What each character of ASCII is. Added tokens may stand anywhere, even within a word."""
    added = {c for token in value.get("added_tokens", ()) for c in token["content"] if not c.isalnum()}
    return [
        _NOT_OURS if c in added or not c.isprintable() else _SPACE if c == " " else _LETTER if c.isalnum() else _MARK
        for c in map(chr, range(128))
    ]


class _ByWord:
    """The same where nothing is compiled: each word by the library, and only once."""

    def __init__(self, library: Callable[[], Any]) -> None:
        def read(word: str) -> _Tokens:
            encoded = library().encode(word, add_special_tokens=False)
            return tuple(encoded.ids), tuple([place for span in encoded.offsets for place in span])

        self._new, self._read = read, lru_cache(KEPT)(read)

    def __call__(self, text: str) -> Read | None:
        ids: list[int] = []
        places: list[int] = []
        at = 0
        for word in text.split(" "):
            tokens, within = (self._read if len(word) <= LONGEST else self._new)(word)
            ids += tokens
            places += [at + place for place in within]
            at += len(word) + 1
        return Read(np.array(ids, np.int64), np.array(places, np.int64).reshape(-1, 2))
