"""Search by words alone, beside which other methods are measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.errors import InputError, MissingExtraError

BM25_K1, BM25_B = 1.5, 0.75


class Bm25:
    """Robertson's BM25 with English stop words removed (bm25s)."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Indexes the texts. Raises MissingExtraError, and InputError if no text has a word to find."""
        self._library = _import_bm25s()
        self._count = len(texts)
        corpus = self._library.tokenize(list(texts), stopwords="en", show_progress=False, return_ids=False)
        if not any(corpus):
            raise InputError("no tool has a word that is no stop word, so bm25 has nothing to search")
        self._index = self._library.BM25(k1=BM25_K1, b=BM25_B)
        self._index.index(corpus, show_progress=False)

    def scores(self, query: str) -> NDArray[np.floating]:
        """The score of every text (texts,); all 0 for a query of stop words."""
        words = self._library.tokenize([query], stopwords="en", show_progress=False, return_ids=False)[0]
        scores: NDArray[np.floating] = self._index.get_scores(words) if words else np.zeros(self._count)
        return scores


def _import_bm25s() -> Any:
    try:
        import bm25s
    except ImportError:
        raise MissingExtraError("edgeret-bench", "the method bm25") from None
    return bm25s
