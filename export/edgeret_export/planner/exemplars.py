"""Picks the demonstrations that travel in a bundle for prompts to show: few, short, and every tool among them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from edgeret.inputs.demonstrations import Demonstration

PER_TOOL = 4
"""Demonstrations that use a tool, where there are so many; prompts show five at most."""
_WORKED_CALLS = (2, 3)
_WORKED_CHARS = 120


def pack_exemplars(demonstrations: Sequence[Demonstration]) -> bytes:
    """JSON for the role `examples`: two worked examples first, then demonstrations that cover the tools.

    Worked examples stand in every prompt, so they are plans of two or three different calls in about a line of words.
    """
    plans = [d for d in demonstrations if d.calls]
    short = sorted(plans, key=lambda d: (not _worked(d), abs(len(d.query) - _WORKED_CHARS), d.id))
    worked = short[:1]
    used = {call.tool for d in worked for call in d.calls}
    worked += [d for d in short[1:] if _worked(d) and used.isdisjoint(call.tool for call in d.calls)][:1] or short[1:2]
    shown: Counter[str] = Counter()
    chosen = []
    for demonstration in sorted(plans, key=lambda d: (len(d.query), d.id)):
        tools = {call.tool for call in demonstration.calls}
        if any(shown[tool] < PER_TOOL for tool in tools):
            shown.update(tools)
            chosen.append(demonstration)
    listed = [
        {"query": d.query, "calls": [{"tool": c.tool, "arguments": dict(c.arguments)} for c in d.calls]}
        for d in (*worked, *chosen)
    ]
    return json.dumps(listed, ensure_ascii=False, separators=(",", ":")).encode()


def _worked(demonstration: Demonstration) -> bool:
    names = [call.tool for call in demonstration.calls]
    return len(names) in _WORKED_CALLS and len(set(names)) == len(names)
