"""What every strategy of tool search keeps to. Knows nothing of any one of them."""

from __future__ import annotations

from typing import Protocol

from edgeret.encoders.base import Encoder
from edgeret.scoring.index import Index
from edgeret.types import Hit


class Strategy(Protocol):
    """A way from a request to a ranking of tools."""

    def __call__(self, request: str, k: int, encoder: Encoder, index: Index) -> list[Hit]:
        """The `k` tools that fit best, best first; all tools if `k` is more."""
