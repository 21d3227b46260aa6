"""Ranks without demonstrations: what is called next, from the tools' words, vectors and flow alone.

A linear score whose few weights were fitted on other people's tools (`edgeret-export prior`), the same ones for
everybody. It is all that a bundle without demonstrations has, what a tool without demonstrations is scored by, and what
the head's logits start from. Knows nothing of text.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from math import exp, log, log1p
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.fields import get_number
from edgeret.inputs.lexicon import Flow, Overlaps
from edgeret.scoring.products import pieces, product

CALLED = 20.0
"""What a tool that was called already loses, in nats."""
SAID = 10.0
"""What a tool gains whose name is all that the request says, in nats; so plain a wish is no matter of weights."""
EXPECTED_ROWS = 12
"""Rows that a request of usual length brings; the vectors are cut for so many."""
COSINE = np.float32(10.0)
"""Cosines are counted in tenths, so that weights are of one size."""
_LIMIT = 1e3
_COVERED = 1e-6


@dataclass(frozen=True, slots=True)
class ToolWeights:
    """What each piece of evidence for a tool weighs; cosines count ten times.

    Words shared with the request: `name`, `parameters`, `coverage` (of the request by the tool's text), `text`.
    Cosines: `window` (the best few words of the request), `clause` (the best clause), `next_clause` (the one behind
    that of the last call), `third` (the part of the request that is due, less the others), `later` (the best words
    behind those of the last call), `related` (to the last tool, both centred). Flow: a giver `was_called`, is
    `still_needed`, or gives to what the request wants (`gives`); of mentioned givers, and `key_…` of those that only
    share a key's words.
    """

    name: float
    parameters: float
    coverage: float
    text: float
    window: float
    clause: float
    next_clause: float
    third: float
    later: float
    related: float
    was_called: float
    still_needed: float
    gives: float
    key_was_called: float
    key_still_needed: float
    key_gives: float


@dataclass(frozen=True, slots=True)
class EndWeights:
    """The logit that a plan is complete after at least one call: a constant, clauses left, calls made, the logarithm of
    words by call, how well the called tools cover windows and clauses (in the mean, and the least covered), how far
    the best score fell, the best score, and the share of windows behind the last call's."""

    constant: float
    clauses_left: float
    calls: float
    words_by_call: float
    windows_covered: float
    clauses_covered: float
    least_window: float
    least_clause: float
    drop: float
    best: float
    windows_left: float


@dataclass(frozen=True, slots=True)
class NothingWeights:
    """The logit that no tool fits a request: a constant, the best score, the highest cosine of the whole, of windows
    and clauses to any tool, and the largest share of the request's and of a name's words that one tool has."""

    constant: float
    best: float
    cosine: float
    window: float
    coverage: float
    name: float


@dataclass(frozen=True, slots=True)
class PriorWeights:
    """All that is fitted on other people's tools."""

    tool: ToolWeights
    end: EndWeights
    nothing: NothingWeights

    def to_dict(self) -> dict[str, Any]:
        """The weights as plain data."""
        return asdict(self)

    @staticmethod
    def from_dict(value: Mapping[str, Any], where: str) -> PriorWeights:
        """Reads them back. Raises BundleError when one is missing, of another type or out of range."""
        kinds = {"tool": ToolWeights, "end": EndWeights, "nothing": NothingWeights}
        found: dict[str, Any] = {}
        for key, kind in kinds.items():
            part = value.get(key)
            part = part if isinstance(part, Mapping) else {}
            found[key] = kind(
                **{f.name: get_number(part, f.name, -_LIMIT, _LIMIT, f"{where}: {key}") for f in fields(kind)}
            )
        return PriorWeights(**found)


@dataclass(frozen=True, slots=True)
class Evidence:
    """A request as numbers: unit vectors of the whole and its thirds (1 + SEGMENTS, dimension), and of its windows and
    clauses, in order, (windows or clauses, dimension); what its words share with each tool; how many words it has."""

    rows: NDArray[np.float32]
    windows: NDArray[np.float32]
    clauses: NDArray[np.float32]
    shared: Overlaps
    words: int

    def among(self, positions: NDArray[np.intp]) -> Evidence:
        """The same for some of the tools."""
        return replace(self, shared=self.shared.among(positions))


class Prior:
    """A set of tools, arranged for requests. Immutable and thread-safe."""

    def __init__(self, vectors: NDArray[np.float32], end: int, flow: Flow, weights: PriorWeights) -> None:
        """`vectors` are the tools' unit rows (n, dimension) with a row of zeros for `<end>` at the position `end`."""
        self.weights, self.end, self.n = weights, end, len(vectors)
        self.vectors = vectors
        self.cut = pieces(vectors, EXPECTED_ROWS)
        tools = max(1, self.n - 1)
        centre = vectors.sum(axis=0) / tools
        length = np.sqrt(
            np.maximum(np.einsum("ij,ij->i", vectors, vectors) - 2 * vectors @ centre + centre @ centre, 1e-9)
        )
        self._centre, self._length = centre, length
        self.named = _Pairs(flow.taker[flow.named], flow.giver[flow.named], self.n)
        self.keyed = _Pairs(flow.taker[~flow.named], flow.giver[~flow.named], self.n)

    def weighing(self, weights: PriorWeights) -> Prior:
        """The same tools under other weights, without arranging anything again."""
        other = copy.copy(self)
        other.weights = weights
        return other

    def among(self, positions: NDArray[np.intp]) -> Prior:
        """Some of the tools, `<end>` with them, without their flow: what a search found among very many."""
        end = int(np.flatnonzero(positions == self.end)[0])
        nothing = np.empty(0, np.intp)
        return Prior(self.vectors[positions], end, Flow(nothing, nothing, np.empty(0, bool)), self.weights)

    def related(self, position: int) -> NDArray[np.float32]:
        """Cosines of all tools to one, both less the mean of all: float32 (n,)."""
        own = self.vectors[position] - self._centre
        cosines: NDArray[np.float32] = (self.vectors @ own - self._centre @ own) / (
            self._length * self._length[position]
        )
        cosines[self.end] = 0.0
        return cosines

    def read(self, evidence: Evidence) -> Reading:
        """What all steps of a request share."""
        return Reading(self, evidence)


class _Pairs:
    """Flow of one kind."""

    def __init__(self, taker: NDArray[np.intp], giver: NDArray[np.intp], n: int) -> None:
        self.taker, self.giver, self.any = taker, giver, len(taker) > 0
        self.takes = np.zeros(n, np.float32)
        self.takes[taker] = 1.0
        self._share = 1 / np.maximum(np.bincount(taker, minlength=n), 1)[taker]
        self._n = n

    def gives(self, wanted: NDArray[np.float32], shared: bool) -> NDArray[np.float32]:
        """How much each tool gives to those that are wanted (n,), float32 (n,); `shared` among a taker's givers."""
        weights = wanted[self.taker] * self._share if shared else wanted[self.taker]
        return np.bincount(self.giver, weights, self._n).astype(np.float32)

    def after(self, done: NDArray[np.bool_], every: bool) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Which tools have a giver that was called, and which still need one, float32 (n,) each. A tool that mentions
        its givers needs `every` one; where only a key's words say so, any will do."""
        given, needed = np.zeros(self._n, np.float32), np.zeros(self._n, np.float32)
        called = done[self.giver]
        given[self.taker[called]] = 1.0
        needed[self.taker[~called]] = 1.0
        return given, needed if every else needed * (1 - given)


class Reading:
    """One request. Immutable.

    `static` is the part of the scores that no call changes, float32 (n,), 0 at `<end>`. `cosines` are those of the
    whole request and its thirds to every tool, float32 (1 + SEGMENTS, n).
    """

    def __init__(self, prior: Prior, evidence: Evidence) -> None:
        """Use `Prior.read`."""
        self._prior, weights = prior, prior.weights.tool
        e, n_windows = evidence.shared, len(evidence.windows)
        rows = evidence.rows
        products = product(np.concatenate((rows, evidence.windows, evidence.clauses)), prior.cut)
        self.cosines = products[: len(rows)]
        self._whole, thirds = products[0], products[1 : len(rows)]
        self._windows = products[len(rows) : len(rows) + n_windows]
        self._clauses = products[len(rows) + n_windows :]
        self._n_words = evidence.words
        self._shared = e
        window, clause = self._windows.max(axis=0), self._clauses.max(axis=0)
        wanted = 8 * window + 2 * e.name + 2 * e.coverage + 4 * clause + 3 * self._whole
        wanted = np.exp(3 * (wanted - wanted.max()))
        wanted[prior.end] = 0.0
        wanted /= max(wanted.sum(), _COVERED)
        self._gives = prior.named.gives(wanted, False) if prior.named.any else None
        self._key_gives = prior.keyed.gives(wanted, True) if prior.keyed.any else None
        static = weights.name * e.name
        static += weights.parameters * e.parameters
        static += weights.coverage * e.coverage
        static += weights.text * e.text
        static += np.float32(weights.window * COSINE) * window
        static += np.float32(weights.clause * COSINE) * clause
        if self._gives is not None:
            static += weights.gives * self._gives
        if self._key_gives is not None:
            static += weights.key_gives * self._key_gives
        for position in e.said:
            static[position] += SAID
        static[prior.end] = 0.0
        self.static = static.astype(np.float32)
        self._window, self._clause = window, clause
        self._thirds = (thirds * 1.5 - thirds.sum(axis=0) * 0.5) * COSINE
        self._later = np.maximum.accumulate(self._windows[::-1], axis=0)[::-1]
        self._first_best: float | None = None

    def features(self, calls: Sequence[int]) -> dict[str, NDArray[np.float32]]:
        """All evidence for every tool after `calls` (positions, negative for a tool that is not here), by the names of
        `ToolWeights`, float32 (n,) each; for whoever fits the weights."""
        e, nothing = self._shared, np.zeros(self._prior.n, np.float32)
        found = {
            "name": e.name,
            "parameters": e.parameters,
            "coverage": e.coverage,
            "text": e.text,
            "window": COSINE * self._window,
            "clause": COSINE * self._clause,
            "gives": nothing if self._gives is None else self._gives,
            "key_gives": nothing if self._key_gives is None else self._key_gives,
        }
        return {**found, **self._moving(calls)}

    def _moving(self, calls: Sequence[int]) -> dict[str, NDArray[np.float32]]:
        """The evidence that calls change."""
        prior, k = self._prior, len(calls)
        last = calls[-1] if calls else -1
        done = np.zeros(prior.n, bool)
        done[[call for call in calls if call >= 0]] = True
        behind = int(self._windows[:, last].argmax()) + 1 if last >= 0 else 0
        clause = int(self._clauses[:, last].argmax()) + 1 if last >= 0 else 0
        found = {
            "next_clause": COSINE * self._clauses[min(clause, len(self._clauses) - 1)],
            "third": self._thirds[min(k, len(self._thirds) - 1)],
            "later": COSINE * self._later[min(behind, len(self._later) - 1)],
        }
        if last >= 0:
            found["related"] = COSINE * prior.related(last)
        for pairs, prefix in ((prior.named, ""), (prior.keyed, "key_")):
            if pairs.any:
                given, needed = pairs.after(done, not prefix)
                found[f"{prefix}was_called"], found[f"{prefix}still_needed"] = given, needed
        nothing = np.zeros(prior.n, np.float32)
        return {name: found.get(name, nothing) for name in _MOVING}

    def scores(self, calls: Sequence[int]) -> NDArray[np.float32]:
        """The tools' scores after `calls`, float32 (n,): right up to a constant; -inf at `<end>`."""
        weights = self._prior.weights.tool
        scores = self.static.copy()
        for name, values in self._moving(calls).items():
            scores += np.float32(getattr(weights, name)) * values
        for call in set(calls):
            if call >= 0:
                scores[call] -= np.float32(CALLED)
        scores[self._prior.end] = -np.inf
        return scores

    def log_probabilities(self, calls: Sequence[int], allowed: NDArray[np.bool_] | None = None) -> NDArray[np.float32]:
        """Log-probabilities of all tools and `<end>` after `calls`, float32 (n,); -inf for those not `allowed` (n,)."""
        scores = self.scores(calls)
        if allowed is not None:
            scores[~allowed] = -np.inf
        best = scores.max().item()
        if best == -np.inf:  # nothing is left but to end
            scores[self._prior.end] = 0.0
            return scores
        logit = self._nothing(best) if not calls else self._end(scores, best, calls)
        logit = min(30.0, max(-30.0, logit))
        total = log(np.exp(scores - best).sum().item()) + best
        scores -= np.float32(total + log1p(exp(logit)))
        scores[self._prior.end] = logit - log1p(exp(logit))
        return scores

    def nothing_features(self, best: float) -> dict[str, float]:
        """The evidence that no tool fits, by the names of `NothingWeights`."""
        e = self._shared
        return {
            "constant": 1.0,
            "best": best,
            "cosine": self._whole.max().item(),
            "window": max(self._window.max().item(), self._clause.max().item()),
            "coverage": e.coverage.max().item(),
            "name": e.name.max().item(),
        }

    def end_features(self, best: float, calls: Sequence[int]) -> dict[str, float]:
        """The evidence that the plan is complete, by the names of `EndWeights`."""
        here = [call for call in calls if call >= 0]
        windows, clauses, k = self._windows, self._clauses, len(calls)
        window, clause = _covered(windows, here), _covered(clauses, here)
        reached = int(windows[:, here].argmax(axis=0).max()) + 1 if here else 0
        if self._first_best is None:
            self._first_best = self.scores(()).max().item()
        return {
            "constant": 1.0,
            "clauses_left": float(len(clauses) - k),
            "calls": float(k),
            "words_by_call": log(self._n_words / k),
            "windows_covered": window.mean().item(),
            "clauses_covered": clause.mean().item(),
            "least_window": window.min().item(),
            "least_clause": clause.min().item(),
            "drop": self._first_best - best,
            "best": best,
            "windows_left": (len(windows) - reached) / len(windows),
        }

    def _nothing(self, best: float) -> float:
        if self._shared.said:
            return -SAID
        weights = self._prior.weights.nothing
        return float(sum(getattr(weights, name) * value for name, value in self.nothing_features(best).items()))

    def _end(self, scores: NDArray[np.float32], best: float, calls: Sequence[int]) -> float:
        weights = self._prior.weights.end
        return float(sum(getattr(weights, name) * value for name, value in self.end_features(best, calls).items()))


def _covered(cosines: NDArray[np.float32], called: Sequence[int]) -> NDArray[np.float32]:
    """How near the nearest called tool comes to what any tool does, for each row of cosines (rows, n): at most 1."""
    if not called:
        return np.zeros(len(cosines), np.float32)
    best = np.maximum(cosines.max(axis=1), np.float32(_COVERED))
    covered: NDArray[np.float32] = np.minimum(cosines[:, called].max(axis=1) / best, np.float32(1.0))
    return covered


_MOVING = (
    "next_clause",
    "third",
    "later",
    "related",
    "was_called",
    "still_needed",
    "key_was_called",
    "key_still_needed",
)
"""Names of the evidence that calls change."""
