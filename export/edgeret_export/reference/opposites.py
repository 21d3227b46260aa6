"""Which tools do the opposite of what a request says, which do as it says, and which it speaks of without wanting them.
Knows nothing of how that is weighed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from edgeret.inputs.words import stem
from edgeret_export.reference.inputs.language_rules import Rules
from edgeret_export.reference.inputs.opposites import NOTHING, PAIRS, side_of, told
from edgeret_export.reference.word_table import ToolWords

_SPEAKING_WORDS = "message text sms email mail chat notify announce tell send remind reminder reply"
_SPEAKS = frozenset(map(stem, _SPEAKING_WORDS.split(" ")))
"""Words in the names of tools that pass words on."""

_ENDINGS = frozenset({side_of("off"), side_of("stop"), side_of("remove")})
"""Sides of tools that end what another one began: "don't play" is not against them."""

_SWITCHES = frozenset(side_of(word) for word in ("on", "off", "start", "stop"))
"""Sides that a tool of anything may take: "wifi off" is not for every switch."""

KEPT_NUMBERS = 1 << 18
"""What all tools have for and against what is said, kept of so many tools in all, 2 MB."""


class Opposites:
    """Tools by what they do. Immutable and thread-safe."""

    def __init__(self, tools: Sequence[ToolWords]) -> None:
        """`tools` in the order in which all arrays are."""
        self._n = len(tools)
        self._known: dict[frozenset[int], NDArray[np.float32] | None] = {}
        self._does = np.zeros((2 * len(PAIRS), self._n), bool)
        self._takes = np.zeros((2 * len(PAIRS), self._n), bool)
        self._named: dict[str, list[int]] = {}
        alike: dict[tuple[int, frozenset[str]], list[int]] = {}
        for i, tool in enumerate(tools):
            for word in tool.name:
                self._named.setdefault(word, []).append(i)
            if (does := tool.sides) is not None:
                for side in does.named:
                    alike.setdefault((side, does.beside), []).append(i)
                both = [side for side in does.taken if side ^ 1 in does.taken and side not in _SWITCHES]
                self._takes[both, i] = True
        for (side, beside), these in alike.items():
            if (side ^ 1, beside) in alike:
                self._does[side, these] = True
        self._ends = np.array([bool(tool.sides and tool.sides.named & _ENDINGS) for tool in tools], bool)
        self._speaks = np.array([not _SPEAKS.isdisjoint(tool.name) for tool in tools], bool)

    def __call__(self, query: str, rules: Rules | None = None) -> NDArray[np.float32] | None:
        """How often each tool is `opposed` to a query, and how often it `agrees` with it, float32 (2, tools); None for
        a query that says nothing of opposites, by the `rules` of its language."""
        said = told(query, rules)
        if said is NOTHING:
            return None
        if not said.negated and not said.quoted:
            return self._kept(said.sides)
        found = np.zeros((2, self._n), np.float32) if (on := self._kept(said.sides)) is None else on.copy()
        opposed, agrees = found
        if said.negated:
            meant = self._having(said.negated)
            opposed += meant & ~self._ends
            agrees += meant & self._ends
        if said.quoted:
            meant = self._having(said.quoted)
            opposed += meant & ~self._speaks
            agrees += self._speaks
        return found if found.any() else None

    def _kept(self, sides: frozenset[int]) -> NDArray[np.float32] | None:
        """The same for a query on these sides alone, and not to be written; kept, since few combinations are said."""
        try:
            return self._known[sides]  # one look: another thread may clear what is kept
        except KeyError:
            pass
        found = np.zeros((2, self._n), np.float32)
        opposed, agrees = found
        for side in sides:
            if side ^ 1 not in sides:
                opposed += self._does[side ^ 1] & ~self._does[side]
                agrees += self._does[side] | self._takes[side]
        found.flags.writeable = False
        if (len(self._known) + 1) * self._n > KEPT_NUMBERS:
            self._known.clear()
        self._known[sides] = on = found if found.any() else None
        return on

    def _having(self, words: Iterable[str]) -> NDArray[np.bool_]:
        """The tools whose names have any of these words, bool (tools,)."""
        found = np.zeros(self._n, bool)
        found[[i for word in words for i in self._named.get(word, ())]] = True
        return found
