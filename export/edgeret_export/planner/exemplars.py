"""Picks the exemplars that travel in a bundle for prompts to show: few, short, and every tool among them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from edgeret.inputs.demonstrations import Demonstration
from edgeret.planner.exemplars import MAX_BYTES, MAX_EXEMPLARS, Exemplar

PER_TOOL = 4
"""Demonstrations that use a tool, where there are so many; prompts show five at most."""
_CONSTANT_CALLS = (2, 3)
_CONSTANT_CHARS = 120


def choose_exemplars(demonstrations: Sequence[Demonstration]) -> list[Exemplar]:
    """Two for the constant part of every prompt, then demonstrations that cover the tools, the shortest first.

    Those of the constant part are plans of two or three different calls in about a line of words.
    """
    plans = [d for d in demonstrations if d.calls]
    short = sorted(plans, key=lambda d: (not _is_plain(d), abs(len(d.query) - _CONSTANT_CHARS), d.id))
    constant = short[:1]
    used = {call.tool for d in constant for call in d.calls}
    others = [d for d in short[1:] if _is_plain(d) and used.isdisjoint(call.tool for call in d.calls)]
    constant += others[:1] or short[1:2]
    shown: Counter[str] = Counter()
    chosen = []
    for demonstration in sorted(plans, key=lambda d: (len(d.query), d.id)):
        tools = {call.tool for call in demonstration.calls}
        if any(shown[tool] < PER_TOOL for tool in tools):
            shown.update(tools)
            chosen.append(demonstration)
    return [Exemplar(d.query, d.calls) for d in (*constant, *chosen)]


def _is_plain(demonstration: Demonstration) -> bool:
    names = [call.tool for call in demonstration.calls]
    return len(names) in _CONSTANT_CALLS and len(set(names)) == len(names)


def pack_exemplars(exemplars: Sequence[Exemplar]) -> bytes:
    """The JSON of a file with the role `exemplars`: as many of them, from the first on, as a reader takes."""
    entries, room = [], MAX_BYTES - 2
    for exemplar in exemplars[:MAX_EXEMPLARS]:
        calls = [{"tool": call.tool, "arguments": dict(call.arguments)} for call in exemplar.calls]
        entry = json.dumps(
            {"query": exemplar.query, "calls": calls}, ensure_ascii=False, separators=(",", ":")
        ).encode()
        room -= len(entry) + 1
        if room < 0:
            break
        entries.append(entry)
    return b"[" + b",".join(entries) + b"]"
