"""What is decided between, arranged for requests: words, vectors and flow of the tools, once a set of them. Knows
nothing of requests."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from edgeret.types import END, Tool
from edgeret_export.reference.components import Components
from edgeret_export.reference.lexicon import Lexicon, tool_flow, tool_words
from edgeret_export.reference.scoring.examples import Examples
from edgeret_export.reference.scoring.flow import NO_FLOW
from edgeret_export.reference.scoring.prior import Prior
from edgeret_export.reference.scoring.products import rows_at
from edgeret_export.reference.shown import worded
from edgeret_export.reference.word_table import ToolWords


class Arrangement:
    """Arranged with the first request. Immutable and thread-safe."""

    def __init__(self, components: Components, names: Sequence[str], end: int) -> None:
        """`names` are what is decided between, `<end>` at the position `end`."""
        self._components, self._names, self._end = components, names, end

    @cached_property
    def _whole(self) -> tuple[Lexicon, Prior]:
        """The words of the names, and the prior over them all. (Two threads may arrange both; they get the same.)"""
        said = self._said()
        vectors, flow = self._vectors(slice(None)), tool_flow(said, self._names)
        prior = Prior(vectors, self._end, flow, self._components.prior)
        prior.examples = self.examples
        return Lexicon(said), prior

    @cached_property
    def lexicon(self) -> Lexicon:
        """The words of the names, as the build arranged them where a graph narrows requests down."""
        if self._components.index.kind == "exact":
            return self._whole[0]
        words = self._components.words
        return Lexicon(self._said() if words is None else words.ordered(self._rows))

    def prior(self, near: NDArray[np.intp] | None) -> Prior:
        """The prior over the names, or over those at the positions `near`, without their flow."""
        if near is None:
            return self._whole[1]
        shown = None
        if self.examples is not None:
            place = np.full(len(self._names), -1, np.intp)
            place[near] = np.arange(len(near))
            shown = self.examples.at(place)
        end = int(np.searchsorted(near, self._end))
        prior = Prior(self._vectors(near), end, NO_FLOW, self._components.prior)
        prior.examples = shown
        return prior

    @cached_property
    def examples(self) -> Examples | None:
        """What the tools show, by their positions among the names."""
        shown = self._components.index.examples
        return None if shown is None else shown.at(self.positions)

    def _said(self) -> list[ToolWords]:
        tools = self._components.tools
        every = [tools.get(name, Tool(name if name != END else "", "")) for name in self._names]
        return [tool_words(tool) for tool in worded(every, self._components.index.shown)]

    def _vectors(self, positions: NDArray[np.intp] | slice) -> NDArray[np.float32]:
        """The unit vectors of the names at these positions, zeros for what the index lacks, float32 (positions, d)."""
        return rows_at(self._components.index.vectors, self._rows[positions])

    @cached_property
    def _rows(self) -> NDArray[np.intp]:
        """Which row of the index each of the names has (names,), -1 for none."""
        at = {name: i for i, name in enumerate(self._components.index.names)}
        return np.array([at.get(name, -1) for name in self._names], np.intp)

    @cached_property
    def positions(self) -> NDArray[np.intp]:
        """Where among the names the index's tools are (tools,)."""
        positions = np.empty(len(self._components.index.names), np.intp)
        here = np.flatnonzero(self._rows >= 0)
        positions[self._rows[here]] = here
        return positions
