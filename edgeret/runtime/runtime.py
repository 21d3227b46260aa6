"""The facade: load a bundle, open a task, get decisions, search, plan.

`Runtime` is immutable and shared by threads; everything that changes lives in a `Task`, one per request of a user.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeret.bundle.layout import Manifest
from edgeret.errors import InputError, MissingExtraError, PlannerError
from edgeret.inputs.query import check_query
from edgeret.quoting import quoted
from edgeret.runtime import plan as planning
from edgeret.runtime.components import Components, load_components
from edgeret.runtime.decide import Decider
from edgeret.runtime.options import DecideOptions, LoadOptions, Policy, check_count, check_path
from edgeret.runtime.saved import begin, restore
from edgeret.runtime.scorer import Scorer
from edgeret.runtime.task import Task
from edgeret.scoring.index import IndexKind
from edgeret.strategies import STRATEGIES
from edgeret.types import Call, Hit, Plan, PlanStep, Tool


def load(
    path: str | Path,
    *,
    providers: str | Sequence[str] = ("cpu",),
    allow_fallback: bool = False,
    provider_options: Mapping[str, Mapping[str, Any]] | None = None,
    threads: int | None = None,
    static_tokens: int | None = None,
    gpu_layers: int = 0,
    state_folder: str | Path | None = None,
    content_hash: str | None = None,
    index: IndexKind = "auto",
) -> Runtime:
    """Loads a bundle; every file is verified before anything parses it.

    `providers` are execution providers by name ("cpu", "cuda", "qnn", …), the first of which must really run unless
    `allow_fallback`. `threads` is the CPU budget (default: what affinity and cgroup allow), for encoder and planner
    alike. `static_tokens` fixes the input's length for compilers that want it. A planner is loaded when it is first
    asked, with `gpu_layers` of its layers on a GPU; `state_folder` keeps what `warmup` had it read, for later starts.

    `content_hash` (hex), obtained over a way that you trust, must be the bundle's; it is checked before anything else
    of the bundle is read. `index` is "exact" for a search that never parses the bundle's HNSW graph, "hnsw" to insist
    on it, "auto" to use it where there are so many tools that it is faster. Load in the process that decides: a runtime
    does not survive a fork.
    Raises InputError for options out of range, BundleError, ProviderError or MissingExtraError.
    """
    options = LoadOptions(
        providers,
        allow_fallback,
        provider_options,
        threads,
        static_tokens,
        gpu_layers,
        state_folder,
        content_hash,
        index,
    )
    check_path("a bundle's folder", path)
    return Runtime(load_components(path, options))


class Runtime:
    """A loaded bundle. Immutable and thread-safe; hands out tasks."""

    __slots__ = ("_components", "_decider", "_scorer", "_tools")

    def __init__(self, components: Components) -> None:
        """Use `edgeret.load`; or components of your own, where a test or an experiment varies one."""
        self._components = components
        self._scorer = Scorer(components)
        self._decider = Decider(components)
        self._tools = _ToolView(components.tools)

    @property
    def components(self) -> Components:
        """What the bundle was loaded into, for whoever measures it."""
        return self._components

    @property
    def path(self) -> Path:
        """The bundle's folder."""
        return self._components.path

    @property
    def manifest(self) -> Manifest:
        """The bundle's table of contents."""
        return self._components.manifest

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools by name, to be read: every one is a copy."""
        return self._tools

    def task(self, query: str, history: Sequence[str | Call] = (), *, tools: Collection[str] | None = None) -> Task:
        """Opens a task: encodes the query, once. `history` are the calls made so far, in order, as names of tools or as
        `Call`. `tools` are those that may be chosen (None: all), for instance what this user may call. Raises
        InputError for a query that is blank or too long, for calls that `Task.call` refuses, for unknown tools and for
        none."""
        self._components.check_process()
        checked = check_query(query)
        begun = begin(history, self._components.tools, self._scorer.number)
        return Task(self._scorer, self._decider, checked, begun, tools)

    def resume(self, value: Mapping[str, Any]) -> Task:
        """Opens a task as `Task.to_dict` kept it, also with another bundle that has its tools. The query is encoded
        again. Raises InputError for anything else, and for tools that this bundle does not have."""
        self._components.check_process()
        query, history = restore(value, self._components.tools, self._scorer.number)
        return Task(self._scorer, self._decider, query, history)

    def search(self, text: str, k: int = 10, *, strategy: str = "description") -> list[Hit]:
        """The `k` tools that fit `text` by their descriptions, best first; see `edgeret.strategies`.

        Strategy "description" compares the whole text. "clauses" searches each of its clauses too, which finds more
        for requests that want several things. Raises InputError.
        """
        self._components.check_process()
        check_count("k", k)
        search = STRATEGIES.get(strategy) if isinstance(strategy, str) else None
        if search is None:
            raise InputError(f"unknown strategy {quoted(str(strategy))}; choose one of {', '.join(STRATEGIES)}")
        return search(check_query(text), k, self._components.encoder, self._components.index)

    def plan(
        self,
        query: str,
        *,
        policy: Policy = "auto",
        max_steps: int = planning.MAX_STEPS,
        arguments: bool = True,
        cancelled: Callable[[], bool] | None = None,
        decided: Callable[[PlanStep], object] | None = None,
    ) -> Plan:
        """Decides again and again until `<end>`, an abstention, a loop, `max_steps` calls or `cancelled()`.

        With a planner in the bundle and `arguments`, every call's arguments are filled in. `decided` is told of each
        step at once. Raises InputError, and PlannerError or MissingExtraError where a planner must be asked.
        """
        check_count("max_steps", max_steps)
        for name, given in (("cancelled", cancelled), ("decided", decided)):
            if given is not None and not callable(given):
                raise InputError(f"{name} must be a function, found {type(given).__name__}")
        found = self.steps(query, policy=policy, arguments=arguments)
        return planning.run(query, found, max_steps, cancelled, decided)

    def steps(self, query: str, *, policy: Policy = "auto", arguments: bool = True) -> Iterator[PlanStep]:
        """The steps of a plan as they are decided, until `<end>`, an abstention, or more calls than any plan has;
        whoever has enough stops reading. Raises InputError, and PlannerError or MissingExtraError where a planner must
        be asked.
        """
        DecideOptions(policy)
        if not isinstance(arguments, bool):
            raise InputError(f"arguments must be True or False, found {type(arguments).__name__}")
        return planning.steps(self.task(query), self._components, policy, arguments)

    def warmup(self) -> None:
        """Runs one decision, so that the first user does not pay for page faults and lazy allocations; and lets a
        planner whose advice is used read what all its prompts begin with."""
        task = self.task("warm up")
        task.next()
        if self._decider.unasked() is None:
            # A planner that cannot be loaded is told of by the decisions, which the heads then make.
            with contextlib.suppress(PlannerError, MissingExtraError):
                self._components.planner.warm(task.prompt())


class _ToolView(Mapping[str, Tool]):
    """Tools by name, of which callers get copies: what they change is theirs."""

    def __init__(self, tools: Mapping[str, Tool]) -> None:
        self._tools = tools

    def __getitem__(self, name: str) -> Tool:
        return copy.deepcopy(self._tools[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools
