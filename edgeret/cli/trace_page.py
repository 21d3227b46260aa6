"""A search drawn: what happened when, what a planner wrote, and what each step found; and beside it what would be
decided of the same words. One HTML file without scripts.

Queries, tools' names and a planner's words come from others; `pages` escapes all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from edgeret.cli.console import write_whole
from edgeret.cli.pages import render
from edgeret.strategies.base import Event, Found
from edgeret.types import Explanation


def draw_trace(explained: Explanation, found: Found, target: Path) -> None:
    """Writes the page. Raises InputError if `target` cannot be written, MissingExtraError without jinja2."""
    trace = found.trace
    asked = f"; the planner was asked {trace.answers} times, {trace.tokens} tokens" if trace.answers else ""
    text = render(
        "trace.html",
        extra="html",
        needed_for="search --html",
        query=explained.query,
        explained=explained,
        facts=f"Strategy {trace.strategy}, {trace.ms:.1f} ms{asked}.",
        problem=None if trace.complete else trace.problem,
        hits=[(rank, hit.tool, f"{hit.similarity:.3f}") for rank, hit in enumerate(found.hits, 1)],
        events=list(zip(_bars(trace.events, trace.ms), trace.events, strict=True)),
    )
    write_whole(target, text, "--html")


def _bars(events: Sequence[Event], ms: float) -> list[tuple[str, str]]:
    """Where each event's bar begins and how wide it is, in per cent of the whole time: an event is written down when it
    is over, and began when the one before it was."""
    ends = [min(event.ms, ms) for event in events]
    whole = max(ms, 1e-9)
    pairs = zip([0.0, *ends], ends, strict=False)
    return [(f"{100 * begin / whole:.2f}", f"{100 * max(0.0, end - begin) / whole:.2f}") for begin, end in pairs]
