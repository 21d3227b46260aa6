"""Finds the lowest point of a smooth convex function: L-BFGS, in float32. Knows nothing of what is fitted.

scipy's keeps some 25 numbers a parameter in float64, 200 bytes; this one keeps a hundred, and takes along what is known
of the curvature, in any form. A head of 4,000 labels has six million parameters.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Objective = Callable[[NDArray[np.float32]], tuple[float, NDArray[np.float32]]]
"""Of a point (n,), the function's value and a fresh array of its slope (n,)."""
Inverse = Callable[[NDArray[np.float32]], NDArray[np.float32]]
"""Of a slope (n,), how far it is to where it ends if the curvature is as one takes it to be: a fresh array (n,)."""
REMEMBERED, OF_MANY, MANY = 6, 5, 1 << 22
"""Steps that the curvature is guessed from, beside what is known of it, and where parameters are many: 4 took longer,
10 no less, and each one is two arrays of parameters, 45 MB at 4,000 labels."""
LEAST_GAIN = 1e-9
"""Of a step, relative to the value, below which nothing more is to be had."""
SUFFICIENT = 1e-4
"""Of the fall that the slope promises, which a step must bring."""
SHORTEST = 1e-6


def minimise(
    objective: Objective,
    start: NDArray[np.float32],
    inverse: Inverse,
    tolerance: float,
    most: int,
) -> NDArray[np.float32]:
    """Where the slope is at most `tolerance` everywhere, or what `most` steps reach, or where no step gains anything:
    float32 (n,). The `start` is used up. The `inverse` of the curvature may be rough, but is linear, symmetric and
    positive."""
    point = start  # a copy would be 24 MB at 4,000 labels
    value, slope = objective(point)
    steps: deque[tuple[NDArray[np.float32], NDArray[np.float32], float]] = deque(
        maxlen=REMEMBERED if len(point) < MANY else OF_MANY
    )
    for _ in range(most):
        if max(slope.max(), -slope.min()) <= tolerance:
            break
        direction = _direction(slope, inverse, steps)
        found = _search(objective, point, value, direction, float(slope @ direction))
        if found is None:
            break
        length, lower, steeper = found
        direction *= np.float32(length)
        point += direction
        slope = np.subtract(steeper, slope, out=slope)  # by how much it changed
        product = float(slope @ direction)
        gained, value = value - lower, lower
        if product > 0:
            steps.append((direction, slope, product))
        slope = steeper
        if gained <= LEAST_GAIN * max(1.0, abs(value)):
            break
    return point


def _direction(
    slope: NDArray[np.float32],
    inverse: Inverse,
    steps: deque[tuple[NDArray[np.float32], NDArray[np.float32], float]],
) -> NDArray[np.float32]:
    """Downhill, by the two-loop recursion from the latest step to the first and back (n,)."""
    direction, shares = -slope, []
    for step, change, product in reversed(steps):
        share = float(step @ direction) / product
        shares.append(share)
        direction -= np.float32(share) * change
    direction = inverse(direction)
    if steps:
        _, change, product = steps[-1]
        direction *= np.float32(product / max(float(change @ inverse(change)), 1e-30))
    for (step, change, product), share in zip(steps, reversed(shares), strict=True):
        direction += np.float32(share - float(change @ direction) / product) * step
    return direction


def _search(
    objective: Objective, point: NDArray[np.float32], value: float, direction: NDArray[np.float32], fall: float
) -> tuple[float, float, NDArray[np.float32]] | None:
    """How far to go in a direction along which the value at first falls by `fall` (below 0), with the value and the
    slope there; None where no way is short enough."""
    length = 1.0
    while fall < 0 and length >= SHORTEST:
        reached = np.float32(length) * direction
        reached += point
        lower, slope = objective(reached)
        del reached
        if lower <= value + SUFFICIENT * length * fall:
            return length, lower, slope
        # The lowest point of the parabola through what is known, but neither no step at all nor nearly the same.
        bend = 2 * (lower - value - fall * length)
        length *= min(0.5, max(0.1, -fall * length / bend)) if bend > 0 else 0.5
    return None
