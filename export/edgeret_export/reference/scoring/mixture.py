"""A log-linear mixture of experts whose weights learn online, and the guard that mutes it.

Knows nothing of what the experts are; the last one is the base that is fallen back to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

RATE = 0.1
"""Adagrad's step."""
MAX_WEIGHT = 4.0
"""Weights stay in [0, MAX_WEIGHT]."""
MAX_GRADIENT = 10.0
"""One step counts at most this much: an expert that was certain and wrong is wrong once."""
MAX_SQUARES = 1e9
"""Bound of the sums that shorten the steps."""
GUARD_DISCOUNT = 0.9
"""What a judged plan counts for when one more was judged: the last ten or so decide."""
MAX_GAIN = 3.0
"""A plan's gain or loss counts at most this, in nats: one that was won by far must not hide ten that were lost."""
GUARD_LEAST_PLANS = 5.0
"""Discounted number of judged plans below which nothing is muted."""
GUARD_ERRORS = 1.0
"""Standard errors by which the mixture must be worse than the base to be muted. What gains nothing is muted every
fourth time then, at no cost; what harms is muted after a dozen plans."""


class Mixture:
    """log p = Σ w_i·log p_i (+ const), w_i in [0, MAX_WEIGHT]. One thread at a time.

    An `anchored` one keeps the sum of the weights: what the others gain, the last expert, the base, loses. All experts
    begin with the base's word; without an anchor one surprise, which that word is to blame for, would lower them all.
    """

    def __init__(self, weights: Sequence[float], anchored: bool = False) -> None:
        """Starts from these weights, one for each expert."""
        self.weights = np.array(weights, np.float32)
        self.anchored, self._sum = anchored, float(sum(weights))
        self.squares = np.full(len(weights), 1.0, np.float32)

    def combine(self, experts: NDArray[np.float32], trust: float = 1.0) -> NDArray[np.float32]:
        """Log-probabilities (n,) of experts' log-probabilities (experts, n), all of them up to a constant. With a
        `trust` below 1, all but the last expert lose so much of their weights to it."""
        mixed: NDArray[np.float32] = self.trusted(trust).dot(experts)
        return mixed

    def trusted(self, trust: float) -> NDArray[np.float32]:
        """The weights with a `trust` in 0 to 1, as `combine` takes them."""
        if trust == 1.0:
            return self.weights
        weights = self.weights * np.float32(trust)
        weights[-1] += np.float32((1.0 - trust) * self._sum)
        return weights

    def learn(
        self,
        experts: NDArray[np.float32],
        mixed: NDArray[np.float32],
        steps: Sequence[int],
        targets: Sequence[int],
        trust: float = 1.0,
    ) -> None:
        """Gradient ascent on the log-probability of what was right at some steps of a plan, its `targets`, step by
        step: `experts` (experts, steps, n), and `mixed` (steps, n) is what `combine` gave for all of them with the same
        `trust`, normalised."""
        expected = np.einsum("eij,ij->ei", experts, np.exp(mixed))
        surprises = experts[:, steps, targets] - (expected if len(steps) == len(mixed) else expected[:, steps])
        self.move(surprises.T.tolist(), trust)

    def move(self, surprises: Sequence[Sequence[float]], trust: float) -> None:
        """The same from what every expert said more of what was right than the mixture expects of it: a row a step."""
        weights, squares = self.weights.tolist(), self.squares.tolist()
        for surprise in surprises:
            last = surprise[-1] if self.anchored else 0.0
            # Three numbers each, for which numpy takes four times as long, and `min` and `max` of all of them twice.
            for i, value in enumerate(surprise):
                gradient = trust * (value - last)
                if not -MAX_GRADIENT <= gradient <= MAX_GRADIENT:
                    gradient = min(MAX_GRADIENT, max(-MAX_GRADIENT, gradient))
                square = squares[i] + gradient * gradient
                squares[i] = square = square if square < MAX_SQUARES else MAX_SQUARES
                weight = weights[i] + RATE * gradient / sqrt(square)
                weights[i] = weight if 0.0 <= weight <= MAX_WEIGHT else min(MAX_WEIGHT, max(0.0, weight))
            if self.anchored:
                others = sum(weights[:-1])
                whole = max(others, self._sum)
                weights[:-1] = [weight * self._sum / whole for weight in weights[:-1]]
                weights[-1] = max(0.0, self._sum - others)
        self.weights, self.squares = np.array(weights, np.float32), np.array(squares, np.float32)


def normalise(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scores (steps, n) less the logarithm of the sum of their exponentials, in place."""
    scores -= scores.max(axis=1, keepdims=True)
    scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return scores


@dataclass(slots=True)
class Guard:
    """Mutes what was learned while it does worse than the base on plans that it had not yet learned.

    Discounted sums over judged plans: their number `plans`, and `total` and `squares` of the gains, a plan's gain being
    log p_learned - log p_base of what was right, summed over its steps, within MAX_GAIN.
    """

    plans: float = 0.0
    total: float = 0.0
    squares: float = 0.0
    muted: bool = False

    @property
    def gain(self) -> float:
        """Mean gain of a plan, in nats; 0 before any was judged."""
        return self.total / self.plans if self.plans else 0.0

    def judge(self, gain: float) -> None:
        """Takes one more plan into account."""
        gain = min(MAX_GAIN, max(-MAX_GAIN, gain))
        self.plans = GUARD_DISCOUNT * self.plans + 1.0
        self.total = GUARD_DISCOUNT * self.total + gain
        self.squares = GUARD_DISCOUNT * self.squares + gain * gain
        if self.muted:
            self.muted = self.gain <= 0.0
        elif self.plans >= GUARD_LEAST_PLANS:
            noise = sqrt(max(0.0, self.squares / self.plans - self.gain**2) / self.plans)
            self.muted = self.gain < -GUARD_ERRORS * noise
