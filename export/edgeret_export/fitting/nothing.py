"""Fits the weights of "no tool fits" from tools alone, on other people's requests and sayings. Encodes nothing.

A logistic regression over first decisions. What people say that no tool fits is not what was collected to test tools:
the shares of the kinds are set here, and not by how many there are of each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from math import sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from edgeret_export.reference.scoring.nothing import NothingWeights
from edgeret_export.reference.scoring.prior import Evidence, Prior, PriorWeights
from edgeret_export.reference.scoring.reading import Reading

Size = Literal["few", "some", "many"]
NOTHING = tuple(f.name for f in fields(NothingWeights))
AGAINST = frozenset(("best", "cosine", "window", "name", "explained"))
"""Evidence that a tool fits: a weight that says the opposite would be an accident of the sets."""
EITHER = frozenset(("constant", "tools", "words"))
"""Evidence that may say either; all other evidence speaks for "no tool fits"."""
SHARE = 0.48
"""Of what is said to one tool: nothing tells it but what one wrong call is to cost beside one that is not made. With a
constant share of all sizes, as many requests to forty tools were declined as to one."""
OF_SAYINGS = 0.9
"""Of what fits none of a few tools, the share of sayings that were asked of the tools nearest to them. The others are
requests for another tool, which tell nothing of how people put what no tool is for; with equal shares half as many
questions about a tool's subject were declined."""
SMOOTH = 2e-3
"""Penalty of squared weights of scaled evidence, per decision."""
DIGITS = 5


def nothing_share(tools: int) -> float:
    """The share of requests that no tool fits, among what is said to so many tools: SHARE of what is said to one, and
    less with the root of their number, since whoever gives an assistant many tools asks for what they do."""
    return SHARE / sqrt(max(1, tools))


@dataclass(frozen=True, slots=True)
class NothingSet:
    """Tools arranged as the runtime does, with `requests` that one of them fits and `strangers` that none does. `group`
    names the source; `sayings` of nobody's tools were asked of those nearest to them."""

    group: str
    size: Size
    prior: Prior
    requests: tuple[Evidence, ...]
    strangers: tuple[Evidence, ...]
    sayings: bool = False


def fit_nothing(sets: Sequence[NothingSet], weights: PriorWeights) -> NothingWeights:
    """The weights that go with these weights of tools. Sources count the same, and so do sizes. Raises ValueError
    without requests, or without strangers."""
    rows, fits, kinds, shares = [], [], [], []
    for part in sets:
        share = nothing_share(part.prior.n - 1)
        for row, fit in _rows(part, weights):
            rows.append(row)
            fits.append(fit)
            kinds.append(("", "few", False, True) if part.sayings else (part.group, part.size, fit, False))
            shares.append(1 - share if fit else share)
    if not any(fits) or all(fits):
        raise ValueError("no requests that a tool fits, or none that no tool fits, to fit the prior on")
    counts = Counter(kinds)
    few = sum(size == "few" and not fit and not sayings for _, size, fit, sayings in counts)
    if few and counts[("", "few", False, True)]:
        scale = {True: OF_SAYINGS * few, False: 1 - OF_SAYINGS}
    else:
        scale = {True: 1.0, False: 1.0}
    of_kind = {
        kind: (scale[kind[3]] if kind[1] == "few" and not kind[2] else 1.0) / count for kind, count in counts.items()
    }
    weight = np.array([of_kind[kind] * share for kind, share in zip(kinds, shares, strict=True)])
    return NothingWeights(*_logistic(np.array(rows), ~np.array(fits), weight / weight.sum()))


def _rows(part: NothingSet, weights: PriorWeights) -> Iterator[tuple[list[float], bool]]:
    """The evidence of every first decision, and whether a tool fits."""
    prior = part.prior.weighing(weights)
    for asked, fit in ((part.requests, True), (part.strangers, False)):
        for evidence in asked:
            reading = Reading(prior, evidence)
            found = reading.nothing_features(reading.scores(()).max().item())
            yield [found[name] for name in NOTHING], fit


def _logistic(x: NDArray[np.float64], nothing: NDArray[np.bool_], weight: NDArray[np.float64]) -> list[float]:
    """Weights of evidence (decisions, evidence), the first of which is the constant, with the signs that they may
    have."""
    mean, scale = x.mean(axis=0), x.std(axis=0) + 1e-9
    mean[0], scale[0] = 0.0, 1.0
    scaled, sign = (x - mean) / scale, np.where(nothing, 1.0, -1.0)
    penalty = np.full(x.shape[1], SMOOTH)
    penalty[0] = 0.0

    def objective(found: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margin = sign * (scaled @ found)
        loss = float(weight @ np.logaddexp(0, -margin)) + float(penalty @ found**2)
        slope = -sign * weight / (1 + np.exp(margin))
        return loss, scaled.T @ slope + 2 * penalty * found

    bounds = [(None, None) if name in EITHER else (None, 0) if name in AGAINST else (0, None) for name in NOTHING]
    best = minimize(objective, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds).x / scale
    best[0] -= best[1:] @ mean[1:]
    return [round(float(value), DIGITS) for value in best]
