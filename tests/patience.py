"""How long tests wait for others. Whoever waits longer than this waits for something that does not come."""

from __future__ import annotations

PATIENCE_S = 180.0
"""Seconds. A process that starts in one of them takes twenty where other programs keep the cores busy."""
