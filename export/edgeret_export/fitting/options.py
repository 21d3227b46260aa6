"""How fits may be told to go about it. Plain data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HeadOptions:
    """`inverse_regularisation` is scikit-learn's C, the least that is tried; `history_scale` the weight a of history
    features beside the query's unit vector, `label_smoothing` the share of the target spread over all labels."""

    inverse_regularisation: float = 5.0
    history_scale: float = 0.5
    label_smoothing: float = 0.02
