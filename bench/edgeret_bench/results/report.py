"""Result files to one page that anybody can open: figures and tables in a single HTML file, or Markdown, or CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeret.cli.console import check_place, write_whole
from edgeret.errors import InputError
from edgeret_bench.results.page import render
from edgeret_bench.results.tables import Table, cell_text, tables

FORMATS = (".html", ".md", ".csv")


def write_report(results: Sequence[tuple[str, Mapping[str, Any]]], target: Path) -> dict[str, Any]:
    """Writes the report of named results; the target's ending chooses among FORMATS.

    Raises InputError for another ending or a place that cannot be written, MissingExtraError for HTML without plotly.
    """
    if target.suffix not in FORMATS:
        raise InputError(f"{target}: a report ends in one of {', '.join(FORMATS)}, found '{target.suffix}'")
    check_place(target, "-o")
    figures: list[Any] = []
    found: list[Table] = []
    for name, result in results:
        try:
            found += tables(name, result)
            if target.suffix == ".html":
                from edgeret_bench.results.figures import figures as draw

                figures += draw(name, result)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, StopIteration) as error:
            raise InputError(
                f"{name}: not a whole result of '{result['kind']}' ({type(error).__name__}: {error}); measure it again"
            ) from None
    if target.suffix == ".html":
        text = render(figures, found, results)
    else:
        text = to_markdown(found) if target.suffix == ".md" else to_csv(found)
    write_whole(target, text, "-o")
    return {"report": str(target), "results": len(results), "figures": len(figures), "tables": len(found)}


def to_markdown(found: Sequence[Table]) -> str:
    """All tables in Markdown."""
    lines: list[str] = []
    for table in found:
        lines += [f"## {table.title}", ""]
        if table.note:
            lines += [table.note, ""]
        rows = [table.header, ["---"] * len(table.header), *(map(cell_text, row) for row in table.rows)]
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
