"""Hybrid search over a tool set: what a text's one encoding and its words say of every tool. Knows nothing of tasks and
demonstrations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from edgeret.encoders.base import EncodedQuery
from edgeret.inputs.words import forms
from edgeret.types import Hit, Tool
from edgeret_export.reference.encoders.base import Encoder
from edgeret_export.reference.encoders.word_vectors import WordVectors
from edgeret_export.reference.evidence import evidence
from edgeret_export.reference.inputs.asking import only_asks
from edgeret_export.reference.inputs.changing import changes
from edgeret_export.reference.inputs.language import rules_in
from edgeret_export.reference.inputs.language_rules import ENGLISH
from edgeret_export.reference.inputs.values import values_taken
from edgeret_export.reference.lexicon import Lexicon, tool_words
from edgeret_export.reference.opposites import Opposites
from edgeret_export.reference.scoring.index import EF, Index
from edgeret_export.reference.scoring.prior import Evidence, PriorWeights
from edgeret_export.reference.scoring.relevance import relevance
from edgeret_export.reference.similar_words import SimilarWords, table_of
from edgeret_export.reference.values import ToolValues
from edgeret_export.reference.word_table import WordTable


class HybridSearch:
    """A tool set, arranged for search. Immutable and thread-safe."""

    def __init__(
        self,
        tools: Sequence[Tool] | WordTable,
        index: Index,
        encoder: Encoder,
        word_vectors: WordVectors,
        weights: PriorWeights,
    ) -> None:
        """`tools`, or their words with the forms of these, are in the index's order."""
        table = tools if isinstance(tools, WordTable) else table_of(tools)
        self._opposites = None if isinstance(tools, WordTable) else Opposites([tool_words(tool) for tool in tools])
        self.values = None if isinstance(tools, WordTable) else ToolValues([values_taken(tool) for tool in tools])
        self._changing = None if isinstance(tools, WordTable) else np.array([changes(tool) for tool in tools], bool)
        self._lexicon, self._similar = Lexicon(table), SimilarWords(table, word_vectors)
        self._index, self._encoder, self._weights = index, encoder, weights

    def __call__(self, text: str, k: int) -> list[Hit]:
        """`search` for a text that is encoded now. Raises InputError as the encoder does."""
        return self.search(text, self._encoder.encode_query(text), k)

    def search(self, text: str, encoded: EncodedQuery, k: int) -> list[Hit]:
        """The `k` tools with the most evidence, best first; equal ones in the tools' order. A hit's similarity is the
        cosine of the whole text, its share a softmax of the evidence."""
        rules = rules_in(text)
        seen, index = evidence(text, encoded, self._lexicon), self._index
        if self.values is not None:
            changing = self._changing if only_asks(text) else None
            opposed = self._opposites(text, rules) if self._opposites is not None else None
            seen = replace(seen, values=self.values(text), changing=changing, opposed=opposed)
        positions, vectors, examples = self._candidates(seen), index.vectors, index.examples
        if positions is not None:
            seen, vectors = seen.among(positions), vectors[positions]
            examples = None if examples is None else examples.at(_places(positions, len(index.names)))
        similar = self._similar.overlaps(forms(text), positions)
        scores = relevance(seen, similar, vectors, self._weights, examples, rules.language != ENGLISH)
        order = np.argsort(-scores, kind="stable")[:k]
        cosines = (vectors[order] @ seen.passages.vectors[0]).tolist()
        np.exp(scores - scores[order[0]], out=scores)
        shares = (scores[order] / scores.sum()).tolist()
        found = (order if positions is None else positions[order]).tolist()
        return [Hit(index.names[i], cosine, share) for i, cosine, share in zip(found, cosines, shares, strict=True)]

    def _candidates(self, seen: Evidence) -> NDArray[np.intp] | None:
        """Where an HNSW graph is used: what it finds for the text and each of its parts, and the tools that share most
        words with it. None for all tools."""
        if self._index.kind == "exact":
            return None
        parts = (seen.passages.vectors[0], *seen.passages.windows, *seen.passages.clauses)
        found = [self._index.search(part, EF)[0] for part in parts]
        return np.unique(np.concatenate([*found, *map(_largest, (seen.shared.name, seen.shared.text))]))


def _largest(shared: NDArray[np.float32]) -> NDArray[np.intp]:
    """Positions of the EF largest numbers above 0, of equal ones the first; in no order."""
    least = np.partition(shared, -EF)[-EF].item() if len(shared) > EF else 0.0
    above = np.flatnonzero(shared > least)
    if least <= 0 or len(above) == EF:
        return above
    return np.concatenate((above, np.flatnonzero(shared == least)[: EF - len(above)]))


def _places(positions: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    """Where each of n tools stands among those at these positions, -1 for the others: intp (n,)."""
    places = np.full(n, -1, np.intp)
    places[positions] = np.arange(len(positions))
    return places
