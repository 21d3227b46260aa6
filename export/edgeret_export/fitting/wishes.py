"""Fits what several wishes and opposites weigh in the prior, with all its other weights held. Encodes nothing.

What a wish is for is a conditional logit over the wishes of requests that were joined of two. What is due, and
opposites, are added to the ranking, and what is left open to the end of plans, with all other evidence as it was: few
requests of any set say anything of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from edgeret_export.fitting.logit import DIGITS, PENALTY, conditional_logit
from edgeret_export.fitting.prior_sets import PriorSet, Request
from edgeret_export.reference.scoring.prior import PriorWeights, WishWeights
from edgeret_export.reference.scoring.reading import Reading

WISH = tuple(f.name for f in fields(WishWeights))
ADDED: Mapping[str, tuple[str, ...]] = {
    "tool": ("due", "opposed", "agrees"),
    "end": ("open", "open_clear", "answered"),
}
"""What is fitted here beside the block `wish`, by block."""
JOINED = 0.3
"""What a decision of a request counts that was joined of two, where the end of plans is fitted."""


def fit_wishes(sets: Sequence[PriorSet], weights: PriorWeights) -> PriorWeights:
    """The weights with what is fitted here in its place. Sets without joined requests leave it as it was."""
    if not any(request.joined for part in sets for request in part.requests):
        return weights
    weights = replace(weights, wish=_fit_wish(sets, weights))
    weights = replace(weights, tool=replace(weights.tool, **_fit_ranking(sets, weights)))
    return replace(weights, end=replace(weights.end, **_fit_end(sets, weights)))


def _fit_wish(sets: Sequence[PriorSet], weights: PriorWeights) -> WishWeights:
    """For every wish of two its tool against all others."""
    rows, targets = [], []
    for part in sets:
        prior = part.prior.weighing(weights)
        for request in part.requests:
            wishes = request.evidence.wishes() if request.joined and request.evidence.wishes else None
            if wishes is None or len(wishes.rows) != len(request.calls):
                continue
            found = Reading(prior, request.evidence).wish_features(wishes)
            features = np.stack([found[name] for name in WISH], axis=2)
            for row, call in zip(features, request.calls, strict=True):
                rows.append(np.delete(row, prior.end, axis=0))
                targets.append(np.delete(np.eye(1, prior.n, call, np.float32)[0], prior.end))
    return WishWeights(*conditional_logit(rows, targets, np.ones(len(rows)), [(0, None)] * len(WISH)))


def _histories(request: Request) -> list[tuple[tuple[int, ...], frozenset[int]]]:
    """Calls, and what may come next; of joined requests in the other order too, since plans go wrong there."""
    found = [(request.calls[:k], acceptable) for k, acceptable in enumerate(request.acceptable)]
    if request.joined:
        last = request.acceptable[-1]
        found += [(request.calls[:0:-1], frozenset(request.calls[:1])), (request.calls[::-1], last)]
    return found


def _fit_ranking(sets: Sequence[PriorSet], weights: PriorWeights) -> dict[str, float]:
    """Over all decisions of which what is fitted here says anything."""
    names = ADDED["tool"]
    blank = replace(weights, tool=replace(weights.tool, **dict.fromkeys(names, 0.0)))
    others = [f.name for f in fields(weights.tool) if f.name not in names]
    rows, targets, offsets = [], [], []
    for part in sets:
        prior = part.prior.weighing(blank)
        for request in part.requests:
            reading = Reading(prior, request.evidence)
            for calls, acceptable in _histories(request):
                found = reading.features(calls)
                if prior.end in acceptable or not any(found[name].any() for name in names):
                    continue
                left = np.ones(prior.n, bool)
                left[[prior.end, *(call for call in calls if call not in acceptable)]] = False
                truth = np.zeros(prior.n, np.float32)
                truth[list(acceptable)] = 1 / len(acceptable)
                rows.append(np.stack([found[name] for name in names], axis=1)[left])
                targets.append(truth[left])
                offsets.append(sum(getattr(weights.tool, name) * found[name] for name in others)[left])
    bounds = [(None, None) if name == "opposed" else (0, None) for name in names]
    return dict(zip(names, conditional_logit(rows, targets, np.ones(len(rows)), bounds, offsets), strict=True))


def _fit_end(sets: Sequence[PriorSet], weights: PriorWeights) -> dict[str, float]:
    """Over all decisions behind the first call of requests with several wishes."""
    names = ADDED["end"]
    blank = replace(weights, end=replace(weights.end, **dict.fromkeys(names, 0.0)))
    x, offsets, ends, counts = [], [], [], []
    for part in sets:
        prior = part.prior.weighing(blank)
        for request in part.requests:
            if request.evidence.wishes is None:
                continue
            reading = Reading(prior, request.evidence)
            for calls, acceptable in _histories(request):
                if not calls:
                    continue
                found = reading.end_features(reading.scores(calls).max().item(), calls)
                x.append([found[name] for name in names])
                offsets.append(sum(getattr(blank.end, name) * value for name, value in found.items()))
                ends.append(prior.end in acceptable)
                counts.append(JOINED if request.joined else 1.0)
    return dict(zip(names, _logistic(np.array(x), np.array(offsets), np.array(ends), np.array(counts)), strict=True))


def _logistic(
    x: NDArray[np.float64], offsets: NDArray[np.float64], truth: NDArray[np.bool_], counts: NDArray[np.float64]
) -> list[float]:
    """Weights of a logistic regression of features (n, features) whose logits start at `offsets` (n,)."""
    signs, share = np.where(truth, 1.0, -1.0), counts / counts.sum()

    def objective(found: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margins = signs * (offsets + x @ found)
        slope = -signs * share / (1 + np.exp(margins))
        loss = float(share @ np.logaddexp(0, -margins)) + PENALTY * float(found @ found)
        return loss, x.T @ slope + 2 * PENALTY * found

    best = minimize(objective, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B")
    return [round(float(weight), DIGITS) for weight in best.x]
