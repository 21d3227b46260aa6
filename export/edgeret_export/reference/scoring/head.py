"""DTDR-L (the DTDR paper, section 4): query and history to next-tool log-probabilities, by a linear layer.

Factored: its input is the query's vector beside features of the history, so that the query is multiplied once a task
and a step only adds a few rows. (The paper encodes the query with the names of the history again at every step; the
benchmarks fit that form for comparison.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle import roles
from edgeret.bundle.codec import get_array, pack
from edgeret.bundle.few_bits import from_bytes, get_scales
from edgeret.bundle.layout import check_owner
from edgeret.bundle.reader import Bundle
from edgeret.errors import BundleError
from edgeret.fields import get, get_number, get_strings
from edgeret.records import dataclass
from edgeret.types import SEGMENTS, SPELLING_BUCKETS
from edgeret_export.reference.few_bits import to_bytes, to_halves, unpaired
from edgeret_export.reference.scoring.prior import SAID

_FLOOR = np.float32(-60.0)
"""Below any log-probability that says something; what may not be chosen has none, and is left out later."""
_HALVES_FROM = 2_000
"""Labels from which on the weights of the spelling are stored in half bytes. So many labels have few demonstrations
each, and small weights; of fewer labels a byte a weight is no burden (docs/decisions)."""


@dataclass(frozen=True, slots=True)
class HeadArrays:
    """What a bundle stores of a head.

    `weights` (labels, dimension), `bias` (labels,), and the row `count[min(n, len(count) - 1)]` (labels,) to add after
    n calls. `segment_weights` (stages, segments) is U, its last row serving all later stages too; `description_weight`
    is w_d.

    `starts` (2·labels + 1,), `followers` and `values` (entries,) are sparse rows to add: row t once for every tool t in
    the history, and row labels + t for the latest call t. Row r adds `values[i]` to the label `followers[i]`, rising,
    for i from `starts[r]` up to `starts[r + 1]`, and nothing to labels that no demonstration had there.

    `spelling` (SPELLING_BUCKETS, labels) are the weights of how the query is spelt, in whole numbers, each of which
    counts for its label's `spelling_scales` (labels,).

    `prior_weight` is what the prior's scores weigh in the logits: with `prior_steps` its log-probabilities at every
    step, else the part of its scores that the query alone gives. `popular` says how much more often than the prior
    expected each of the tools in `popular_names` was called, in nats.
    """

    labels: tuple[str, ...]
    weights: NDArray[np.float32]
    bias: NDArray[np.float32]
    starts: NDArray[np.int64]
    followers: NDArray[np.int64]
    values: NDArray[np.float32]
    count: NDArray[np.float32]
    description_weight: float
    segment_weights: NDArray[np.float32]
    prior_weight: float
    prior_steps: bool
    popular_names: tuple[str, ...]
    popular: NDArray[np.float32]
    spelling: NDArray[np.int8]
    spelling_scales: NDArray[np.float32]


class FactoredHead:
    """logits = W·E(q) + Z·z(q) + b + T·r_s + Σ rows of the history + w_p·prior. Immutable and thread-safe.

    z says how the query is spelt: what an encoder of whole words cannot know of slips and short forms.

    T are the vectors of the labels' tools, and r_s = w_d·E(q) + Σ_j U[s, j]·g_j mixes the query's vector with those of
    its parts g_j, by how many calls were made (s): the step at hand is mostly named where the request has got to.
    """

    def __init__(self, arrays: HeadArrays) -> None:
        """Arranges the arrays for steps."""
        self.arrays = arrays
        self.labels = arrays.labels
        count, segment_weights = arrays.count, arrays.segment_weights
        described = np.full((len(segment_weights), 1), arrays.description_weight)
        self._mixture: NDArray[np.float32] = np.hstack((described, segment_weights)).astype(np.float32)
        self._starts: list[int] = arrays.starts.tolist()
        # What does not depend on the query is added up here, so that a step adds as few rows as can be.
        numbers = np.arange(max(len(count), len(segment_weights), 2))  # no call, and all that has no other row
        self._stages = np.minimum(numbers, len(segment_weights) - 1)
        self._by_calls = arrays.bias + count[np.minimum(numbers, len(count) - 1)]

    @property
    def prior_steps(self) -> bool:
        """Whether the logits rest on the prior at every step."""
        return self.arrays.prior_steps

    @cached_property
    def popularity(self) -> Mapping[str, float]:
        """`HeadArrays.popular`, by name."""
        return dict(zip(self.arrays.popular_names, self.arrays.popular.tolist(), strict=True))

    def query_logits(
        self,
        vector: NDArray[np.float32],
        cosines: NDArray[np.float32],
        static: NDArray[np.float32],
        spelt: tuple[NDArray[np.intp], NDArray[np.float32]],
        said: Sequence[int] = (),
    ) -> NDArray[np.float32]:
        """The part that a task computes once, float32 (numbers of calls, labels); its last row serves all longer
        histories too.

        `cosines` are those of the query and its parts to the tools, the labels' first (1 + SEGMENTS, at least
        labels - 1); `static` is what the prior makes of the query, the labels first (at least labels,); `spelt` are
        buckets and values, (k,) each. All are contiguous.
        `<end>`, the last label, has no description. The query is nothing but the names of the tools `said`: whatever
        such words led to in demonstrations, they come first, unless the prior says so at every step.
        """
        logits = self._mixed(self.arrays.weights @ vector, static, cosines, spelt)
        if not self.arrays.prior_steps:
            for label in said:
                if label < logits.shape[1]:
                    logits[0, label] += np.float32(SAID)
        return logits

    def _mixed(
        self,
        fixed: NDArray[np.float32],
        static: NDArray[np.float32],
        cosines: NDArray[np.float32],
        spelt: tuple[NDArray[np.intp], NDArray[np.float32]],
    ) -> NDArray[np.float32]:
        """The same without the tools said, from what the weights make of the query (labels,), which is used up."""
        buckets, values = spelt
        fixed += (values @ self.arrays.spelling[buckets]) * self.arrays.spelling_scales
        if not self.arrays.prior_steps:
            fixed += np.float32(self.arrays.prior_weight) * static[: len(fixed)]
        logits: NDArray[np.float32] = self._by_calls + fixed
        logits[:, :-1] += (self._mixture @ cosines[:, : len(fixed) - 1])[self._stages]
        return logits

    def beside(
        self, logits: NDArray[np.float32], prior: NDArray[np.float32], popular: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Logits of the labels and of all tools behind them, float32 (n,), where the logits rest on the prior at every
        step: from the labels' logits, the prior's log-probabilities (n,) and the same with popularity added (n,).

        Tools without demonstrations weigh together what the prior gives them, and share that as it says.
        """
        weight, labels = np.float32(self.arrays.prior_weight), len(self.labels)
        found = np.empty(len(prior), np.float32)
        found[:labels] = logits + weight * np.maximum(prior[:labels], _FLOOR)
        if labels < len(prior):
            others = np.maximum(popular[labels:], _FLOOR)
            best = others.max()
            total = np.log(np.exp(others - best).sum()) + best
            found[labels:] = others + (weight - np.float32(1)) * total
        return found

    def logits(self, query_logits: NDArray[np.float32], history: Sequence[int]) -> NDArray[np.float32]:
        """The same before normalisation, which fusion does anyway: float32 (labels,), a fresh array."""
        if not history:
            first: NDArray[np.float32] = query_logits[0].copy()
            return first
        begun = query_logits[min(len(history), len(query_logits) - 1)]
        rows = [tool for tool in set(history) if tool >= 0]
        if rows and history[-1] >= 0:
            rows.append(len(self.labels) + history[-1])
        logits: NDArray[np.float32] = begun.copy()
        for row in rows:
            entries = slice(self._starts[row], self._starts[row + 1])
            logits[self.arrays.followers[entries]] += self.arrays.values[entries]
        return logits


def log_softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Log-softmax of a vector, or of every row of several, in its own dtype."""
    shifted: NDArray[np.float32] = logits - logits.max(axis=-1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return shifted


def pack_head(arrays: HeadArrays, fingerprint: str) -> bytes:
    """The file with the role `head`, tied to the encoder whose vectors it was fitted on.

    The large arrays are rounded: a byte a weight costs no decision, and a quarter of the space."""
    stored = asdict(arrays) | {"labels": list(arrays.labels), "popular_names": list(arrays.popular_names)}
    stored["weights"], stored["weight_scales"] = to_bytes(arrays.weights)
    stored["spelling"] = np.ascontiguousarray(arrays.spelling.T)
    if len(arrays.labels) >= _HALVES_FROM:
        exact = from_bytes(stored["spelling"], arrays.spelling_scales)
        stored["spelling"], stored["spelling_scales"] = to_halves(exact)
    stored |= {name: getattr(arrays, name).astype("<i4") for name in ("starts", "followers")}
    stored |= {name: getattr(arrays, name).astype("<f2") for name in ("values", "count")}
    return pack({"encoder": fingerprint, **stored})


def load_head(bundle: Bundle) -> FactoredHead:
    """The bundle's deciding head. Raises BundleError if it was made for another encoder or does not hang together."""
    where = f"{bundle.path} ({roles.HEAD})"
    value = bundle.map(roles.HEAD)
    check_owner(value, bundle.fingerprint(), where)
    labels = get_strings(value, "labels", where)
    n = len(labels)
    count = get_array(value, "count", "<f2", (None, n), where)
    segment_weights = get_array(value, "segment_weights", "<f4", (None, SEGMENTS), where)
    if not n or len(set(labels)) != n:
        raise BundleError(f"{where}: no labels in it, or one of them twice; build the bundle again")
    if not len(count) or not len(segment_weights):
        raise BundleError(f'{where}: "count" or "segment_weights" has no rows; build the bundle again')
    popular_names = get_strings(value, "popular_names", where)
    starts, followers, values = _history(value, n, where)
    arrays = HeadArrays(
        labels,
        from_bytes(get_array(value, "weights", "|i1", (n, None), where), get_scales(value, "weight_scales", n, where)),
        get_array(value, "bias", "<f4", (n,), where),
        starts,
        followers,
        values,
        count.astype(np.float32),
        get_number(value, "description_weight", -1e4, 1e4, where),
        segment_weights,
        get_number(value, "prior_weight", -1e4, 1e4, where),
        get(value, "prior_steps", bool, where),
        popular_names,
        get_array(value, "popular", "<f4", (len(popular_names),), where),
        *_spelling(value, n, where),
    )
    return FactoredHead(arrays)


def _history(
    value: Mapping[str, Any], labels: int, where: str
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """The sparse rows of the history. Raises BundleError where one leads out of the arrays or names a label twice."""
    starts = get_array(value, "starts", "<i4", (2 * labels + 1,), where).astype(np.int64)
    followers = get_array(value, "followers", "<i4", (None,), where).astype(np.int64)
    values = get_array(value, "values", "<f2", (len(followers),), where).astype(np.float32)
    sound = starts[0] == 0 and starts[-1] == len(followers) and bool((np.diff(starts) >= 0).all())
    if sound and len(followers):
        rising = np.diff(followers, prepend=-1) > 0
        rising[starts[:-1][starts[:-1] < len(followers)]] = True
        sound = bool(rising.all()) and followers.min() >= 0 and followers.max() < labels
    if not sound:
        raise BundleError(f"{where}: the rows of its history contradict each other; build the bundle again")
    return starts, followers, values


def _spelling(value: Mapping[str, Any], labels: int, where: str) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Weights of the spelling (SPELLING_BUCKETS, labels), a byte or half a byte each in the file, and their scales.
    Raises BundleError."""
    rows = get_array(value, "spelling", "|i1", (labels, None), where)
    scales = get_scales(value, "spelling_scales", labels, where)
    if rows.shape[1] not in (SPELLING_BUCKETS, SPELLING_BUCKETS // 2):
        raise BundleError(
            f'{where}: "spelling" must have rows of {SPELLING_BUCKETS} bytes, or of half as many, found '
            f"{rows.shape[1]}; build the bundle again"
        )
    return np.ascontiguousarray((rows if rows.shape[1] == SPELLING_BUCKETS else unpaired(rows)).T), scales
