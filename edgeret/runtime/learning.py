"""What a runtime learned on this device: plans that were accepted, corrected or demonstrated, kept in memory and, if
there is one, in an overlay. Knows nothing of how anything is decided.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle.codec import get_array
from edgeret.bundle.overlay import Record
from edgeret.bundle.overlay_file import Overlay
from edgeret.errors import BundleError, InputError, OverlayError
from edgeret.fields import get, get_number, get_strings
from edgeret.inputs.demonstrations import Demonstration
from edgeret.scoring.calibration import Map
from edgeret.scoring.increments import Lesson
from edgeret.scoring.learned_state import pack_learner, restore_learner
from edgeret.scoring.learner import END_NAME, Learner, Query
from edgeret.scoring.offsets import KEPT, Offsets
from edgeret.types import Call

Origin = Literal["accepted", "corrected", "demonstration"]
ORIGINS: tuple[Origin, ...] = ("accepted", "corrected", "demonstration")
PLAN, FORGOTTEN, STATE, WORDS = "plan", "forgotten", "learned-state", "learned-plan"
"""Kinds of records: a plan to learn again; plans that were forgotten; all that was learned, as arrays; and, behind it,
what is told of each of its plans."""
TRUSTED = 100
"""Learned plans that weigh as much as the map that a bundle brought."""
UNFOLDED = 256
"""Plans in the overlay beyond which it is written anew, with all that was learned as arrays: reading those is fast."""
MAX_TIME = 1e12


@dataclass(frozen=True, slots=True)
class LearnedPlan:
    """A plan that was learned. `query` is None where no words are kept, `learned_at` seconds since 1970."""

    id: int
    query: str | None
    calls: tuple[str, ...]
    origin: Origin
    learned_at: float


@dataclass(frozen=True, slots=True)
class LearnReport:
    """What learning did: plans `learned` now, plans `stored` in all, whether what was learned is `used` (it is muted
    while it does worse than the bundle alone), in words `status`, and the `size_bytes` that it takes."""

    learned: int
    stored: int
    used: bool
    status: str
    size_bytes: int

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-ready data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Known:
    """What a learner makes of a query, as long as it has learned no more."""

    learner: Learner
    learned: int
    query: Query


class Learned:
    """Thread-safe. Shared by all generations of a runtime's tools: plans are kept by the names of their calls."""

    def __init__(self, make: Callable[[], Learner], overlay: Callable[[], Overlay] | None = None) -> None:
        """Nothing learned. `make` gives a learner that has learned nothing, `overlay` opens the file to write to."""
        self._make = make
        self._open = overlay
        self._overlay: Overlay | None = None
        self._learner = make()
        self._plans: dict[int, LearnedPlan] = {}
        self._unfolded = 0
        self._lock = threading.RLock()

    @property
    def plans(self) -> tuple[LearnedPlan, ...]:
        """What is stored, the oldest first."""
        with self._lock:
            stored = set(self._learner.memory.ids[: self._learner.memory.plans].tolist())
            return tuple(plan for number, plan in sorted(self._plans.items()) if number in stored)

    @property
    def size_bytes(self) -> int:
        """Bytes of all that was learned, as it would be written."""
        with self._lock:
            state = pack_learner(self._learner) if self._plans else {}
            words = sum(len(plan.query or "") for plan in self._plans.values())
            return words + sum(value.nbytes for value in state.values() if isinstance(value, np.ndarray))

    @property
    def status(self) -> str:
        """What is learned and whether it is used, in one line."""
        with self._lock:
            return self._learner.status

    @property
    def count(self) -> int:
        """How many plans are stored."""
        return self._learner.memory.plans

    def calibrated(self, points: Map) -> Map:
        """The map of a confidence after so much was learned, from the bundle's: what was learned weighs its own
        probabilities by how often it was right, so the bundle's map counts less with every plan."""
        share = TRUSTED / (TRUSTED + self.count)
        return [(x, share * y + (1 - share) * x) for x, y in points]

    def report(self, learned: int = 0) -> LearnReport:
        """What there is, after so many plans were learned."""
        with self._lock:
            return LearnReport(learned, self.count, not self._learner.guard.muted, self.status, self.size_bytes)

    def demonstrations(self) -> list[Demonstration]:
        """What is stored as demonstrations, but for plans whose words were not kept."""
        return [
            Demonstration(f"learned-{plan.id}", plan.query, tuple(Call(name) for name in plan.calls))
            for plan in self.plans
            if plan.query is not None
        ]

    def predict(
        self,
        base: NDArray[np.float32],
        vector: NDArray[np.float32],
        position: Mapping[str, int],
        history: Sequence[str],
        known: Known | None,
    ) -> tuple[NDArray[np.float32], Known]:
        """Log-probabilities (n,) of what is decided between, from the bundle's own (n,) and what was learned; and what
        is worth keeping for the request's next step. `position` says where names stand."""
        with self._lock:
            learner = self._learner
            if known is None or known.learner is not learner or known.learned != learner.learned:
                known = Known(learner, learner.learned, learner.query(vector, _positions(learner, position)))
            numbers = [learner.known(name) for name in history]
            return learner.predict(base, known.query, numbers), known

    def learn(
        self,
        query: str | None,
        calls: Sequence[str],
        origin: Origin,
        vector: NDArray[np.float32],
        base: NDArray[np.float32],
        position: Mapping[str, int],
    ) -> None:
        """Learns one plan: the names of its calls, its query's unit vector, and the bundle's own log-probabilities at
        every step, the end among them, (calls + 1, n). Raises OverlayError where it cannot be kept; then nothing was
        learned."""
        with self._lock:
            learner = self._learner
            for name in position:
                learner.label(name)
            numbers = [learner.known(name) for name in calls]
            lesson = learner.lesson(vector, numbers, base, _positions(learner, position))
            told = LearnedPlan(learner.memory.next_id, query, tuple(calls), origin, round(time.time(), 3))
            self._append(PLAN, _record(told, lesson, learner.names))
            self._take(told, lesson)
            if self._unfolded > UNFOLDED:
                self.fold()

    def forget(self, chosen: Callable[[LearnedPlan], bool] | None) -> int:
        """Forgets the plans that are `chosen` (None: everything), and all that they taught; how many there were. Raises
        OverlayError where that cannot be kept; then nothing was forgotten."""
        with self._lock:
            gone = [plan.id for plan in self.plans if chosen is None or chosen(plan)]
            if not gone and chosen is not None:
                return 0
            before, plans = self._learner, dict(self._plans)
            self._learner = self._make()
            if chosen is not None:
                self._learner.take_over(before.without(gone))
                self._plans = {number: plan for number, plan in plans.items() if number not in set(gone)}
            else:
                self._plans = {}
            try:
                self.fold()  # appended, what was forgotten would still stand in the file
            except OverlayError:
                self._learner, self._plans = before, plans
                raise
            return len(gone)

    def fold(self) -> None:
        """Writes the overlay anew: other records as they are, then all that was learned as arrays. Raises
        OverlayError."""
        overlay = self._writable()
        if overlay is None:
            return
        ours = (PLAN, FORGOTTEN, STATE, WORDS)
        records = [(record.kind, record.value) for record in overlay.records if record.kind not in ours]
        if self._learner.memory.plans:
            records += [(WORDS, asdict(plan)) for plan in self.plans]
            records.append((STATE, pack_learner(self._learner)))
        overlay.compact(records)
        self._unfolded = 0

    def read(self, records: Sequence[Record], where: str) -> None:
        """Takes up what an overlay holds. Raises OverlayError for records that make no sense."""
        try:
            for record in records:
                if record.kind == STATE:
                    restore_learner(self._learner, record.value, where)
                elif record.kind == WORDS:
                    told = _told(record.value, where)
                    self._plans[told.id] = told
                elif record.kind == PLAN:
                    told = _told(record.value, where)
                    self._take(
                        replace(told, id=self._learner.memory.next_id),
                        _lesson(self._learner, record.value, told, where),
                    )
        except (BundleError, InputError) as error:
            raise OverlayError(f"{where}: {error}; move the file away to begin anew") from None

    def append(self, kind: str, value: Mapping[str, Any]) -> bool:
        """Keeps a record of another kind in the overlay; whether there is one. Raises OverlayError."""
        with self._lock:
            return self._append(kind, value)

    def close(self) -> None:
        """Lets go of the overlay, so that another process may write to it."""
        with self._lock:
            if self._overlay is not None:
                self._overlay.close()
                self._overlay = None

    def _take(self, told: LearnedPlan, lesson: Lesson) -> None:
        number = self._learner.learn_lesson(lesson)
        self._plans[number] = replace(told, id=number)
        self._unfolded += 1

    def _append(self, kind: str, value: Mapping[str, Any]) -> bool:
        overlay = self._writable()
        if overlay is not None:
            overlay.append([(kind, value)])
        return overlay is not None

    def _writable(self) -> Overlay | None:
        if self._overlay is None and self._open is not None:
            self._overlay = self._open()
        return self._overlay


def _positions(learner: Learner, position: Mapping[str, int]) -> NDArray[np.int64]:
    return np.array([position.get(name, -1) for name in learner.names], np.int64)


def _record(told: LearnedPlan, lesson: Lesson, names: Sequence[str]) -> dict[str, Any]:
    """A plan as it is kept: what is told of it, its vector (float16), and of every step the bundle's most probable
    names with their log-probabilities."""
    offsets = lesson.offsets
    used = sorted({label for label in offsets.labels.ravel().tolist() if label >= 0})
    place = {label: i for i, label in enumerate(used)}
    labels = np.array([[place.get(label, -1) for label in row] for row in offsets.labels.tolist()], np.int32)
    return {
        **asdict(told),
        "calls": list(told.calls),
        "vector": lesson.vector.astype(np.float16),
        "names": [names[label] for label in used],
        "offset_labels": labels.reshape(-1, KEPT),
        "offset_log_p": offsets.log_p,
    }


def _told(value: Mapping[str, Any], where: str) -> LearnedPlan:
    query = value.get("query")
    origin = next((known for known in ORIGINS if known == value.get("origin")), None)
    if origin is None or not (query is None or isinstance(query, str)):
        raise BundleError(f"{where}: a plan whose origin or query makes no sense")
    number = get(dict(value), "id", int, where)
    at = get_number(value, "learned_at", 0, MAX_TIME, where)
    return LearnedPlan(number, query, get_strings(dict(value), "calls", where), origin, at)


def _lesson(learner: Learner, value: Mapping[str, Any], told: LearnedPlan, where: str) -> Lesson:
    """A plan that was kept, checked. Raises BundleError."""
    steps = len(told.calls) + 1
    vector = get_array(value, "vector", "<f2", (learner.dimension,), where).astype(np.float32)
    names = get_strings(dict(value), "names", where)
    labels = get_array(value, "offset_labels", "<i4", (steps, KEPT), where)
    log_p = get_array(value, "offset_log_p", "<f2", (steps, KEPT), where)
    sound = abs(float(vector @ vector) - 1) < 1e-2 and labels.min() >= -1 and labels.max() < len(names)
    if not sound or log_p.max() > 0.01 or END_NAME in told.calls:
        raise BundleError(f"{where}: a plan whose vector or probabilities make no sense")
    calls = [learner.label(name) for name in told.calls]
    learner.memory.check_length(calls)
    targets = [*calls, learner.label(END_NAME)]
    numbers = np.array([*(learner.label(name) for name in names), -1], np.int32)
    return Lesson(vector, targets, Offsets(numbers[labels], log_p.copy()))
