"""What a request finds of the tools that it is read among: the shape of a `Scorer`, for whoever it makes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from edgeret.runtime.history import History
from edgeret_export.reference.arrangement import Arrangement
from edgeret_export.reference.components import Components
from edgeret_export.reference.learning import Learned
from edgeret_export.reference.scoring.familiarity import Familiarity


class Arranged(Protocol):
    """A bundle's tools, arranged; `Scorer` says what each of these is."""

    components: Components
    learned: Learned
    labels: tuple[str, ...]
    names: tuple[str, ...]
    position: Mapping[str, int]
    end: int
    arranged: Arrangement

    @property
    def popularity(self) -> NDArray[np.float32]:
        """How much more often each of `names` was called than the prior expected."""

    @property
    def familiarity(self) -> Familiarity:
        """What requests are compared with."""

    def number(self, tool: str) -> int:
        """The label number of a tool."""

    def numbers(self, history: History) -> list[int]:
        """The label numbers of the calls so far."""

    def near(
        self, query: str, vector: NDArray[np.float32], allowed: NDArray[np.bool_] | None, also: NDArray[np.intp]
    ) -> NDArray[np.intp] | None:
        """Positions of what a query decides between; None for all."""
