"""What the library found for a step, as Python looks at it. Calls nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeret.core.library import DECISION, SECONDS, STAGES


class Step(NamedTuple):
    """What the library found for one step: `er_decision`. `tool` and `best` are numbers of tools, -1 for the end and
    for none."""

    tool: int
    tool_at: int
    tool_length: int
    probability: float
    reason: int
    abstained: int
    confirm: int
    named: int
    stage: int
    demonstrated: int
    floor: float
    best_at: int
    best_length: int
    best: int
    parts: int
    told: bytes
    """All of it as the library wrote it, and behind it the times, and the probabilities."""

    @property
    def values(self) -> NDArray[np.float32]:
        """Probabilities of all tools by number and of the end behind them, float32 (tools + 1,)."""
        return np.frombuffer(self.told, np.float32, offset=DECISION.size + SECONDS.size)


class Times(Mapping[str, float]):
    """Milliseconds by stage since the task began or decided last, of those that took any, and their `total`; worked out
    when somebody looks."""

    __slots__ = ("_found", "_told")

    def __init__(self, told: bytes) -> None:
        """Of a step, as the library wrote it."""
        self._told = told
        self._found: dict[str, float] | None = None

    def _all(self) -> dict[str, float]:
        if self._found is None:
            _, *seconds = SECONDS.unpack_from(self._told, DECISION.size)
            found = {stage: passed * 1e3 for stage, passed in zip(STAGES, seconds, strict=True) if passed}
            found["total"] = sum(found.values())
            self._found = found
        return self._found

    def __getitem__(self, stage: str) -> float:
        """Of one stage."""
        return self._all()[stage]

    def __iter__(self) -> Iterator[str]:
        """The stages, in order."""
        return iter(self._all())

    def __len__(self) -> int:
        """How many there are."""
        return len(self._all())

    def __repr__(self) -> str:
        """As the dictionary's."""
        return repr(self._all())

    def __reduce__(self) -> tuple[type[dict[str, float]], tuple[dict[str, float]]]:
        """Copied, pickled and sent as the dictionary."""
        return dict, (self._all(),)
