"""When a small encoder's decision stands, and when the large one is asked. Knows nothing of encoders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle.codec import get_array
from edgeret.errors import BundleError
from edgeret.fields import get_number
from edgeret.records import dataclass

AGAINST, ALONE = 0.5, 0.75
"""Where the tools' own words put another tool ahead by more than AGAINST, in log-odds, a small encoder's first decision
needs a second witness: its head must give it ALONE by itself, before graph and calibration. Held-out demonstrations, of
the same hands as the others, show no loss there, and requests of others do (docs/decisions)."""
LATER = 0.9
"""What a decision behind a call needs at least, for the same reason."""
_ROUNDING = 1e-6
"""What a loss of some thousandths may differ by once it was a float32."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The probability from which on a small encoder's decision stands, by the accuracy that this may cost at most:
    `losses` rise, `least` never do. NEVER is a probability that nothing has.

    Before any call a small encoder knows too few words that were never demonstrated: from the probability `nothing` of
    `<end>` on, the large one says whether anything fits; above `declines` nothing does.
    """

    NEVER: ClassVar[float] = 2.0

    losses: tuple[float, ...]
    least: tuple[float, ...]
    nothing: float = 1.0
    declines: float = NEVER

    def at(self, loss: float) -> float:
        """The probability that is needed where so much accuracy may be lost."""
        pairs = zip(self.losses, self.least, strict=True)
        allowed = [least for known, least in pairs if known <= loss + _ROUNDING]
        return min(allowed, default=self.NEVER)

    def to_dict(self) -> dict[str, Any]:
        """The thresholds as plain data, for the manifest."""
        return {
            "losses": np.array(self.losses, np.float32),
            "least": np.array(self.least, np.float32),
            "nothing": self.nothing,
            "declines": self.declines,
        }

    @staticmethod
    def from_dict(value: Mapping[str, Any], where: str) -> Thresholds:
        """Reads them back. Raises BundleError."""
        losses = get_array(value, "losses", "<f4", (None,), where)
        least = get_array(value, "least", "<f4", losses.shape, where)
        sound = bool((losses >= 0).all() and (np.diff(losses) > 0).all() and (least >= 0).all())
        if not sound or not bool((np.diff(least) <= 0).all()):
            raise BundleError(f"{where}: thresholds must rise in loss and fall in probability; build the bundle again")
        return Thresholds(
            tuple(losses.tolist()),
            tuple(least.tolist()),
            get_number(value, "nothing", 0.0, 1.0, where),
            get_number(value, "declines", 0.5, Thresholds.NEVER, where),
        )


def contradicted(words: NDArray[np.float32], best: int, end: int) -> bool:
    """Whether the tools' own `words`, log-odds in the order of what is decided between, put another tool than the
    `best` ahead by more than AGAINST; whether or not that one was demonstrated."""
    least = words.item(best) + AGAINST
    parts = (words[:end], words[end + 1 :])
    return any(len(tools) and tools.item(tools.argmax().item()) > least for tools in parts)
