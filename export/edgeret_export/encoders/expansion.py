"""Tools' vectors, made better by queries that were written for them (Re-Invoke, paper 001, sections 3.1 and 3.3): which
queries are kept, and how much they count. Knows nothing of models that write.

What comes out does not depend on the order of a tool's queries: they are sorted before anything is drawn.

Deviations: a mean is blended with the tool's own vector, by a weight that a round trip finds, which may be 0; and where
that finds more, it is the mean of the queries' own vectors. The paper's ablation prefers copies of the tool's text with
a query behind, but without a blend, where queries alone leave the text out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.terminal.progress import track
from edgeret_export.encoders.bound import lower_bound
from edgeret_export.encoders.parity import ndcg5
from edgeret_export.reference.encoders.base import Encoder
from edgeret_export.sources.expansions import Line

WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""How much a tool's queries may count beside its own text."""
TEXT_AND_QUERY, QUERY = "text+query", "query"
"""What a mean is made of: the paper's copies of the tool's text, each with a query behind it, or the queries alone."""
SMALLEST_DEPTH, LARGEST_DEPTH, DEPTH_SHARE = 3, 10, 0.1
ALIKE = 0.95
"""Cosine from which two queries of a tool say the same."""
_NOTHING = 1e-6
_ROWS = 1024

Vectors = NDArray[np.float32]
Gains = Mapping[float, NDArray[np.float64]]
"""By weight, nDCG@5 of every tool that has queries, float64 (tools with queries,)."""


@dataclass(frozen=True, slots=True)
class Queries:
    """Queries with the positions of their tools: `texts` (n), `owner` intp (n,), whether people `said` them, bool (n,),
    and unit `vectors` float32 (n, dimension)."""

    texts: tuple[str, ...]
    owner: NDArray[np.intp]
    said: NDArray[np.bool_]
    vectors: Vectors

    def only(self, chosen: NDArray[np.bool_]) -> Queries:
        """Those that a mask (n,) chooses."""
        texts = tuple(text for text, taken in zip(self.texts, chosen.tolist(), strict=True) if taken)
        return Queries(texts, self.owner[chosen], self.said[chosen], self.vectors[chosen])


@dataclass(frozen=True, slots=True)
class Expanded:
    """The tools' blended unit `vectors`, float32 (tools, dimension), and a `report` in plain data."""

    vectors: Vectors
    report: dict[str, Any]


def expand_vectors(
    plain: Vectors, texts: Sequence[str], lines: Sequence[Line], encoder: Encoder, seed: int
) -> Expanded:
    """Blends the `plain` unit vectors (tools, dimension) of tools' `texts` with the queries of their `lines`, where it
    is shown to find more of these queries again. Tools without a query keep their vector, and so do all where not."""
    written = _encoded(lines, encoder)
    k = depth(len(plain))
    found = written.only(found_again(plain, written, k) | written.said)
    kept = found.only(~near_duplicates(found))
    behind = encoder.encode_tools([f"{texts[tool]} {text}" for tool, text in zip(kept.owner, kept.texts, strict=True)])
    copies = {TEXT_AND_QUERY: behind, QUERY: kept.vectors}
    gains = {form: round_trip(plain, kept, made, seed) for form, made in copies.items()}
    form, weight = best_choice(gains)
    report = {
        "queries": len(written.texts),
        "not_found_again": len(written.texts) - len(found.texts),
        "near_duplicates": len(found.texts) - len(kept.texts),
        "kept": len(kept.texts),
        "tools_with_queries": len(set(kept.owner.tolist())),
        "depth": k,
        "copies": form,
        "weight": weight,
        "round_trip_ndcg5": {
            form: {f"{weight:g}": round(float(row.mean()), 6) if len(row) else None for weight, row in found.items()}
            for form, found in gains.items()
        },
    }
    return Expanded(blend(plain, *means(len(plain), kept.owner, copies[form]), weight), report)


def depth(n_tools: int) -> int:
    """Among how many first tools a model's query must find its own, or it is noise. What people said is none: of
    ToolE's own queries, those that are not found teach most.

    A tenth of all tools: a query that means nothing gets through one time in ten. Not below 3, where only queries would
    stay that are found anyway and teach nothing; not above 10, where the paper finds 95 % of its queries again.
    """
    return min(LARGEST_DEPTH, max(SMALLEST_DEPTH, round(n_tools * DEPTH_SHARE)))


def found_again(plain: Vectors, queries: Queries, k: int) -> NDArray[np.bool_]:
    """Which queries find their own tool among the first `k` by the plain vectors, bool (n,); a tie counts as found."""
    found = np.zeros(len(queries.texts), np.bool_)
    for rows in _pieces(len(found)):
        scores = queries.vectors[rows] @ plain.T
        own = scores[np.arange(len(scores)), queries.owner[rows]]
        found[rows] = (scores > own[:, None]).sum(axis=1) < k
    return found


def near_duplicates(queries: Queries) -> NDArray[np.bool_]:
    """Which queries have a cosine of ALIKE or more to an earlier one of their tool that is none itself, bool (n,)."""
    double = np.zeros(len(queries.texts), np.bool_)
    for tool in np.unique(queries.owner):
        rows = np.flatnonzero(queries.owner == tool)
        alike = queries.vectors[rows] @ queries.vectors[rows].T >= ALIKE
        for i in range(1, len(rows)):
            double[rows[i]] = (alike[i, :i] & ~double[rows[:i]]).any()
    return double


def means(n_tools: int, owner: NDArray[np.intp], copies: Vectors) -> tuple[Vectors, NDArray[np.bool_]]:
    """The unit mean of each tool's copies, float32 (n_tools, dimension), and which tools have one, bool (n_tools,)."""
    sums = np.zeros((n_tools, copies.shape[1]), np.float64)
    np.add.at(sums, owner, copies)
    return _unit(sums), np.bincount(owner, minlength=n_tools) > 0


def blend(plain: Vectors, mean: Vectors, has_mean: NDArray[np.bool_], weight: float) -> Vectors:
    """The plain unit vectors with a share of `weight` from the means of those tools that have one, as unit rows; with
    weight 0 the plain ones, bit by bit. So is one that its mean cancels out."""
    mixed = (1 - weight) * plain.astype(np.float64) + weight * mean
    chosen = has_mean & (np.linalg.norm(mixed, axis=1) > _NOTHING) & (weight > 0)
    vectors = plain.copy()
    vectors[chosen] = _unit(mixed[chosen])
    return vectors


def round_trip(plain: Vectors, kept: Queries, copies: Vectors, seed: int) -> Gains:
    """How well each tool's queries find it, by the weight of its mean, which is made of the rows of `copies` (n,
    dimension) that belong to the queries.

    Half of a tool's queries make its vector and the other half searches, then the other way round. The half is drawn; a
    tool's only query searches for the plain vector in one of the two turns.
    """
    first, relevant = _halves(kept.owner, seed), [frozenset({tool}) for tool in kept.owner.tolist()]
    _, tool = np.unique(kept.owner, return_inverse=True)
    gains = {weight: np.zeros(len(kept.texts)) for weight in WEIGHTS}
    for making in (first, ~first):
        mean, has_mean = means(len(plain), kept.owner[making], copies[making])
        searching = np.flatnonzero(~making)
        for weight in WEIGHTS:
            vectors = blend(plain, mean, has_mean, weight)
            for piece in _pieces(len(searching)):
                rows = searching[piece]
                gains[weight][rows] = ndcg5(kept.vectors[rows] @ vectors.T, [relevant[i] for i in rows])
    return {weight: np.bincount(tool, row) / np.bincount(tool) for weight, row in gains.items()}


def best_choice(gains: Mapping[str, Gains]) -> tuple[str, float]:
    """What the means are made of and the weight that find most, if they are shown to find more than the plain vectors
    do; else weight 0. A handful of queries favours some weight by chance."""
    choices = [(form, weight) for form, found in gains.items() for weight in found]
    form, weight = max(choices, key=lambda choice: float(gains[choice[0]][choice[1]].sum()))  # of equal ones the first
    shown = lower_bound(gains[form][weight] - gains[form][0.0]) > 0
    return (form, weight) if shown else (choices[0][0], 0.0)


def _encoded(lines: Sequence[Line], encoder: Encoder) -> Queries:
    """The tools' queries, sorted, with their vectors. One at a time, as the runtime encodes them."""
    rows = [(tool, text) for tool, line in enumerate(lines) for text in sorted(set(line.queries))]
    vectors = np.zeros((len(rows), encoder.spec.dimension), np.float32)
    for row, (_, text) in enumerate(track(rows, "encoding written queries", len(rows))):
        vectors[row] = encoder.encode(text)
    owner = np.array([tool for tool, _ in rows], np.intp)
    said = np.array([line.said for line in lines], np.bool_)[owner]
    return Queries(tuple(text for _, text in rows), owner, said, vectors)


def _halves(owner: NDArray[np.intp], seed: int) -> NDArray[np.bool_]:
    """Half of each tool's queries, drawn, bool (n,); of an odd number, the larger half."""
    generator, first = np.random.default_rng(seed), np.zeros(len(owner), np.bool_)
    for tool in np.unique(owner):
        rows = generator.permutation(np.flatnonzero(owner == tool))
        first[rows[: (len(rows) + 1) // 2]] = True
    return first


def _pieces(count: int) -> Iterator[slice]:
    """Rows whose scores for all tools fit into memory together."""
    return (slice(begin, begin + _ROWS) for begin in range(0, count, _ROWS))


def _unit(rows: NDArray[np.float64]) -> Vectors:
    """The rows at length 1, float32; a row of zeros stays one."""
    unit: Vectors = (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), _NOTHING)).astype(np.float32)
    return unit
