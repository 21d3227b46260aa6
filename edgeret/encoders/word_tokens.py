"""Tokens of a text, word by word, where a tokenizer reads every word by itself: what was read once is not read again.
Knows nothing of vectors.

The tokenizers library keeps track of every letter through every change and takes some 30 us for a request of ten words,
and nearly as long again to hand over what it found; looking words up takes a tenth.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable
from ctypes import CDLL
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeret.kernel import COUNT, LIBRARY, POINTER, address, layout

KEPT = 1 << 14
"""Words that are kept."""
LONGEST = 40
"""Characters of a word that is kept; a text with a longer one is left to the library."""
_Tokens = tuple[tuple[int, ...], tuple[int, ...]]
"""A word's tokens, and where each begins and ends in it, one after the other."""
_KEPT_WORDS = layout(  # as in words.c
    ("mask", COUNT), ("room", COUNT), ("places", POINTER), ("pool", POINTER), ("used", POINTER),
)  # fmt: skip
_UNKNOWN_WORD, _READ = 0, 1  # as in words.c


class Read(NamedTuple):
    """A text's tokens (tokens,), and the characters that each stands for (tokens, 2)."""

    ids: NDArray[np.int64]
    spans: NDArray[np.int64]


class WordTokens:
    """Texts to tokens by words that were met before. Thread-safe."""

    def __init__(self, tokenizer: Any) -> None:
        """`tokenizer` is one that `of` takes; special tokens are left out."""
        lowercase = tokenizer.normalizer.lowercase
        number = tokenizer.token_to_id

        def read(word: str) -> _Tokens:
            # What is in the vocabulary is one token, and looking that up takes a thirtieth.
            bare = word if word.isalnum() else word[:-1]
            if bare.isalnum() and (token := number(bare.lower() if lowercase else bare)) is not None:
                if bare is word:
                    return (token,), (0, len(word))
                if (mark := number(word[-1])) is not None:
                    return (token, mark), (0, len(bare), len(bare), len(word))
            encoded = tokenizer.encode(word, add_special_tokens=False)
            return tuple(encoded.ids), tuple([place for span in encoded.offsets for place in span])

        self._library = None if LIBRARY is None else _Library(LIBRARY, read)
        self._read = lru_cache(KEPT)(read)

    @staticmethod
    def of(tokenizer: Any) -> WordTokens | None:
        """Such a reader, or None for a tokenizer whose tokens may depend on the words beside them, or whose words of
        letters and digits may not be what the vocabulary says."""
        kinds = (tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.model)
        if tuple(type(kind).__name__ for kind in kinds) != ("BertNormalizer", "BertPreTokenizer", "WordPiece"):
            return None
        if tokenizer.model.max_input_chars_per_word < LONGEST or not tokenizer.normalizer.clean_text:
            return None
        for token in tokenizer.get_added_tokens_decoder().values():
            name = token.content
            if token.lstrip or token.rstrip or len(name) < 2 or name.isalnum() or name.split() != [name]:
                return None
        return WordTokens(tokenizer)

    def __call__(self, text: str) -> Read | None:
        """None for a text that the library has to read: of other letters, where spaces are more than spaces, or with a
        very long word."""
        if not (text.isascii() and text.isprintable()):
            return None
        if self._library is not None:
            return self._library(text)
        ids: list[int] = []
        places: list[int] = []
        at = 0
        for word in text.split(" "):
            if word:
                if len(word) > LONGEST:
                    return None
                tokens, within = self._read(word)
                ids += tokens
                places += [at + place for place in within]
            at += len(word) + 1
        return Read(np.array(ids, np.int64), np.array(places, np.int64).reshape(-1, 2))


class _Library:
    """The same in compiled calls: one for a text of words that were met before, and two more for each that was not."""

    def __init__(self, library: CDLL, read: Callable[[str], _Tokens]) -> None:
        self._library, self._read, self._lock = library, read, threading.Lock()
        self._kept = _KeptWords()

    def __call__(self, text: str) -> Read | None:
        said, length, kept = text.encode(), len(text), self._kept
        ids, spans = np.empty(length, np.int64), np.empty((length, 2), np.int64)
        state = array("q", (0, 0, 0, 0))
        given = (length, LONGEST, length, state.buffer_info()[0], address(ids), address(spans))
        while (found := self._library.edgeret_read_words(kept.at, said, *given)) == _UNKNOWN_WORD:
            _, _, begin, end = state
            kept = self._met(said[begin:end])
        count = state[1]
        return Read(ids[:count], spans[:count]) if found == _READ else None

    def _met(self, word: bytes) -> _KeptWords:
        """Keeps one more word; where there is no room, the others go."""
        tokens, within = self._read(word.decode())
        ids, spans = array("q", tokens), array("q", within)
        given = (word, len(word), ids.buffer_info()[0], spans.buffer_info()[0], len(ids))
        with self._lock:
            if not self._library.edgeret_keep_word(self._kept.at, *given):
                self._kept = _KeptWords()  # whoever still reads the old ones keeps them
                self._library.edgeret_keep_word(self._kept.at, *given)
            return self._kept


class _KeptWords:
    """Room for KEPT words of ten tokens, which takes memory as it fills."""

    __slots__ = ("_arrays", "at")

    def __init__(self) -> None:
        places, pool = np.zeros(2 * KEPT, np.int32), np.zeros(40 * KEPT, np.int32)
        used = np.array((1, 0), np.int64)
        self._arrays = (places, pool, used)
        self.at = _KEPT_WORDS.pack(len(places) - 1, len(pool), address(places), address(pool), address(used))
