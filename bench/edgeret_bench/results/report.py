"""Result files to one report that anybody can open: figures and tables in a single HTML file, or Markdown, or CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeret.errors import InputError
from edgeret.terminal.console import check_place, write_whole
from edgeret_bench.results.headline import headline, headline_rows
from edgeret_bench.results.methods import methods_table
from edgeret_bench.results.search import Group, Row, Set, search_groups, search_rows, search_table
from edgeret_bench.results.tables import tables
from edgeret_bench.results.writing import to_csv, to_markdown

FORMATS = (".html", ".md", ".csv")


def write_report(results: Sequence[tuple[str, Mapping[str, Any]]], target: Path) -> dict[str, Any]:
    """Writes the report of named results; the target's ending chooses among FORMATS.

    Raises InputError for another ending or a place that cannot be written, MissingExtraError for HTML without plotly
    or jinja2.
    """
    if target.suffix not in FORMATS:
        raise InputError(f"{target}: a report ends in one of {', '.join(FORMATS)}, found '{target.suffix}'")
    check_place(target, "-o")
    found, rows, figures = [], [], []
    searched: list[tuple[Set, str, Row]] = []
    for name, result in results:
        try:
            found += tables(name, result)
            rows += headline_rows(name, result)
            searched += search_rows(name, result)
            if target.suffix == ".html":
                figures += _drawn(name, result)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, StopIteration) as error:
            raise InputError(
                f"{name}: not a whole result of '{result['kind']}' ({type(error).__name__}: {error}); measure it again"
            ) from None
    groups = search_groups(searched)
    found = [*map(search_table, groups), *found]
    short, methods = headline(rows, results), methods_table(results)
    if target.suffix == ".html":
        from edgeret_bench.results.page import page

        figures = [*_compared(groups), *figures]
        text = page(short, methods, figures, found, results)
    else:
        write = to_markdown if target.suffix == ".md" else to_csv
        text = write([*(table for table in (short, methods) if table.rows), *found])
    write_whole(target, text, "-o")
    return {"report": str(target), "results": len(results), "figures": len(figures), "tables": len(found)}


def _drawn(name: str, result: Mapping[str, Any]) -> list[Any]:
    from edgeret_bench.results.figures import figures  # only here, since Markdown and CSV need no plotly

    return [*figures(name, result)]


def _compared(groups: Sequence[Group]) -> list[Any]:
    from edgeret_bench.results.figures import search_figure
    from edgeret_bench.results.published_drawn import published_figure

    bars = [figure for group in groups if (figure := published_figure(group)) is not None]
    return [*(search_figure(group) for group in groups if group.points), *bars]
