"""Tokens of a text, word by word, where a tokenizer reads every word by itself: what was read once is not read again.
Knows nothing of vectors.

The tokenizers library keeps track of every letter through every change and takes some 30 us for a request of ten words,
and nearly as long again to hand over what it found; looking words up takes a tenth.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

KEPT = 1 << 14
"""Words that are kept, the last ones that were asked for."""
LONGEST = 40
"""Characters of a word that is kept; a text with a longer one is left to the library."""
_Tokens = tuple[tuple[int, ...], tuple[int, ...]]


class WordTokens:
    """Texts to tokens by words that were met before. Thread-safe."""

    def __init__(self, tokenizer: Any) -> None:
        """`tokenizer` is one that `of` takes; special tokens are left out."""
        lowercase = tokenizer.normalizer.lowercase
        number = tokenizer.token_to_id

        @lru_cache(KEPT)
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

        self._read = read

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

    def __call__(self, text: str) -> tuple[list[int], list[int]] | None:
        """The text's token ids, and where each begins and ends in it, one after the other. None for a text that the
        library has to read: of other letters, where spaces are more than spaces, or with a very long word."""
        if not (text.isascii() and text.isprintable()):
            return None
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
        return ids, places
