"""How a text is spelt, as a few numbers: which three and four letters stand together. Knows nothing of words, nor of
models.

An encoder that reads "vol 15", "spekaers" or "tldr" sees pieces of words that it was never shown together. Letters that
stand together survive slips of the keyboard and short forms, and need no table of any language.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgeret.types import SPELLING_BUCKETS

_FOUR, _THREE = np.dtype("<u4"), np.uint32(0xFFFFFF)
_MULTIPLIER = np.uint32(0x9E3779B1)
_SHIFT = np.uint32(21)


def spelling(text: str) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """The spelling of a text, whatever its case and spaces, as a sparse unit vector of SPELLING_BUCKETS numbers: those
    that are not 0, ascending (k,), and their values, float32 (k,). Nothing where a text's pieces cancel out or it has
    none.

    Every piece of three and four bytes is hashed to a number, and adds 1 to it or takes 1 away.
    """
    read = f" {' '.join(text.lower().split())} ".encode()
    # The four bytes from each place on, as one number, and the three.
    fours = np.ndarray((len(read) - 2,), _FOUR, read + b"\0", strides=(1,))
    pieces = np.concatenate((fours[:-1], fours & _THREE))
    pieces *= _MULTIPLIER
    pieces >>= _SHIFT
    counts = np.bincount(pieces, minlength=2 * SPELLING_BUCKETS)
    sums = counts[1::2] - counts[::2]
    buckets = sums.nonzero()[0]
    values = sums[buckets].astype(np.float32)
    values /= np.float32(max(1.0, float(values @ values)) ** 0.5)
    return buckets, values
