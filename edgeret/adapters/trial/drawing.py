"""A session's moment as lines of a terminal, whatever its width. Strangers' words go through `visible`, and are
measured in cells: a Chinese sign or an emoji takes two."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from edgeret import END
from edgeret.adapters.trial.views import Details, View
from edgeret.quoting import visible

EIGHTHS = " ▏▎▍▌▋▊▉"
PROBABILITY = 5
"""Cells of a probability, such as 0.873."""
LONGEST = 300
"""Characters of one name or value that are shown."""


def candidates(view: View, chosen: int, width: int, height: int) -> Text:
    """The rows around the chosen one, each a mark, a name, a bar and a probability, in `width` cells."""
    above = top(view, chosen, height)
    rows = view.rows[above : above + height]
    names = [fitted(view.label(row.tool), LONGEST) for row in rows]
    room = max(1, width - PROBABILITY - 6)
    for_names = min(max(map(cell_len, names), default=0), max(8, width // 2), room)
    for_bars = room - for_names
    lines = Text(no_wrap=True, overflow="crop")
    for number, (name, row) in enumerate(zip(names, rows, strict=True), above):
        mark = "▸ " if number == chosen else "  "
        style = "bold reverse" if number == chosen else "bold" if number == view.proposed else ""
        if lines:
            lines.append("\n")
        lines.append(mark)
        lines.append(fitted(name, for_names, pad=True), style)
        lines.append("  ")
        lines.append(bar(row.probability, for_bars), "yellow" if row.tool == END else "green")
        lines.append(f"  {row.probability:.3f}")
    return lines


def top(view: View, chosen: int, height: int) -> int:
    """The first row that is shown of more than `height`."""
    return max(0, min(chosen - height // 2, len(view.rows) - height))


def bar(share: float, width: int) -> str:
    """A share of 0 to 1 as a bar in `width` cells, exact to an eighth."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (EIGHTHS[rest] if rest else "")).ljust(width)


def fitted(text: str, width: int, pad: bool = False) -> str:
    """A stranger's words on one line of at most `width` cells; with `pad`, of exactly so many."""
    text = visible(" ".join(text[: 4 * LONGEST].split()))
    if cell_len(text) > width:
        text = set_cell_size(text, max(0, width - 1)) + "…"
    return set_cell_size(text, width) if pad else text


def plan(view: View) -> str:
    """The calls so far, and how the plan ended."""
    steps = [
        f"{number} {fitted(step.tool, LONGEST)}" + (" (corrected)" if step.corrected else "")
        for number, step in enumerate(view.steps, 1)
    ]
    if view.finished:
        steps.append(view.label(END))
    return " → ".join(steps)


def details(found: Details) -> Text:
    """Why a row has its probability, its call's arguments, and what is missing for it."""
    lines = Text()
    for name, value, sure, source in found.arguments:
        lines.append(f"{fitted(name, LONGEST)} ", "bold")
        lines.append(f"{fitted(value, LONGEST)}  {sure:.2f}, {source}\n")
    for question in found.missing:
        lines.append("missing ", "bold yellow")
        lines.append(f"{fitted(question, LONGEST)}\n")
    if found.arguments or found.missing:
        lines.append("\n")
    lines.append("\n".join(visible(line) for line in found.why))
    return lines


def state(view: View, notes: Sequence[str]) -> str:
    """The time of the decision, and counts."""
    told = []
    if view.ms is not None and view.p50 is not None:
        told.append(f"{view.ms:.2f} ms (p50 {view.p50:.2f})")
    told.append(f"{view.tools} tools")
    if view.learned:
        told.append(f"{view.learned} learned")
    if view.tried:
        told.append(f"{view.tried} tried" + (f", {view.unwritten} not written" if view.unwritten else ""))
    return visible(" · ".join((*told, *notes)))
