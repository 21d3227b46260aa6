"""What a picture reads of a bundle: tools with their vectors, clusters, and what followed what. Draws nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle import roles
from edgeret.bundle.codec import get_array
from edgeret.bundle.few_bits import from_bytes, get_scales
from edgeret.bundle.layout import check_owner
from edgeret.bundle.reader import Bundle
from edgeret.errors import BundleError
from edgeret.fields import get_strings
from edgeret.records import dataclass
from edgeret.types import END

GLOBAL = PADDING = -1
"""The cluster under which all demonstrations together are counted; the label before the first call."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """`vectors` are the tools', float32 (tools, dimension), `centroids` the clusters', (clusters, dimension).
    `transitions` are what followed what single label, in every cluster: rows of (cluster or GLOBAL, label before or
    PADDING for `<start>`, label after, count), float64 (transitions, 4). Without demonstrations there are no labels."""

    names: Sequence[str]
    vectors: NDArray[np.float32]
    labels: Sequence[str]
    centroids: NDArray[np.float32]
    transitions: NDArray[np.float64]


def read_drawn(bundle: Bundle) -> Drawn:
    """Reads a verified bundle's. Raises BundleError for one that does not hang together."""
    where = f"{bundle.path} ({roles.INDEX})"
    value = bundle.map(roles.INDEX)
    check_owner(value, bundle.fingerprint(), where)
    names = get_strings(value, "names", where)
    if "scales" in value:
        vectors = from_bytes(
            get_array(value, "vectors", "|i1", (len(names), None), where),
            get_scales(value, "scales", len(names), where),
        )
    else:
        vectors = get_array(value, "vectors", "<f4", (len(names), None), where)
    if not names or not vectors.any(axis=1).all():
        raise BundleError(f"{where}: no tools in it, or one without a vector; build the bundle again")
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    if bundle.manifest.file(roles.GRAPH) is None:
        return Drawn(names, vectors, (), np.empty((0, vectors.shape[1]), np.float32), np.empty((0, 4)))
    return Drawn(names, vectors, *_graph(bundle, names, vectors.shape[1]))


def _graph(
    bundle: Bundle, names: Sequence[str], dimension: int
) -> tuple[Sequence[str], NDArray[np.float32], NDArray[np.float64]]:
    where = f"{bundle.path} ({roles.GRAPH})"
    value = bundle.map(roles.GRAPH)
    check_owner(value, bundle.fingerprint(), where)
    labels = get_strings(value, "labels", where)
    centroids = get_array(value, "centroids", "<f4", (None, dimension), where)
    keys = get_array(value, "keys", "<i4", (None, None), where)
    starts = get_array(value, "starts", "<i4", (len(keys) + 1,), where)
    targets = get_array(value, "targets", "<i4", (None,), where)
    counts = get_array(value, "counts", "<f4", (len(targets),), where)
    single = np.flatnonzero(keys[:, 1] == 1) if keys.shape[1] > 2 else np.empty(0, np.intp)
    before, clusters = keys[single, 2], keys[single, 0]
    sound = starts[0] == 0 and starts[-1] == len(targets) and bool((np.diff(starts) > 0).all())
    in_range = ((before, PADDING, len(labels)), (clusters, GLOBAL, len(centroids)), (targets, 0, len(labels)))
    if not sound or not all(((low <= each) & (each < high)).all() for each, low, high in in_range):
        raise BundleError(f"{where}: its tables contradict each other; build the bundle again")
    if not set(labels) <= {*names, END}:
        raise BundleError(f"{bundle.path}: graph and index do not belong together; build the bundle again")
    sizes = np.diff(starts)[single]
    at = np.concatenate([np.empty(0, np.intp), *(np.arange(*starts[row : row + 2]) for row in single.tolist())])
    told = (clusters.repeat(sizes), before.repeat(sizes), targets[at], counts[at])
    return labels, centroids, np.column_stack(told).astype(np.float64)
