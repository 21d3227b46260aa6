"""Learning on the device: memory, increments and the base, mixed and guarded.

Arrays to log-probabilities; knows nothing of text, files and tasks. Labels are numbers in a table of names that only
grows; whoever asks says at which of his candidates each label stands.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import isnan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeret.errors import InputError
from edgeret_export.reference.scoring.experts import Query, Steps
from edgeret_export.reference.scoring.increments import Increments, Lesson, Seen
from edgeret_export.reference.scoring.memory import END, MAX_WEIGHT, Memory, Neighbours
from edgeret_export.reference.scoring.mixture import Guard, Mixture, normalise
from edgeret_export.reference.scoring.offsets import keep

END_NAME = "<end>"
NOTHING = "nothing was learned"
STRANGER = -2
"""The number of a name that is not in the table; -1 stands for no call at all."""
FROM_NOTHING = (0.4, 0.5, 0.1)
"""Weights of increments, memory and base to start from where the base has seen no demonstrations."""
OVER_A_HEAD = (0.1, 0.5, 0.4)
"""And where it has. Known users lose 0.2 points while they teach it, and one correction is enough: of eight requests of
the desktop example that were planned wrongly, six were right after it; with (0.1, 0.1, 0.8) two."""
PRIOR_FROM_NOTHING = 0.003
"""What the base weighs among the memory's votes."""
PRIOR_OVER_A_HEAD = 0.03
PROBABLE = float(np.log(0.02))
"""A candidate that the base takes to be as probable as this gets a row of increments, called or not."""
REPLAYED = 16
"""Stored plans that are learned again with every new one. After 2,527 plans, top-1 of new ones was 0.772 with none,
0.781 with 4, 0.787 with 16, which cost 0.6, 0.7 and 1.0 ms a plan, its neighbours looked up."""
SURE = 1000
"""Demonstrated steps from which on a base is as sure of tools that it does not know as of all others."""
FAR, NEAR = 0.5, 0.7
"""Cosines of the nearest stored plan below and above which a base that is sure is trusted alone, and as the mixture
says: who learns one sort of requests must not decide all others by it. Of a new population's 200 plans others lost 1.0
points without this, 0.5 with it, and the population nothing."""
SEVERAL = 4
"""Stored plans from which on some are learned again."""
MULTIPLIER = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio: multiples of it, modulo 2^64, are spread evenly."""


class Learner:
    """Learns from one plan at a time. One thread at a time.

    `names[label]` are all labels; `<end>` is label 0.
    """

    def __init__(
        self,
        dimension: int,
        demonstrations: Mapping[str, int] | None = None,
        capacity_steps: int = 10_000,
        replayed: int = REPLAYED,
    ) -> None:
        """Nothing learned yet. `demonstrations`: calls by name, of what the base was fitted on; empty or None for a
        base from tools alone. `replayed`: stored plans to learn again with every new one."""
        self.dimension = dimension
        self.replayed = replayed
        self.demonstrations = dict(demonstrations or {})
        self._sure = sum(self.demonstrations.values()) >= SURE
        self.set_names([END_NAME])
        self._capacity_steps = capacity_steps
        self._begin()

    def _begin(self) -> None:
        self.memory = Memory(self.dimension, self._capacity_steps)
        self.increments = Increments(self.dimension)
        over = bool(self.demonstrations)
        self.mixture = Mixture(OVER_A_HEAD if over else FROM_NOTHING, anchored=over)
        self.guard = Guard()
        self.learned = 0
        self._prior = PRIOR_OVER_A_HEAD if self.demonstrations else PRIOR_FROM_NOTHING
        self._latest: tuple[bytes, _Found] | None = None

    @property
    def status(self) -> str:
        """What is learned and whether it is used, in one line."""
        if not self.memory.plans:
            return NOTHING
        learned = f"{self.memory.plans} plan{'s' if self.memory.plans > 1 else ''} stored"
        if self.guard.muted:
            return f"muted, {learned}: worse than the base by {-self.guard.gain:.2f} nats a plan"
        how = "better" if self.guard.gain >= 0 else "worse"
        return f"active, {learned}: {how} than the base by {abs(self.guard.gain):.2f} nats a plan"

    @property
    def memory_prior(self) -> float:
        """What the base weighs among the memory's votes."""
        return self._prior

    def empty_copy(self) -> Learner:
        """A learner made like this one that has learned nothing."""
        return Learner(self.dimension, self.demonstrations, self._capacity_steps, self.replayed)

    def without_replay(self) -> Learner:
        """One that has learned nothing and learns every plan once."""
        return Learner(self.dimension, self.demonstrations, self._capacity_steps, 0)

    def take_over(self, other: Learner) -> None:
        """Becomes what `other` is, which is used up."""
        self.__dict__.update(other.__dict__)

    def set_names(self, names: Sequence[str]) -> None:
        """Replaces the table of names; `<end>` must come first."""
        self.names: list[str] = []
        self._labels: dict[str, int] = {}
        self._newcomers: set[int] = set()
        for name in names:
            self.label(name)

    def label(self, name: str) -> int:
        """The number of a name, which is added to the table if it is new."""
        label = self._labels.setdefault(name, len(self.names))
        if label == len(self.names):
            self.names.append(name)
            if self._is_newcomer(label):
                self._newcomers.add(label)
        return label

    def known(self, name: str) -> int:
        """The number of a name, STRANGER for one that is not in the table."""
        return self._labels.get(name, STRANGER)

    def query(self, vector: NDArray[np.float32], positions: NDArray[np.int64], candidates: int) -> Query:
        """Prepares a query: its unit vector (dimension,), and for every label which of so many candidates it stands for
        (names,), -1 if none. Raises InputError for positions of another size."""
        if len(positions) != len(self.names):
            raise InputError(
                f"positions must say for each of {len(self.names)} names which candidate it is, found "
                f"{len(positions)}; map the names again after one was added, and after forgetting all"
            )
        vector = _stored(vector)
        near, scores = self._near(vector)
        at = np.where(positions < 0, candidates, positions)
        row_labels = self.increments.labels[: self.increments.rows]
        row_of, voted = self.increments.row_of, near.bag_rows
        new = positions[np.array([label for label in self._newcomers if label in row_of or label in voted], np.intp)]
        new = new[new >= 0]
        votes_at, rows_at, trust = at[near.labels][near.targets], at[row_labels], self._trust(near)
        ones = np.ones(candidates, np.float32)
        others = ones.copy()
        others[new] = 0
        room = np.zeros((5, candidates + 1), np.float32)
        return Query(near, scores, rows_at, votes_at, new, others, ones, room, trust)

    def _trust(self, near: Neighbours) -> float:
        """How far what was learned is trusted beside the base, 0 to 1."""
        if not self._sure:
            return 1.0
        nearest = near.cosines.item(0) if len(near.cosines) else 0.0
        return min(1.0, max(0.0, (nearest - FAR) / (NEAR - FAR)))

    def _near(self, vector: NDArray[np.float32]) -> _Found:
        """What is looked up of a query. The latest is kept, so that learning a plan that was just predicted looks
        nothing up again."""
        latest, key = self._latest, vector.tobytes()
        if latest is None or latest[0] != key:
            near, scores = self.memory.near(vector), self.increments.query_scores(vector)
            latest = self._latest = (key, _Found(near, scores))
        return latest[1]

    def predict(self, base: NDArray[np.float32], query: Query, history: Sequence[int]) -> NDArray[np.float32]:
        """The next call's log-probabilities (n,), from the base's (n,), which may hold -inf, and the labels of the
        calls made; both are right up to a constant. While the guard mutes what was learned, they are the base's."""
        if self.guard.muted:
            return base.copy()
        experts, given = query.experts(base, self.increments.scores(query.scores, history), history, self._prior)
        return query.with_newcomers(self.mixture.combine(experts, query.trust), given)

    def learn(
        self,
        vector: NDArray[np.float32],
        calls: Sequence[int],
        base_log_p: NDArray[np.float32],
        positions: NDArray[np.int64],
    ) -> int:
        """Learns a plan and returns its id: its query's unit vector (dimension,), the labels of its calls, the base's
        log-probabilities at every step, the end among them (calls + 1, n), and the candidates of the labels (names,).

        Raises InputError for arrays of another shape or with NaN, and for calls that are no candidates.
        """
        return self.learn_lesson(self.lesson(vector, calls, base_log_p, positions))

    def lesson(
        self,
        vector: NDArray[np.float32],
        calls: Sequence[int],
        base_log_p: NDArray[np.float32],
        positions: NDArray[np.int64],
    ) -> Lesson:
        """What `learn` keeps of a plan, learned or not. Raises as it does."""
        self._check(vector, calls, base_log_p, positions)
        targets = [*calls, END]
        return Lesson(_stored(vector), targets, keep(base_log_p, positions, targets))

    def learn_lesson(self, lesson: Lesson) -> int:
        """Learns a plan from what is kept of it and returns its id.

        Before it is learned, the plan judges what was learned and moves the mixture's weights, unless it is stored
        already. What was stored with full weight teaches nothing more. All that is learned comes from the lessons,
        their order and the number of names: learned again, they give the same, bit for bit. Nothing is checked here.
        """
        found, calls = self._near(lesson.vector), lesson.targets[:-1]
        known = self.memory.same_plan(found.near, calls)
        teaches = known is None or self.memory.weights.item(known) < MAX_WEIGHT
        seen = self._judge(lesson, found) if known is None else None
        plan_id = self.memory.put(lesson.vector, calls, lesson.offsets, found.near, known)
        self._latest = None
        if teaches:
            self._teach(lesson, found.scores, seen)
        return plan_id

    def _judge(self, lesson: Lesson, found: _Found) -> Seen:
        """Scores the plan with what was learned before it, and what that says of its query, against the base, and moves
        the mixture's weights. What the increments made of it."""
        near, scores = found
        seen = self.increments.seen([lesson], scores)
        new = [label for label in self._newcomers if label in self.increments.row_of or label in near.bag_rows]
        base = lesson.offsets.dense(len(self.names))
        steps = Steps(
            base=base,
            added=self.increments.added_to(seen, len(self.names)),
            votes=self.memory.votes_by_step(near, lesson.targets),
            votes_at=near.labels,
            newcomers_at=np.array(new, np.intp),
            prior=self._prior,
            trust=self._trust(near),
        )
        experts = steps.experts()
        mixed = normalise(self.mixture.combine(experts.reshape(3, -1), steps.trust).reshape(base.shape))
        # A newcomer says nothing about the mixture, in which it has no part.
        known = [k for k, target in enumerate(lesson.targets) if target not in self._newcomers]
        self.mixture.learn(experts, mixed, known, [lesson.targets[k] for k in known], steps.trust)
        mixed = steps.with_newcomers(mixed, experts)
        gains = (mixed - base)[np.arange(len(base)), lesson.targets]
        self.guard.judge(gains.sum().item())
        return seen

    def _teach(self, lesson: Lesson, scores: NDArray[np.float32], seen: Seen | None) -> None:
        """Moves the increments by a plan, and by some of those that are stored. `scores` are those of its query, and
        `seen` is what the increments made of it, if that is known."""
        rows, row_of = self.increments.rows, self.increments.row_of
        for target in lesson.targets:
            if target not in row_of:
                self.increments.allocate(target, self._demonstrated(target), called=True)
        probable = lesson.offsets.labels[lesson.offsets.log_p > PROBABLE].tolist()
        # In rising order: whoever reads the file again must give them the same rows.
        for label in sorted({label for label in probable if label >= 0}):
            if label not in row_of:
                self.increments.allocate(label, self._demonstrated(label), called=False)
        self.learned += 1
        # One plan or two, again and again in one batch, would swing the weights about.
        replayed = self.replayed if self.memory.plans >= SEVERAL else 0
        if replayed or rows != self.increments.rows:
            first = self.learned * self.replayed
            drawn = [(first + i) * MULTIPLIER % 2**64 * self.memory.plans >> 64 for i in range(replayed)]
            lessons = [lesson, *(_lesson(self.memory, row) for row in drawn)]
            vectors = np.array([each.vector for each in lessons])
            self.increments.learn(lessons, self.increments.query_scores(vectors), len(self.names))
        else:
            self.increments.learn([lesson], scores[None], len(self.names), seen)

    def _is_newcomer(self, label: int) -> bool:
        """Whether the base has seen so much that it is sure of what it decides, and nothing of this label."""
        return self._sure and label != END and not self._demonstrated(label)

    def _demonstrated(self, label: int) -> int:
        return self.demonstrations.get(self.names[label], 0)

    def without(self, plan_ids: Collection[int]) -> Learner:
        """Another learner that has learned all but these plans; see `forget`."""
        other = self.copy()
        other.forget(plan_ids)
        return other

    def copy(self) -> Learner:
        """Another learner that has learned the same."""
        other = self.empty_copy()
        other.take_over(copy.deepcopy(self))
        return other

    def forget(self, plan_ids: Collection[int]) -> int:
        """Removes plans, and learns everything else anew from those that are left. How many were there.

        All that was learned is then a function of the plans that are left, of when they were learned and how often they
        were shown: nothing of the others remains but the names of what they called. Plans that the memory's bound
        removed are gone already, and what they taught is forgotten here too. Costs 1 ms for every plan that is left.
        """
        removed = sum(self.memory.remove(plan_id) for plan_id in set(plan_ids))
        memory = self.memory
        self._begin()
        self.memory.next_id = memory.next_id
        for row in np.argsort(memory.times[: memory.plans], kind="stable").tolist():
            lesson = replace(_lesson(memory, row), weight=1.0)
            self.memory.clock = int(memory.times[row]) - 1  # plans are as old to it as they were
            found = self._near(lesson.vector)
            seen = self._judge(lesson, found)
            self.memory.copy(memory, row, found.near)
            self._latest = None
            self._teach(lesson, found.scores, seen)
        self.memory.clock = memory.clock
        return removed

    def forget_all(self) -> None:
        """As if nothing had ever been learned; the table of names starts anew too."""
        self.set_names([END_NAME])
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
        # To argmax, NaN is the largest number of all; it takes a third of the time of a sum.
        shaped = base_log_p.ndim == 2 and len(base_log_p) == steps and base_log_p.size
        if not shaped or isnan(base_log_p.item(base_log_p.argmax())):
            raise InputError(
                f"a plan of {len(calls)} calls needs {steps} rows of log-probabilities, the end's among them, without "
                f"NaN; found shape {base_log_p.shape}"
            )
        if vector.shape != (self.dimension,) or not abs(vector.dot(vector).item() - 1) < 1e-2:
            raise InputError(f"a query's vector must have {self.dimension} numbers and length 1, found {vector.shape}")
        names, candidates = len(self.names), base_log_p.shape[1]
        known = positions.shape == (names,) and positions.item(positions.argmax()) < candidates
        if not known or positions.item(positions.argmin()) < -1:
            raise InputError(f"positions must give each of {names} names one of {candidates} candidates or -1")
        strange: list[Any] = [call for call in calls if not 0 < call < names]
        if not strange:
            strange = [self.names[call] for call in [*calls, END] if positions.item(call) < 0]
        if strange:
            raise InputError(f"a plan can only call candidates, found {strange}; add them as tools first")


class _Found(NamedTuple):
    """What is looked up of a query: its neighbours, and the increments' scores (rows,)."""

    near: Neighbours
    scores: NDArray[np.float32]


def _stored(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """A vector as the memory stores it, so that it makes no difference whether a plan comes from there."""
    return vector.astype(np.float16).astype(np.float32)


def _lesson(memory: Memory, row: int) -> Lesson:
    """A stored plan, as it is learned again."""
    targets = [*memory.calls_of(row), END]
    return Lesson(memory.vectors[row], targets, memory.offsets[row], min(1.0, memory.weights.item(row)))
