"""Whether anything fits a request: how far it is from all that was demonstrated and learned, what the tools' own words
say, and what heads do. Knows nothing of calls and of what is decided."""

from __future__ import annotations

from functools import cached_property
from math import exp, log

import numpy as np
from numpy.typing import NDArray

from edgeret_export.reference.arranged import Arranged
from edgeret_export.reference.components import Components
from edgeret_export.reference.known import Known
from edgeret_export.reference.scoring.familiarity import Familiarity
from edgeret_export.reference.scoring.graph import GraphPosition
from edgeret_export.reference.scoring.memory import LEAST_COSINE, Neighbours
from edgeret_export.reference.scoring.reading import Reading

FEW = 33
"""Tools alone: of fewer, what was learned shows little of what people say, and nothing was held out to tell."""
CLEARLY = 4.0
"""Odds by demonstrations that something fits from which on the tools' own words are not asked: they could only raise
them."""
UNLIKELY_BY_WORDS, SURELY_SHOWN = log(0.1 / 0.9), 0.8
"""That nothing fits takes evidence from the tools too: where their own words give it log-odds below the first,
demonstrations of such requests must give it more than the second. What users say is not what was demonstrated, and
whatever is unlike it looks most like requests that no tool fits."""


class Fits:
    """What a request has of this. Whoever derives from it sets what stands here first."""

    vector: NDArray[np.float32]
    named: tuple[str, ...]
    _scorer: Arranged
    _components: Components
    _reading: Reading
    _known: Known | None
    _allowed: NDArray[np.bool_] | None
    _choosable: NDArray[np.bool_] | None
    _place: GraphPosition
    _neighbours: Neighbours

    @property
    def demonstrated(self) -> bool:
        """Whether there are demonstrations to lean on."""
        return self._components.head is not None

    def nothing(self, shown: float = 0.0) -> float:
        """The probability that no tool fits, where the heads, which know requests of that kind, give it `shown`."""
        return self._nothing(self.familiarity, shown)

    def _nothing(self, known: Familiarity, shown: float) -> float:
        learned = None if self._known is None else self._known.nearest
        fits = known.fits(self.distance_to(known, learned))
        if fits < CLEARLY or shown > 0.5:
            tools = len(self._scorer.names) - 1
            fits += known.strange(tools if self.demonstrated else max(tools, FEW)) * exp(-self.nothing_by_words)
            unsure = 0.5 < shown <= SURELY_SHOWN or self.named
            if unsure and self.nothing_by_words < UNLIKELY_BY_WORDS:
                shown = 1 / (1 + exp(-self.nothing_by_words))
        odds = known.unknown / max(fits, 1e-30) + shown / max(1 - shown, 1e-30)
        return odds / (1 + odds)

    @cached_property
    def nothing_by_words(self) -> float:
        """The log-odds that the tools' own words give that none of them fits, in [-30, 30]."""
        scores = self._reading.allowed_scores((), self._allowed)
        return min(30.0, self._reading.end_logit((), scores.item(scores.argmax())))

    @property
    def familiarity(self) -> Familiarity:
        """What the request is compared with; it changes with what is learned."""
        scorer, shipped = self._scorer, self._scorer.familiarity
        return scorer.learned.familiarity(shipped, scorer.position) if scorer.learned.count else shipped

    @property
    def distance(self) -> float:
        """How far the request is from all that was demonstrated and learned of the tools that may be chosen."""
        return self.distance_to(self.familiarity, None if self._known is None else self._known.nearest)

    def distance_to(self, familiarity: Familiarity, learned: float | None) -> float:
        """The same to what was demonstrated and learned at some time, `learned` being the cosine of the nearest learned
        plan that calls a tool."""
        return familiarity.distance(self.vector, self._nearest(learned), self._choosable)

    def _nearest(self, learned: float | None) -> float | None:
        """The cosine of the nearest demonstration that calls a tool, or of the nearest cluster of very many; None where
        nobody knows, or where it may call tools that may not be chosen."""
        components = self._components
        if self._choosable is not None:
            return None
        shipped = None
        # Where there are demonstrations they say where the familiar ends, which was not fitted with examples.
        example = None if self.demonstrated else self._reading.nearest_example
        if components.memory is not None:
            shipped = components.memory.nearest(self._neighbours)
        elif components.graph is not None:
            shipped = self._place.similarity
        if learned is None and example is None:
            return LEAST_COSINE if shipped is None else shipped
        return max(cosine for cosine in (shipped, learned, example) if cosine is not None)
