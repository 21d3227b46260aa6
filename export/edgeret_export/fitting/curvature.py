"""How a head's loss bends, so that its fit goes straight to the lowest point. Changes no optimum, only the way there.

Three things bend it unevenly. Queries have few directions that most of them share, above all their mean, and a bias
says nearly the same as the mean: a rare label's weights bend a thousandth as much as those of `<end>`. Cosines of a
query and of its parts say nearly the same. Without this, fits of 2,000 plans stop after 128 steps at a value that is
now reached after 30, with weights of the cosines that are still on their way (docs/decisions).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

DIRECTIONS = 64
"""Of the queries, whose bend is told from the others'; 32 are nearly as good, and 256 no better."""
SURER = np.float32(0.03)
"""By how much less a loss bends once the head is as sure as it gets; shares of labels are what it starts from."""
FREE = 60.0
"""How large a constant feature is beside one with a penalty, if its own weight, the bias, has none."""
LEAST_BEND, FLATTEST = 1e-7, 1e-2
"""Of shared weights; and of what nearly nothing bends, neither queries nor a penalty, beside the mean of a label's."""


@dataclass(frozen=True, slots=True)
class Moments:
    """What the bend follows from, of some decisions, in shares of all.

    `labels` (labels,) are how often each is right, `pairs` (pairs,) how often with each pair's feature. `features`
    (m + 1, m + 1) are second moments of what has a weight for each label: what is known of the query, the number of
    calls, and last the constant 1. `shared` (s, s) is how what has one weight for all labels varies over them.
    """

    labels: NDArray[np.float32]
    pairs: NDArray[np.float32]
    features: NDArray[np.float32]
    shared: NDArray[np.float64]

    def of_all(self, share: float) -> Moments:
        """Those of all decisions, if these are of such a share of them."""
        return Moments(self.labels, self.pairs / share, self.features / share, self.shared / share)


class Curvature:
    """The bend of a loss over parameters (n,) that lie as weights of the query (d, labels), of pairs (pairs,), of
    numbers of calls (counts, labels), biases (labels,), shared weights (s,)."""

    def __init__(self, moments: Moments, bounds: NDArray[np.int64], penalty: NDArray[np.float32]) -> None:
        """`bounds` (6,) are where these begin and end, `penalty` (n,) is added to the bend of each."""
        from sklearn.utils.extmath import randomized_svd

        self._bounds, self._n_labels = bounds.tolist(), len(moments.labels)
        weight, bias = float(penalty[0]), float(penalty[bounds[3]])
        size = np.ones((len(moments.features), 1), np.float32)
        size[-1] = FREE if bias <= 0 else min(FREE, (weight / bias) ** 0.5)
        weight = max(weight, FLATTEST * float(SURER * moments.labels.mean() * np.trace(moments.features[:-1, :-1])))
        second = moments.features * size * size.T
        directions, bends, _ = randomized_svd(second, min(DIRECTIONS, len(second)), random_state=0)
        rest = max(0.0, float(np.trace(second)) - float(bends.sum())) / len(second)
        labels = SURER * moments.labels
        others = 1 / (labels * np.float32(rest) + np.float32(weight))
        self._others, self._constant = others, np.float32(size[-1, 0] ** 2)
        self._directions = directions.astype(np.float32) * size
        self._along = 1 / (np.outer(bends, labels) + weight).astype(np.float32) - others
        self._pairs = 1 / (SURER * moments.pairs + np.float32(weight))
        bend = SURER * moments.shared + np.diag(penalty[bounds[4] :] + LEAST_BEND)
        self._shared = np.linalg.inv(bend).astype(np.float32)

    def inverse(self, slope: NDArray[np.float32]) -> NDArray[np.float32]:
        """How far to go to where a slope (n,) ends, if the loss bends like this: a fresh array (n,)."""
        _, weights, pairs, _, biases, _ = self._bounds
        rows = np.concatenate((slope[:weights], slope[pairs:biases])).reshape(-1, self._n_labels)
        found = self._directions @ (self._along * (self._directions.T @ rows))
        rows[-1] *= self._constant
        rows *= self._others
        rows += found
        del found  # of very many labels, each copy of the parameters is 22 MB
        flat, step = rows.ravel(), np.empty_like(slope)
        step[:weights], step[pairs:biases] = flat[:weights], flat[weights:]
        step[weights:pairs] = self._pairs * slope[weights:pairs]
        step[biases:] = self._shared @ slope[biases:]
        return step
