"""Fits what kinds of values weigh, with all other weights held: in search by itself, and for the next function by one
factor. Encodes nothing.

Few sets hold each kind, and some none: a kind's weight is drawn to what all kinds weigh together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, fields, replace

import numpy as np
from numpy.typing import NDArray

from edgeret_export.fitting.logit import conditional_logit
from edgeret_export.fitting.prior_sets import PriorSet, Request
from edgeret_export.reference.scoring.prior import PriorWeights, ValueWeights
from edgeret_export.reference.scoring.reading import Reading
from edgeret_export.reference.scoring.relevance import relevance

OWN = 0.3
"""Of a kind's own column beside that of all kinds: the less, the more of its weight is that of all."""
KIND = tuple(f.name for f in fields(ValueWeights))
NO_VALUES = ValueWeights(*[0.0] * len(KIND))


def fit_values(sets: Sequence[PriorSet], weights: PriorWeights) -> PriorWeights:
    """The weights with what is fitted here in its place. Sets without values leave it as it was."""
    if not any(request.evidence.values for part in sets for request in part.requests):
        return weights
    weights = replace(weights, values=_fit_search(sets, weights))
    if not any(astuple(weights.values)):
        return weights
    return replace(weights, tool=replace(weights.tool, values=_fit_factor(sets, weights)))


def _fit_search(sets: Sequence[PriorSet], weights: PriorWeights) -> ValueWeights:
    """Each tool that a request needs against all that it does not need, as the block `search` is fitted."""
    weights = replace(weights, values=NO_VALUES)
    rows, targets, offsets, counts = [], [], [], []
    for part in sets:
        for request in part.requests:
            if request.joined or request.evidence.values is None or not request.calls:
                continue
            needed, end = sorted(set(request.calls)), part.prior.end
            spread = _spread(request, part.prior.n)
            scores = relevance(request.evidence, request.similar, part.prior.vectors, weights)
            others = np.delete(np.arange(part.prior.n), [*needed, end])
            for call in needed:
                chosen = np.concatenate(([call], others))
                rows.append(spread[chosen])
                targets.append(np.eye(1, len(chosen), dtype=np.float32)[0])
                offsets.append(scores[chosen])
                counts.append(1 / len(needed))
    found = conditional_logit(rows, targets, np.array(counts), [(None, None)] * (1 + len(KIND)), offsets)
    return ValueWeights(*(round(max(0.0, found[0] + OWN * own), 5) for own in found[1:]))


def _spread(request: Request, n: int) -> NDArray[np.float32]:
    """What speaks for every tool by all kinds together and by each: float32 (n, 1 + kinds)."""
    found = np.zeros((n, 1 + len(KIND)), np.float32)
    assert request.evidence.values is not None
    for kind, row in zip(request.evidence.values.kinds, request.evidence.values.takes, strict=True):
        found[:, 0] += row
        found[:, 1 + kind] = OWN * row
    return found


def _fit_factor(sets: Sequence[PriorSet], weights: PriorWeights) -> float:
    """What all together weighs for the next function, over all decisions of requests that hold a value."""
    blank = replace(weights, tool=replace(weights.tool, values=0.0))
    rows, targets, offsets = [], [], []
    for part in sets:
        prior = part.prior.weighing(blank)
        for request in part.requests:
            if request.joined or request.evidence.values is None:
                continue
            reading, valued = Reading(prior, request.evidence), request.evidence.values.weighed(weights.values)
            for k, acceptable in enumerate(request.acceptable):
                if prior.end in acceptable:
                    continue
                left = np.ones(prior.n, bool)
                left[[prior.end, *(call for call in request.calls[:k] if call not in acceptable)]] = False
                truth = np.zeros(prior.n, np.float32)
                truth[list(acceptable)] = 1 / len(acceptable)
                rows.append(valued[left][:, None])
                targets.append(truth[left])
                offsets.append(reading.scores(request.calls[:k])[left])
    return conditional_logit(rows, targets, np.ones(len(rows)), [(0, None)], offsets)[0]
