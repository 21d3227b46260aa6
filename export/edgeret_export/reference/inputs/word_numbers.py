"""Which words of a list a text says, by number. Knows nothing of where the words are from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from ctypes import CDLL
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeret.inputs.words import COMMON, words
from edgeret_export.reference.kernel import LIBRARY, KeptStrings, address, layout

_STEMS = layout(*KeptStrings.FIELDS, *KeptStrings.FIELDS)  # as in stems.c


class Said(NamedTuple):
    """The numbers of the different words of a text that are in the list, in the order in which it says them, int64
    (k,), and whether it says `others`."""

    known: NDArray[np.int64]
    others: bool


class WordNumbers:
    """A list of words as `words` gives them, each once. Immutable and thread-safe."""

    def __init__(self, listed: Sequence[str]) -> None:
        """A word's number is its place in the list."""
        self._listed = listed
        self._number: dict[str, int] | None = None
        self._read: Callable[[str], Said | None] = lambda text: None
        if LIBRARY is not None:
            with suppress(ValueError):  # words that were made to take long
                self._read = _Compiled(LIBRARY, listed)

    def __call__(self, text: str) -> Said:
        """What a text says of the list."""
        if text.isascii() and (found := self._read(text)) is not None:
            return found
        if self._number is None:
            self._number = {word: i for i, word in enumerate(self._listed)}
        said = dict.fromkeys(words(text))
        known = [number for word in said if (number := self._number.get(word)) is not None]
        return Said(np.array(known, np.int64), len(known) < len(said))


class _Compiled:
    """The same of a text in ASCII, in one call. It keeps what the library reads, so that it stays in its place."""

    __slots__ = ("_kept", "_read", "_stems")

    def __init__(self, library: CDLL, listed: Sequence[str]) -> None:
        """Raises ValueError for words that the library cannot have."""
        # What is not in ASCII keeps its number, and no text in ASCII has it.
        known = KeptStrings(library, [word if word.isascii() else f" {i}" for i, word in enumerate(listed)])
        common = KeptStrings(library, sorted(COMMON))
        self._kept, self._read = (known, common), library.edgeret_read_stems
        self._stems = _STEMS.pack(*known.packed, *common.packed)

    def __call__(self, text: str) -> Said | None:
        read = text.encode()
        numbers = np.empty(len(read) + 1, np.int64)
        at = address(numbers)
        count = self._read(self._stems, read, len(read), at + 8, at)
        return None if count < 0 else Said(numbers[1 : count + 1], numbers.item(0) == 1)
