"""Vector to tools: exact up to a measured size, HNSW above it. Knows nothing of queries or plans."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle import roles
from edgeret.bundle.codec import get_array, pack, unpack
from edgeret.bundle.few_bits import from_bytes, get_scales
from edgeret.bundle.index_form import CROSSOVER, StoredAs
from edgeret.bundle.layout import check_owner
from edgeret.bundle.reader import Bundle
from edgeret.errors import BundleError
from edgeret.fields import get_strings
from edgeret.types import IndexKind
from edgeret_export.reference.few_bits import to_bytes
from edgeret_export.reference.scoring import hnsw_file
from edgeret_export.reference.scoring.examples import Examples
from edgeret_export.reference.scoring.hnsw_file import EF_CONSTRUCTION, M
from edgeret_export.reference.scoring.hnsw_walk import Walk
from edgeret_export.reference.scoring.products import cosines

EF = 64
"""How many candidates a search in the graph keeps, and so how many it can return."""

MOST_SHOWN = 20
"""Examples of one tool."""

"""How an index is to search; see `load_index`."""


class Neighbours(Protocol):
    """An HNSW graph, searched with EF candidates. Safe to use from several threads."""

    def nearest(self, vector: NDArray[np.float32]) -> NDArray[np.intp]:
        """Positions (at most EF,), in any order, of the rows that are found nearest to a vector (dimension,), by what
        the rows are in bytes."""


class Index:
    """Tool vectors with their names. Immutable; safe to use from several threads."""

    def __init__(
        self,
        names: Sequence[str],
        vectors: NDArray[np.float32],
        hnsw: Neighbours | None = None,
        examples: Examples | None = None,
    ) -> None:
        """`vectors` are unit rows, float32 (len(names), dimension); `hnsw` is a graph over the same rows.
        `examples` are of the tools at these rows, None where none shows any."""
        self.names = tuple(names)
        self.vectors = vectors
        self.examples = examples
        self._hnsw = hnsw

    @property
    def shown(self) -> frozenset[str]:
        """The tools that have examples here."""
        owners = () if self.examples is None else np.unique(self.examples.owners).tolist()
        return frozenset(self.names[row] for row in owners)

    @property
    def kind(self) -> str:
        """ "hnsw" or "exact": how `search` looks."""
        return "exact" if self._hnsw is None else "hnsw"

    def similarities(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Cosine of a unit vector (dimension,) to every tool, float32 (tools,)."""
        return cosines(self.vectors, vector)

    def search(self, vector: NDArray[np.float32], k: int) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Positions (intp) and cosines (float32) of the `k` nearest tools, nearest first, all tools if `k` is more.

        Equal cosines keep the tools' order.
        """
        k = min(k, len(self.names))
        positions = self._neighbours(vector, k)
        if positions is None:
            similarities = self.similarities(vector)
            positions = np.flatnonzero(similarities >= np.partition(similarities, -k)[-k])
            similarities = similarities[positions]
        else:
            similarities = self.vectors[positions] @ vector
        order = np.lexsort((positions, -similarities))[:k]
        return positions[order], similarities[order]

    def around(self, vector: NDArray[np.float32]) -> NDArray[np.intp]:
        """Positions, in no order, of EF tools, all tools if there are no more, that are found nearest: sooner."""
        k = min(EF, len(self.names))
        positions = self._neighbours(vector, k)
        return self.search(vector, k)[0] if positions is None else positions

    def _neighbours(self, vector: NDArray[np.float32], k: int) -> NDArray[np.intp] | None:
        """What the graph finds, or None where it cannot find `k` and all tools are to be compared."""
        # No graph looks at a query's length: it would read on behind a short one; numpy refuses it.
        if self._hnsw is None or k > EF or vector.shape != self.vectors.shape[1:]:
            return None
        found = self._hnsw.nearest(vector)
        return found if len(found) >= k else None


def pack_index(
    names: Sequence[str],
    vectors: NDArray[np.float32],
    fingerprint: str,
    stored_as: StoredAs = "fp32",
    examples: Examples | None = None,
) -> bytes:
    """The index file: names and vectors, and those of examples, tied to the encoder that made them."""
    owner: dict[str, Any] = {"encoder": fingerprint, "names": list(names)}
    if examples is not None:
        shown, lengths = to_bytes(examples.vectors)
        counts = np.bincount(examples.owners, minlength=len(names)).astype("<i4")
        owner |= {"examples": shown, "example_scales": lengths, "example_counts": counts}
    if stored_as == "fp32":
        return pack({**owner, "vectors": vectors.astype("<f4")})
    numbers, scales = to_bytes(vectors)
    return pack({**owner, "vectors": numbers, "scales": scales})


def as_stored(vectors: NDArray[np.float32], stored_as: StoredAs) -> NDArray[np.float32]:
    """Unit rows (tools, dimension) as a reader of the file will have them; what is fitted should see the same."""
    return vectors if stored_as == "fp32" else _unit(from_bytes(*to_bytes(vectors)))


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    found: NDArray[np.float32] = vectors / np.maximum(lengths, np.float32(1e-12))[:, None]
    return found


def hnswlib_graph(vectors: NDArray[np.float32], seed: int) -> Any:
    """hnswlib's index of unit rows (inner product), float32 (tools, dimension), made by one thread."""
    import hnswlib

    graph = hnswlib.Index(space="ip", dim=vectors.shape[1])
    graph.init_index(max_elements=len(vectors), M=M, ef_construction=EF_CONSTRUCTION, random_seed=seed)
    graph.add_items(vectors, np.arange(len(vectors)), num_threads=1)
    return graph


def build_hnsw(vectors: NDArray[np.float32], seed: int, fingerprint: str = "") -> bytes:
    """The file of an HNSW graph over unit rows (inner product), float32 (tools, dimension), tied to the encoder that
    made them. One thread and a fixed seed give the same bytes twice."""
    state = hnswlib_graph(vectors, seed).__getstate__()[0]
    return hnsw_file.pack_links(hnsw_file.links_of(state), fingerprint)


def hnswlib_available() -> bool:
    """Whether hnswlib is installed (extra `hnsw`), which builds graphs, on a machine whose words are those that
    graphs are made of here: 64-bit and little-endian."""
    return importlib.util.find_spec("hnswlib") is not None and sys.maxsize > 2**32 and sys.byteorder == "little"


def load_index(bundle: Bundle, kind: IndexKind = "auto") -> Index:
    """The bundle's index. Exact search is complete; an HNSW graph is faster among many tools.

    `kind` "auto" uses the bundle's graph from CROSSOVER tools on: below, exact search is faster too, and nothing is
    read. "exact" never gives the graph to any parser, "hnsw" insists on it.
    Raises BundleError if the index was made by another encoder, does not hang together, or lacks the graph that "hnsw"
    wants.
    """
    where = f"{bundle.path} ({roles.INDEX})"
    value = bundle.map(roles.INDEX)
    check_owner(value, bundle.fingerprint(), where)
    names = get_strings(value, "names", where)
    vectors = _read_vectors(value, len(names), where)
    if not names or len(set(names)) != len(names):
        raise BundleError(f"{where}: no tools in it, or one of them twice; build the bundle again")
    examples = _read_examples(value, len(names), vectors.shape[1], where)
    has_graph = bundle.manifest.file(roles.HNSW) is not None
    if kind == "exact" or (kind == "auto" and not (has_graph and len(names) >= CROSSOVER)):
        return Index(names, vectors, None, examples)
    if not has_graph:
        raise BundleError(
            f"{bundle.path}: no HNSW graph in it; choose another index (--index), or build the bundle again with "
            f"hnsw_from = {len(names)} at most"
        )
    where = f"{bundle.path} ({roles.HNSW})"
    graph = open_hnsw(bundle.read(roles.HNSW), vectors, where, bundle.fingerprint())
    return Index(names, vectors, graph, examples)


def _read_vectors(value: Mapping[str, Any], rows: int, where: str) -> NDArray[np.float32]:
    """The vectors of an index file, float32 (rows, dimension), of length 1 however they are kept. Raises
    BundleError."""
    small = "scales" in value
    if small:
        numbers = get_array(value, "vectors", "|i1", (rows, None), where)
        vectors = from_bytes(numbers, get_scales(value, "scales", rows, where))
    else:
        vectors = get_array(value, "vectors", "<f4", (rows, None), where)
    if not np.allclose(np.einsum("ij,ij->i", vectors, vectors), 1, atol=1e-2):
        raise BundleError(f"{where}: its vectors are not of length 1; build the bundle again")
    return _unit(vectors) if small else vectors


def _read_examples(value: Mapping[str, Any], tools: int, dimension: int, where: str) -> Examples | None:
    """What the tools show by example, None for nothing. Raises BundleError."""
    if "examples" not in value:
        return None
    counts = get_array(value, "example_counts", "<i4", (tools,), where)
    if counts.min() < 0 or counts.max() > MOST_SHOWN:
        raise BundleError(f"{where}: tools have from 0 to {MOST_SHOWN} examples; build the bundle again")
    n = int(counts.sum())
    numbers = get_array(value, "examples", "|i1", (n, dimension), where)
    vectors = from_bytes(numbers, get_scales(value, "example_scales", n, where))
    if not np.allclose(np.einsum("ij,ij->i", vectors, vectors), 1, atol=1e-2):
        raise BundleError(f"{where}: the vectors of its examples are not of length 1; build the bundle again")
    return Examples.of(_unit(vectors), np.repeat(np.arange(tools), counts))


def open_hnsw(
    data: bytes, vectors: NDArray[np.float32], where: str = roles.HNSW, fingerprint: str | None = None
) -> Neighbours:
    """A graph from a graph file over `vectors`.

    Raises BundleError if the file is not one of links among these rows, or belongs to the vectors of another encoder
    than the one with this `fingerprint`.
    """
    value = unpack(data, where)
    if fingerprint is not None:
        check_owner(value, fingerprint, where)
    return Walk(hnsw_file.read_links(value, len(vectors), where), vectors, EF)
