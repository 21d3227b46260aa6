"""The facade: load a bundle, open a task, get decisions, search, plan.

`Runtime` is immutable and shared by threads; everything that changes lives in a `Task`, one per request of a user.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from edgeret.bundle.layout import Manifest
from edgeret.encoders.base import EncoderInfo
from edgeret.errors import InputError, MissingExtraError, PlannerError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.inputs.query import check_query, check_texts
from edgeret.runtime import plan as planning
from edgeret.runtime.conversation import Conversation
from edgeret.runtime.history import check_clock
from edgeret.runtime.learn_report import LearnReport
from edgeret.runtime.learned_plan import MAX_CALLS
from edgeret.runtime.loaded import Loaded
from edgeret.runtime.observed import Observed
from edgeret.runtime.options import DecideOptions, Policy, Profile, check_count
from edgeret.runtime.saved import begin, find_tool, restore
from edgeret.runtime.task import Task
from edgeret.runtime.tool_checks import unlike
from edgeret.runtime.tool_view import ToolView
from edgeret.types import Call, Hit, Need, Plan, PlanStep, Tool

if TYPE_CHECKING:
    from edgeret.planner.answers import Answerer
    from edgeret.runtime.learned import Learned
    from edgeret.runtime.understood import Understood
    from edgeret.strategies.base import Found
    from edgeret.strategies.routing import Route


class Runtime(Observed):
    """A loaded bundle. Thread-safe; hands out tasks. Immutable but for what is `learned`."""

    __slots__ = ("_loaded", "_tools")

    def __init__(self, loaded: Loaded, learned: Learned | None = None) -> None:
        """Use `edgeret.load`. Without `learned` nothing was learned yet, and what is learned is kept in memory."""
        self._loaded = loaded if learned is None else loaded.sharing(learned)
        self._tools = ToolView(self._loaded.tools)

    @property
    def loaded(self) -> Loaded:
        """What the bundle was loaded into, for whoever makes another runtime of it."""
        return self._loaded

    @property
    def path(self) -> Path:
        """The bundle's folder."""
        return self._loaded.path

    @property
    def manifest(self) -> Manifest:
        """The bundle's table of contents."""
        return self._loaded.manifest

    @property
    def encoder(self) -> EncoderInfo:
        """How it reads texts, for reports: whose arithmetic, on which providers and how many threads."""
        return self._loaded.encoder

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools by name, to be read: every one is a copy."""
        return self._tools

    def task(
        self,
        query: str,
        history: Sequence[str | Call] = (),
        *,
        tools: Collection[str] | None = None,
        now: datetime | None = None,
    ) -> Task:
        """Opens a task: encodes the query, once. `history` are the calls made so far, in order, as names of tools or as
        `Call`. `tools` are those that may be chosen (None: all), for instance what this user may call. `now` is
        what days such as "tomorrow" are counted from where arguments are asked for. Raises InputError for a query
        that is blank or too long, for calls that `Task.call` refuses, for unknown tools and for none."""
        checked = self._loaded.checked(query)
        begun = begin(history, self._loaded.tools)
        check_clock(now)
        begun.now = now
        return Task(self._loaded, checked, begun, tools)

    def resume(
        self, value: Mapping[str, Any], *, tools: Collection[str] | None = None, now: datetime | None = None
    ) -> Task:
        """Opens a task as `Task.to_dict` kept it, also with another bundle that has its tools. The query is encoded
        again. Which `tools` may be chosen is said again too, since what a user may call can have changed, and what time
        it is `now`. Raises InputError for anything else, and for tools that this bundle does not have."""
        self._loaded.check_process()
        check_clock(now)
        query, history = restore(value, self._loaded.tools)
        history.now = now
        return Task(self._loaded, query, history, tools)

    def conversation(
        self, saved: Mapping[str, Any] | None = None, *, tools: Collection[str] | None = None
    ) -> Conversation:
        """Opens a conversation: turns of one user that may lean on earlier ones; or goes on with one that
        `Conversation.to_dict` kept, also of another bundle with its tools. `tools` are those that may be chosen in all
        turns (None: all). Raises InputError for unknown tools, for none, and for anything else that was saved."""
        self._loaded.check_process()
        return Conversation(self._loaded, tools, saved)

    @property
    def learned(self) -> Learned:
        """What was learned on this device: its plans, size and status. Shared with `with_tools`' generations."""
        return self._loaded.learned

    def learn(self, demonstrations: Sequence[Demonstration], *, keep_words: bool = True) -> LearnReport:
        """Learns from demonstrations at once, each in milliseconds beyond its encoding. With `keep_words` false only
        vectors and names of tools are kept. Raises InputError for unknown tools, before anything is learned, and
        OverlayError where what was learned cannot be kept."""
        self._loaded.check_process()
        if isinstance(demonstrations, str | Demonstration) or not isinstance(demonstrations, Sequence):
            raise InputError("learn takes a list of edgeret.Demonstration")
        for demonstration in demonstrations:
            if not isinstance(demonstration, Demonstration):
                raise InputError(f"learn takes edgeret.Demonstration, found {type(demonstration).__name__}")
            check_query(demonstration.query)
            if len(demonstration.calls) > MAX_CALLS:
                raise InputError(
                    f"{len(demonstration.calls)} calls in a demonstration, at most {MAX_CALLS} can be learned; split it"
                )
            for call in demonstration.calls:
                find_tool(self._loaded.tools, call.tool)
        for demonstration in demonstrations:
            self._loaded.learn(demonstration, keep_words)
        return self._loaded.learned.report(len(demonstrations))

    def forget(
        self, query: str | None = None, *, tool: str | None = None, id: int | None = None, everything: bool = False
    ) -> int:
        """Forgets what was learned from a query (its words, whatever their case), from plans that call a tool, from the
        plan of an id, or everything; how many plans that were. The rest is learned anew, in some milliseconds a plan.
        Raises InputError unless exactly one is named, and OverlayError."""
        if sum((query is not None, tool is not None, id is not None, everything is True)) != 1:
            raise InputError("say what to forget: a query, tool=…, id=… or everything=True")
        if not isinstance(query, str | None):
            raise InputError(f"a query to forget must be text, found {type(query).__name__}")
        self._loaded.check_process()
        if everything:
            return self._loaded.learned.forget(None)
        return self._loaded.learned.forget_of(query, tool, id)

    def with_tools(
        self,
        *,
        add: Sequence[Tool] = (),
        remove: Collection[str] = (),
        replace: Sequence[Tool] = (),
        keep: bool = False,
    ) -> Runtime:
        """Another runtime with these tools added, removed and replaced, in milliseconds beyond encoding them. New tools
        are found and chosen at once; removed ones never are. Running tasks keep the tools that they began with. What
        was learned is shared. With `keep`, the overlay that the bundle was loaded with keeps the change for later
        starts, if the tools that change are those that it holds. Tools that are there as they are given change nothing.
        Raises InputError for other tools of names that are there, for names that are not there, and OverlayError."""
        self._loaded.check_process()
        held = self._loaded
        add, replace = unlike(held.tools, add, remove, replace)
        if not (add or remove or replace or (keep and held.tools is not held.learned.kept)):
            return self
        after = held.changed(add, remove, replace)
        if keep:
            held.keep(after, add, remove, replace)
        return Runtime(after)

    def with_profile(self, profile: Profile) -> Runtime:
        """The same bundle by another profile, with the tools of today: "tiny" where a battery is low or a device is
        hot, for instance, and back. What both share is mapped once; running tasks end as they began. What was learned
        is shared where the encoder stays, between "default" and "full". For "tiny" plans whose words were kept are
        learned again, by the table; what is learned or forgotten there is taken over by the way back, and lasts no
        longer than that where nobody goes it. Raises InputError for a profile that the bundle cannot have, and as
        `edgeret.load` for a bundle that is not there any more as it was."""
        from edgeret.runtime.profiles import by_profile

        self._loaded.check_process()
        found: Runtime = by_profile(self, profile)
        return found

    def close(self) -> None:
        """Closes the overlay, if there is one. The runtime still decides, and opens it again to learn more."""
        self._loaded.learned.close()

    def search(
        self,
        text: str | Sequence[str],
        k: int = 10,
        *,
        strategy: str = "auto",
        budget_ms: float | None = None,
        planner: Answerer | None = None,
        route: Route | None = None,
        needed: bool = False,
    ) -> list[Hit]:
        """The `k` tools that fit `text`, best first; see `edgeret.strategies`. Of a list of up to four texts (the
        user's own words, and what each needed tool should do) each is searched for, and their shares are added.

        Strategy "auto" goes by demonstrations where the text is like one of them, and else as "hybrid" does: by the
        words and the parts of the text as well as by its meaning. "description" compares the whole text, "clauses" each
        of its clauses too. "re-invoke", "tooldreamer", "toolqp", "toolreagt" and "less-is-more" ask a planner what to
        search for: `planner`, for instance an `edgeret.Endpoint`, or else the bundle's own; "re-invoke" also does
        without. With a `route` "auto" asks one too, where the first tool is contested (see `edgeret.read_route`).
        `budget_ms` bounds the time; the best ranking so far is given when it is spent.

        With `needed` the tools that calls of the likely ones need first stand among the `k`, in addition to them:
        those whose names and descriptions say that they give an id, log in or switch something on. `Hit.needed_for`
        tells them apart. Raises InputError, and PlannerError or MissingExtraError where a planner that must be asked
        cannot be.
        """
        found = self._searched(text, k, strategy, budget_ms, planner, route, needed, False)
        return list(found.hits)

    def search_with_trace(
        self,
        text: str | Sequence[str],
        k: int = 10,
        *,
        strategy: str = "auto",
        budget_ms: float | None = None,
        planner: Answerer | None = None,
        route: Route | None = None,
        needed: bool = False,
    ) -> Found:
        """What `search` finds, and how: what the planner wrote, what was searched for and found, tokens and times.
        Raises as `search` does."""
        return self._searched(text, k, strategy, budget_ms, planner, route, needed, True)

    def _searched(
        self,
        text: str | Sequence[str],
        k: int,
        strategy: str,
        budget_ms: float | None,
        planner: Answerer | None,
        route: Route | None,
        needed: bool,
        traced: bool,
    ) -> Found:
        started = perf_counter()
        from edgeret.runtime import searching

        self._loaded.check_process()
        check_count("k", k)
        chosen, texts = searching.chosen(strategy, budget_ms), check_texts(text)
        for each in texts:
            self._loaded.checked(each)
        return searching.find(self._loaded, texts, k, chosen, budget_ms, planner, route, started, needed, traced)

    def needs(self, tool: str) -> tuple[Need, ...]:
        """What a call of a tool needs to have been called first, and what that needs in turn, the surest first: as its
        name, its parameters and the descriptions say. What was given already, nobody needs. Raises InputError for an
        unknown tool."""
        find_tool(self._loaded.tools, tool)
        return self._loaded.needs.of(tool)

    def understood(self, text: str) -> Understood:
        """What `search` reads in a text beside its meaning: its language and clauses, kinds of values and the tools
        that take them, and the examples that are nearest. Raises InputError as `search` does."""
        from edgeret.runtime.understood import understood

        return understood(self._loaded, self._loaded.checked(text))

    def odd_examples(self, tools: Sequence[Tool] | None = None) -> list[str]:
        """What is odd about the examples that tools show, its own or these, a line for each kind: sentences that
        several tools show, and those in a language that its encoder was not trained on."""
        from edgeret.runtime.odd_examples import odd_examples

        return odd_examples(self._loaded.tools.values() if tools is None else tools, self._loaded.languages)

    def plan(
        self,
        query: str,
        *,
        policy: Policy = "auto",
        max_steps: int = planning.MAX_STEPS,
        arguments: bool = True,
        now: datetime | None = None,
        cancelled: Callable[[], bool] | None = None,
        decided: Callable[[PlanStep], object] | None = None,
    ) -> Plan:
        """Decides again and again until `<end>`, an abstention, a loop, `max_steps` calls or `cancelled()`.

        With `arguments`, those of every call are read from the request, and a planner in the bundle that proved worth
        it is asked for what is missing; days such as "tomorrow" are counted from `now`. `decided` is told of each step
        at once. Raises InputError, and PlannerError or MissingExtraError where a planner must be asked.
        """
        check_count("max_steps", max_steps)
        for name, given in (("cancelled", cancelled), ("decided", decided)):
            if given is not None and not callable(given):
                raise InputError(f"{name} must be a function, found {type(given).__name__}")
        found = self.steps(query, policy=policy, arguments=arguments, now=now)
        return planning.run(query, found, max_steps, cancelled, decided)

    def steps(
        self, query: str, *, policy: Policy = "auto", arguments: bool = True, now: datetime | None = None
    ) -> Iterator[PlanStep]:
        """The steps of a `plan` as they are decided, until `<end>`, an abstention, or more calls than any plan has;
        whoever has enough stops reading. Raises InputError, and PlannerError or MissingExtraError where a planner must
        be asked.
        """
        DecideOptions(policy=policy)
        if not isinstance(arguments, bool):
            raise InputError(f"arguments must be True or False, found {type(arguments).__name__}")
        return planning.steps(self.task(query, now=now), self._loaded.tools, self._loaded.asks, policy, arguments)

    def warmup(self) -> None:
        """Runs one decision, so that the first user does not pay for page faults and lazy allocations; makes what reads
        texts beyond ASCII; and lets a planner whose advice is used read what all its prompts begin with."""
        task = self.task("warm up")
        task.next()
        task.probabilities()  # of the full encoder, should the table have decided
        held = self._loaded
        if held.planner.exists and held.planner.problem is None and held.reranking.weight > 0:
            # A planner that cannot be loaded is told of by the decisions, which the heads then make.
            with contextlib.suppress(PlannerError, MissingExtraError):
                held.planner.warm(task.prompt())
