"""A bundle as a picture: its tools on a map, what follows what in its clusters, its files and licences.

One HTML file without scripts, which loads nothing. Names and licences come from whoever built the bundle, so all of it
is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape as escape_html
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle.reader import Bundle
from edgeret.cli.console import write_whole
from edgeret.errors import BundleError
from edgeret.quoting import visible
from edgeret.scoring.graph import GLOBAL, PADDING, Graph, load_graph
from edgeret.scoring.index import Index, load_index
from edgeret.types import END

WIDTH, HEIGHT, MARGIN = 960, 640, 60
STRONGEST, CLUSTERS, CHAINS, NEAREST = 60, 40, 5, 3
"""Transitions drawn on the map, clusters listed, and of each cluster transitions and nearest tools."""
START = "<start>"
NAMED = 80
"""Tools up to which the map writes all names out; of more, names show when pointed at."""
_STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --paper: #fff; --faint: #6b7178; --line: #d9dce0; --dot: #3b6fc4;
        --arc: #d2691e }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e7e9; --paper: #15171a; --faint: #9aa0a8; --line: #34383e; --dot: #7aa5f0; --arc: #f0a060 }
}
body { margin: 0 auto; max-width: 66rem; padding: 1rem; color: var(--ink); background: var(--paper);
       font: 16px/1.5 system-ui, sans-serif }
p { color: var(--faint) } svg { width: 100%; height: auto; border: 1px solid var(--line) }
circle { fill: var(--dot) } circle.unseen { fill: none; stroke: var(--dot); stroke-width: 1.5 }
line { stroke: var(--arc) } text { fill: var(--ink); font: 9px system-ui, sans-serif }
table { border-collapse: collapse; font-size: .9rem } th, td { text-align: left; vertical-align: top;
  padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere }
td:first-child, th { white-space: nowrap } .scroll { overflow-x: auto } code { overflow-wrap: anywhere }
"""


def escape(text: str) -> str:
    """A stranger's text in HTML: no markup, and nothing that a reader would not see."""
    return escape_html(visible(text))


def draw(bundle: Bundle, target: Path) -> None:
    """Writes the picture. Raises BundleError for a bundle that does not hang together, InputError if `target` cannot
    be written."""
    graph, index = load_graph(bundle), load_index(bundle, "exact")
    if not set(graph.labels) <= {*index.names, END} or graph.centroids.shape[1] != index.vectors.shape[1]:
        raise BundleError(f"{bundle.path}: graph and index do not belong together; build the bundle again")
    moves, name = graph.transitions(), bundle.path.resolve().name
    counts = bundle.manifest.info.get("counts")
    shown = counts.get("demonstrations") if isinstance(counts, dict) else None
    facts = (
        f"{len(index.names)} tools, {shown if isinstance(shown, int) else 'unknown'} demonstrations, "
        f"{len(graph.centroids)} clusters, {bundle.size / 1e6:.1f} MB"
    )
    text = "\n".join(
        (
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(name)}</title><style>{_STYLE}</style></head><body>",
            f"<h1>{escape(name)}</h1><p>{escape(facts)}<br><code>{bundle.manifest.content_hash}</code></p>",
            "<h2>Tools</h2><p>Near tools have like descriptions (first two principal components of their vectors). "
            f"Lines are the {STRONGEST} transitions seen most among all demonstrations; rings are tools that none of "
            "them calls.</p>",
            tool_map(graph, index, moves),
            f"<h2>Clusters</h2><p>The {CLUSTERS} that count most, with the tools nearest to their centre and their "
            "strongest transitions.</p>",
            _table(("cluster", "nearest tools", "what follows what"), cluster_rows(graph, index, moves)),
            "<h2>Files</h2>",
            _table(
                ("file", "role", "MB", "licence", "source"),
                [(f.name, f.role, f"{f.size / 1e6:.3f}", f.licence, f.source) for f in bundle.manifest.files],
            ),
            "</body></html>",
        )
    )
    write_whole(target, text, "--html")


def tool_map(graph: Graph, index: Index, moves: NDArray[np.float64]) -> str:
    """The tools as an SVG scatter, with the strongest transitions among all demonstrations (`Graph.transitions`)."""
    places = dict(zip(index.names, project(index.vectors).tolist(), strict=True))
    known = set(graph.labels)
    lines = []
    among_all = moves[(moves[:, 0] == GLOBAL) & (moves[:, 1] != PADDING)]
    for _, before, after, count in among_all[(-among_all[:, 3]).argsort(kind="stable")].tolist():
        first, second = graph.labels[int(before)], graph.labels[int(after)]
        if END in (first, second) or first == second:
            continue
        (x1, y1), (x2, y2) = places[first], places[second]
        width = 0.5 + 4 * count / max(1.0, among_all[:, 3].max())
        lines.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke-width="{width:.2f}" opacity=".5">'
            f"<title>{escape(first)} → {escape(second)}: {count:g} times</title></line>"
        )
        if len(lines) == STRONGEST:
            break
    dots = [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4"{"" if name in known else " class=unseen"}>'
        f"<title>{escape(name)}</title></circle>"
        for name, (x, y) in places.items()
    ]
    names = [
        f'<text x="{x + 6:.1f}" y="{y + 3:.1f}">{escape(name)}</text>'
        if x < WIDTH - 3 * MARGIN
        else f'<text x="{x - 6:.1f}" y="{y + 3:.1f}" text-anchor="end">{escape(name)}</text>'
        for name, (x, y) in places.items()
    ]
    written = names if len(places) <= NAMED else []
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img">{"".join((*lines, *dots, *written))}</svg>'


def project(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """The vectors (n, dimension) on the map: their first two principal components, scaled to its size (n, 2)."""
    centred = vectors.astype(np.float64) - vectors.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    axes = axes[:2] * np.sign(axes[:2, np.abs(axes[:2]).argmax(axis=1)].diagonal())[:, None]  # the same way up always
    flat = np.zeros((len(vectors), 2))
    flat[:, : len(axes)] = centred @ axes.T
    span = np.maximum(np.ptp(flat, axis=0), 1e-9)
    size = np.array([WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN])
    places: NDArray[np.float64] = MARGIN + (flat - flat.min(axis=0)) / span * size
    return places


def cluster_rows(graph: Graph, index: Index, moves: NDArray[np.float64]) -> list[tuple[str, str, str]]:
    """The clusters with the most observations: number, nearest tools, strongest transitions, all as text."""
    inside = moves[moves[:, 0] != GLOBAL]
    weight = np.bincount(inside[:, 0].astype(np.intp), inside[:, 3], minlength=len(graph.centroids))
    rows = []
    for cluster in (-weight).argsort(kind="stable")[:CLUSTERS].tolist():
        own = inside[inside[:, 0] == cluster]
        strongest = own[(-own[:, 3]).argsort(kind="stable")][:CHAINS]
        chains = [
            f"{_label(graph, int(before))} → {_label(graph, int(after))} ({count:.3g})"
            for _, before, after, count in strongest.tolist()
        ]
        near = (-index.similarities(graph.centroids[cluster])).argsort(kind="stable")[:NEAREST]
        rows.append((f"{cluster} ({weight[cluster]:.3g})", ", ".join(index.names[i] for i in near), "; ".join(chains)))
    return rows


def _label(graph: Graph, number: int) -> str:
    return START if number == PADDING else graph.labels[number]


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'
