"""A search drawn: what happened when, what a planner wrote, and what each step found; and beside it what would be
decided of the same words. One HTML file without scripts.

Queries, tools' names and a planner's words come from others; `pages` escapes all of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from pathlib import Path
from typing import Any

from edgeret.cli.pages import render
from edgeret.strategies.base import Found, Trace
from edgeret.terminal.console import write_whole
from edgeret.types import Explanation, Hit

_HEADS = ("rank", "tool", "share", "cosine", "needed for")


def draw_trace(explained: Explanation, found: Found, target: Path) -> None:
    """Writes the page. Raises InputError if `target` cannot be written, MissingExtraError without jinja2."""
    trace = found.trace
    wanted, steps = _wanted(found.hits), took(trace.to_dict())
    asked = f"; the planner was asked {trace.answers} times, {trace.tokens} tokens" if trace.answers else ""
    text = render(
        "trace.html",
        extra="html",
        needed_for="search --html",
        query=explained.query,
        explained=explained,
        facts=f"Strategy {trace.strategy}, {trace.ms:.1f} ms{asked}.",
        problem=None if trace.complete else trace.problem,
        heads=list(compress(_HEADS, wanted)),
        hits=[list(compress(_cells(rank, hit), wanted)) for rank, hit in enumerate(found.hits, 1)],
        events=list(zip(_bars(trace, steps), steps, trace.events, strict=True)),
    )
    write_whole(target, text, "--html")


def took(trace: Mapping[str, Any]) -> list[float]:
    """Milliseconds that each event of a trace took, as plain data: it is written down when it is over, and began when
    the one before it was."""
    ends = [min(event["ms"], trace["ms"]) for event in trace["events"]]
    return [max(0.0, end - begin) for begin, end in zip([0.0, *ends], ends, strict=False)]


def _wanted(hits: Sequence[Hit]) -> tuple[bool, ...]:
    """Which of `_HEADS` say something of any hit."""
    shared, needed = any(hit.share is not None for hit in hits), any(hit.needed_for for hit in hits)
    return (True, True, shared, True, needed)


def _cells(rank: int, hit: Hit) -> tuple[str, ...]:
    share = "" if hit.share is None else f"{hit.share:.3f}"
    return (str(rank), hit.tool, share, f"{hit.similarity:.3f}", hit.needed_for or "")


def _bars(trace: Trace, steps: Sequence[float]) -> list[tuple[str, str]]:
    """Where each event's bar begins and how wide it is, in per cent of the whole time."""
    whole = max(trace.ms, 1e-9)
    ends = [min(event.ms, trace.ms) for event in trace.events]
    return [(f"{100 * (end - ms) / whole:.2f}", f"{100 * ms / whole:.2f}") for end, ms in zip(ends, steps, strict=True)]
