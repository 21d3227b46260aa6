"""The memory that ships with a bundle of few demonstrations: its steps vote beside what the tools say. Knows nothing of
text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle import roles
from edgeret.bundle.codec import get_array, pack
from edgeret.bundle.layout import check_owner
from edgeret.bundle.reader import Bundle
from edgeret.errors import BundleError
from edgeret_export.reference.scoring.head import log_softmax
from edgeret_export.reference.scoring.memory import END, Memory, Neighbours
from edgeret_export.reference.scoring.offsets import KEPT, Offsets

PRIOR_WEIGHT = np.float32(0.01)
"""What the prior weighs among the votes."""
NOTHING_KEPT = Offsets(np.empty((0, KEPT), np.int32), np.empty((0, KEPT), np.float16))
NOBODY = -2
"""Stands in a history for a tool that no demonstration calls."""


class Episodes:
    """Demonstrations as stored steps. Immutable and thread-safe."""

    def __init__(self, vectors: NDArray[np.float32], calls: Sequence[Sequence[int]], labels: int) -> None:
        """`vectors` are the plans' unit query vectors (plans, dimension), `calls` the numbers of their calls' labels,
        of which there are `labels`, `<end>` the last."""
        steps = sum(len(plan) + 1 for plan in calls)
        self._memory = Memory(vectors.shape[1], steps + 1)
        self._end = labels - 1
        self.dimension = vectors.shape[1]
        for row, (vector, plan) in enumerate(zip(vectors, calls, strict=True)):
            self._memory.restore(vector, [number + 1 for number in plan], NOTHING_KEPT, row)

    def near(self, vector: NDArray[np.float32]) -> Neighbours:
        """The steps of the plans nearest to a unit query vector (dimension,)."""
        return self._memory.near(vector)

    def nearest(self, near: Neighbours) -> float | None:
        """The cosine of the nearest of them that calls a tool; None where none does."""
        return self._memory.nearest(near)

    def log_probabilities(
        self, near: Neighbours, history: Sequence[int], prior: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Log-probabilities of all tools, the labels first, float32 (n,), after a history of label numbers (negative
        for a tool without a label); `prior` are scores (n,) of what is expected where no step is like this one."""
        votes, weights = self._memory.votes(near, [number + 1 if number >= 0 else NOBODY for number in history])
        found = PRIOR_WEIGHT * np.exp(log_softmax(prior))
        np.add.at(found, np.where(votes == END, self._end, votes - 1), weights.astype(np.float32))
        log_p: NDArray[np.float32] = np.log(found + np.float32(1e-30))
        return log_p


def pack_memory(vectors: NDArray[np.float32], calls: Sequence[Sequence[int]], fingerprint: str) -> bytes:
    """The file with the role `memory`, tied to the encoder whose vectors it holds (as float16)."""
    starts = np.concatenate(([0], np.cumsum([len(plan) for plan in calls]))).astype("<i4")
    flat = np.array([number for plan in calls for number in plan], "<i4")
    return pack({"encoder": fingerprint, "vectors": vectors.astype("<f2"), "starts": starts, "calls": flat})


def load_memory(bundle: Bundle, labels: int) -> Episodes | None:
    """The bundle's memory, None without one. Raises BundleError if it does not hang together."""
    if bundle.manifest.file(roles.MEMORY) is None:
        return None
    where = f"{bundle.path} ({roles.MEMORY})"
    value: dict[str, Any] = bundle.map(roles.MEMORY)
    check_owner(value, bundle.fingerprint(), where)
    vectors = get_array(value, "vectors", "<f2", (None, None), where).astype(np.float32)
    starts = get_array(value, "starts", "<i4", (len(vectors) + 1,), where)
    calls = get_array(value, "calls", "<i4", (None,), where)
    lengths = np.diff(starts)
    sound = (
        len(vectors) > 0
        and starts[0] == 0
        and starts[-1] == len(calls)
        and bool((lengths >= 0).all() and (lengths < 256).all())
        and bool(((calls >= 0) & (calls < labels - 1)).all())
        and np.allclose(np.einsum("ij,ij->i", vectors, vectors), 1, atol=1e-2)
    )
    if not sound:
        raise BundleError(f"{where}: its tables contradict each other; build the bundle again")
    plans = [calls[start:stop].tolist() for start, stop in pairwise(starts.tolist())]
    return Episodes(vectors, plans, labels)
