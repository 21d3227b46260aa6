"""DTDR-L (the DTDR paper, section 4): query and history to next-tool log-probabilities, by a linear layer.

The form is factored: its input is the query's vector beside features of the history, so that the query is multiplied
once a task and a step only adds a few rows. The paper's own form is fitted by the benchmarks, which compare with it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle import roles
from edgeret.bundle.codec import get_array
from edgeret.bundle.layout import check_owner
from edgeret.bundle.reader import Bundle
from edgeret.errors import BundleError
from edgeret.fields import get_number, get_strings
from edgeret.types import SEGMENTS

PIECE = 400_000
"""Multiplications in one matrix product. Above some 500,000 OpenBLAS packs its operands and wakes its threads, for four
rows: 1,000 tools took 160 us at once and 41 in pieces (docs/DESIGN.md, decisions)."""


class FactoredHead:
    """logits = W·E(q) + b + T·r_s + Σ rows of the history. Immutable and thread-safe.

    T are the vectors of the labels' tools, and r_s = w_d·E(q) + Σ_j U[s, j]·g_j mixes the query's vector with those of
    its parts g_j, by how many calls were made (s): the step at hand is mostly named where the request has got to.
    """

    def __init__(
        self,
        labels: Sequence[str],
        weights: NDArray[np.float32],
        bias: NDArray[np.float32],
        called: NDArray[np.float32],
        last: NDArray[np.float32],
        count: NDArray[np.float32],
        description_weight: float,
        segment_weights: NDArray[np.float32],
    ) -> None:
        """`weights` (labels, dimension), `bias` (labels,), and rows to add, each (…, labels): `called[t]` once for
        every tool t in the history, `last[t]` for the latest, `count[min(n, len(count) - 1)]` for n calls.
        `segment_weights` (stages, segments) is U, its last row serving all later stages too.
        """
        self.labels = tuple(labels)
        self.weights, self.bias = weights, bias
        self.called, self.last, self.count = called, last, count
        self.description_weight = description_weight
        self.segment_weights = segment_weights
        described = np.full((len(segment_weights), 1), description_weight)
        mixture = np.vstack((np.eye(1, 1 + SEGMENTS), np.hstack((described, segment_weights))))
        self._mixture: NDArray[np.float32] = mixture.astype(np.float32)
        # What does not depend on the query is added up here, so that a step adds as few rows as can be.
        self._latest = called + last
        numbers = np.arange(max(len(count), len(segment_weights)))
        self._stages = np.minimum(numbers, len(segment_weights) - 1)
        self._by_calls = bias + count[np.minimum(numbers, len(count) - 1)]

    def pieces(self, tools: NDArray[np.float32]) -> tuple[NDArray[np.float32], ...]:
        """The vectors of the labels' tools (labels - 1, dimension) as `products` takes them: transposed, and cut so
        that every product stays small."""
        step = max(1, PIECE // (len(self._mixture) * tools.shape[1]))
        return tuple(tools[start : start + step].T for start in range(0, len(tools), step)) or (tools.T,)

    def products(self, query: NDArray[np.float32], pieces: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """Cosines of the query to the tools, then T·r_s of every stage: float32 (1 + stages, labels - 1), in one pass
        over the tools' vectors, from the unit vectors of the query and its parts (1 + SEGMENTS, dimension)."""
        directions: NDArray[np.float32] = self._mixture @ query
        if len(pieces) == 1:
            return directions @ pieces[0]
        return np.concatenate([directions @ piece for piece in pieces], axis=1)

    def query_logits(self, vector: NDArray[np.float32], described: NDArray[np.float32]) -> NDArray[np.float32]:
        """The part that a task computes once, float32 (numbers of calls, labels); its last row serves all longer
        histories too.

        `described` (stages, labels - 1) are the method's rows from the second on; `<end>`, the last label, has no
        description.
        """
        logits: NDArray[np.float32] = self._by_calls + self.weights @ vector
        logits[:, :-1] += described[self._stages]
        return logits

    def log_probabilities(self, query_logits: NDArray[np.float32], history: Sequence[int]) -> NDArray[np.float32]:
        """Log-softmax after `history` (label numbers, negative for a tool without a label), float32 (labels,)."""
        return log_softmax(self.logits(query_logits, history))

    def logits(self, query_logits: NDArray[np.float32], history: Sequence[int]) -> NDArray[np.float32]:
        """The same before normalisation, which fusion does anyway: float32 (labels,), a fresh array."""
        logits: NDArray[np.float32] = query_logits[min(len(history), len(query_logits) - 1)].copy()
        if history:
            latest = history[-1]
            if latest >= 0:
                logits += self._latest[latest]
            for tool in set(history[:-1]):
                if tool >= 0 and tool != latest:
                    logits += self.called[tool]
        return logits


def log_softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Log-softmax of a vector, in its own dtype."""
    shifted = logits - logits.max()
    result: NDArray[np.float32] = shifted - np.log(np.exp(shifted).sum())
    return result


def load_head(bundle: Bundle) -> FactoredHead:
    """The bundle's deciding head. Raises BundleError if it was made for another encoder or does not hang together."""
    where = f"{bundle.path} ({roles.HEAD})"
    value = bundle.map(roles.HEAD)
    check_owner(value, bundle.fingerprint(), where)
    labels = get_strings(value, "labels", where)
    n = len(labels)
    count = get_array(value, "count", "<f4", (None, n), where)
    segment_weights = get_array(value, "segment_weights", "<f4", (None, SEGMENTS), where)
    if not n or len(set(labels)) != n:
        raise BundleError(f"{where}: no labels in it, or one of them twice; build the bundle again")
    if not len(count) or not len(segment_weights):
        raise BundleError(f'{where}: "count" or "segment_weights" has no rows; build the bundle again')
    return FactoredHead(
        labels,
        get_array(value, "weights", "<f4", (n, None), where),
        get_array(value, "bias", "<f4", (n,), where),
        get_array(value, "called", "<f4", (n, n), where),
        get_array(value, "last", "<f4", (n, n), where),
        count,
        get_number(value, "description_weight", -1e4, 1e4, where),
        segment_weights,
    )
