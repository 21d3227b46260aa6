"""Tables as text for a terminal, as Markdown and as CSV. Knows no result."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from edgeret.terminal.console import table as aligned
from edgeret_bench.results.table import Table
from edgeret_bench.results.tables import measured


def printed(result: Mapping[str, Any]) -> str:
    """What a benchmark's command prints of its result."""
    return as_text(measured(result))


def as_text(found: Sequence[Table]) -> str:
    """Tables below each other, under their titles if there are several, with their notes."""
    parts = []
    for table in found:
        title = f"{table.title}\n" if len(found) > 1 else ""
        rows = [["yes" if c is True else "no" if c is False else c for c in row] for row in table.rows]
        parts.append(title + aligned(rows, table.header) + (f"\n\n{table.note}" if table.note else ""))
    return "\n\n".join(parts)


def to_markdown(found: Sequence[Table]) -> str:
    """All tables in Markdown."""
    lines: list[str] = []
    for table in found:
        lines += [f"## {table.title}", ""]
        if table.note:
            lines += ["  \n".join(table.note.splitlines()), ""]
        cells = [
            [f"**{cell_text(cell)}**" if (i, j) in table.best else cell_text(cell) for j, cell in enumerate(row)]
            for i, row in enumerate(table.rows)
        ]
        rows = [table.header, ["---"] * len(table.header), *cells]
        lines += ["| " + " | ".join(" ".join(str(c).split()).replace("|", "\\|") for c in row) + " |" for row in rows]
        lines.append("")
    return "\n".join(lines)


def to_csv(found: Sequence[Table]) -> str:
    """All tables as one CSV of (table, row, column, value), which every spreadsheet can pivot."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(("table", "row", "column", "value"))
    for table in found:
        for row in table.rows:
            for column, value in zip(table.header[1:], row[1:], strict=True):
                writer.writerow((table.title, row[0], column, "" if value is None else value))
    return stream.getvalue()


def cell_text(value: Any) -> str:
    """A cell for people: four decimals, a dash for nothing."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
