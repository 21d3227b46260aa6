"""Where tools, arrows and names lie on the map of a bundle. Knows the index and what followed what; nothing of HTML."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from edgeret.records import dataclass
from edgeret.scoring.graph import GLOBAL, PADDING
from edgeret.scoring.index import Index
from edgeret.types import END

WIDTH, HEIGHT, MARGIN = 960, 640, 60
RADIUS, FONT = 4, 11
STRONGEST = 60
"""Transitions drawn."""
NAMED = 80
"""Tools up to which names are written out; of more, names show when pointed at."""
BEND = 0.12
"""How far an arrow bows out to its right, a share of its length, so that two tools' arrows to each other lie apart."""
_SIDES = (
    (RADIUS + 3, 0.35 * FONT, "start"),
    (-RADIUS - 3, 0.35 * FONT, "end"),
    (0, -RADIUS - 3, "middle"),
    (0, RADIUS + FONT, "middle"),
    (RADIUS, -RADIUS, "start"),
    (RADIUS, RADIUS + 0.8 * FONT, "start"),
    (-RADIUS, -RADIUS, "end"),
    (-RADIUS, RADIUS + 0.8 * FONT, "end"),
)
"""Places of a name beside its dot, the best first: how far right and down its text begins, middles or ends."""
Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""


@dataclass(frozen=True, slots=True)
class Dot:
    """A tool; `unseen` if no demonstration calls it."""

    name: str
    x: float
    y: float
    unseen: bool


@dataclass(frozen=True, slots=True)
class Label:
    """A tool's name where it has room; `anchor` is SVG's `text-anchor`."""

    name: str
    x: float
    y: float
    anchor: str


@dataclass(frozen=True, slots=True)
class Move:
    """A transition between two tools, as an arrow: `path` in SVG's words, `width` in pixels, `times` seen."""

    before: str
    after: str
    times: str
    path: str
    width: float


@dataclass(frozen=True, slots=True)
class ToolMap:
    """What is drawn, on a ground of `width` by `height`; `unnamed` counts the dots whose name found no room."""

    moves: Sequence[Move]
    dots: Sequence[Dot]
    labels: Sequence[Label]
    unnamed: int
    width: int = WIDTH
    height: int = HEIGHT
    radius: int = RADIUS
    font: int = FONT


def tool_map(called: Sequence[str], index: Index, transitions: NDArray[np.float64]) -> ToolMap:
    """The map, with the strongest `transitions` (`Graph.transitions`) among all demonstrations."""
    flat = project(index.vectors).tolist()
    places = {name: (x, y) for name, (x, y) in zip(index.names, flat, strict=True)}
    known = set(called)
    dots = [Dot(name, x, y, name not in known) for name, (x, y) in places.items()]
    labels = place_labels(dots) if len(dots) <= NAMED else []
    return ToolMap(_moves(called, places, transitions), dots, labels, len(dots) - len(labels))


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


def place_labels(dots: Sequence[Dot]) -> list[Label]:
    """Names beside their dots, each on the first side where it covers neither a dot nor a name; others are left out."""
    taken: list[Box] = [(d.x - RADIUS, d.y - RADIUS, d.x + RADIUS, d.y + RADIUS) for d in dots]
    labels = []
    for dot in dots:
        for right, down, anchor in _SIDES:
            label = Label(dot.name, dot.x + right, dot.y + down, anchor)
            box = label_box(label)
            inside = box[0] >= 0 and box[1] >= 0 and box[2] <= WIDTH and box[3] <= HEIGHT
            if inside and not any(overlap(box, other) for other in taken):
                taken.append(box)
                labels.append(label)
                break
    return labels


def label_box(label: Label) -> Box:
    """The room that a name takes, rather too much than too little, since fonts differ."""
    width = FONT * sum(1.1 if unicodedata.east_asian_width(c) in "WF" else 0.6 for c in label.name)
    left = label.x - {"start": 0.0, "middle": 0.5, "end": 1.0}[label.anchor] * width
    return left, label.y - 0.8 * FONT, left + width, label.y + 0.2 * FONT


def overlap(a: Box, b: Box) -> bool:
    """Whether two boxes share any ground."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _moves(
    called: Sequence[str], places: Mapping[str, tuple[float, float]], transitions: NDArray[np.float64]
) -> list[Move]:
    among_all = transitions[(transitions[:, 0] == GLOBAL) & (transitions[:, 1] != PADDING)]
    most = max(1.0, among_all[:, 3].max(initial=0))
    moves: list[Move] = []
    for _, before, after, count in among_all[(-among_all[:, 3]).argsort(kind="stable")].tolist():
        first, second = called[int(before)], called[int(after)]
        if END in (first, second) or first == second:
            continue
        path = _arrow(np.array(places[first]), np.array(places[second]))
        moves.append(Move(first, second, f"{count:.3g}", path, 0.5 + 3.5 * count / most))
        if len(moves) == STRONGEST:
            break
    return moves


def _arrow(start: NDArray[np.float64], end: NDArray[np.float64]) -> str:
    """A bowed line between two dots that begins and ends at their rims, so that its head is not covered."""
    along = end - start
    middle = (start + end) / 2 + BEND * np.array([-along[1], along[0]])
    gap = min(RADIUS + 2.0, float(np.hypot(*along)) / 4)
    ends = [p + gap * (middle - p) / max(float(np.hypot(*(middle - p))), 1e-9) for p in (start, end)]
    (x1, y1), (x, y), (x2, y2) = ends[0].tolist(), middle.tolist(), ends[1].tolist()
    return f"M{x1:.1f} {y1:.1f} Q{x:.1f} {y:.1f} {x2:.1f} {y2:.1f}"
