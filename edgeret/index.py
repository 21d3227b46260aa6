"""Vector to tools: exact up to a measured size, HNSW above it. Knows nothing of queries or plans."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle import Bundle, check_owner
from edgeret.codec import get_array, get_strings, pack
from edgeret.errors import BundleError

ROLE, HNSW_ROLE = "index", "hnsw"
CROSSOVER = 4_000
"""Tools from which a build adds an HNSW graph; measured with `edgeret-bench crossover` (docs/DESIGN.md, decisions)."""
M, EF_CONSTRUCTION, EF = 16, 200, 64


class Index:
    """Tool vectors with their names. Immutable; safe to use from several threads."""

    def __init__(self, names: Sequence[str], vectors: NDArray[np.float32], hnsw: Any = None) -> None:
        """`vectors` are unit rows, float32 (len(names), dimension); `hnsw` an hnswlib index over the same rows."""
        self.names = tuple(names)
        self.vectors = vectors
        self._hnsw = hnsw

    @property
    def kind(self) -> str:
        """ "hnsw" or "exact": how `search` looks."""
        return "exact" if self._hnsw is None else "hnsw"

    def similarities(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Cosine of a unit vector (dimension,) to every tool, float32 (tools,)."""
        return self.vectors @ vector

    def search(self, vector: NDArray[np.float32], k: int) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Positions and cosines of the `k` nearest tools, nearest first; equal cosines keep the tools' order."""
        k = min(k, len(self.names))
        if self._hnsw is not None:
            labels, _ = self._hnsw.knn_query(vector, k=k, num_threads=1)
            positions = labels[0].astype(np.intp)
            similarities = self.vectors[positions] @ vector
        else:
            similarities = self.similarities(vector)
            positions = (
                np.arange(len(self.names)) if k == len(self.names) else np.argpartition(-similarities, k - 1)[:k]
            )
            similarities = similarities[positions]
        order = np.lexsort((positions, -similarities))
        return positions[order], similarities[order]


def pack_index(names: Sequence[str], vectors: NDArray[np.float32], fingerprint: str) -> bytes:
    """The index file: names and vectors, tied to the encoder that made them."""
    return pack({"encoder": fingerprint, "names": list(names), "vectors": vectors.astype("<f4")})


def build_hnsw(vectors: NDArray[np.float32], seed: int) -> bytes:
    """An hnswlib graph over unit rows (inner product). One thread and a fixed seed give the same bytes twice."""
    import hnswlib

    graph = hnswlib.Index(space="ip", dim=vectors.shape[1])
    graph.init_index(max_elements=len(vectors), M=M, ef_construction=EF_CONSTRUCTION, random_seed=seed)
    graph.add_items(vectors, np.arange(len(vectors)), num_threads=1)
    with tempfile.TemporaryDirectory() as folder:  # hnswlib reads and writes files only
        file = Path(folder) / "graph"
        graph.save_index(str(file))
        return file.read_bytes()


def hnsw_available() -> bool:
    """Whether hnswlib is installed (extra `hnsw`)."""
    return importlib.util.find_spec("hnswlib") is not None


def load_index(bundle: Bundle) -> Index:
    """The bundle's index. Without hnswlib an HNSW graph stays unused and search is exact: slower, and complete.

    Raises BundleError if the index was made by another encoder or does not hang together.
    """
    where = f"{bundle.path} ({ROLE})"
    value = bundle.map(ROLE)
    check_owner(value, bundle.fingerprint(), where)
    names = get_strings(value, "names", where)
    vectors = get_array(value, "vectors", "<f4", (len(names), None), where)
    if not names or len(set(names)) != len(names):
        raise BundleError(f"{where}: no tools in it, or one of them twice; build the bundle again")
    if not np.allclose(np.einsum("ij,ij->i", vectors, vectors), 1, atol=1e-2):
        raise BundleError(f"{where}: its vectors are not of length 1; build the bundle again")
    hnsw = None
    if bundle.manifest.file(HNSW_ROLE) is not None and hnsw_available():
        hnsw = open_hnsw(bundle.read(HNSW_ROLE), vectors)
    return Index(names, vectors, hnsw)


def open_hnsw(data: bytes, vectors: NDArray[np.float32]) -> Any:
    """Hands verified bytes to hnswlib through a private file, since the bundle's own could change in between."""
    import hnswlib

    graph = hnswlib.Index(space="ip", dim=vectors.shape[1])
    descriptor, name = tempfile.mkstemp(prefix="edgeret-", suffix=".hnsw")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
        graph.load_index(name)
    except RuntimeError as error:
        raise BundleError(f"index: hnswlib cannot read its graph ({error}); build the bundle again") from None
    finally:
        Path(name).unlink()
    if sorted(graph.get_ids_list()) != list(range(len(vectors))):
        raise BundleError(f"index: the HNSW graph does not hold the {len(vectors)} tools; build the bundle again")
    graph.set_ef(EF)
    return graph
