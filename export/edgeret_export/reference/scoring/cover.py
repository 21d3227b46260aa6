"""How near tools come to the parts of a request, and how well called ones cover these. Knows nothing of what the parts
are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# A request that repeats itself has parts alike but for rounding, which each CPU does in its own order. The first
# counts.
_ALIKE = np.float32(1e-5)


def largest(values: NDArray[np.float32]) -> float:
    """The largest value, in half the time that `max` takes for few."""
    return values.item(values.argmax())


def first_nearest(cosines: NDArray[np.float32], tool: int) -> int:
    """The first row of cosines (rows, n) that is as large as any for the tool, up to `_ALIKE`."""
    of = cosines[:, tool]
    return int((of >= of.max() - _ALIKE).argmax())


def nearest(cosines: NDArray[np.float32], called: Sequence[int]) -> list[float]:
    """The nearest called tool's cosine, at least 0, by row of cosines (rows, n)."""
    if not called:
        return [0.0] * len(cosines)
    nearest: list[float] = np.maximum(cosines[:, called].max(axis=1), np.float32(0)).tolist()
    return nearest


def least_covered(found: Sequence[float], best: Sequence[float]) -> float:
    """How near to the `best` of any tool what was found comes, where it comes least near: at most 1."""
    return min(1.0, min(one / most for one, most in zip(found, best, strict=True)))


def furthest(found: Sequence[float], best: Sequence[float]) -> float:
    """How much further than what was found the `best` of any tool comes, at most; at least 0."""
    return max(0.0, max(most - one for one, most in zip(found, best, strict=True)))
