"""Words to vectors, each by itself: how near two words are in meaning. Knows nothing of texts, tools and requests.

A word is the mean of the pieces that the tokenizer cuts it into. Their vectors are the encoder's own, as it looks them
up before any layer reads them, in few numbers of half a byte: no time to make, and a megabyte in a bundle.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle import roles
from edgeret.bundle.codec import get_array, pack
from edgeret.bundle.few_bits import get_scales
from edgeret.bundle.reader import Bundle
from edgeret.encoders.base import REBUILD, failure
from edgeret.errors import BundleError
from edgeret_export.reference.encoders.base import LoadedTokenizer
from edgeret_export.reference.few_bits import from_halves, to_halves

DIMENSION = 64
"""Numbers of a piece's vector. On sets that no fit saw, 128 find no more, and 32 half a point less."""


class WordVectors:
    """The vectors of an encoder's pieces of words. Immutable and thread-safe."""

    def __init__(
        self, pairs: NDArray[np.int8], scales: NDArray[np.float32], tokenizer: LoadedTokenizer, where: str = "words"
    ) -> None:
        """`pairs` (pieces, DIMENSION / 2) and `scales` (pieces,) are what `to_halves` makes of vectors, for every piece
        of the `tokenizer`; `where` is what messages call them. Raises BundleError for another number of pieces."""
        if (pieces := tokenizer.size) != len(pairs):
            raise BundleError(f"{where}: {len(pairs)} vectors for a tokenizer with {pieces} pieces of words; {REBUILD}")
        self._pairs, self._scales, self._tokenizer, self._where = pairs, scales, tokenizer, where

    def of(self, words: Sequence[str]) -> NDArray[np.float32]:
        """The words' unit vectors, float32 (words, DIMENSION); zeros for a word of which no piece is known. Words hold
        no space. Raises BundleError if the tokenizer fails."""
        found = np.zeros((len(words), DIMENSION), np.float32)
        ids, owners = self._pieces(words)
        if not len(ids):
            return found
        begins = np.flatnonzero(np.diff(owners, prepend=-1))
        sums = np.add.reduceat(from_halves(self._pairs[ids], self._scales[ids]), begins)
        sums /= np.sqrt(np.maximum(np.einsum("ij,ij->i", sums, sums), np.float32(1e-12)))[:, None]
        found[owners[begins]] = sums
        return found

    def _pieces(self, words: Sequence[str]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The words' pieces, one word after the other, and the number of the word that each is of."""
        tokenizer = self._tokenizer
        if tokenizer.words is not None and (read := tokenizer.words(" ".join(words))) is not None:
            starts = np.cumsum([0, *(len(word) + 1 for word in words)])
            return read.ids, np.searchsorted(starts, read.spans[:, 0], side="right") - 1
        try:
            # One by one: encode_batch would start a pool of threads.
            cut = [tokenizer.library.encode(word, add_special_tokens=False).ids for word in words]
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a Rust panic is no Exception
            raise failure(self._where, "the tokenizers library cannot read a word", error) from None
        owners = np.repeat(np.arange(len(cut)), [len(ids) for ids in cut])
        return np.array([piece for ids in cut for piece in ids], np.intp), owners


def pack_word_vectors(vectors: NDArray[np.float32], tokenizer: str) -> bytes:
    """The file with the role `word-vectors`: vectors (pieces, DIMENSION) of the pieces of the tokenizer whose file has
    this sha256."""
    pairs, scales = to_halves(vectors)
    return pack({"tokenizer": tokenizer, "pairs": pairs, "scales": scales})


def load_word_vectors(bundle: Bundle, tokenizer: LoadedTokenizer) -> WordVectors:
    """A bundle's, over its `tokenizer`. Raises BundleError for a file that makes no sense or is another tokenizer's."""
    where = f"{bundle.path} ({roles.WORD_VECTORS})"
    value = bundle.map(roles.WORD_VECTORS)
    entry = bundle.manifest.file(roles.TOKENIZER)
    if entry is None or value.get("tokenizer") != entry.sha256:
        raise BundleError(f"{where}: made for another tokenizer than the bundle's; {REBUILD}")
    pairs = get_array(value, "pairs", "|i1", (None, DIMENSION // 2), where)
    return WordVectors(pairs, get_scales(value, "scales", len(pairs), where), tokenizer, where)
