"""The page: one HTML file with everything in it, light or dark as the reader's system is, and made for small screens
too. It loads nothing from anywhere."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from edgeret.cli.console import finite
from edgeret_bench.results.tables import Table, cell_text

_STYLE = """
:root { color-scheme: light dark;
  --ink: #1c1e21; --paper: #ffffff; --faint: #6b7178; --line: #d9dce0; --shade: #f4f5f7 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e7e9; --paper: #15171a; --faint: #9aa0a8; --line: #34383e; --shade: #1e2125 }
}
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 72rem; padding: 1rem; color: var(--ink); background: var(--paper);
       font: 16px/1.5 system-ui, sans-serif }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin: 2rem 0 .25rem; overflow-wrap: anywhere }
p { color: var(--faint); margin: .25rem 0 .75rem; overflow-wrap: anywhere }
nav a { display: inline-block; margin-right: 1rem }
a { color: inherit }
.plot { width: 100%; height: 24rem }
.scroll { overflow-x: auto }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; min-width: 50% }
th, td { padding: .3rem .7rem; text-align: right; border-bottom: 1px solid var(--line); max-width: 32rem;
         overflow-wrap: anywhere }
th:first-child, td:first-child, td.text { text-align: left }
th { cursor: pointer; background: var(--shade); white-space: nowrap }
th[aria-sort=ascending]::after { content: " ↑" } th[aria-sort=descending]::after { content: " ↓" }
"""
_SCRIPT = """
const errors = [];
addEventListener('error', event => {
  errors.push(event.message);
  document.documentElement.dataset.errors = errors.join('; ');
});
const palette = ['#4878d0', '#ee854a', '#6acc64', '#d65f5f', '#956cb4', '#8c613c', '#dc7ec0', '#a0a000', '#82c6e2'];
function theme() {
  const style = getComputedStyle(document.documentElement);
  const ink = style.getPropertyValue('--ink').trim(), line = style.getPropertyValue('--line').trim();
  const axis = { gridcolor: line, zerolinecolor: line, linecolor: line, automargin: true };
  return { ink, axis };
}
function draw(id, figure) {
  const { ink, axis } = theme();
  const layout = { ...figure.layout, paper_bgcolor: 'rgba(0,0,0,0)', plot_bgcolor: 'rgba(0,0,0,0)', colorway: palette,
    font: { color: ink, family: 'system-ui, sans-serif' }, margin: { t: 16, r: 16, b: 48, l: 56 },
    legend: { orientation: 'h', y: -0.2 },
    xaxis: { ...figure.layout.xaxis, ...axis }, yaxis: { ...figure.layout.yaxis, ...axis } };
  Plotly.react(id, figure.data, layout, { responsive: true, displayModeBar: false });
}
const drawings = JSON.parse(document.getElementById('drawings').textContent);
function drawAll() {
  drawings.forEach((figure, i) => draw('plot' + i, figure));
  document.documentElement.dataset.drawn = drawings.length;
}
drawAll();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
document.querySelectorAll('th').forEach(head => head.addEventListener('click', () => {
  const table = head.closest('table'), body = table.tBodies[0], column = head.cellIndex;
  const falling = head.getAttribute('aria-sort') === 'ascending';
  const key = row => row.cells[column].dataset.value ?? row.cells[column].textContent;
  const order = (a, b) => { const [x, y] = [key(a), key(b)], [m, n] = [Number(x), Number(y)];
    return Number.isNaN(m) || Number.isNaN(n) ? x.localeCompare(y) : m - n; };
  const rows = [...body.rows].sort((a, b) => falling ? order(b, a) : order(a, b));
  table.querySelectorAll('th').forEach(other => other.removeAttribute('aria-sort'));
  head.setAttribute('aria-sort', falling ? 'descending' : 'ascending');
  body.append(...rows);
}));
"""


def render(figures: Sequence[Any], found: Sequence[Table], results: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """The page's text, from `edgeret_bench.results.report.figures.Figure`s and tables."""
    from plotly.offline import get_plotlyjs

    drawings = json.dumps([finite(json.loads(f.drawing.to_json())) for f in figures], ensure_ascii=False)
    sections = [
        f'<section><h2 id="f{i}">{escape(f.title)}</h2><p>{escape(f.caption)}</p>'
        f'<div class="plot" id="plot{i}"></div></section>'
        for i, f in enumerate(figures)
    ]
    sections += [_table(i, table) for i, table in enumerate(found)]
    measured = sorted({str(result["created"]) for _, result in results})
    machines = sorted({str(result["environment"].get("cpu")) for _, result in results})
    intro = (
        f"{len(results)} results, measured {measured[0]} to {measured[-1]} on {', '.join(machines)}. "
        "Click a column's head to sort by it. Times from different machines, or hours, do not compare."
    )
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>edgeret: measured</title><style>{_STYLE}</style></head><body>",
            f"<h1>edgeret: measured</h1><p>{escape(intro)}</p>",
            *(['<nav><a href="#f0">Figures</a><a href="#t0">Tables</a></nav>'] if figures else []),
            *sections,
            f'<script type="application/json" id="drawings">{_inside_script(drawings)}</script>',
            f"<script>{_inside_script(get_plotlyjs(), code=True)}</script>",
            f"<script>{_SCRIPT}</script>",
            "</body></html>",
        )
    )


def _table(number: int, table: Table) -> str:
    head = "".join(f"<th>{escape(str(name))}</th>" for name in table.header)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in table.rows)
    note = f"<p>{escape(table.note)}</p>" if table.note else ""
    return (
        f'<section><h2 id="t{number}">{escape(table.title)}</h2>{note}<div class="scroll"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></section>"
    )


def _cell(value: Any) -> str:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    attributes = f' data-value="{value!r}"' if number else ' class="text"'
    return f"<td{attributes}>{escape(cell_text(value))}</td>"


def _inside_script(text: str, code: bool = False) -> str:
    """Text that cannot end the script element that holds it."""
    return text.replace("</script", "<\\/script") if code else text.replace("<", "\\u003c")
