"""One request as the library has it: its steps as decisions, in words. Knows nothing of how anything is scored."""

from __future__ import annotations

import copy
from collections.abc import Collection
from datetime import datetime
from functools import lru_cache
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from edgeret.core import library
from edgeret.core.model import Task
from edgeret.core.step import Step, Times
from edgeret.runtime.asked import Asked, needed, replay
from edgeret.runtime.earlier import Earlier
from edgeret.runtime.history import History
from edgeret.runtime.learned_plan import Origin
from edgeret.runtime.loaded import Loaded
from edgeret.runtime.options import MAX_ASKED, DecideOptions
from edgeret.runtime.ranking import Ranking
from edgeret.runtime.reasons import BESIDE_TURNS, BY_TOOLS, LEARNED, NONE_FITS, SURE, UNDEMONSTRATED, listed
from edgeret.runtime.recalled import Recalled
from edgeret.runtime.saved import check_choosable
from edgeret.types import END, Arguments, Candidate, Decision, Hit, Tool

_NAMES = {
    library.HEAD: "head",
    library.GRAPH: "graph",
    library.MEMORY: "stored demonstrations",
    library.TOOLS: "the tools' own words",
    library.LEARNED: LEARNED,
}


class Request:
    """A query, read once by the library. Not shared between threads."""

    __slots__ = ("__weakref__", "_asked", "_known", "_learned", "_stages", "_task")

    def __init__(
        self,
        loaded: Loaded,
        query: str,
        history: History,
        tools: Collection[str] | None,
        earlier: Earlier | None,
    ) -> None:
        """`tools` are those that may be chosen, None for all; `earlier` is what came before, None for a request that
        stands alone. Raises InputError and BundleError."""
        check_choosable(tools, loaded.tools)
        model, learned = loaded.core, loaded.learned
        self._asked, self._stages = Asked(loaded, query, tools, earlier), model.stages
        self._learned, self._known = learned, learned.known
        self._task: Task = self._asked.begin(model, learned.learner)
        if history.calls or history.failures:
            replay(self._task, history)

    @property
    def task(self) -> Task:
        """The library's, which is told of all that happens."""
        return self._task

    @property
    def names(self) -> tuple[str, ...]:
        """What is decided between, by number: all tools, and the end."""
        return self._asked.loaded.candidates

    def decide(self, history: History, options: DecideOptions) -> Decision:
        """What comes next, as `Task.next` describes it. Raises as it does."""
        asks, planner = options.policy == "planner", self._asked.loaded.planner
        if asks and not history.blocked:
            planner.get()  # says that there is none
        step = self.step(options, own=asks)
        if asks and step.reason != library.ALL_FAILED:
            planner.get()
        return self.told(step, history, options)

    def learn(self, origin: Origin, keep_words: bool) -> None:
        """Has the runtime learn that the calls made solve the query. Raises OverlayError."""
        self._learned.learn(self._task, origin, keep_words)

    def fork(self, history: History) -> Request:
        """Another one that goes on from here, with a history of its own."""
        other: Request = copy.copy(self)
        other._task = self._task.fork()
        return other

    @property
    def loaded(self) -> Loaded:
        """What the library's model is part of."""
        return self._asked.loaded

    @property
    def shown(self) -> str:
        """The words that a planner is shown as the request."""
        query, earlier = self._asked.query, self._asked.earlier
        return query if earlier is None else earlier.told(query)

    def step(self, options: DecideOptions, own: bool = False) -> Step:
        """What comes next, in numbers; with `own` by the bundle's own encoder in any case, and from then on."""
        self._known = self._learned.known
        least, risk = needed(options, self._asked.loaded.risk)
        return self._task.next(options.policy != "auto", least, risk, own)

    def is_small(self, step: Step) -> bool:
        """Whether the small encoder decided in place of the full one."""
        return not step.stage and self._stages > 1

    def by_own(self) -> Step:
        """What comes next by the bundle's own encoder, whatever its probability."""
        return self._task.next(1, 0.0, 0.0, True, False)

    def probabilities(self) -> NDArray[np.float32]:
        """Of all tools by number and of the end behind them, by the bundle's own encoder, float32 (tools + 1,)."""
        return self.by_own().values

    @staticmethod
    def is_known(step: Step) -> bool:
        """Whether demonstrations, or what was learned, have a say in it."""
        return step.demonstrated == 1 or bool(step.parts & library.LEARNED)

    def ranked(self, values: NDArray[np.float32], k: int | None, history: History) -> tuple[Candidate, ...]:
        """The first `k` candidates (None: all) by these probabilities, without those that may not be chosen."""
        return self._asked.ranked(values, k, history)

    def arguments(self, tool: Tool, history: History, now: datetime | None) -> Arguments:
        """As `Task.arguments`."""
        return self._task.arguments(tool.name, history.calls, now)

    def both(self, k: int, history: History) -> list[Hit]:
        """As `Task.ranked`."""
        from edgeret.runtime.mixed import mixed
        from edgeret.runtime.searching import finder_of

        asked, step = self._asked, self.by_own()
        listed = self.ranked(step.values, None, history)
        first = listed[0].tool if self.is_known(step) and listed else None
        found = finder_of(asked.loaded, self._task).hybrid(asked.query, len(asked.loaded.tools))
        return mixed([hit for hit in found if asked.tools is None or hit.tool in asked.tools], dict(listed), first)[:k]

    def mask(self, values: NDArray[np.float32], history: History, coverage: float) -> tuple[Candidate, ...]:
        """The conformal set of the step that was decided last, with its probabilities, at most MAX_ASKED of it."""
        return self.ranked(values, min(MAX_ASKED, self._task.conformal(coverage)), history)

    def conformal(self, history: History, coverage: float) -> tuple[Candidate, ...]:
        """As `Task.conformal_set`."""
        values = self.probabilities()
        return self.ranked(values, self._task.conformal(coverage), history)

    def answer_with(self, tool: str, options: DecideOptions) -> tuple[float, bool]:
        """What an answer with this candidate needs, and whether the request names it."""
        loaded = self._asked.loaded
        number = loaded.numbers_of([tool]).item(0) if tool != END else -1
        return self._task.answer_with(number, *needed(options, loaded.risk))

    def told(self, step: Step, history: History, options: DecideOptions, aside: str = "") -> Decision:
        """A step of the library as a decision; `aside` is what its reason says beside that."""
        asked, learned = self._asked, step.parts & library.LEARNED
        best, probability = asked.loaded.candidates[step.best], step.probability
        alone = not step.stage and self._stages > 1
        why = Recalled(asked, ref(self), step, history, options, alone, self._known)
        return Decision(
            None if step.abstained else best,
            probability,
            "heads" if learned or step.demonstrated else "prior",
            step.abstained == 1,
            _reason(step, best, alone, history, aside),
            Ranking(Candidate(best, probability), why.listed),
            Times(step.told),
            None,
            "full" if step.stage else "static",
            step.confirm == 1,
            () if step.best >= 0 or alone or not history.calls else self._task.left_aside(),
            why,
            asked.loaded.beside.degraded,
        )


def _reason(step: Step, best: str, alone: bool, history: History, aside: str) -> str:
    """Why it came out so, in words; `alone` says that the small encoder decided in place of the full one."""
    code = step.reason
    reason = why(step.parts, step.demonstrated == 1) + (SURE if alone else aside)
    if code == library.NOTHING_FITS:
        reason = f"{NONE_FITS}: {reason if alone else 'calling nothing is most probable'}"
    elif code == library.ALL_FAILED:
        reason = "every tool failed, so none is left to choose"
    elif code == library.UNSURE:
        reason = f"unsure: the best candidate, {best}, has probability {step.probability:.3f}, below {step.floor:.3f}"
    elif best == END:
        reason = f"nothing is left to do: {reason}"
    if history.failures and history.blocked:
        reason += f"; {history.left_out}"
    return f"{reason}; the request names it" if step.named else reason


@lru_cache(64)
def why(parts: int, demonstrated: bool) -> str:
    """Why the most probable candidate is taken, by the parts that have a say."""
    beside = BESIDE_TURNS if parts & library.TURNS else ""
    if not demonstrated:
        return (f"{BY_TOOLS}, and by {LEARNED}" if parts & library.LEARNED else UNDEMONSTRATED) + beside
    return f"most probable by {listed([name for part, name in _NAMES.items() if parts & part])}{beside}"
