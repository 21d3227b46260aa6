"""What a choice of tools put first, until it is known what was called. Knows nothing of how tools are chosen."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from edgeret.adapters.metrics import Metrics

MOST_OPEN = 1000
"""Requests of which the next call is waited for; the one that was asked longest ago goes first."""


class Expected:
    """Thread-safe."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._lock = threading.Lock()
        self._open: OrderedDict[tuple[int, tuple[str, ...]], str] = OrderedDict()

    def hear(self, wanted: str, calls: Sequence[str]) -> None:
        """A request came whose user wants this, after these calls. Counts a call that followed one of its earlier
        steps and is another one than stood first there."""
        key = hash(wanted)
        with self._lock:
            for made in range(len(calls)):
                first = self._open.pop((key, tuple(calls[:made])), None)
                if first is not None and first != calls[made]:
                    self._metrics.corrected()

    def expect(self, wanted: str, calls: Sequence[str], first: str) -> None:
        """This tool was put first for the next call."""
        with self._lock:
            self._open[hash(wanted), tuple(calls)] = first
            while len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)
