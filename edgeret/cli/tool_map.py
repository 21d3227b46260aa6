"""Where tools, arrows and names lie on the map of a bundle. Knows the index and what followed what; nothing of HTML."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from edgeret.cli.drawn import GLOBAL, PADDING, Drawn
from edgeret.records import dataclass
from edgeret.types import END

WIDTH, HEIGHT, MARGIN = 960, 640, 60
RADIUS, FONT = 4, 11
STRONGEST = 15
"""Transitions drawn before a tool is chosen; 60 lay over each other."""
OWN = 8
"""Transitions drawn of a chosen tool, the strongest, from it and to it each."""
GROUPS = 8
"""Colours, edgeret/look.css's `--group-0` and on."""
GAP = 18.0
"""What dots keep between each other where there is room, in pixels."""
SPREAD = 400
"""Tools up to which dots are moved apart; of more, near ones cover each other."""
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
    """A tool; `unseen` if no demonstration calls it; `group` is its colour."""

    name: str
    x: float
    y: float
    unseen: bool
    group: int = 0


@dataclass(frozen=True, slots=True)
class Label:
    """A tool's name beside its dot; `anchor` is SVG's `text-anchor`; `late` if it has room only while chosen."""

    name: str
    x: float
    y: float
    anchor: str
    late: bool = False


@dataclass(frozen=True, slots=True)
class Move:
    """A transition between two tools, as an arrow: `path` in SVG's words, `width` in pixels, `times` seen, and the
    colour of the tool that it leaves."""

    before: str
    after: str
    times: str
    path: str
    width: float
    group: int


@dataclass(frozen=True, slots=True)
class Spot:
    """A tool with its name, and the arrows `out` of it and `into` it that show when it is chosen."""

    dot: Dot
    label: Label
    out: Sequence[Move]
    into: Sequence[Move]


@dataclass(frozen=True, slots=True)
class ToolMap:
    """What is drawn, on a ground of `width` by `height`: the strongest `moves`, all tools, and of each group the tool
    in its middle with how many are like it. `unnamed` counts tools whose name has room only while they are chosen."""

    moves: Sequence[Move]
    spots: Sequence[Spot]
    groups: Sequence[tuple[str, int]]
    unnamed: int
    width: int = WIDTH
    height: int = HEIGHT
    radius: int = RADIUS
    font: int = FONT


def tool_map(drawn: Drawn) -> ToolMap:
    """The map, with the strongest transitions among all demonstrations."""
    index, called, transitions = drawn, drawn.labels, drawn.transitions
    group, middles = grouped(index.vectors)
    flat = apart(project(index.vectors)).tolist()
    known = set(called)
    dots = [
        Dot(name, x, y, name not in known, number)
        for name, (x, y), number in zip(index.names, flat, group.tolist(), strict=True)
    ]
    named = {label.name: label for label in place_labels(dots)} if len(dots) <= NAMED else {}
    out: dict[str, list[Move]] = {}
    into: dict[str, list[Move]] = {}
    strongest: list[Move] = []
    for move in _moves(called, {dot.name: dot for dot in dots}, transitions):
        if len(strongest) < STRONGEST:
            strongest.append(move)
        for own in (out.setdefault(move.before, []), into.setdefault(move.after, [])):
            if len(own) < OWN:
                own.append(move)
    spots = [
        Spot(dot, named.get(dot.name) or _late(dot), out.get(dot.name, ()), into.get(dot.name, ())) for dot in dots
    ]
    sizes = np.bincount(group, minlength=len(middles)).tolist()
    groups = [(index.names[middle], size - 1) for middle, size in zip(middles, sizes, strict=True)]
    return ToolMap(strongest, spots, groups, len(dots) - len(named))


def grouped(vectors: NDArray[np.float32]) -> tuple[NDArray[np.intp], list[int]]:
    """Which of at most `GROUPS` groups each of the vectors (n, dimension) is in, and the vector nearest to the middle
    of each. It is k-means, begun with vectors far from each other: the same tools have the same colours always."""
    points = vectors.astype(np.float64)
    most = min(GROUPS, max(1, round((len(points) / 2) ** 0.5)))
    chosen = [int(_squares(points, points.mean(axis=0)[None])[:, 0].argmin())]
    while len(chosen) < most:
        far = _squares(points, points[chosen]).min(axis=1)
        if far.max() < 1e-9:  # all others are the same as one of these
            break
        chosen.append(int(far.argmax()))
    centres = points[chosen]
    for _ in range(10):
        group = _squares(points, centres).argmin(axis=1)
        centres = np.stack(
            [points[group == i].mean(axis=0) if (group == i).any() else centre for i, centre in enumerate(centres)]
        )
    squares = _squares(points, centres)
    found, group = np.unique(squares.argmin(axis=1), return_inverse=True)
    middles = [int(np.where(group == i, squares[:, old], np.inf).argmin()) for i, old in enumerate(found.tolist())]
    return group, middles


def _squares(points: NDArray[np.float64], centres: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared distances (points, centres)."""
    squares: NDArray[np.float64] = (points**2).sum(axis=1)[:, None] - 2 * points @ centres.T + (centres**2).sum(axis=1)
    return np.maximum(squares, 0)


def apart(flat: NDArray[np.float64]) -> NDArray[np.float64]:
    """The places (n, 2) with more room between them: halfway to an even spread along each axis, then near ones pushed
    apart. Who is left of whom stays, but for the last few pixels."""
    count = len(flat)
    if not 1 < count <= SPREAD:
        return flat
    low, size = np.array([MARGIN, MARGIN]), np.array([WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN])
    ranks = flat.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable")
    spread: NDArray[np.float64] = (flat + low + ranks / (count - 1) * size) / 2
    for _ in range(80):
        between = spread[:, None] - spread[None]
        distance = np.hypot(between[..., 0], between[..., 1])
        np.fill_diagonal(distance, np.inf)
        if distance.min() >= GAP:
            break
        push = np.maximum(GAP - distance, 0) / 2 / np.maximum(distance, 1e-3)
        spread = np.clip(spread + (between * push[..., None]).sum(axis=1), low, low + size)
    return spread


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


def _late(dot: Dot) -> Label:
    side, anchor = (1, "start") if dot.x < WIDTH / 2 else (-1, "end")
    return Label(dot.name, dot.x + side * (RADIUS + 3), dot.y + 0.35 * FONT, anchor, True)


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


def label_box(label: Label) -> Box:
    """The room that a name takes, rather too much than too little, since fonts differ."""
    width = FONT * sum(1.1 if unicodedata.east_asian_width(c) in "WF" else 0.6 for c in label.name)
    left = label.x - {"start": 0.0, "middle": 0.5, "end": 1.0}[label.anchor] * width
    return left, label.y - 0.8 * FONT, left + width, label.y + 0.2 * FONT


def overlap(a: Box, b: Box) -> bool:
    """Whether two boxes share any ground."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _moves(called: Sequence[str], places: Mapping[str, Dot], transitions: NDArray[np.float64]) -> Iterator[Move]:
    """The transitions between two tools, the strongest first."""
    among_all = transitions[(transitions[:, 0] == GLOBAL) & (transitions[:, 1] != PADDING)]
    most = 0.0
    for _, before, after, count in among_all[(-among_all[:, 3]).argsort(kind="stable")].tolist():
        first, second = called[int(before)], called[int(after)]
        if END in (first, second) or first == second:
            continue
        most = most or max(1.0, count)
        start, end = places[first], places[second]
        path = _arrow(np.array([start.x, start.y]), np.array([end.x, end.y]))
        yield Move(first, second, f"{count:.3g}", path, 0.75 + 4.25 * count / most, start.group)


def _arrow(start: NDArray[np.float64], end: NDArray[np.float64]) -> str:
    """A bowed line between two dots that begins and ends at their rims, so that its head is not covered."""
    along = end - start
    middle = (start + end) / 2 + BEND * np.array([-along[1], along[0]])
    gap = min(RADIUS + 2.0, float(np.hypot(*along)) / 4)
    ends = [p + gap * (middle - p) / max(float(np.hypot(*(middle - p))), 1e-9) for p in (start, end)]
    (x1, y1), (x, y), (x2, y2) = ends[0].tolist(), middle.tolist(), ends[1].tolist()
    return f"M{x1:.1f} {y1:.1f} Q{x:.1f} {y:.1f} {x2:.1f} {y2:.1f}"
