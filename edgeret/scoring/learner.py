"""Learning on the device: memory, increments and the base, mixed and guarded.

Arrays to log-probabilities; knows nothing of text, files and tasks. Labels are numbers in a table of names that only
grows; whoever asks says at which of his candidates each label stands.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgeret.errors import InputError
from edgeret.scoring.increments import Increments, Lesson
from edgeret.scoring.memory import END, MAX_WEIGHT, Memory, Neighbours
from edgeret.scoring.mixture import Guard, Mixture
from edgeret.scoring.offsets import LEAST_LOG, keep

END_NAME = "<end>"
FROM_NOTHING = (0.4, 0.5, 0.1)
"""Weights of increments, memory and base to start from where the base has seen no demonstrations."""
OVER_A_HEAD = (0.1, 0.1, 0.8)
"""And where it has: known users lose nothing."""
PRIOR_FROM_NOTHING = 0.003
"""What the base weighs among the memory's votes."""
PRIOR_OVER_A_HEAD = 0.03
PROBABLE = float(np.log(0.02))
"""A candidate that the base takes to be as probable as this gets a row of increments, called or not."""
REPLAYED = 4
"""Stored plans that are learned again with every new one."""
MULTIPLIER = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio: multiples of it, modulo 2^64, are spread evenly."""


@dataclass(frozen=True, slots=True)
class Query:
    """What is computed once a query and a list of candidates.

    `scores` (rows,) of the increments before any call; `rows` and `votes` index what has a candidate, if not all do,
    and `rows_at` and `votes_at` say where. It serves until something else is learned, and is out of date then, not
    wrong.
    """

    vector: NDArray[np.float32]
    positions: NDArray[np.int64]
    neighbours: Neighbours
    scores: NDArray[np.float32]
    rows: NDArray[np.int64]
    rows_at: NDArray[np.int64]
    votes: NDArray[np.int64]
    votes_at: NDArray[np.int64]
    learned: int


class Learner:
    """Learns from one plan at a time. One thread at a time.

    `names[label]` are all labels; `<end>` is label 0.
    """

    def __init__(
        self,
        dimension: int,
        demonstrations: dict[str, int] | None = None,
        capacity_steps: int = 10_000,
        replayed: int = REPLAYED,
    ) -> None:
        """Nothing learned yet. `demonstrations`: calls by name, of what the base was fitted on; empty or None for a
        base from tools alone. `replayed`: stored plans to learn again with every new one."""
        self.dimension = dimension
        self.replayed = replayed
        self.demonstrations = dict(demonstrations or {})
        self.names = [END_NAME]
        self._labels = {END_NAME: END}
        self._capacity_steps = capacity_steps
        self._begin()

    def _begin(self) -> None:
        self.memory = Memory(self.dimension, self._capacity_steps)
        self.increments = Increments(self.dimension)
        self.mixture = Mixture(OVER_A_HEAD if self.demonstrations else FROM_NOTHING)
        self.guard = Guard()
        self.learned = 0
        self._prior = PRIOR_OVER_A_HEAD if self.demonstrations else PRIOR_FROM_NOTHING
        self._latest: Query | None = None

    @property
    def status(self) -> str:
        """What is learned and whether it is used, in one line."""
        learned = f"{self.memory.plans} plans stored"
        if self.guard.muted:
            return f"muted, {learned}: worse than the base by {-self.guard.gain:.2f} nats a plan"
        return f"active, {learned}: better than the base by {self.guard.gain:.2f} nats a plan"

    def empty_copy(self) -> Learner:
        """A learner made like this one that has learned nothing."""
        return Learner(self.dimension, self.demonstrations, self._capacity_steps, self.replayed)

    def take_over(self, other: Learner) -> None:
        """Becomes what `other` is, which is used up."""
        self.__dict__.update(other.__dict__)

    def set_names(self, names: Sequence[str]) -> None:
        """Replaces the table of names; `<end>` must come first."""
        self.names = list(names)
        self._labels = {name: label for label, name in enumerate(self.names)}

    def label(self, name: str) -> int:
        """The number of a name, which is added to the table if it is new."""
        label = self._labels.setdefault(name, len(self.names))
        if label == len(self.names):
            self.names.append(name)
        return label

    def query(self, vector: NDArray[np.float32], positions: NDArray[np.int64]) -> Query:
        """Prepares a query: its unit vector (dimension,), and for every label the candidate it stands for (names,), -1
        if none. The latest one is kept, so that learning a plan that was just predicted looks nothing up again."""
        if len(positions) != len(self.names):
            raise InputError(
                f"positions must say for each of {len(self.names)} names which candidate it is, found "
                f"{len(positions)}; map the names again after one was added, and after forgetting all"
            )
        latest = self._latest
        same = latest is not None and latest.learned == self.learned and latest.positions is positions
        if latest is not None and same and np.array_equal(latest.vector, vector):
            return latest
        self._latest = self._prepare(vector, positions, self.memory.near(vector))
        return self._latest

    def _prepare(self, vector: NDArray[np.float32], positions: NDArray[np.int64], near: Neighbours) -> Query:
        rows_at = positions[self.increments.labels[: self.increments.rows]]
        votes_at = positions[near.labels]
        rows, votes = np.flatnonzero(rows_at >= 0), np.flatnonzero(votes_at >= 0)
        scores = self.increments.query_scores(vector)
        return Query(vector, positions, near, scores, rows, rows_at[rows], votes, votes_at[votes], self.learned)

    def predict(self, base_log_p: NDArray[np.float32], query: Query, history: Sequence[int]) -> NDArray[np.float32]:
        """The next call's log-probabilities (n,), from the base's (n,), which may hold -inf, and the labels of the
        calls made. While the guard mutes what was learned, they are the base's."""
        if self.guard.muted:
            return base_log_p.copy()
        return self.mixture.combine(self._experts(base_log_p, query, history))

    def _experts(self, base_log_p: NDArray[np.float32], query: Query, history: Sequence[int]) -> NDArray[np.float32]:
        """Increments, memory and base, log-probabilities up to a constant each: (3, n)."""
        experts = np.empty((3, len(base_log_p)), np.float32)
        base = np.maximum(base_log_p, LEAST_LOG, out=experts[2])
        scores = self.increments.scores(query.scores, history)
        experts[0] = base
        experts[0, query.rows_at] += scores if len(query.rows) == len(scores) else scores[query.rows]
        weights = self.memory.votes(query.neighbours, history)[1][query.votes]
        experts[1] = base
        experts[1, query.votes_at] = np.log(weights / self._prior + np.exp(base[query.votes_at]))
        return experts

    def learn(
        self,
        vector: NDArray[np.float32],
        calls: Sequence[int],
        base_log_p: NDArray[np.float32],
        positions: NDArray[np.int64],
    ) -> int:
        """Learns a plan and returns its id: its query's unit vector (dimension,), the labels of its calls, the base's
        log-probabilities at every step, the end among them (calls + 1, n), and the candidates of the labels (names,).

        Before it is learned, the plan judges what was learned and moves the mixture's weights, unless it is stored
        already. What was stored with full weight teaches nothing more. Raises InputError for arrays of another shape or
        with NaN, and for calls that are no candidates.
        """
        self._check(vector, calls, base_log_p, positions)
        query = self.query(vector, positions)
        known = self.memory.same_plan(query.neighbours, calls)
        if known is not None and self.memory.weights.item(known) >= MAX_WEIGHT:
            self._latest = None
            return self.memory.add(vector, calls, self.memory.offsets[known], query.neighbours)
        targets = [*calls, END]
        offsets = keep(base_log_p, positions, targets)
        if known is None:
            self._judge(query, targets, base_log_p)
        plan_id = self.memory.add(vector, calls, offsets, query.neighbours)
        self._teach(Lesson(vector, targets, offsets))
        return plan_id

    def _judge(self, query: Query, targets: Sequence[int], base_log_p: NDArray[np.float32]) -> None:
        gain = 0.0
        for k, target in enumerate(targets):
            at = query.positions.item(target)
            experts = self._experts(base_log_p[k], query, targets[:k])
            mixed = self.mixture.combine(experts)
            gain += mixed.item(at) - experts.item(2, at)
            self.mixture.learn(experts, mixed, at)
        self.guard.judge(gain)

    def _teach(self, lesson: Lesson) -> None:
        """Moves the increments by a plan, and by some of those that are stored."""
        for target in lesson.targets:
            self.increments.allocate(target, self._demonstrated(target), called=True)
        probable = lesson.offsets.labels[lesson.offsets.log_p > PROBABLE]
        for label in probable[probable >= 0].tolist():
            self.increments.allocate(label, self._demonstrated(label), called=False)
        self.learned += 1
        first = self.learned * self.replayed
        drawn = [(first + i) * MULTIPLIER % 2**64 * self.memory.plans >> 64 for i in range(self.replayed)]
        self.increments.learn([lesson, *(self._stored(self.memory, row) for row in drawn)])

    def _demonstrated(self, label: int) -> int:
        return self.demonstrations.get(self.names[label], 0)

    @staticmethod
    def _stored(memory: Memory, row: int) -> Lesson:
        targets = [*memory.calls_of(row), END]
        return Lesson(memory.vectors[row], targets, memory.offsets[row], min(1.0, memory.weights.item(row)))

    def forget(self, plan_ids: Collection[int]) -> int:
        """Removes plans, and learns everything else anew from those that are left. How many were there.

        All that was learned is then a function of the plans that are left, so that nothing of the others remains but
        the names of what they called. Plans that an earlier repeat or the memory's bound removed are gone already, but
        what they taught is forgotten here too.
        """
        removed = sum(self.memory.remove(plan_id) for plan_id in set(plan_ids))
        memory = self.memory
        self._begin()
        positions = np.arange(len(self.names))
        self.memory.clock, self.memory.next_id = memory.clock, memory.next_id
        for row in np.argsort(memory.times[: memory.plans], kind="stable").tolist():
            lesson = self._stored(memory, row)
            self._judge(self.query(lesson.vector, positions), lesson.targets, lesson.offsets.dense(len(self.names)))
            self.memory.copy(memory, row)
            self._teach(lesson)
        return removed

    def forget_all(self) -> None:
        """As if nothing had ever been learned; the table of names starts anew too."""
        self.names, self._labels = [END_NAME], {END_NAME: END}
        self._begin()

    def _check(
        self,
        vector: NDArray[np.float32],
        calls: Sequence[int],
        base_log_p: NDArray[np.float32],
        positions: NDArray[np.int64],
    ) -> None:
        self.memory.check_length(calls)
        steps = len(calls) + 1
        if base_log_p.ndim != 2 or len(base_log_p) != steps or np.isnan(base_log_p).any():
            raise InputError(
                f"a plan of {len(calls)} calls needs {steps} rows of log-probabilities, the end's among them, without "
                f"NaN; found shape {base_log_p.shape}"
            )
        if vector.shape != (self.dimension,) or not abs(float(vector @ vector) - 1) < 1e-2:
            raise InputError(f"a query's vector must have {self.dimension} numbers and length 1, found {vector.shape}")
        if positions.shape != (len(self.names),) or not -1 <= positions.min() <= positions.max() < base_log_p.shape[1]:
            raise InputError(
                f"positions must give each of {len(self.names)} names one of {base_log_p.shape[1]} candidates or -1"
            )
        strange = [call for call in calls if not 0 < call < len(self.names)]
        absent = [self.names[call] for call in [*calls, END] if call not in strange and positions[call] < 0]
        if strange or absent:
            raise InputError(f"a plan can only call candidates, found {strange or absent}; add them as tools first")
