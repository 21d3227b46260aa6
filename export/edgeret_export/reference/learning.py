"""What a runtime learned on this device: plans that were accepted, corrected or demonstrated, kept in memory and, if
there is one, in an overlay. Knows nothing of how anything is decided.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle.overlay import Record, senseless
from edgeret.errors import BundleError, InputError, OverlayError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.inputs.query import plain
from edgeret.runtime.learn_report import LearnReport
from edgeret.runtime.learned_plan import LearnedPlan, Origin, read_plan
from edgeret.types import Call
from edgeret.usage.observer import Observers
from edgeret_export.reference.known import Known, Places
from edgeret_export.reference.learned_then import then_of
from edgeret_export.reference.overlay_writer import Overlay
from edgeret_export.reference.plan_record import check_table, pack_plan, read_lesson
from edgeret_export.reference.scoring.calibration import Map
from edgeret_export.reference.scoring.familiarity import Familiarity, Means
from edgeret_export.reference.scoring.increments import Lesson
from edgeret_export.reference.scoring.learned_state import (
    pack_learner,
    packed_bytes,
    restore_learner,
    without_idle_names,
)
from edgeret_export.reference.scoring.learner import NOTHING, Learner
from edgeret_export.reference.scoring.memory import NONE

PLAN, STATE, WORDS = "plan", "learned-state", "learned-plan"
"""Kinds of records: a plan to learn again; all that was learned, as arrays; and, before that, what is told of each of
its plans."""
TRUSTED = 100
"""Learned plans that weigh as much as the map that a bundle brought."""
UNFOLDED = 256
"""Plans in the overlay beyond which it is written anew, with all that was learned as arrays: reading those is fast."""
NEW_NAMES = 20_000
"""Names of tools that came since then beyond which it is, too: it drops those that nothing refers to any more."""
WAIT_S = 10.0
"""How long another process may take to write. It holds the file for some milliseconds a plan."""


class Learned:
    """Thread-safe. Shared by all generations of a runtime's tools: plans are kept by the names of their calls."""

    def __init__(self, make: Callable[[], Learner], overlay: Callable[[float | None], Overlay] | None = None) -> None:
        """Nothing learned. `make` gives a learner that has learned nothing, `overlay` opens the file to write to, and
        waits so many seconds for another writer; or to be read, for None."""
        self.kept: object = None
        """The tools that the overlay holds, as `keep` was given them last; None after another process changed them."""
        self._make = make
        self._open = overlay
        self._overlay: Overlay | None = None
        self._made: Learner | None = None
        self._plans: dict[int, LearnedPlan] = {}
        self._unfolded = 0
        # So many of the names stand in the overlay, and stood there when it was written anew.
        self._named = self._folded = 0
        self._digest = b""
        self._others: list[Any] = []
        self._map: tuple[int, Map, Map] = (0, (), ())
        self._mapped: Places | None = None
        self._familiar: tuple[tuple[object, ...], Familiarity] | None = None
        # Who writes has the turn, and waits for other processes with it; only then what is learned is locked, on which
        # decisions wait.
        self._turn = threading.RLock()
        self._lock = threading.RLock()
        self.observers: Observers | None = None
        """Who is told what is decided by all generations; None for nobody."""

    @property
    def _learner(self) -> Learner:
        """Made with the first question: it has to know what the bundle demonstrates."""
        if self._made is None:
            with self._lock:
                if self._made is None:
                    made = self._make()
                    self._named = self._folded = len(made.names)
                    self._made = made
        return self._made

    @property
    def plans(self) -> tuple[LearnedPlan, ...]:
        """What is stored, the oldest first."""
        if self._made is None:
            return ()
        with self._lock:
            stored = set(self._learner.memory.ids[: self._learner.memory.plans].tolist())
            return tuple(plan for number, plan in sorted(self._plans.items()) if number in stored)

    @property
    def size_bytes(self) -> int:
        """Bytes of the numbers that were learned, as they would be written; the words of queries, where they are kept,
        come on top."""
        with self._lock:
            return packed_bytes(self._learner) if self._plans else 0

    @property
    def status(self) -> str:
        """What is learned and whether it is used, in one line."""
        with self._lock:
            return self._learner.status

    @property
    def count(self) -> int:
        """How many plans are stored."""
        return 0 if self._made is None else self._made.memory.plans

    def calibrated(self, points: Map) -> Map:
        """The map of a confidence after so much was learned, from the bundle's: what was learned weighs its own
        probabilities by how often it was right, so the bundle's map counts less with every plan."""
        count, (known, given, mapped) = self.count, self._map
        if known != count or given is not points:
            share = TRUSTED / (TRUSTED + count)
            mapped = [(x, share * y + (1 - share) * x) for x, y in points]
            self._map = (count, points, mapped)  # in one go, for threads
        return mapped

    def report(self, learned: int = 0) -> LearnReport:
        """What there is, after so many plans were learned."""
        if self._made is None:
            return LearnReport(learned, 0, True, NOTHING, 0)
        with self._lock:
            return LearnReport(learned, self.count, not self._learner.guard.muted, self.status, self.size_bytes)

    def demonstrations(self) -> list[Demonstration]:
        """What is stored as demonstrations, but for plans whose words were not kept."""
        return [
            Demonstration(f"learned-{plan.id}", plan.query, tuple(Call(name) for name in plan.calls))
            for plan in self.plans
            if plan.query is not None
        ]

    def copy(self) -> Learned:
        """Another one that has learned the same and keeps nothing: to try out what one more plan would change."""
        with self._lock:
            other = Learned(self._make)
            other._made, other._plans = self._learner.copy(), self._plans.copy()
        return other

    def nearest(self, vector: NDArray[np.float32]) -> list[tuple[LearnedPlan, float]]:
        """The plans whose queries are nearest to a unit vector (dimension,), with the cosines, the nearest first."""
        with self._lock:
            memory = self._learner.memory
            near = memory.near(vector.astype(np.float16).astype(np.float32))
            ids = memory.ids[near.rows].tolist()
            return [(self._plans[id], cosine) for id, cosine in zip(ids, near.cosines.tolist(), strict=True)]

    def predict(
        self,
        base: NDArray[np.float32],
        vector: NDArray[np.float32],
        position: Mapping[str, int],
        history: Sequence[str],
        known: Known | None,
    ) -> tuple[NDArray[np.float32], Known]:
        """Log-probabilities (n,) of what is decided between, from the bundle's own (n,) and what was learned, all of
        them up to a constant; and what is worth keeping for the request's next step. `position` says where names
        stand."""
        with self._lock:
            learner = self._learner
            if known is None or known.learner is not learner or known.learned != learner.learned:
                query = learner.query(vector, self._places(position).found, len(base))
                nearest = learner.memory.nearest(query.neighbours)
                known = Known(learner, learner.learned, query, nearest, then_of(learner, query, nearest))
            numbers = [learner.known(name) for name in history]
            return learner.predict(base, known.query, numbers), known

    def familiarity(self, shipped: Familiarity, position: Mapping[str, int]) -> Familiarity:
        """What requests are compared with, the bundle's own `shipped` and what was learned; `position` says where names
        stand. The latest answer is kept, which serves until something else is learned."""
        with self._lock:
            learner, key = self._learner, (self._learner, self._learner.learned, shipped, position)
            if not learner.memory.plans or learner.guard.muted:
                return shipped
            latest = self._familiar
            if latest is None or any(one is not other for one, other in zip(latest[0], key, strict=True)):
                memory, found = learner.memory, np.append(self._places(position).found, NONE)
                first = memory.first_calls()
                tools = found[first]  # the last one stands for no call
                here = (tools >= 0) | (first == NONE)
                vectors, weights = memory.vectors[: memory.plans], memory.weights[: memory.plans]
                learned = Means.of(vectors[here], tools[here], weights[here])
                latest = self._familiar = (key, shipped.beside(learned))
            return latest[1]

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
        with self._writing() as overlay:
            learner = self._learner
            if not self._places(position).complete:
                for name in position:
                    learner.label(name)
            numbers = [learner.known(name) for name in calls]
            lesson = learner.lesson(vector, numbers, base, self._places(position).found)
            now = max(0, time.time_ns()) // 1_000_000 / 1000  # to round a float took 10 us in a plan's 250
            told = LearnedPlan(learner.memory.next_id, query, tuple(calls), origin, now)
            if overlay is not None:
                self._append(overlay, PLAN, pack_plan(told, lesson, learner.names[self._named :]))
            self._named = len(learner.names)
            self._take(told, lesson)
            if self._unfolded > UNFOLDED or self._named - self._folded > NEW_NAMES:
                with suppress(OverlayError):  # the plan is kept already; the next one tries again
                    self._fold(overlay)

    def forget(self, chosen: Callable[[LearnedPlan], bool] | None) -> int:
        """Forgets the plans that are `chosen` (None: everything), and all that they taught; how many there were. Raises
        OverlayError where that cannot be kept; then nothing was forgotten."""
        with self._writing() as overlay:
            before, plans = self._learner, self.plans
            gone = {plan.id for plan in plans if chosen is None or chosen(plan)}
            if len(gone) == len(plans):
                self._made = self._make()
            elif gone:
                self._made = before.without(gone)
            self._plans = {plan.id: plan for plan in plans if plan.id not in gone}
            try:
                # Even if none was chosen: the file may hold words of plans that others have replaced.
                self._fold(overlay)
            except OverlayError:
                self._made, self._plans = before, {plan.id: plan for plan in plans}
                raise
            return len(gone)

    def forget_of(self, query: str | None, tool: str | None, id: int | None) -> int:
        """The same of plans with these words, or that call a tool, or of the one with an id."""
        words = None if query is None else plain(query)

        def chosen(plan: LearnedPlan) -> bool:
            if words is not None:
                return plan.query is not None and plain(plan.query) == words
            return tool in plan.calls if tool is not None else plan.id == id

        return self.forget(chosen)

    def read(self, overlay: Overlay) -> None:
        """Takes up what an overlay holds, and nothing else. Raises OverlayError for records that make no sense."""
        learner, where = self._make(), str(overlay.path)
        plans: dict[int, LearnedPlan] = {}
        unfolded = 0
        try:
            for record in overlay.records:
                if record.kind == STATE:
                    restore_learner(learner, record.value, where)
                    check_table(learner.names[1:], 1, where)
                elif record.kind == WORDS:
                    told = read_plan(record.value, where)
                    plans[told.id] = told
                elif record.kind == PLAN:
                    told = read_plan(record.value, where)
                    number = learner.learn_lesson(read_lesson(learner, record.value, told, where))
                    plans[number] = replace(told, id=number)
                    unfolded += 1
        except (BundleError, InputError) as error:
            raise senseless(error, where) from None
        others = _others(overlay.records)
        if others != self._others:
            self.kept = None
        with self._lock:
            self._made, self._plans, self._unfolded, self._others = learner, plans, unfolded, others
            self._named = self._folded = len(learner.names)
            self._digest = overlay.digest

    def keep(self, kind: str, value: Mapping[str, Any], before: object, after: object) -> None:
        """Keeps a record of another kind in the overlay, one that changes the tools from `before` to `after`. Raises
        InputError if there is no overlay or if it holds other tools than `before`, and OverlayError."""
        with self._writing() as overlay:
            if overlay is None:
                raise InputError("keep needs an overlay; load the bundle with overlay=True")
            if before is not self.kept:
                raise InputError(
                    f"{overlay.path}: the tools kept there were changed since, by another process or from another "
                    "runtime; load the bundle again, and change the tools of that"
                )
            self._append(overlay, kind, value)
            self._others, self.kept = _others(overlay.records), after

    def close(self) -> None:
        """Closes the overlay."""
        with self._turn:
            if self._overlay is not None:
                self._overlay.close()
                self._overlay = None

    def _places(self, position: Mapping[str, int]) -> Places:
        """Where each of the learner's names stands. Requests that decide between all tools share one mapping, so the
        latest answer is kept."""
        names, known = self._learner.names, self._mapped
        if (
            known is None
            or known.names is not names
            or len(known.found) != len(names)
            or known.position is not position
        ):
            found = np.array([position.get(name, -1) for name in names], np.int64)
            known = self._mapped = Places(names, position, found, np.count_nonzero(found >= 0) == len(position))
        return known

    def _take(self, told: LearnedPlan, lesson: Lesson) -> None:
        number = self._learner.learn_lesson(lesson)
        self._plans[number] = told if told.id == number else replace(told, id=number)
        self._unfolded += 1

    def _fold(self, overlay: Overlay | None) -> None:
        """Writes the overlay anew: other records as they are, then all that was learned as arrays, without the names of
        tools that nothing refers to and that the latest request did not decide between. Raises OverlayError."""
        plans = {plan.id: plan for plan in self.plans}
        learner, state = self._learner, pack_learner(self._learner)
        current = () if self._mapped is None else self._mapped.position
        if len((fewer := without_idle_names(state, current))["names"]) < len(state["names"]):
            learner, state = self._make(), fewer
            restore_learner(learner, state, "what was learned")
        if overlay is not None:
            records = [(record.kind, record.value) for record in overlay.records if record.kind not in _OURS]
            if plans:
                records += [(WORDS, asdict(plan)) for plan in plans.values()]
                records.append((STATE, state))
            try:
                overlay.compact(records)
            except OverlayError:
                self.close()
                raise
            self._digest = overlay.digest
        self._made, self._plans = learner, plans
        self._unfolded, self._named, self._folded = 0, len(learner.names), len(learner.names)

    def _append(self, overlay: Overlay, kind: str, value: Mapping[str, Any]) -> None:
        try:
            overlay.append([(kind, value)])
        except OverlayError:
            self.close()  # the next one opens it again, and finds what is really there
            raise
        self._digest = overlay.digest

    @contextmanager
    def _writing(self) -> Iterator[Overlay | None]:
        """The overlay, if there is one, for this process to write to alone while the context lasts; what others wrote
        to it is taken up first. Raises OverlayError."""
        with self._turn:
            overlay = self._writable()
            try:
                with self._lock:
                    yield overlay
            finally:
                if self._overlay is not None:
                    self._overlay.rest()

    def _writable(self) -> Overlay | None:
        if self._overlay is not None and not self._overlay.resume(WAIT_S):
            self.close()
        if self._overlay is None and self._open is not None:
            overlay = self._open(WAIT_S)
            try:
                if overlay.digest != self._digest:
                    self.read(overlay)
            except OverlayError:
                overlay.close()
                raise
            self._overlay = overlay
        return self._overlay


_OURS = (PLAN, STATE, WORDS)


def _others(records: Sequence[Record]) -> list[Any]:
    return [(record.kind, record.value) for record in records if record.kind not in _OURS]
