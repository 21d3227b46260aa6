"""Distributions to calibrated probabilities: fusion, confidence map, conformal sets. Knows nothing of text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import inf
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle import roles
from edgeret.bundle.codec import get_array
from edgeret.bundle.layout import check_owner
from edgeret.bundle.reader import Bundle
from edgeret.errors import BundleError, InputError
from edgeret.fields import get, get_number
from edgeret.records import dataclass
from edgeret.types import Candidate
from edgeret_export.reference.scoring.log_shares import log_shares

Map = Sequence[tuple[float, float]]
"""Points of a rising, piecewise linear map from a confidence to the calibrated one."""
RISKS = np.arange(1, 101, dtype=np.float64) / 200
"""Shares of wrong answers that a caller may allow, for which floors are kept: 0.005 to 0.5."""
_RISKS: tuple[float, ...] = tuple(RISKS.tolist())
_MOST_LOG = 80.0
OWNERS = (roles.GRAPH, roles.HEAD, roles.MEMORY, roles.FAMILIARITY)
"""Roles whose files a calibration was fitted with, and is worth nothing without. Those that a bundle lacks are not
named."""


@dataclass(frozen=True, slots=True)
class CalibrationParameters:
    """Everything that was fitted on held-out demonstrations.

    Fusion: log p = `head_weight`·log p_head + `graph_weight`·log p_graph + `memory_weight`·log p_memory (+ const).
    Where the head does not rest on the prior at every step, `later_head_weight` and `later_graph_weight` take their
    place behind the first call; and a tool without demonstrations gets log p_prior + `unseen_bias` beside all labels
    together, or + `added_bias` if it came after the demonstrations.
    `calibration_map` (n, 2) maps the fused confidence to the calibrated one, `prior_map` that of the prior alone. Below
    `min_probability` edgeret abstains. `right_probabilities` are evenly spaced quantiles, the least first, of the
    calibrated probability that held-out decisions gave to what was right: the threshold of a conformal set.
    `first_floors` and `later_floors` (risks,) are how probable an answer must be before any call, and behind one, so
    that at most each of RISKS is wrong.
    """

    head_weight: float = 0.8
    graph_weight: float = 0.2
    memory_weight: float = 0.0
    later_head_weight: float = 1.0
    later_graph_weight: float = 0.0
    unseen_bias: float = 0.0
    added_bias: float = 0.0
    min_probability: float = 0.1
    calibration_map: Map = ((0.0, 0.0), (1.0, 1.0))
    prior_map: Map = ((0.0, 0.0), (1.0, 1.0))
    right_probabilities: tuple[float, ...] = (0.0, 1.0)
    first_floors: tuple[float, ...] = tuple((1 - RISKS).tolist())
    later_floors: tuple[float, ...] = tuple((1 - RISKS).tolist())

    def to_dict(self) -> dict[str, Any]:
        """The parameters as plain data for the manifest; `calibration_map` and `right_probabilities` as arrays."""
        arrays = {name: np.array(getattr(self, name), np.float32) for name in _ARRAYS}
        return {**asdict(self), **arrays}

    @staticmethod
    def from_dict(value: Mapping[str, Any], where: str) -> CalibrationParameters:
        """Reads them back. Raises BundleError when one is missing, of another type or out of range."""
        numbers = {name: get_number(value, name, low, high, where) for name, (low, high) in _RANGES.items()}
        maps = {name: _map(value, name, where) for name in ("calibration_map", "prior_map")}
        quantiles = get_array(value, "right_probabilities", "<f4", (None,), where)
        if len(quantiles) < 2 or quantiles.min() < 0 or quantiles.max() > 1 or (np.diff(quantiles) < 0).any():
            raise BundleError(
                f"{where}: the quantiles of right answers do not rise from 0 to 1; build the bundle again"
            )
        floors = {name: get_array(value, name, "<f4", RISKS.shape, where) for name in ("first_floors", "later_floors")}
        if any(each.min() < 0 or each.max() > 1 or (np.diff(each) > 0).any() for each in floors.values()):
            raise BundleError(f"{where}: floors by risk do not fall from 1 to 0; build the bundle again")
        return CalibrationParameters(
            **numbers,
            first_floors=tuple(floors["first_floors"].tolist()),
            later_floors=tuple(floors["later_floors"].tolist()),
            calibration_map=maps["calibration_map"],
            prior_map=maps["prior_map"],
            right_probabilities=tuple(quantiles.tolist()),
        )


def _map(value: Mapping[str, Any], name: str, where: str) -> Map:
    """The points of a map. Raises BundleError."""
    points = get_array(value, name, "<f4", (None, 2), where)
    rising = len(points) >= 2 and bool((np.diff(points[:, 0]) > 0).all() and (np.diff(points[:, 1]) >= 0).all())
    if not rising or points.min() < 0 or points.max() > 1:
        raise BundleError(f"{where}: {name} does not rise from 0 to 1; build the bundle again")
    return tuple((float(x), float(y)) for x, y in points)


_ARRAYS = frozenset({"calibration_map", "prior_map", "right_probabilities", "first_floors", "later_floors"})
_RANGES: Mapping[str, tuple[float, float]] = {
    "head_weight": (0.0, 100.0),
    "graph_weight": (0.0, 100.0),
    "memory_weight": (0.0, 100.0),
    "later_head_weight": (0.0, 100.0),
    "later_graph_weight": (0.0, 100.0),
    "unseen_bias": (-1e4, 1e4),
    "added_bias": (-1e4, 1e4),
    "min_probability": (0.0, 1.0),
}
"""Where fitted numbers can lie; a calibration beyond them was not fitted but made up."""


class Calibration:
    """Fuses and calibrates. Immutable and thread-safe."""

    def __init__(self, parameters: CalibrationParameters, risk: float | None = None) -> None:
        """`risk` is the share of answers that may be wrong where a decision names nothing; None for the floor that
        ships."""
        self.parameters, self.risk = parameters, risk
        self._head_weight = np.float32(parameters.head_weight)
        self._graph_weight = np.float32(parameters.graph_weight)
        self._memory_weight = np.float32(parameters.memory_weight)
        self._later = np.float32(parameters.later_head_weight), np.float32(parameters.later_graph_weight)

    @property
    def map(self) -> Map:
        """The map of the fused confidence."""
        return self.parameters.calibration_map

    @property
    def prior_map(self) -> Map:
        """The map of the prior's own confidence."""
        return self.parameters.prior_map

    def unseen_scores(
        self, scores: NDArray[np.float32], labels: int, popularity: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], float]:
        """Logs of what tools without demonstrations, which stand behind so many labels, weigh beside all of these
        together, float32 (n - labels,): from the prior's scores of all (n,), -inf for those that cannot come next, and
        their popularity (n,), 0 for those that came later. With it the best score. The scores are used up."""
        p = self.parameters
        best, unseen = log_shares(scores), scores[labels:]
        unseen += np.where(popularity[labels:] == 0, np.float32(p.added_bias), np.float32(p.unseen_bias))
        return np.minimum(unseen, np.float32(_MOST_LOG), out=unseen), best

    def asks_graph(self, later: bool) -> bool:
        """Whether the graph has a say before the first call, or behind it (`later`)."""
        return not later or self.parameters.later_graph_weight > 0

    def fuse(
        self, head: NDArray[np.float32], graph: NDArray[np.float32] | None, later: bool = False
    ) -> NDArray[np.float32]:
        """Log-probabilities of the labels up to a constant, float32 (labels,), from logits or log-probabilities of the
        head and probabilities of the graph, both (labels,), each right up to a constant and both used up; `later`
        behind the first call. None for a graph that is not asked."""
        for_head, for_graph = self._later if later else (self._head_weight, self._graph_weight)
        head *= for_head
        if graph is not None:
            np.log(graph, out=graph)
            graph *= for_graph
            head += graph
        return head

    def fuse_all(
        self, full: NDArray[np.float32], graph: NDArray[np.float32], memory: NDArray[np.float32] | None
    ) -> NDArray[np.float32]:
        """The same of all tools: from log-probabilities of head and prior (n,), probabilities of the graph (labels,),
        which shares what those give the labels, and log-probabilities of the memory (n,) or None."""
        labels = len(graph)
        fused = self._head_weight * full
        if self._graph_weight:
            held = np.exp(full[:labels]).sum() / graph.sum()
            fused[:labels] += self._graph_weight * np.log(np.maximum(graph * held, np.float32(1e-30)))
            fused[labels:] += self._graph_weight * full[labels:]
        if memory is not None and self._memory_weight:
            fused += self._memory_weight * memory
        return fused

    def calibrate(self, scores: NDArray[np.float32], points: Map, whole: float = 1.0) -> NDArray[np.float32]:
        """Normalises scores and maps the largest through `points`, scaling the rest to fill up to 1, in place; all of
        them times the `whole`.

        The ranking stays as it is: the largest never falls below the runner-up. Raises BundleError for scores that are
        not finite.
        """
        top = scores.argmax().item()
        largest = scores.item(top)
        scores[top] = 0.0
        # Summed, and not 1 - confidence: near certainty that difference has no digits left.
        return self._mapped(scores, top, largest, scores.sum().item(), scores.item(scores.argmax()), points, whole)

    def calibrate_logs(self, logs: NDArray[np.float32], points: Map, whole: float = 1.0) -> NDArray[np.float32]:
        """The same from the scores' logarithms (n,), in place. Raises as `calibrate` does."""
        logs -= logs[logs.argmax()]
        np.exp(logs, out=logs)
        return self.calibrate(logs, points, whole)

    @staticmethod
    def _mapped(
        scores: NDArray[np.float32],
        top: int,
        largest: float,
        rest: float,
        runner_up: float,
        points: Map,
        whole: float,
    ) -> NDArray[np.float32]:
        """Scores but the largest, which is 0 in its place `top`, with the sum and the largest of these."""
        if not 0.0 < largest + rest < inf:  # NaN fails too, wherever it came from
            raise BundleError("graph and head give no probabilities, but NaN or infinity; build the bundle again")
        if len(scores) == 1:
            scores[top] = whole
            return scores
        target = _interpolated(points, largest / (largest + rest))
        if rest < 1e-30:
            scores += np.float32(1e-30)
            scores[top] = 0.0
            rest = scores.sum().item()
            runner_up += 1e-30
        if target < 0.5:
            share = runner_up / rest
            target = max(target, share / (1.0 + share) + 1e-6)  # where both would be equal
        scores *= whole * (1.0 - target) / rest
        scores[top] = whole * target
        return scores

    def threshold(self, coverage: float) -> float:
        """The probability from which on candidates belong to the conformal set of this coverage, in (0, 1).

        Split conformal prediction on held-out decisions: at least `coverage` of them gave that much to what was right.
        Raises InputError for another coverage.
        """
        if not 0 < coverage < 1:
            raise InputError(f"coverage must lie between 0 and 1, found {coverage}")
        quantiles = self.parameters.right_probabilities
        return quantiles[int((1 - coverage) * (len(quantiles) - 1))]

    def floor(self, later: bool, min_probability: float | None, risk: float | None) -> float:
        """How probable an answer must be, before any call or behind one (`later`): what a caller named, or what
        ships."""
        p, risk = self.parameters, self.risk if risk is None else risk
        if min_probability is not None:
            return min_probability
        if risk is None:
            return p.min_probability
        floors = p.later_floors if later else p.first_floors
        at = bisect_right(_RISKS, risk + 1e-9) - 1
        return floors[at] if at >= 0 else 1.0

    def candidate_set(self, candidates: Sequence[Candidate], coverage: float) -> Sequence[Candidate]:
        """The candidates (most probable first) that are needed to hold what is right as often as `coverage`; never
        none."""
        threshold = self.threshold(coverage)
        size = next((i for i, c in enumerate(candidates) if c.probability < threshold), len(candidates))
        return candidates[: max(1, size)]


def _interpolated(points: Map, confidence: float) -> float:
    """Piecewise linear interpolation; numpy's costs more than the rest of the step's arithmetic."""
    right = bisect_right(points, confidence, key=itemgetter(0))
    if right == 0 or right == len(points):
        return points[max(0, right - 1)][1]
    (x0, y0), (x1, y1) = points[right - 1], points[right]
    return y0 + (y1 - y0) * (confidence - x0) / (x1 - x0)


def pack_calibration(parameters: CalibrationParameters, fingerprint: str, hashes: Mapping[str, str]) -> dict[str, Any]:
    """What the manifest holds: the parameters, tied to the encoder and, by their files' sha256 (by role), to the very
    heads that they were fitted with."""
    owners = {role: hashes[role] for role in OWNERS if role in hashes}
    return {"encoder": fingerprint, **owners, "parameters": parameters.to_dict()}


def load_calibration(bundle: Bundle, risk: float | None = None) -> Calibration:
    """What was fitted on held-out demonstrations, refused if it was fitted with other heads than the bundle's. `risk`
    as in `Calibration`. Raises BundleError."""
    where = f"{bundle.path} ({roles.INFO_CALIBRATION})"
    value = get(bundle.manifest.info, roles.INFO_CALIBRATION, dict, where)
    check_owner(value, bundle.fingerprint(), where)
    for role in OWNERS:
        entry = bundle.manifest.file(role)
        if value.get(role) != (None if entry is None else entry.sha256):
            raise BundleError(f"{where}: calibrated for another {role}; build the bundle again")
    return Calibration(CalibrationParameters.from_dict(get(value, "parameters", dict, where), where), risk)
