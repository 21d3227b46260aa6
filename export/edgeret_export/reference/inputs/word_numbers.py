"""Which words of a list a text says, by number. Knows nothing of where the words are from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeret.inputs.words import words


class Said(NamedTuple):
    """The numbers of the different words of a text that are in the list, in the order in which it says them, int64
    (k,), and whether it says `others`."""

    known: NDArray[np.int64]
    others: bool


class WordNumbers:
    """A list of words as `words` gives them, each once. Immutable and thread-safe."""

    def __init__(self, listed: Sequence[str]) -> None:
        """A word's number is its place in the list."""
        self._number = {word: i for i, word in enumerate(listed)}

    def __call__(self, text: str) -> Said:
        """What a text says of the list."""
        said = dict.fromkeys(words(text))
        known = [number for word in said if (number := self._number.get(word)) is not None]
        return Said(np.array(known, np.int64), len(known) < len(said))
