"""How far a request is from all that was demonstrated: the evidence that no tool fits it, which needs no example of
such a request (the DTDR paper, section 8, "out of distribution"). Knows nothing of text, of heads, and of what a tool's
own words say.

A tool's demonstrations have a mean, which is not made a unit vector again: that of a tool for many kinds of requests is
short, and so near to nothing in particular.
"""

from __future__ import annotations

from math import exp, inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle import roles
from edgeret.bundle.codec import get_array, pack
from edgeret.bundle.layout import check_owner
from edgeret.bundle.reader import Bundle
from edgeret.errors import BundleError
from edgeret.fields import get_number
from edgeret.records import dataclass

NEAREST = 0.2
"""What the distance to the nearest demonstration weighs beside that to the nearest tool's mean."""
STEEP = 22.0
"""How fast the odds that a request is a demonstrated tool's fall with its distance, counted in `edge`: nearer by a
tenth, they are nine times as high. On seven sets by one encoder logistic fits had 13 to 36."""
KINDS = 250.0
"""Demonstrated requests that no tool fits by which half of all kinds of these are known. With 640 of them the desktop
example lost five times as many requests of other hands to distance as to its heads; with 100, CLINC150's heads missed
half of the others."""
_LARGEST = np.float32(127.0)
_LONGEST = 1.05
"""Square of the length of a mean of unit vectors, rounded."""
LEAST_EDGE = 1e-3
"""Demonstrations that are all one request are at no distance from each other."""
_RANGES = (("no_tool", 0.0, 1e12), ("edge", LEAST_EDGE, 10.0))


@dataclass(frozen=True, slots=True)
class Means:
    """What was demonstrated of some tools as first calls: their numbers `tools` (rows,), rising, the means of their
    requests' unit vectors, float32 (rows, dimension), and of how many, float32 (rows,); and `no_tool`, how many
    requests were shown that need none."""

    tools: NDArray[np.intp]
    vectors: NDArray[np.float32]
    counts: NDArray[np.float32]
    no_tool: float

    @staticmethod
    def of(vectors: NDArray[np.float32], tools: NDArray[np.integer[Any]], weights: NDArray[np.float32]) -> Means:
        """Those of requests' unit rows (requests, dimension) that call the `tools` (requests,), negative for none, and
        weigh so much (requests,)."""
        called = np.flatnonzero(tools >= 0)
        order = called[np.argsort(tools[called], kind="stable")]
        numbers, starts = np.unique(tools[order], return_index=True)
        no_tool = float(weights.sum() - weights[called].sum())
        if not len(order):
            return Means(numbers.astype(np.intp), np.zeros((0, vectors.shape[1]), np.float32), weights[:0], no_tool)
        counts: NDArray[np.float32] = np.add.reduceat(weights[order], starts)
        sums: NDArray[np.float32] = np.add.reduceat(vectors[order] * weights[order][:, None], starts)
        sums /= counts[:, None]
        return Means(numbers.astype(np.intp), sums, counts, no_tool)

    def beside(self, other: Means) -> Means:
        """Both together."""
        both = np.concatenate((self.vectors, other.vectors)), np.concatenate((self.tools, other.tools))
        found = Means.of(*both, np.concatenate((self.counts, other.counts)))
        return Means(found.tools, found.vectors, found.counts, self.no_tool + other.no_tool)


class Familiarity:
    """What is compared with a request. Immutable and thread-safe."""

    def __init__(self, means: Means, edge: float, before: Familiarity | None = None) -> None:
        """`edge` is the distance at which a request is as likely nobody's as a demonstrated tool's. What was known
        `before` something was learned stays familiar, whatever was learned."""
        self.means, self.edge = means, edge
        self.unknown = 1 / (1 + means.no_tool / KINDS)
        """The share of requests that no tool fits whose kind was not shown: heads know those of others."""
        vectors, self._tools = means.vectors, means.tools
        if before is not None:
            vectors = np.concatenate((vectors, before.means.vectors))
            self._tools = np.concatenate((self._tools, before.means.tools))
        self._squares = 1 + np.einsum("ij,ij->i", vectors, vectors)
        self._twice = vectors * np.float32(-2)
        self._called = float(means.counts.sum())

    def without_demonstrations(self) -> Familiarity:
        """The same encoder's, with nothing demonstrated."""
        none = np.empty(0, np.intp)
        return Familiarity(Means(none, self.means.vectors[:0], self.means.counts[:0], 0.0), self.edge)

    def beside(self, learned: Means) -> Familiarity:
        """The same with what was learned on the device."""
        return Familiarity(self.means.beside(learned), self.edge, self)

    def distance(
        self, vector: NDArray[np.float32], nearest: float | None, allowed: NDArray[np.bool_] | None = None
    ) -> float:
        """The distance of a unit vector (dimension,) to the nearest mean of a tool that is `allowed` (all tools,), and
        with it that to the nearest demonstration, whose cosine is `nearest`; None if nobody knows that one. Infinite
        where nothing was demonstrated."""
        if not len(self._squares):
            return inf
        squares = self._twice.dot(vector)
        squares += self._squares
        if allowed is not None:
            squares[~allowed[self._tools]] = inf
        mean = sqrt(max(0.0, squares.item(squares.argmin())))
        return with_nearest(mean, mean if nearest is None else sqrt(max(0.0, 2 - 2 * nearest)))

    def strange(self, tools: int) -> float:
        """What the tools' own words count for, of so many tools, from 1 where nothing was demonstrated: demonstrations
        say more than words as soon as there are a few for each."""
        return 1 / (1 + 2 * (self._called / tools) ** 2) if tools else 1.0

    def fits(self, distance: float) -> float:
        """The odds that a request at this `distance` is a demonstrated tool's."""
        return exp(STEEP * (1 - distance / self.edge)) if distance < inf else 0.0


def with_nearest(mean: float, nearest: float) -> float:
    """Both distances as one."""
    return mean + NEAREST * nearest


def pack_familiarity(familiarity: Familiarity, fingerprint: str) -> bytes:
    """The file with the role `familiarity`, tied to the encoder whose vectors it holds, eight bits a number."""
    means = familiarity.means
    scales = np.abs(means.vectors).max(axis=1, initial=0.0) / _LARGEST
    rounded = np.rint(means.vectors / np.maximum(scales, np.float32(1e-30))[:, None]).astype(np.int8)
    return pack(
        {
            "encoder": fingerprint,
            "tools": means.tools.astype("<i4"),
            "means": rounded,
            "scales": scales.astype("<f4"),
            "counts": means.counts.astype("<f4"),
            "no_tool": float(means.no_tool),
            "edge": float(familiarity.edge),
        }
    )


def load_familiarity(bundle: Bundle, labels: int) -> Familiarity:
    """The bundle's, of tools among so many labels, `<end>` the last. Raises BundleError if it does not hang
    together."""
    where = f"{bundle.path} ({roles.FAMILIARITY})"
    value: dict[str, Any] = bundle.map(roles.FAMILIARITY)
    check_owner(value, bundle.fingerprint(), where)
    rounded = get_array(value, "means", "|i1", (None, None), where)
    rows = len(rounded)
    tools = get_array(value, "tools", "<i4", (rows,), where)
    scales = get_array(value, "scales", "<f4", (rows,), where)
    counts = get_array(value, "counts", "<f4", (rows,), where)
    means = rounded.astype(np.float32) * scales[:, None]
    sound = (
        bool((np.diff(tools) > 0).all())
        and (rows == 0 or (tools[0] >= 0 and tools[-1] < labels - 1))
        and bool((counts > 0).all())
        and bool((np.einsum("ij,ij->i", means, means) <= _LONGEST).all())
    )
    if not sound:
        raise BundleError(f"{where}: its tables contradict each other; build the bundle again")
    no_tool, edge = (get_number(value, key, low, high, where) for key, low, high in _RANGES)
    return Familiarity(Means(tools.astype(np.intp), means, counts.astype(np.float32), no_tool), edge)
