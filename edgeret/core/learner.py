"""What the library learns on a device. Knows nothing of what becomes of it."""

from __future__ import annotations

import ctypes as c
import os
from collections.abc import Sequence
from typing import Literal, NamedTuple

from edgeret.core.library import (
    ForgetOptions,
    LearnerOptions,
    LearnOptions,
    PlanTold,
    Report,
    Tell,
    TellBytes,
    Text,
    ask,
    change_of,
)
from edgeret.core.model import Model, Task

Source = Literal["accepted", "corrected", "demonstration"]
SOURCES: tuple[Source, ...] = ("accepted", "corrected", "demonstration")
"""`er_source`."""


class Stored(NamedTuple):
    """A plan that is stored: `er_plan_told`."""

    id: int
    query: str | None
    calls: tuple[str, ...]
    source: Source
    learned_at: float


class Learner:
    """What was learned over a model. Thread-safe. Whatever writes lets other threads run meanwhile, and raises
    OverlayError where it cannot be kept."""

    def __init__(self, model: Model, handle: c.c_void_p) -> None:
        """Use `open_learner`. Takes the handle over."""
        self._model, self._handle = model, handle
        self._whole, self._quick = model.library.whole, model.library.quick
        self._close = self._quick.er_learner_close

    def __del__(self) -> None:
        self._close(self._handle)

    @property
    def handle(self) -> int | None:
        """For `Model.begin`."""
        return self._handle.value

    def model(self) -> Model:
        """The model with the tools that the overlay holds."""
        return self._model.held(self._quick.er_learner_model(self._handle))

    def report(self) -> Report:
        """How many plans are stored, whether they are used, and what they gain."""
        told = Report(c.sizeof(Report))
        ask(self._quick.er_learned, self._handle, c.byref(told))
        return told

    def learn(self, task: Task, source: Source, keep_words: bool) -> None:
        """Learns that the calls of a task that began with this learner solve its request."""
        options = LearnOptions(c.sizeof(LearnOptions), SOURCES.index(source), int(not keep_words))
        task.learn(options)

    def plans(self) -> list[Stored]:
        """What is stored, in no order."""
        found: list[Stored] = []

        def tell(_: object, told: PlanTold) -> None:
            plan = told.contents
            calls = tuple(str(plan.calls[i]) for i in range(plan.call_count))
            query = str(plan.query) if plan.query.at else None
            found.append(Stored(plan.id, query, calls, SOURCES[plan.source], plan.learned_at))

        ask(self._quick.er_learned_plans, self._handle, Tell(tell), None)
        return found

    def forget(self, query: str = "", tool: str = "", ids: Sequence[int] = (), everything: bool = False) -> int:
        """Forgets plans by one of these; how many there were."""
        numbers = (c.c_int64 * len(ids))(*ids)
        chosen = c.addressof(numbers), len(ids), int(everything)
        options = ForgetOptions(c.sizeof(ForgetOptions), Text.of(query), Text.of(tool), *chosen)
        count = c.c_uint32()
        ask(self._whole.er_forget, self._handle, c.byref(options), c.byref(count))
        return count.value

    def keep(
        self, before: Model, after: Model, add: Sequence[str], remove: Sequence[str], replace: Sequence[str]
    ) -> None:
        """Keeps the change of tools that made one model of the other, as `Model.with_tools` takes it. Raises InputError
        where the overlay holds other tools than `before`."""
        change = change_of(add, remove, replace)
        ask(self._whole.er_learner_keep, self._handle, before.handle, c.byref(change), after.handle)

    def copy(self) -> Learner:
        """Another one that has learned the same and keeps nothing."""
        handle = c.c_void_p()
        ask(self._quick.er_learner_copy, self._handle, c.byref(handle))
        return Learner(self._model, handle)

    def __bytes__(self) -> bytes:
        """All that was learned, as an overlay that holds no change of tools."""
        found: list[bytes] = []
        told = TellBytes(lambda _, at, length: found.append(c.string_at(at, length)))
        ask(self._quick.er_learner_bytes, self._handle, told, None)
        return found[0]


def open_learner(model: Model, overlay: str | None, wait_s: float, key: bytes | None, fold_after: int) -> Learner:
    """What learns over a model and goes on where an overlay left off, one that is bound to `key`; None keeps nothing.
    Waits so long for other writers, and writes the file anew beyond so many plans. Raises OverlayError."""
    handle, secret = c.c_void_p(), Text() if key is None else Text(key, len(key))
    options = LearnerOptions(c.sizeof(LearnerOptions), wait_s, secret, fold_after)
    path = None if overlay is None else os.fsencode(overlay)
    ask(model.library.whole.er_learner_open, model.handle, path, c.byref(options), c.byref(handle))
    return Learner(model, handle)
