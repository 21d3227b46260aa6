"""First decisions as the runtime makes them, on plans that heads had not seen: the probability that nothing fits, what
that costs, and how probable answers must be. Fits no head.

`nothing` is an array over all held-out decisions (rows,): NaN behind a call.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret_export.fitting.familiarity import Edge, means_of
from edgeret_export.fitting.risk import floors, shipped_floor
from edgeret_export.fitting.training_set import TrainingSet
from edgeret_export.reference.scoring.calibration import CalibrationParameters
from edgeret_export.reference.scoring.familiarity import Familiarity

LOST, STEP, STEPS = 0.03, 1.005, 30
"""Share of held-out requests that a tool fits which may be declined; the edge moves out by steps until that holds."""
FAR = 0.25
"""Share of held-out decisions, the furthest from what the heads had seen, that a risk is kept for too: other people's
words are as far."""


def settle(
    edge: Edge, training: TrainingSet, held: TrainingSet, fused: NDArray[np.float64]
) -> tuple[Edge, NDArray[np.float64], NDArray[np.float64]]:
    """The edge, moved out where decisions lose more than LOST to distance: words that no demonstration has, and tools
    that share what is left, decline too. With it `nothing`, and what was `fused` (rows, n) if something fits."""
    end = len(held.decisions.labels) - 1
    asked = held.decisions.first() & ~held.decisions.acceptable()[:, end]
    alone = fused.copy()
    alone[:, end] = 0  # without what heads know of requests that no tool fits
    given = _if_something_fits(fused, _nothing(edge, training, held, alone), end)
    for _ in range(STEPS if asked.any() else 0):
        nothing = _nothing(edge, training, held, alone)
        if (nothing > (1 - nothing) * given.max(axis=1))[asked].mean() <= LOST:
            break
        edge = replace(edge, edge=round(edge.edge * STEP, 6))
    nothing = _nothing(edge, training, held, fused)
    return edge, nothing, given


def _nothing(edge: Edge, training: TrainingSet, held: TrainingSet, fused: NDArray[np.float64]) -> NDArray[np.float64]:
    """The probability that no tool fits (rows,), as the runtime has it before any call; NaN behind one."""
    means, end = means_of(training), len(held.decisions.labels) - 1
    first = held.decisions.first()
    familiarity = Familiarity(means, edge.edge)
    fits = edge.fits(edge.plans[held.decisions.plan[first]])
    if held.prior.steps is not None:
        ends = held.prior.steps[first, end].astype(np.float64)
        fits += familiarity.strange(fused.shape[1] - 1) * np.exp(np.minimum(-ends, 60)) * -np.expm1(ends)
    shown = fused[first, end] if means.no_tool else np.zeros(len(fits))
    odds = familiarity.unknown / np.maximum(fits, 1e-30) + shown / np.maximum(1 - shown, 1e-30)
    found = np.full(len(fused), np.nan)
    found[first] = odds / (1 + odds)
    return found


def of_sayings(training: TrainingSet, edge: Edge) -> NDArray[np.float64]:
    """The probability that no tool fits each of the sayings (sayings,), in the mean of the folds."""
    familiarity = Familiarity(means_of(training), edge.edge)
    fits = edge.fits(edge.sayings)
    found: NDArray[np.float64] = (familiarity.unknown / (familiarity.unknown + fits)).mean(axis=0)
    return found


def _if_something_fits(fused: NDArray[np.float64], nothing: NDArray[np.float64], end: int) -> NDArray[np.float64]:
    """The same without `<end>` before any call, where `nothing` is no NaN; the tools then share what it had."""
    found, first = fused.copy(), ~np.isnan(nothing)
    found[first, end] = 0.0
    found[first] /= np.maximum(found[first].sum(axis=1, keepdims=True), 1e-30)
    return found


def with_nothing(given: NDArray[Any], nothing: NDArray[np.float64], end: int) -> NDArray[Any]:
    """The opposite, with the probability that nothing fits in its place."""
    found, first = given.copy(), ~np.isnan(nothing)
    found[first] *= (1 - nothing[first, None]).astype(given.dtype)
    found[first, end] = nothing[first]
    return found


@dataclass(frozen=True, slots=True)
class Answers:
    """The best candidate of every held-out decision (rows,): its probability, whether it is right, whether it `ends`
    the plan, and how far the request is from what the heads had seen."""

    probability: NDArray[np.floating]
    right: NDArray[np.bool_]
    ends: NDArray[np.bool_]
    distance: NDArray[np.float64]

    def with_floors(
        self,
        calibration: CalibrationParameters,
        nothing: NDArray[np.float64],
        unfit: NDArray[np.bool_],
        risk: float | None,
    ) -> tuple[CalibrationParameters, dict[str, float]]:
        """The floors by risk, before any call and behind one, and the one that ships; with what that does to first
        decisions but those that no tool fits (`unfit`): the shares `answered`, `wrong` of these, and `given_up` of
        right ones. Floors by risk hold for all, and for the share FAR of decisions whose requests are furthest: other
        people's words are."""
        probability, right, first = self.probability, self.right, ~np.isnan(nothing)
        asked, answered = first & ~unfit, first & ~self.ends
        far = self.distance >= np.nanquantile(self.distance, 1 - FAR)
        every = ~np.isnan(self.distance)
        before, behind = (
            np.maximum(*(floors(probability[rows & which], right[rows & which]) for which in (far, every)))
            for rows in (answered, ~first)
        )
        usual = floors(probability[answered], right[answered]) if risk is None else before
        floor = shipped_floor(usual, probability[answered], right[answered], risk)
        taken = asked & answered & (probability >= floor)
        told = {
            "min_probability": floor,
            "answered": round(float(taken.sum() / max(1, asked.sum())), 5),
            "wrong": round(float((taken & ~right).sum() / max(1, taken.sum())), 5),
            "given_up": round(float((asked & right & ~taken).sum() / max(1, (asked & right).sum())), 5),
        }
        kept = replace(calibration, first_floors=tuple(before.tolist()), later_floors=tuple(behind.tolist()))
        return replace(kept, min_probability=floor), told
