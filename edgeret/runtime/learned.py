"""What a runtime learned on this device: plans that were accepted, corrected or demonstrated,
kept in memory and, if there is one, in an overlay. Knows nothing of how anything is decided."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from weakref import ref

from edgeret.core.learner import Learner, open_learner
from edgeret.core.library import Report
from edgeret.core.model import Model, Task
from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.runtime.learn_report import LearnReport
from edgeret.runtime.learned_plan import Key, LearnedPlan, Origin
from edgeret.usage.observer import Observers

WAIT_S = 10.0
"""How long another process may take to write. It holds the file for some milliseconds a plan."""
UNFOLDED = 256
"""Plans in the overlay beyond which it is written anew, with all that was learned as arrays: reading those is fast."""
MOST_REMEMBERED = 8 << 20
"""Bytes of what had been learned earlier that are kept for decisions of that time, as long as anybody has these. What
is older is explained by what is known now. A server whose sessions hold a decision each keeps a copy for every
lesson, so this is what such a process grows by."""
_NOBODY, _MOST_ID = -1, 2**53  # the id of no plan, and what all ids are below


class Known:
    """What was learned when a decision was made, for whoever tells of it. It costs nothing before more is learned."""

    __slots__ = ("__weakref__", "_kept", "_live")

    def __init__(self, live: Learner) -> None:
        self._live = live
        self._kept: Learner | None = None

    @property
    def learner(self) -> Learner:
        """What has learned that and no more."""
        if self._kept is None:
            copied = self._live.copy()
            self._kept = self._kept or copied  # meanwhile somebody may have begun to learn, who keeps it first
        return self._kept

    def let_go(self) -> None:
        """Goes by what is known now, from now on."""
        self._kept = self._live


class Elsewhere(NamedTuple):
    """What was learned with another encoder, of this fingerprint, and which of its plans were brought from there."""

    learned: Learned
    encoder: str
    brought: frozenset[Key]


class Learned:
    """Thread-safe. Shared by all generations of a runtime's tools, and by versions of a bundle with one encoder: plans
    are kept by the names of their calls."""

    def __init__(
        self,
        model: Model,
        overlay: Path | None = None,
        key: bytes | None = None,
    ) -> None:
        """What an overlay holds, or nothing. Raises OverlayError."""
        self.learner = open_learner(model, None if overlay is None else str(overlay), WAIT_S, key, UNFOLDED)
        self.observers: Observers | None = None
        """Who is told what is decided by all generations; None for nobody."""
        self.kept: object = None
        """The tools that the overlay holds, as `keep` was given them last; None where nothing may change these."""
        self.origin: Elsewhere | None = None
        """Where all this began, if another profile of the bundle has another encoder."""
        self._overlay = overlay
        self._turn, self._changing = threading.RLock(), threading.Lock()
        self._known = Known(self.learner)
        self._remembered: deque[tuple[ref[Known], int]] = deque()
        self._plans: tuple[Known, tuple[LearnedPlan, ...]] | None = None

    @property
    def known(self) -> Known:
        """What is learned by now."""
        return self._known

    @property
    def plans(self) -> tuple[LearnedPlan, ...]:
        """What is stored, the oldest first."""
        known, latest = self._known, self._plans
        if latest is None or latest[0] is not known:
            found = tuple(LearnedPlan(*plan) for plan in sorted(self.learner.plans()))
            latest = self._plans = (known, found)
        return latest[1]

    @property
    def count(self) -> int:
        """How many plans are stored."""
        return self.learner.report().stored

    @property
    def size_bytes(self) -> int:
        """Bytes of the numbers that were learned, as they would be written; the words of queries, where they are kept,
        come on top."""
        return self.learner.report().bytes

    @property
    def status(self) -> str:
        """What is learned and whether it is used, in one line."""
        return _status(self.learner.report())

    def report(self, learned: int = 0) -> LearnReport:
        """What there is, after so many plans were learned."""
        told = self.learner.report()
        return LearnReport(learned, told.stored, bool(told.used), _status(told), told.bytes)

    def demonstrations(self) -> list[Demonstration]:
        """What is stored as demonstrations, but for plans whose words were not kept."""
        return [plan.demonstration for plan in self.plans if plan.query is not None]

    def learn(self, task: Task, origin: Origin, keep_words: bool) -> None:
        """Learns that the calls of a task that began with `learner` solve its request. Raises OverlayError where that
        cannot be kept; then nothing was learned."""
        with self._writing():
            self.learner.learn(task, origin, keep_words)

    def forget(self, chosen: Callable[[LearnedPlan], bool] | None) -> int:
        """Forgets the plans that are `chosen` (None: everything) of those that this process knows, and all that they
        taught; how many there were. Raises OverlayError where that cannot be kept; then nothing was forgotten."""
        gone = None if chosen is None else [plan.id for plan in self.plans if chosen(plan)]
        with self._writing():
            return self.learner.forget(everything=True) if gone is None else self._forget(gone)

    def forget_of(self, query: str | None, tool: str | None, id: int | None) -> int:
        """The same of plans with these words, or that call a tool, or of the one with an id."""
        if not _is_text(query) or not _is_text(tool):
            query, tool = "", None  # which no plan has
        with self._writing():
            if query is not None and query.strip():
                return self.learner.forget(query=query)
            if query is None and isinstance(tool, str) and tool:
                return self.learner.forget(tool=tool)
            return self._forget([] if query is not None or tool is not None or not isinstance(id, int) else [id])

    def _forget(self, ids: list[int]) -> int:
        known = [id for id in ids if abs(id) < _MOST_ID]
        return self.learner.forget(ids=known or [_NOBODY])

    def keep(
        self,
        before: tuple[object, Model],
        after: tuple[object, Model],
        add: Sequence[str],
        remove: Sequence[str],
        replace: Sequence[str],
    ) -> None:
        """Keeps a change of tools in the overlay, from those `before` to those `after`, each with the library's model:
        definitions as JSON of what is added and replaced, and names of what is removed. Raises InputError if there is
        no overlay or if it holds other tools than `before`, and OverlayError."""
        if self._overlay is None:
            raise InputError("keep needs an overlay; load the bundle with overlay=True")
        with self._writing():
            if before[0] is not self.kept:
                raise InputError(
                    f"{self._overlay}: the tools kept there were changed since, by another process or from another "
                    "runtime; load the bundle again, and change the tools of that"
                )
            self.learner.keep(before[1], after[1], add, remove, replace)
            self.kept = after[0]

    def close(self) -> None:
        """Nothing is open between two changes."""

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """While the library changes what is learned, for which it may wait: decisions go on, and those that were made
        keep what was known."""
        with self._turn:
            with self._changing:
                known, self._known = self._known, Known(self.learner)
                self._plans = None
                one = ref(known)
                del known
                self._remember(one)
            try:
                yield
            finally:
                with self._changing:
                    self._known, self._plans = Known(self.learner), None

    def _remember(self, one: ref[Known]) -> None:
        """Copies what is known for whoever still has a decision of now, and drops the oldest such copies."""
        known = one()
        if known is None:
            return
        _ = known.learner
        living = [each for each in self._remembered if each[0]() is not None]
        self._remembered = deque([*living, (one, self.size_bytes)])
        while sum(size for _, size in self._remembered) > MOST_REMEMBERED and len(self._remembered) > 1:
            oldest, _ = self._remembered.popleft()
            if (let := oldest()) is not None:
                let.let_go()


def _is_text(given: object) -> bool:
    """Whether it can be in a file, if it is text."""
    return not isinstance(given, str) or not any("\ud800" <= letter <= "\udfff" for letter in given)


def _status(told: Report) -> str:
    if not told.stored:
        return "nothing was learned"
    learned = f"{told.stored} plan{'s' if told.stored > 1 else ''} stored"
    if not told.used:
        return f"muted, {learned}: worse than the base by {-told.gain:.2f} nats a plan"
    how = "better" if told.gain >= 0 else "worse"
    return f"active, {learned}: {how} than the base by {abs(told.gain):.2f} nats a plan"
