"""From held-out decisions to the floors that keep a risk: how probable an answer must be, so that at most that share of
answers is wrong. Conformal risk control; trains nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgeret_export.reference.scoring.calibration import RISKS

DEFAULT_RISK = 0.1
GIVEN_UP = 0.01
"""Of right answers, that the floor which ships may cost; who names a risk gets that risk, whatever it costs."""
LEAST = 0.1
"""The floor where nothing was held out that could say more."""


def floors(probability: NDArray[np.floating], right: NDArray[np.bool_]) -> NDArray[np.float32]:
    """The floor for each of RISKS, float32 (risks,), from every answer's probability, and whether it was right, both
    (answers,).

    The lowest floor at which (wrong + 1) / (answered + 1) is at most the risk: the bound of conformal risk control for
    an answer's loss, being wrong less the risk, of which there is 1 at most. It holds in the mean for decisions like
    those held out. Where so few cannot promise a risk, what is calibrated must: an answer then needs 1 - risk.
    """
    order = np.argsort(-probability, kind="stable")
    sorted_, wrong = probability[order], np.cumsum(~right[order])
    bound = (wrong + 1) / (np.arange(len(order)) + 2)
    last = np.append(np.diff(sorted_) < 0, True) if len(order) else np.zeros(0, bool)  # answers as probable go together
    found = []
    for risk in RISKS.tolist():
        kept = np.flatnonzero((bound <= risk) & last)
        found.append(float(sorted_[kept[-1]]) if len(kept) else 1 - risk)
    return np.minimum.accumulate(np.array(found, np.float32))


def shipped_floor(
    by_risk: NDArray[np.float32], probability: NDArray[np.floating], right: NDArray[np.bool_], risk: float | None
) -> float:
    """The floor that holds where nobody names one: that of the `risk`; without one, of DEFAULT_RISK, as far as it gives
    up no more than GIVEN_UP of right answers."""
    floor = float(by_risk[np.searchsorted(RISKS, (DEFAULT_RISK if risk is None else risk) + 1e-9) - 1])
    if risk is None and right.any():
        floor = min(floor, float(np.quantile(probability[right], GIVEN_UP)))
    return round(floor, 6)
