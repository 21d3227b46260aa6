"""What was not there as it was asked for. Imports nothing of ours but what makes it a class."""

from __future__ import annotations

from typing import Literal

from edgeret.records import dataclass


@dataclass(frozen=True, slots=True)
class Degraded:
    """A `part` that others stood in for, and the `problem` in words. Without a "planner", which failed or had no time
    left, the heads decided; in the place of a "provider" that was lost the CPU encodes."""

    part: Literal["planner", "provider"]
    problem: str
