"""bm25s: BM25 over the tools' texts, with its own defaults and English stop words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from edgeret.types import Tool
from edgeret_bench.peers.base import Peer


class Bm25Peer(Peer):
    """Knows words and nothing else; tools that share none with the query are not listed."""

    name = "bm25s"
    distribution = "bm25s"

    def __init__(self, model: Path | None, threads: int) -> None:
        import bm25s

        self._library: Any = bm25s
        self._index: Any = bm25s.BM25()
        self._count = 0

    def prepare(self, tools: Sequence[Tool], texts: Sequence[str]) -> None:
        """Splits the texts into words and counts them."""
        self._index.index(self._words(texts), show_progress=False)
        self._count = len(texts)

    def rank(self, query: str, k: int) -> list[int]:
        """Positions of the tools with the highest scores above zero."""
        words = self._words([query])
        found, scores = self._index.retrieve(words, k=min(k, self._count), show_progress=False)
        pairs = zip(found[0].tolist(), scores[0].tolist(), strict=True)
        # It fills up with tools of score 0 in no particular order, which would be guesses.
        return [position for position, score in pairs if score > 0]

    def _words(self, texts: Sequence[str]) -> Any:
        return self._library.tokenize(list(texts), stopwords="en", show_progress=False)
