"""What every strategy of tool search keeps to: views of a request, a model that may be asked, a trace, a budget. Knows
nothing of any one strategy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from time import perf_counter
from typing import Any, Protocol, TypeVar

from edgeret.errors import EdgeretError, InputError
from edgeret.planner.answers import Answerer, Judge, Limits, Shape
from edgeret.planner.chat import Prompt
from edgeret.strategies.fusion import added
from edgeret.types import Hit, Tool, Usage

DEPTH = 50
"""Tools that a view ranks at least; behind them, a tool counts for nothing."""
TRIES = 2
"""Answers that are asked for, where the first is none."""
SHOWN = 5
"""Tools of a search that a trace names, and that a planner is shown (ToolQP, section 3.1)."""
_RETRY_TEMPERATURE = 0.7
RESERVE = 0.035
"""Seconds of a budget that no planner gets: a token can take longer than the last, and the best ranking is still to be
made, by code that no cache holds any more."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened: its `kind` ("search", "plan", "intents", "tools", "query", "thought", "problem", …), its
    `text`, the first `tools` found, and `ms` since the search began."""

    kind: str
    text: str
    tools: tuple[str, ...]
    ms: float


@dataclass(frozen=True, slots=True)
class Trace:
    """How a ranking came about. `answers` is how often the planner was asked, `tokens` what it read and wrote. It is
    not `complete` where the budget ended it or the planner failed it: the best ranking so far was given then."""

    strategy: str
    events: tuple[Event, ...]
    answers: int
    tokens: int
    ms: float
    complete: bool

    @property
    def problem(self) -> str | None:
        """What went wrong last, in words; None for a complete search."""
        told = (event.text for event in reversed(self.events) if event.kind == "problem")
        return None if self.complete else next(told, None)

    def to_dict(self) -> dict[str, Any]:
        """The trace as JSON-ready data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Found:
    """The tools found, best first, and how."""

    hits: tuple[Hit, ...]
    trace: Trace


_T = TypeVar("_T")
Heard = Callable[[str, Sequence[Hit], int], bool]
"""Is told of words that demonstrations speak of, of the SHOWN likeliest tools, and how many clauses are left; whether
there is time for these."""


class Finder(Protocol):
    """The ways to rank tools by a text alone. Each gives the `k` best, and raises InputError as an encoder does."""

    def mixed(self, text: str, k: int, heard: Heard | None) -> list[Hit]:
        """By what was demonstrated where the text is like that, and else as `hybrid`."""

    def hybrid(self, text: str, k: int) -> list[Hit]:
        """By words and parts as well as by meaning."""

    def nearest(self, text: str, k: int) -> list[Hit]:
        """By cosine, without shares."""


class OutOfTimeError(Exception):
    """The budget of a search is spent. Never leaves this room."""


@dataclass
class Search:
    """One search: what all strategies share. `request` is the user's words, and `steps` its sub-tasks where somebody
    took it apart; a `view` is a text that ranks all tools; `ask` asks the planner. Both write down what happened where
    that is `traced`.

    `finder` ranks, by its `hybrid` in every view where the papers have a dense retriever. `tools` are what is searched,
    by name, for strategies that show them to a planner; those that have less than `contested` times the first one's
    share need not be shown.
    """

    request: str
    k: int
    finder: Finder
    answerer: Answerer | None = None
    deadline: float = math.inf
    steps: Sequence[str] = ()
    tools: Mapping[str, Tool] = field(default_factory=dict)
    contested: float = 0.0
    traced: bool = True
    events: list[Event] = field(default_factory=list)
    rankings: list[list[Hit]] = field(default_factory=list)
    answers: int = 0
    tokens: int = 0
    complete: bool = True
    started: float = field(default_factory=perf_counter)
    _slowest: float = 0.0

    def nearest(self, text: str, depth: int = DEPTH) -> list[Hit]:
        """Tools by their similarity to a text, the most similar first: `k`, or `depth` if that is more. Raises
        OutOfTimeError."""
        return self._looked(text, partial(self.finder.nearest, text, max(self.k, depth)))

    def view(self, text: str, depth: int = DEPTH) -> list[Hit]:
        """Tools for a text by its words and its parts, too, best first; as many as `nearest` gives. Raises
        OutOfTimeError."""
        return self._looked(text, partial(self.finder.hybrid, text, max(self.k, depth)))

    def mixed(self, depth: int = 0) -> list[Hit]:
        """Tools for the request by what was demonstrated, too; without clauses, should there be no time for them."""
        begun = perf_counter()

        def heard(text: str, most: Sequence[Hit], left: int) -> bool:
            nonlocal begun
            self.note("decided", text, most)
            took, begun = perf_counter() - begun, perf_counter()
            if not left or begun + took < self.deadline:
                return True
            self.complete = False
            self.note("problem", "the budget is spent")
            return False

        asks = self.traced or self.deadline < math.inf
        find = partial(self.finder.mixed, self.request, max(self.k, depth), heard if asks else None)
        return self._looked(self.request, find)

    def _looked(self, text: str, find: Callable[[], list[Hit]]) -> list[Hit]:
        with self._timed():
            hits = find()
        self.note("search", text, hits)
        return hits

    def ask(self, prompt: Prompt, shape: Shape, max_tokens: int = 256) -> Any | None:
        """The planner's answer, or None: where there is no planner, and where it gave none twice, which the trace says.
        Raises OutOfTimeError."""
        if self.answerer is None:
            return None
        took = 0.0
        for attempt in range(TRIES):
            self._check_time(took)  # where the first answer took too long, a second one would
            begun = perf_counter()
            limits = Limits(max_tokens, self.deadline - RESERVE, _RETRY_TEMPERATURE if attempt else 0.0, attempt)
            try:
                answer = self.answerer.answer(prompt, shape, limits)
            except EdgeretError as error:
                self.note("problem", f"the planner could not be asked: {error}")
                break
            self.answers += 1
            self.tokens += answer.usage.tokens_evaluated
            if answer.problem is None:
                return answer.value
            self.note("problem", f"the planner's answer is none: {answer.problem}")
            took = perf_counter() - begun
        self.complete = False
        return None

    def likelihoods(self, prompts: Sequence[Prompt], text: str) -> Sequence[float]:
        """How likely a planner takes a text to be as the reply to each of the prompts, in nats; for as many of them as
        there was time for. Raises OutOfTimeError."""
        found = self._judged(lambda judge, limits: judge.likelihoods(prompts, text, limits))
        if found is None:
            return ()
        self.answers += len(found)
        if len(found) < len(prompts):
            self.complete = False
            self.note("problem", f"there was time for {len(found)} of {len(prompts)} tools")
        return found

    def replies(
        self, asked: Sequence[tuple[Prompt, Sequence[str]]], *, keep: bool = False
    ) -> Sequence[Sequence[float]]:
        """How likely a planner takes each text to be as the whole reply to the prompt before it, in nats; nothing where
        there was no time for all. What holds whatever the request it may `keep`. Raises OutOfTimeError."""
        found = self._judged(lambda judge, limits: judge.replies(asked, limits, keep=keep))
        if found is None:
            return ()
        self.answers += 1
        if len(found) < len(asked):
            self.complete = False
            self.note("problem", "there was no time to name tools")
            return ()
        return found

    def _judged(self, asked: Callable[[Judge, Limits], tuple[Sequence[_T], Usage]]) -> Sequence[_T] | None:
        """What a planner said of how likely something is, None where it cannot be asked."""
        self._check_time()
        if not isinstance(self.answerer, Judge):
            self.complete = False
            self.note("problem", "this planner does not say how likely a text is; one in a bundle does")
            return None
        try:
            found, usage = asked(self.answerer, Limits(deadline=self.deadline - RESERVE))
        except EdgeretError as error:
            self.complete = False
            self.note("problem", f"the planner could not be asked: {error}")
            return None
        self.tokens += usage.tokens_evaluated
        return found

    def note(self, kind: str, text: str, hits: Sequence[Hit] = ()) -> None:
        """Writes something down."""
        if not self.traced and kind != "problem":
            return
        tools = tuple(hit.tool for hit in hits[:SHOWN])
        self.events.append(Event(kind, text, tools, (perf_counter() - self.started) * 1e3))

    @property
    def seconds_left(self) -> float:
        """Until the budget is spent; endless without one."""
        return self.deadline - perf_counter()

    def _check_time(self, needed: float = 0.0) -> None:
        if perf_counter() + needed >= self.deadline:
            raise OutOfTimeError

    @contextmanager
    def _timed(self) -> Iterator[None]:
        """Around one look at the tools, which is not begun where there is no time for one like the slowest so far. What
        leads to the first ranking is always done: there is nothing to give without it."""
        if self.rankings:
            self._check_time(self._slowest)
        started = perf_counter()
        yield
        self._slowest = max(self._slowest, perf_counter() - started)


@dataclass(frozen=True, slots=True)
class Strategy:
    """A way from a request to a ranking: `views` gives rankings one after the other, as many as there is time for, and
    `fuse` makes one of them. `asks` says that it is nothing without a planner, `helped` that it asks one if it can, and
    `by_tool` that it shows it the first tools one by one, so that some can be left out."""

    name: str
    views: Callable[[Search], Iterator[list[Hit]]]
    fuse: Callable[[Sequence[Sequence[Hit]]], list[Hit]]
    asks: bool = False
    helped: bool = False
    by_tool: bool = False


def run(strategy: Strategy, search: Search) -> Found:
    """The tools that a strategy finds. Where it finds none, and where its time is up before it found any, the request's
    own words do. Raises InputError for a strategy that asks, without a planner."""
    if strategy.asks and search.answerer is None:
        # What is read must be read here: endpoints answer, and do not say how likely a text is.
        endpoint = "" if strategy.by_tool else ", name an endpoint (--endpoint URL)"
        raise InputError(
            f"strategy '{strategy.name}' asks a planner, and there is none; build one in with: edgeret-export build "
            f"--planner smollm2-135m-instruct{endpoint}, or choose strategy 'hybrid'"
        )
    try:
        for hits in strategy.views(search):
            search.rankings.append(hits)
    except OutOfTimeError:
        search.complete = False
        search.note("problem", "the budget is spent")
    if not search.rankings:
        search.rankings.append(search.view(search.request))
    hits = strategy.fuse(search.rankings)
    ms = (perf_counter() - search.started) * 1e3
    trace = Trace(strategy.name, tuple(search.events), search.answers, search.tokens, ms, search.complete)
    return Found(tuple(hits[: search.k]), trace)


def together(found: Sequence[Found], k: int) -> Found:
    """The `k` best tools of searches for several texts, one after the other, which began at one time."""
    if len(found) == 1:
        return found[0]
    traces = [each.trace for each in found]
    events = tuple(event for trace in traces for event in trace.events)
    answers, tokens = sum(trace.answers for trace in traces), sum(trace.tokens for trace in traces)
    complete = all(trace.complete for trace in traces)
    trace = Trace(traces[0].strategy, events, answers, tokens, traces[-1].ms, complete)
    return Found(tuple(added([each.hits for each in found])[:k]), trace)
