"""Episodic memory: stored plans vote for the next label by how near their query and their history are.

Knows nothing of text, of files, and of what a label stands for; `END` is what every plan ends with.

When it is full, the oldest plan goes of those that a later one made redundant: it was their nearest neighbour and
made the same calls, or was the same query and made others. If there is none, the oldest goes. Adding looks the
neighbours up anyway, so this costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np
from numpy.typing import NDArray

from edgeret.errors import InputError
from edgeret.records import dataclass
from edgeret_export.reference.scoring.offsets import Offsets
from edgeret_export.reference.scoring.products import PIECE

END = 0
"""The label of the end of a plan."""
NONE = -1
"""Stands for the last call of an empty history, and fills rows of calls."""
WIDTH = 0.05
"""A plan's weight falls by e for every 0.05 that its cosine falls."""
NEAREST = 64
"""Plans that vote. 32 and 128 were as good."""
LEAST_COSINE = 0.4
"""Below, a plan weighs less than 1e-5 and cannot move a vote."""
SAME_QUERY = 0.9995
"""Cosine from which on two queries are one: float16 keeps a unit vector to about 1e-4."""
MAX_WEIGHT = 3.0
"""What a plan weighs that was shown again and again."""
LEAST_WEIGHT = 1 / 64
"""What a plan weighs that was contradicted again and again."""
HALF_LIFE = 1000
"""Plans after which an older one weighs half. Where habits changed, 600 to 1,200 plans later top-1 was 0.546 without
this, 0.61 at 1,000, 0.66 at 500; where they did not, after 2,527 plans 0.782, 0.781, 0.780."""
MAX_CALLS = 255
"""Calls of one plan. Rows are as wide as the longest."""


SHORT = 6
"""Histories of fewer calls have their own exponents, which are computed once a query."""
ALIKE = 1.5
"""Log of what a step weighs more after the same last call, and after the same calls."""
_SHARE = np.array(ALIKE, np.float32)  # an array, since numpy takes it sooner than a number
_ONES = np.ones(MAX_CALLS + 1, np.float32)
_COUNTED = [np.array(number, np.float32) for number in range(SHORT)]
_NUMBERS = np.arange(SHORT, dtype=np.float32)[:, None]


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The steps of the nearest plans: `count` of them, u distinct labels to come, b distinct labels in histories.

    `rows` (p,) and `cosines` (p,) of the plans, nearest first. Per step: `exponents` float32, log of the plan's weight
    less what a history can add; `by_calls` (SHORT, count), the same less the difference to a history of 0, 1, … calls;
    `last`; `calls`, how many went before; `bag_sizes`, how many distinct; `bags` float32 (b, count) marks them, a row
    each in `bag_rows`; `targets`, an index into `labels` (u,).
    """

    rows: NDArray[np.int64]
    cosines: NDArray[np.float32]
    exponents: NDArray[np.float32]
    by_calls: NDArray[np.float32]
    last: NDArray[np.int32]
    calls: NDArray[np.float32]
    bag_sizes: NDArray[np.float32]
    bags: NDArray[np.float32]
    bag_rows: dict[int, int]
    targets: NDArray[np.int64]
    labels: NDArray[np.int64]

    def same_query(self) -> list[int]:
        """The rows of the plans that are the same query."""
        if not len(self.cosines) or self.cosines.item(0) < SAME_QUERY:
            return []
        rows: list[int] = self.rows[self.cosines >= SAME_QUERY].tolist()
        return rows


class Memory:
    """Plans as unit query vectors and calls. One thread at a time."""

    def __init__(self, dimension: int, capacity_steps: int = 10_000) -> None:
        """Empty; `capacity_steps` counts every call and every end."""
        self.dimension = dimension
        self.capacity_steps = capacity_steps
        self.plans = 0
        self.steps = 0
        self.next_id = 0
        self.clock = 0
        # Rounded to float16, kept as float32: numpy has no fast product of float16.
        self.vectors = np.zeros((16, dimension), np.float32)
        self.calls = np.full((16, 8), NONE, np.int32)
        self.lengths = np.zeros(16, np.int32)
        self.ids = np.zeros(16, np.int64)
        self.times = np.zeros(16, np.int64)
        self.weights = np.zeros(16, np.float32)
        self.shown = np.zeros(16, np.int32)
        self.redundant = np.zeros(16, np.bool_)
        self.offsets: list[Offsets] = []

    def add(
        self,
        vector: NDArray[np.float32],
        labels: Sequence[int],
        offsets: Offsets,
        neighbours: Neighbours | None = None,
    ) -> int:
        """Stores a plan: its unit query vector (dimension,) and the labels of its calls, without the end. Its id.

        The same calls for the same query are stored once, with a weight that grows to MAX_WEIGHT; other calls for the
        same query halve what was stored. `offsets` are kept with the plan, for replay. `neighbours` are those of
        `vector`, if they are known. Raises InputError for more than MAX_CALLS calls, or steps than there is room for.
        """
        self.check_length(labels)
        near = self.near(vector) if neighbours is None else neighbours
        return self.put(vector, labels, offsets, near, self.same_plan(near, labels))

    def put(
        self, vector: NDArray[np.float32], labels: Sequence[int], offsets: Offsets, near: Neighbours, same: int | None
    ) -> int:
        """As `add`, where the neighbours and the row of the same plan are known and the length was checked."""
        self.clock += 1
        self._outdate(near, labels, same)
        if same is not None:
            self.weights[same] = min(MAX_WEIGHT, self.weights.item(same) + 1.0)
            self.shown[same] = min(MAX_WEIGHT, self.shown.item(same) + 1)
            self.times[same] = self.clock
            self.redundant[same] = False
            return int(self.ids[same])
        while self.steps + len(labels) + 1 > self.capacity_steps:
            self._remove_row(self._least_useful())
        self.restore(vector, labels, offsets, self.next_id)
        self.next_id += 1
        return self.next_id - 1

    def _outdate(self, near: Neighbours, labels: Sequence[int], same: int | None) -> None:
        """What a plan with these neighbours and calls, that is stored in row `same` or not at all, does to others."""
        for row in near.same_query():
            if row != same:
                self.weights[row] = max(LEAST_WEIGHT, 0.5 * self.weights.item(row))
                self.redundant[row] = True
        if same is None and len(near.rows) and self.calls_of(near.rows.item(0)) == list(labels):
            self.redundant[near.rows[0]] = True

    def check_length(self, labels: Sequence[int]) -> None:
        """Raises InputError for a plan that is too long to be stored."""
        longest = min(MAX_CALLS, self.capacity_steps - 1)
        if len(labels) > longest:
            raise InputError(f"a plan to learn may have {longest} calls, found {len(labels)}; learn a shorter one")

    def same_plan(self, neighbours: Neighbours, labels: Sequence[int]) -> int | None:
        """The row of the plan with these calls among the neighbours that are the same query; None without one."""
        wanted = list(labels)
        return next((row for row in neighbours.same_query() if self.calls_of(row) == wanted), None)

    def calls_of(self, row: int) -> list[int]:
        """The labels of a stored plan's calls."""
        calls: list[int] = self.calls[row, : self.lengths[row]].tolist()
        return calls

    def remove(self, plan_id: int) -> bool:
        """Removes a plan; whether it was there."""
        found = np.flatnonzero(self.ids[: self.plans] == plan_id)
        if len(found):
            self._remove_row(found.item(0))
        return bool(len(found))

    def near(self, vector: NDArray[np.float32]) -> Neighbours:
        """The steps of the NEAREST plans to a unit query vector (dimension,): once a query."""
        cosines = np.empty(self.plans, np.float32)
        step = max(1, PIECE // self.dimension)
        for start in range(0, self.plans, step):
            stop = min(start + step, self.plans)
            np.matmul(self.vectors[start:stop], vector, out=cosines[start:stop])
        rows = np.arange(self.plans) if self.plans <= NEAREST else cosines.argpartition(-NEAREST)[-NEAREST:]
        rows = rows[cosines[rows] >= LEAST_COSINE]
        rows = rows[np.argsort(-cosines[rows], kind="stable")]
        return self._gather(rows, cosines[rows])

    def nearest(self, near: Neighbours) -> float | None:
        """The cosine of the nearest of these plans that calls a tool; None where none does."""
        calls = self.lengths[near.rows] > 0
        return near.cosines.item(calls.argmax()) if calls.any() else None

    def first_calls(self) -> NDArray[np.int32]:
        """What each plan calls first (plans,), NONE where it calls nothing."""
        return np.where(self.lengths[: self.plans] > 0, self.calls[: self.plans, 0], NONE)

    def _gather(self, rows: NDArray[np.int64], cosines: NDArray[np.float32]) -> Neighbours:
        lengths = self.lengths[rows]
        width = int(lengths.max(initial=0)) + 1
        calls = np.full((len(rows), width + 1), NONE, np.int32)  # a step's last call, then what it does
        calls[:, 1:width] = self.calls[rows, : width - 1]
        calls[np.arange(len(rows)), lengths + 1] = END
        plan, k = np.nonzero(np.arange(width) <= lengths[:, None])
        ages = (self.times[rows] - self.clock) * (log(2) / HALF_LIFE)
        exponents = ((cosines - 1) / WIDTH + np.log(self.weights[rows]) + ages - 3.0).astype(np.float32)
        labels, targets = _distinct(calls[plan, k + 1])
        bag_rows = {label: row for row, label in enumerate(labels.tolist())}
        # A step's bag holds the calls before it: every pair of steps i < k of one plan.
        bags = np.zeros((len(labels), len(plan)), np.float32)
        first = np.arange(len(plan)) - k
        later = np.repeat(np.arange(len(plan)), k)
        earlier = np.arange(len(later)) - np.repeat(np.cumsum(k) - k, k) + np.repeat(first, k)
        bags[targets[earlier], later] = 1.0
        made = k.astype(np.float32)
        of_step = exponents[plan]
        return Neighbours(
            rows=rows,
            cosines=cosines,
            exponents=of_step,
            by_calls=of_step - np.abs(made - _NUMBERS),
            last=calls[plan, k],
            calls=made,
            bag_sizes=bags.sum(axis=0),
            bags=bags,
            bag_rows=bag_rows,
            targets=targets,
            labels=labels,
        )

    @staticmethod
    def votes(near: Neighbours, history: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """What the neighbours did after histories like this one: distinct labels, and the weight of each."""
        return near.labels, np.bincount(near.targets, Memory.weigh(near, history), len(near.labels)).astype(np.float64)

    @staticmethod
    def weigh(near: Neighbours, history: Sequence[int]) -> NDArray[np.float32]:
        """How much every step of the neighbours counts after a history, float32 (count,).

        A step weighs exp((cos - 1)/WIDTH + 1.5·([same last] - 1) + 1.5·(Jaccard of the bags - 1) - |difference in
        calls|), times the weight of its plan.
        """
        similar: NDArray[np.float32]
        # A few hundred numbers each: what counts is how many calls of numpy there are.
        made = len(history)
        if made < len(near.by_calls):
            exponents = near.by_calls[made]
        else:
            exponents = near.exponents - np.abs(near.calls - np.float32(made))
        same_last = near.last == (history[-1] if history else NONE)
        if history:
            bag = set(history)
            rows = [near.bag_rows[label] for label in bag if label in near.bag_rows]
            shared = _ONES[: len(rows)].dot(near.bags.take(rows, 0))
            similar = near.bag_sizes - shared
            similar += _COUNTED[len(bag)] if len(bag) < SHORT else np.float32(len(bag))
            np.divide(shared, similar, out=similar)
            similar += same_last
        else:
            similar = same_last * np.float32(2)  # an empty history has no last call and an empty bag
        similar *= _SHARE
        similar += exponents
        return np.exp(similar, out=similar)

    @staticmethod
    def votes_by_step(near: Neighbours, targets: Sequence[int]) -> NDArray[np.float32]:
        """What the neighbours did after every part of a history, `targets[:k]` for every k: the weight of each of their
        labels, float32 (steps, u). As `weigh`, for all steps at once."""
        steps, row_of = len(targets), near.bag_rows
        made, sizes = np.zeros((steps, len(near.labels)), np.float32), np.zeros((steps, 1), np.float32)
        bag = set[int]()
        for k, target in enumerate(targets[:-1], 1):
            if target not in bag:
                bag.add(target)
                sizes[k:] += 1
                row = row_of.get(target)
                if row is not None:
                    made[k:, row] = 1
        shared: NDArray[np.float32] = made @ near.bags
        similar: NDArray[np.float32] = near.bag_sizes + sizes
        similar -= shared
        similar[0] = 1
        same_last = near.last == np.array([NONE, *targets[:-1]])[:, None]
        np.divide(shared, similar, out=similar)
        similar[0] = same_last[0]  # an empty history has no last call and an empty bag
        similar += same_last
        similar *= _SHARE
        similar += near.exponents
        similar -= np.abs(near.calls - np.arange(steps, dtype=np.float32)[:, None])
        np.exp(similar, out=similar)
        does = np.zeros((len(near.targets), len(near.labels)), np.float32)
        does[np.arange(len(does)), near.targets] = 1
        votes: NDArray[np.float32] = similar @ does
        return votes

    def restore(self, vector: NDArray[np.float32], labels: Sequence[int], offsets: Offsets, plan_id: int) -> None:
        """Stores a plan in the next row, whatever is there already."""
        self._make_room(len(labels))
        row = self.plans
        self.vectors[row] = vector.astype(np.float16)
        self.calls[row] = NONE
        self.calls[row, : len(labels)] = labels
        self.lengths[row] = len(labels)
        self.ids[row] = plan_id
        self.times[row] = self.clock
        self.weights[row] = 1.0
        self.shown[row] = 1
        self.redundant[row] = False
        self.offsets.append(offsets)
        self.plans += 1
        self.steps += len(labels) + 1

    def copy(self, other: Memory, row: int, neighbours: Neighbours) -> None:
        """Stores another memory's plan with the id and time it has there, as often as it was shown; what others did to
        it there is left behind."""
        calls = other.calls_of(row)
        self._outdate(neighbours, calls, None)
        self.restore(other.vectors[row], calls, other.offsets[row], int(other.ids[row]))
        self.clock = int(other.times[row])
        self.times[self.plans - 1] = self.clock
        self.shown[self.plans - 1] = self.weights[self.plans - 1] = other.shown[row]

    def _make_room(self, calls: int) -> None:
        if self.plans == len(self.ids):
            for name in _COLUMNS:
                column = getattr(self, name)
                setattr(self, name, np.concatenate((column, np.zeros_like(column))))
        wider = calls - self.calls.shape[1]
        if wider > 0:
            self.calls = np.pad(self.calls, ((0, 0), (0, wider)), constant_values=NONE)

    def _least_useful(self) -> int:
        redundant = np.flatnonzero(self.redundant[: self.plans])
        rows = redundant if len(redundant) else np.arange(self.plans)
        return rows.item(self.times[rows].argmin())

    def _remove_row(self, row: int) -> None:
        """The last row takes its place, so that rows stay without gaps."""
        self.plans -= 1
        self.steps -= int(self.lengths[row]) + 1
        for name in _COLUMNS:
            column = getattr(self, name)
            column[row] = column[self.plans]
            column[self.plans] = 0
        self.offsets[row] = self.offsets[-1]
        self.offsets.pop()


def _distinct(labels: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct ones of labels, ascending, and which of them each one is; labels are few, so nothing is sorted."""
    place = np.zeros(labels.max(initial=0) + 1, np.int64)
    place[labels] = 1
    found = place.nonzero()[0]
    place[found] = np.arange(len(found))
    return found, place[labels]


_COLUMNS = ("vectors", "calls", "lengths", "ids", "times", "weights", "shown", "redundant")
"""The arrays with a row for every plan."""
