"""The facade: load a bundle, open a task, get decisions, search, plan.

`Runtime` is immutable and shared by threads; everything that changes lives in a `Task`, one per request of a user.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeret.bundle.reader import open_bundle
from edgeret.encoders.load import load_encoder
from edgeret.encoders.providers import choose
from edgeret.errors import InputError
from edgeret.host import available_cpus
from edgeret.inputs.query import check_query
from edgeret.planner.reranker import Advisor, required
from edgeret.runtime.components import Parts
from edgeret.runtime.task import Task
from edgeret.scoring.calibration import PolicyName
from edgeret.scoring.index import INDEX_KINDS, IndexKind
from edgeret.strategies.clauses import split_clauses
from edgeret.types import END, Call, Hit, Plan, PlanStep

MAX_REPEATS = 3
"""Calls of one tool in a row, without arguments to tell them apart, that make a plan a loop."""


def load(
    path: str | Path,
    *,
    providers: Sequence[str] = ("cpu",),
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
    of the bundle is read. `index` is "exact" for a search that never reads the bundle's HNSW graph, "hnsw" to insist on
    it, "auto" to use it where there are so many tools that it is faster. Load in the process that decides: a runtime
    does not survive a fork.
    Raises BundleError, ProviderError or MissingExtraError.
    """
    if index not in INDEX_KINDS:
        raise InputError(f"unknown index '{index}'; choose one of {', '.join(INDEX_KINDS)}")
    bundle = open_bundle(path, content_hash=content_hash)
    choice = choose(providers, allow_fallback, provider_options or {})
    budget = threads or available_cpus()
    encoder = load_encoder(bundle, choice, budget, static_tokens)
    folder = None if state_folder is None else Path(state_folder)
    return Runtime(bundle, encoder, Advisor(bundle, budget, gpu_layers, folder), index)


class Runtime(Parts):
    """A loaded bundle. Thread-safe; hands out tasks."""

    def task(self, query: str) -> Task:
        """Opens a task: encodes the query, once. Raises InputError for a query that is blank or too long."""
        self.check_process()
        return Task(self, check_query(query))

    def search(self, text: str, k: int = 10, *, clauses: bool = False) -> list[Hit]:
        """The `k` tools whose descriptions are nearest to `text`, best first.

        With `clauses` each clause of the text is searched too and a tool counts by its best rank, which finds more
        for requests that want several things. Raises InputError.
        """
        self.check_process()
        if k < 1:
            raise InputError(f"k must be at least 1, found {k}")
        check_query(text)
        best: dict[int, tuple[int, float]] = {}
        for part in (text, *(split_clauses(text) if clauses else ())):
            positions, similarities = self.index.search(self.encoder.encode(part), k)
            for rank, (position, cosine) in enumerate(zip(positions.tolist(), similarities.tolist(), strict=True)):
                old_rank, old_cosine = best.get(position, (rank, cosine))
                best[position] = (min(rank, old_rank), max(cosine, old_cosine))
        ordered = sorted(best.items(), key=lambda item: (item[1][0], -item[1][1]))[:k]
        return [Hit(self.index.names[position], cosine) for position, (_, cosine) in ordered]

    def plan(
        self,
        query: str,
        *,
        policy: PolicyName = "auto",
        max_steps: int = 16,
        arguments: bool = True,
        cancelled: Callable[[], bool] | None = None,
        decided: Callable[[PlanStep], object] | None = None,
    ) -> Plan:
        """Decides again and again until `<end>`, an abstention, a loop, `max_steps` calls or `cancelled()`.

        With a planner in the bundle and `arguments`, every call's arguments are filled in. `decided` is told of each
        step at once. Raises InputError, and PlannerError or MissingExtraError where a planner must be asked.
        """
        steps: list[PlanStep] = []
        for step in self.steps(query, policy=policy, arguments=arguments):
            steps.append(step)
            if decided is not None:
                decided(step)
            if step.call is None:
                return Plan(query, tuple(steps), "abstained" if step.decision.abstained else "complete")
            if _repeats(steps):
                return Plan(query, tuple(steps[:-1]), "repeated")
            if len(steps) == max_steps:
                break
            if cancelled is not None and cancelled():
                return Plan(query, tuple(steps), "cancelled")
        return Plan(query, tuple(steps), "bound")

    def steps(self, query: str, *, policy: PolicyName = "auto", arguments: bool = True) -> Iterator[PlanStep]:
        """The steps of a plan as they are decided, without end unless `<end>` or an abstention comes; whoever has
        enough stops reading. Raises InputError, and PlannerError or MissingExtraError where a planner must be asked.
        """
        task = self.task(query)
        fills = arguments and self.advisor.has_planner
        while True:
            decision = task.next(policy=policy)
            if decision.tool is None or decision.tool == END:
                yield PlanStep(decision)
                return
            call, missing, usage = Call(decision.tool), required(self.tools[decision.tool].parameters), None
            if fills:
                filled, usage = task.fill(decision.tool)
                call, missing = Call(decision.tool, filled.arguments), filled.missing
            task.call(call.tool, call.arguments)
            yield PlanStep(decision, call, missing, usage)

    def warmup(self) -> None:
        """Runs one decision, so that the first user does not pay for page faults and lazy allocations; and lets a
        planner whose advice is used read what all its prompts begin with."""
        task = self.task("warm up")
        task.next()
        if self.advisor.unasked is None:
            self.advisor.warm(task.prompt())


def _repeats(steps: Sequence[PlanStep]) -> bool:
    """Whether the last call was made before: with the same arguments, or just again and again."""
    *before, last = (step.call for step in steps)
    assert last is not None
    if last.arguments:
        return last in before
    return len(before) >= MAX_REPEATS and all(call is not None and call == last for call in before[-MAX_REPEATS:])
