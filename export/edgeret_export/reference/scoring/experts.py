"""What increments, memory and base say of the next call: step by step for deciding, and for judging a plan, all of its
steps at once. A test holds both to the same numbers.

Knows nothing of text, and of how anything is learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np
from numpy.typing import NDArray

from edgeret.records import dataclass
from edgeret_export.reference.scoring.memory import Memory, Neighbours
from edgeret_export.reference.scoring.mixture import normalise
from edgeret_export.reference.scoring.offsets import LEAST, LEAST_LOG

MOST_SHARE = 0.999
"""Of the probability that newcomers have together."""
_LOWEST, _LEAST, _MOST, _HALF = (np.array(number, np.float32) for number in (LEAST_LOG, LEAST, MOST_SHARE, 0.5))
# Arrays, since numpy takes these soonest.


@dataclass(frozen=True, slots=True)
class Query:
    """What is computed once a query and a list of candidates.

    `scores` (rows,) of the increments before any call. `rows_at` (rows,) and `votes_at`, for every step of the
    neighbours, say which candidate a row's label is and what a step did, the number of candidates standing for none;
    `newcomers_at` are candidates, `others` (n,) is 1 for all that are none, and `ones` (n,) for all: a product with it
    is the soonest sum. `room` (5, n + 1) is written anew by every prediction; behind the candidates it holds what
    belongs to none. `trust` in what was learned is 0 to 1, by how near a stored plan is. It serves until something else
    is learned, and is out of date then, not wrong.
    """

    neighbours: Neighbours
    scores: NDArray[np.float32]
    rows_at: NDArray[np.int64]
    votes_at: NDArray[np.int64]
    newcomers_at: NDArray[np.int64]
    others: NDArray[np.float32]
    ones: NDArray[np.float32]
    room: NDArray[np.float32]
    trust: float

    def experts(
        self, base: NDArray[np.float32], scores: NDArray[np.float32], history: Sequence[int], prior: float
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Increments, memory and base, log-probabilities up to a constant each: (3, n); and the probabilities of
        newcomers (newcomers,): what increments and memory give them, each to one half, as far as these are trusted, but
        never less than the base does. It was taught nothing of them, and is as sure of all others as if there were
        none; the first lessons speak of little else, and one that went otherwise would drown what their own words say
        for them. `scores` (rows,) are what the increments add after this history; `prior` is what the base weighs among
        the memory's votes.
        """
        n, room = len(base), self.room
        probabilities, experts, at = room[:2, :n], room[2:, :n], self.newcomers_at
        remembered = room[1, :n]
        logs = np.subtract(base, base.item(base.argmax()), out=experts[2])
        np.maximum(logs, _LOWEST, out=logs)
        experts[0] = logs
        np.add.at(room[2], self.rows_at, scores)
        np.exp(logs, out=remembered)
        total, least = remembered.dot(self.ones).item(), remembered.take(at)
        remembered *= prior / total
        np.add.at(room[1], self.votes_at, Memory.weigh(self.neighbours, history))
        np.log(remembered, out=experts[1])
        if not len(at):
            return experts, least
        np.exp(experts[0], out=probabilities[0])
        given: NDArray[np.float32] = (_HALF / probabilities.dot(self.ones)).dot(probabilities.take(at, 1))
        given *= np.float32(self.trust)
        return experts, np.maximum(given, least / np.float32(total))

    def with_newcomers(self, mixed: NDArray[np.float32], given: NDArray[np.float32]) -> NDArray[np.float32]:
        """Log-probabilities (n,) up to a constant, changed in place, in which labels that the base was never shown have
        the probabilities `given` (newcomers,), whatever the mixture thinks."""
        at = self.newcomers_at
        if not len(at):
            return mixed
        top = mixed.item(mixed.argmax())
        rest = np.exp(mixed - np.float32(top)).dot(self.others).item()
        mixed += log((1.0 - min(sum(given.tolist()), MOST_SHARE)) / max(rest, LEAST)) - top
        mixed[at] = np.log(given + _LEAST)
        return mixed


@dataclass(frozen=True, slots=True)
class Steps:
    """What is known of a plan's steps. `base` (steps, n) are the base's log-probabilities; `added` (steps, n) what
    the increments add to them, and `votes` (steps, u) what the memory says of the labels `votes_at` (u,). `prior` is
    what the base weighs among the votes, and `trust`, 0 to 1, how far what was learned is trusted."""

    base: NDArray[np.float32]
    added: NDArray[np.float32]
    votes: NDArray[np.float32]
    votes_at: NDArray[np.int64]
    newcomers_at: NDArray[np.int64]
    prior: float
    trust: float

    def experts(self) -> NDArray[np.float32]:
        """Log-probabilities of increments, memory and base, up to a constant each: (3, steps, n)."""
        experts = np.empty((3, *self.base.shape), np.float32)
        logs = np.subtract(self.base, self.base.max(axis=1, keepdims=True), out=experts[2])
        np.maximum(logs, _LOWEST, out=logs)
        np.add(logs, self.added, out=experts[0])
        remembered = np.exp(logs, out=experts[1])
        remembered *= np.float32(self.prior) / remembered.sum(axis=1, keepdims=True)
        remembered[:, self.votes_at] += self.votes
        np.log(remembered, out=remembered)
        return experts

    def with_newcomers(self, mixed: NDArray[np.float32], experts: NDArray[np.float32]) -> NDArray[np.float32]:
        """The mixture's log-probabilities (steps, n), in which newcomers have what `Query.experts` says."""
        at = self.newcomers_at
        if not len(at):
            return mixed
        probabilities = np.exp(experts - experts.max(axis=2, keepdims=True))
        probabilities /= probabilities.sum(axis=2, keepdims=True)
        by_increments, by_memory, least = probabilities[:, :, at]
        given = np.maximum((by_increments + by_memory) * np.float32(0.5 * self.trust), least)
        others = np.exp(mixed)
        others[:, at] = 0
        left = np.float32(1) - np.minimum(given.sum(axis=1), _MOST)
        mixed = mixed + np.log(left / np.maximum(others.sum(axis=1), _LEAST))[:, None]
        mixed[:, at] = np.log(given + _LEAST)
        return normalise(mixed)
