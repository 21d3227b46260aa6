"""A bundle as a picture: its tools on a map, what follows what in its clusters, how requests are decided, its files and
licences.

One HTML file, which loads nothing, and without scripts unless it is to decide (`live`). Names and licences come from
whoever built the bundle; `pages` escapes all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from edgeret.bundle import roles
from edgeret.bundle.codec import get_array
from edgeret.bundle.reader import Bundle
from edgeret.cli.drawn import GLOBAL, PADDING, Drawn, read_drawn
from edgeret.cli.live import live
from edgeret.cli.pages import render
from edgeret.cli.tool_map import tool_map
from edgeret.terminal.console import write_whole
from edgeret.types import START, Explanation

CLUSTERS, CHAINS, NEAREST = 40, 5, 3
"""Clusters listed, and of each its transitions and nearest tools."""


def draw(bundle: Bundle, target: Path, explained: Sequence[Explanation] = (), library: Path | None = None) -> None:
    """Writes the picture, with some decisions `explained`; with a folder of the `library` of pages it decides, too.
    Raises BundleError for a bundle that does not hang together, InputError if `target` cannot be written,
    MissingExtraError without jinja2."""
    drawn = read_drawn(bundle)
    counts = bundle.manifest.info.get(roles.INFO_COUNTS)
    alive = None if library is None else live(bundle, library)
    shown = counts.get("demonstrations") if isinstance(counts, dict) else None
    text = render(
        "picture.html",
        extra="html",
        needed_for="inspect --html",
        name=bundle.path.resolve().name,
        facts=f"{len(drawn.names)} tools, {shown if isinstance(shown, int) else 'unknown'} demonstrations, "
        f"{clusters_told(bundle)} clusters, {bundle.size / 1e6:.1f} MB",
        content_hash=bundle.manifest.content_hash,
        map=tool_map(drawn),
        clusters=cluster_rows(drawn),
        explained=explained,
        policy="" if alive is None else alive.policy,
        files=[(f.name, f.role, f"{f.size / 1e6:.3f}", f.licence, f.source) for f in bundle.manifest.files],
    )
    # A name that says the same is escaped.
    write_whole(target, text if alive is None else text.replace("<!--live-->", alive.body, 1), "--html")


def clusters_told(bundle: Bundle) -> str:
    """How many clusters the graph has, for people; where several clusterings are read together: "432 (2 × 216)";
    "no" where nothing was demonstrated. Raises BundleError for a graph without centroids."""
    if bundle.manifest.file(roles.GRAPH) is None:
        return "no"
    total = len(get_array(bundle.map(roles.GRAPH), "centroids", "<f4", (None, None), f"{bundle.path} ({roles.GRAPH})"))
    counts = bundle.manifest.info.get(roles.INFO_COUNTS)
    each = counts.get("clusters") if isinstance(counts, dict) else None
    if isinstance(each, int) and 0 < each < total and total % each == 0:
        return f"{total} ({total // each} × {each})"
    return str(total)


def cluster_rows(drawn: Drawn) -> list[tuple[str, str, str]]:
    """The clusters with the most observations: number, nearest tools, strongest transitions, all as text."""
    transitions = drawn.transitions
    inside = transitions[transitions[:, 0] != GLOBAL]
    weight = np.bincount(inside[:, 0].astype(np.intp), inside[:, 3], minlength=len(drawn.centroids))
    rows = []
    for cluster in (-weight).argsort(kind="stable")[:CLUSTERS].tolist():
        own = inside[inside[:, 0] == cluster]
        strongest = own[(-own[:, 3]).argsort(kind="stable")][:CHAINS]
        chains = [
            f"{_label(drawn, int(before))} → {_label(drawn, int(after))} ({count:.3g})"
            for _, before, after, count in strongest.tolist()
        ]
        near = (-drawn.vectors @ drawn.centroids[cluster]).argsort(kind="stable")[:NEAREST]
        rows.append((f"{cluster} ({weight[cluster]:.3g})", ", ".join(drawn.names[i] for i in near), "; ".join(chains)))
    return rows


def _label(drawn: Drawn, number: int) -> str:
    return START if number == PADDING else drawn.labels[number]
