"""The report's page: one HTML file with everything in it. What it looks like lies in `templates/report.html`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from edgeret.cli.pages import render
from edgeret.terminal.console import finite
from edgeret_bench.results.table import Table
from edgeret_bench.results.writing import cell_text


def page(
    short: Table,
    methods: Table,
    figures: Sequence[Any],
    found: Sequence[Table],
    results: Sequence[tuple[str, Mapping[str, Any]]],
) -> str:
    """The page's text: the headline, what the methods are, `edgeret_bench.results.figures.Figure`s, and tables. Raises
    MissingExtraError without jinja2."""
    from plotly.offline import get_plotlyjs

    created = sorted({str(result["created"]) for _, result in results})
    return render(
        "report.html",
        extra="edgeret-bench",
        needed_for="an HTML report",
        package="edgeret_bench.results",
        count=len(results),
        first=created[0],
        last=created[-1],
        machines=", ".join(sorted({str(result["environment"].get("cpu")) for _, result in results})),
        short=[(what, _brief(value), sure, name) for what, value, sure, name in short.rows],
        warnings=short.note.splitlines(),
        methods=methods.rows,
        figures=figures,
        tables=[(t.title, t.note, t.header, _bodies(t)) for t in found],
        drawings=[finite(json.loads(figure.drawing.to_json())) for figure in figures],
        plotly=get_plotlyjs(),
    )


def _bodies(table: Table) -> list[tuple[str, list[list[tuple[str | None, str, bool]]]]]:
    """The rows that were measured and those that are quoted, each with its class: every cell's number, text, and
    whether it is the best."""
    rows = [
        [(_number(cell), cell_text(cell), (i, j) in table.best) for j, cell in enumerate(row)]
        for i, row in enumerate(table.rows)
    ]
    measured = len(rows) - table.quoted
    return [(name, part) for name, part in (("measured", rows[:measured]), ("quoted", rows[measured:])) if part]


def _number(value: Any) -> str | None:
    """What a cell is sorted by, if it is a number."""
    return repr(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _brief(value: float) -> str:
    """Three digits, which is what a reader keeps in mind."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}" if value >= 1 else f"{value:.3f}"
