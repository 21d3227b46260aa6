"""What a planner's model must be told before it is asked anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from edgeret.errors import BundleError
from edgeret.fields import get
from edgeret.planner.chat import CHAT_FORMATS, ChatFormat
from edgeret.quoting import quoted
from edgeret.records import dataclass


@dataclass(frozen=True, slots=True)
class PlannerSpec:
    """What a planner's model needs to be asked: its chat format, and the largest context it was trained for."""

    chat: ChatFormat
    context: int

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain data, for the manifest."""
        return asdict(self)

    @staticmethod
    def from_dict(value: Mapping[str, Any], where: str) -> PlannerSpec:
        """Reads the fields back. Raises BundleError."""
        chat = get(value, "chat", str, where)
        context = get(value, "context", int, where)
        known = next((c for c in CHAT_FORMATS if c == chat), None)
        if known is None or not 0 < context <= 1 << 24:
            raise BundleError(f"{where}: a planner with chat format {quoted(chat)} and a context of {context} tokens")
        return PlannerSpec(known, context)
