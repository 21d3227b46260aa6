"""Decisions with a planner in the loop: teacher-forced steps, conformal sets, prompts, reuse, and whole plans.

Everything is measured on the same sample of plans, walked in the order of their calls, one plan after the other, since
a planner's cache helps from step to step. Knows nothing of how a decision is made.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from edgeret.bundle import roles
from edgeret.cli.doctor import device, versions
from edgeret.errors import InputError, MissingExtraError, PlannerError
from edgeret.inputs.demonstrations import Demonstration, Step
from edgeret.planner.prompts import MASKINGS, Masking
from edgeret.runtime.options import COVERAGE, MAX_ASKED, POLICIES, Policy, Weighted
from edgeret.runtime.runtime import Runtime
from edgeret.runtime.task import Task
from edgeret.terminal.progress import track
from edgeret.types import Candidate, Usage
from edgeret_bench.accuracy.rollouts import whole_plans
from edgeret_bench.metrics import mean, quantiles, share

NOMINAL = (0.8, 0.9, 0.95, 0.99)
REUSE_STEPS = 20
LONGEST_PLAN, LONGEST_HISTORY = 6, 4
"""The tables' last rows: so many calls and more."""
FREE_RUNNING: tuple[Policy, ...] = ("heads", "auto")


@dataclass(frozen=True, slots=True)
class Options:
    """What to measure. `policies` empty: all that the bundle can serve; a policy that is named must be served.

    `steps` bounds the teacher-forced steps (0: all), `plans` the free-running plans (0: none); `weighted` and
    `coverage` are those of `Task.next`.
    """

    policies: Sequence[str] = ()
    maskings: Sequence[str] = MASKINGS
    weighted: Weighted = "auto"
    coverage: float = COVERAGE
    steps: int = 300
    plans: int = 40
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """One teacher-forced step as it was decided.

    `fits`: any tool fits the request. `outside`: the answer was not in the mask, None where a planner has no say.
    `ms` holds the task's opening, and so the encoding, at its first step.
    """

    plan_length: int
    history: int
    right: bool
    abstained: bool
    fits: bool
    outside: bool | None
    usage: Usage | None
    ms: float


def run(runtime: Runtime, demonstrations: Sequence[Demonstration], options: Options | None = None) -> dict[str, Any]:
    """The contract's `plan` result.

    What cannot be measured (a planner that the bundle lacks, a prompt longer than its context) is listed under
    `unavailable` with the reason. Raises InputError for options that make no sense, and what `LazyPlanner.get` raises
    if policy "planner" was named and there is none to ask.
    """
    options = options or Options()
    check(options)
    policies = options.policies or POLICIES
    missing = _why_no_planner(runtime, "planner" in options.policies)
    unavailable = {} if missing is None else {"planner": missing}
    order = [demonstrations[i] for i in np.random.default_rng(options.seed).permutation(len(demonstrations))]
    sample = sampled(order, options.steps)
    has_arguments = any(call.arguments for demonstration in demonstrations for call in demonstration.calls)
    runtime.warmup()
    answers: dict[str, list[Answer]] = {}
    maskings = [masking for masking in MASKINGS if masking in options.maskings and missing is None]
    methods = [(p, m) for p in POLICIES if p in policies for m in (maskings if p == "planner" else MASKINGS[:1])]
    for policy, masking in methods:
        name = f"{policy}/{masking}" if policy == "planner" else policy
        try:
            answers[name] = walk(runtime, sample, policy, masking, options)
        except PlannerError as error:
            unavailable[name] = str(error)
    idle = missing if "planner" in policies else "policy planner was not among those to measure"
    try:
        reused = {"unavailable": idle} if idle else reuse(runtime, sample, options)
    except PlannerError as error:
        reused = {"unavailable": str(error)}
    return {
        "n_plans": len(sample),
        "n_steps": sum(len(d.calls) + 1 for d in sample),
        "dag": any(d.links is not None for d in sample),
        "seed": options.seed,
        "coverage": options.coverage,
        "weighted": options.weighted,
        "planner": _planner(runtime),
        "unavailable": unavailable,
        "methods": {name: summary(rows) for name, rows in answers.items()},
        "by_plan_length": {name: _by(rows, "plan_length", LONGEST_PLAN) for name, rows in answers.items()},
        "by_history": {name: _by(rows, "history", LONGEST_HISTORY) for name, rows in answers.items()},
        "conformal": conformal(runtime, sample),
        "prompts": {"unavailable": missing} if missing else lengths(runtime, sample, options),
        "reuse": reused,
        "plans": {
            policy: whole_plans(runtime, order[: options.plans], policy, has_arguments)
            for policy in FREE_RUNNING
            if options.plans and policy in policies
        },
        "threads": runtime.loaded.threads,
        "device": device(runtime),
        "versions": versions(),
    }


def check(options: Options) -> None:
    """Raises InputError for options that make no sense."""
    for kind, given, known in (("policy", options.policies, POLICIES), ("masking", options.maskings, MASKINGS)):
        for name in given:
            if name not in known:
                raise InputError(f"unknown {kind} '{name}'; choose among: {', '.join(known)}")
    if not 0 < options.coverage < 1:
        raise InputError(f"coverage must lie between 0 and 1, found {options.coverage}")
    if min(options.steps, options.plans) < 0:
        raise InputError(f"steps and plans must be 0 or more, found {options.steps} and {options.plans}")


def sampled(order: Sequence[Demonstration], steps: int) -> list[Demonstration]:
    """Whole plans from the front until they have at least so many steps, `<end>` counted; 0: all of them."""
    before = np.cumsum([0, *(len(demonstration.calls) + 1 for demonstration in order)])
    return [d for d, count in zip(order, before, strict=False) if not steps or count < steps]


def forced(runtime: Runtime, demonstration: Demonstration) -> Iterator[tuple[Task, Step]]:
    """The plan's steps, each with a task whose history are the plan's own calls before it."""
    task = runtime.task(demonstration.query)
    for step, call in zip(demonstration.steps(), [*demonstration.calls, None], strict=True):
        yield task, step
        if call is not None:
            task.call(call.tool, call.arguments)


def walk(
    runtime: Runtime, sample: Sequence[Demonstration], policy: Policy, masking: Masking, options: Options
) -> list[Answer]:
    """Every step of the sample decided by one policy; `masking` is the planner's alone.

    The planner begins with an empty cache and keeps it from plan to plan. An abstention counts as wrong unless no tool
    fits the request, where calling nothing is what was asked. Raises PlannerError for policy "planner".
    """
    with contextlib.suppress(InputError, PlannerError, MissingExtraError):  # no planner, no cache
        runtime.loaded.planner.get().clear()
    answers: list[Answer] = []
    for demonstration in track(sample, f"{policy}/{masking}" if policy == "planner" else policy, len(sample)):
        started = perf_counter()
        for task, step in forced(runtime, demonstration):
            decision = task.next(policy=policy, masking=masking, weighted=options.weighted, coverage=options.coverage)
            ms = (perf_counter() - started) * 1e3
            outside = None
            if policy == "planner" or decision.usage is not None:
                shown: Sequence[Candidate] = task.candidates()
                if policy == "auto" or masking == "hard":
                    shown = asked_about(task, options.coverage)
                outside = decision.tool is not None and decision.tool not in {candidate.tool for candidate in shown}
            fits = bool(demonstration.calls)
            right = decision.tool in step.acceptable or (decision.abstained and not fits)
            place = len(demonstration.calls), len(step.history)
            answers.append(Answer(*place, right, decision.abstained, fits, outside, decision.usage, ms))
            started = perf_counter()
    return answers


def _planner(runtime: Runtime) -> dict[str, Any] | None:
    """What the manifest says of the planner, and what its word was found to be worth; None without one."""
    if not runtime.loaded.planner.exists:
        return None
    told = runtime.manifest.info.get(roles.INFO_PLANNER, {})
    return {**told.get("spec", {}), **runtime.loaded.reranking.to_dict()}


def asked_about(task: Task, coverage: float) -> Sequence[Candidate]:
    """The mask at this step: the conformal set, cut to what a planner is asked about at most."""
    return task.conformal_set(coverage)[:MAX_ASKED]


def summary(answers: Sequence[Answer]) -> dict[str, Any]:
    """One method's row. Tokens are means over the planner's calls; None where it was never asked.

    `declined_rightly`: steps that were abstentions with no tool to call, a share. `reuse_from_second_step`: share of
    the prompts' tokens that were in the cache already, over calls with a history. `outside_mask` counts answers.
    """
    usages = [answer.usage for answer in answers if answer.usage is not None]
    later = [a.usage for a in answers if a.usage is not None and a.history]
    later_tokens = sum(u.constant_tokens + u.variable_tokens for u in later)
    tokens = ("constant_tokens", "variable_tokens", "tokens_evaluated", "tokens_reused")
    masked = [answer.outside for answer in answers if answer.outside is not None]
    return {
        "n_steps": len(answers),
        "fsa": share([a.right for a in answers]),
        "abstained": share([a.abstained for a in answers]),
        "declined_rightly": share([a.abstained and not a.fits for a in answers]),
        "planner_calls": len(usages),
        "planner_calls_per_step": len(usages) / len(answers),
        **{name: float(np.mean([getattr(u, name) for u in usages])) if usages else None for name in tokens},
        "n_from_second_step": len(later),
        "reuse_from_second_step": sum(u.tokens_reused for u in later) / later_tokens if later_tokens else None,
        "ms_per_step": quantiles([a.ms for a in answers]),
        "ms_per_planner_call": quantiles([u.ms for u in usages]) if usages else None,
        "outside_mask": sum(masked) if masked else None,
    }


def conformal(runtime: Runtime, sample: Sequence[Demonstration]) -> list[dict[str, float]]:
    """For each nominal coverage, how often the conformal set held an acceptable function, whole and cut to what a
    planner is asked about at most, and the whole set's mean size."""
    rows: dict[float, list[Mapping[str, float]]] = {nominal: [] for nominal in NOMINAL}
    for demonstration in track(sample, "conformal sets", len(sample)):
        for task, step in forced(runtime, demonstration):
            for nominal in NOMINAL:
                names = [c.tool for c in task.conformal_set(nominal)]
                held, held_asked = (not step.acceptable.isdisjoint(n) for n in (names, names[:MAX_ASKED]))
                rows[nominal].append({"covered": held, "covered_asked": held_asked, "mean_size": len(names)})
    return [{"nominal": nominal, **mean(values)} for nominal, values in rows.items()]


def lengths(runtime: Runtime, sample: Sequence[Demonstration], options: Options) -> dict[str, Any]:
    """Mean tokens of the prompts of every masking, and what "hard" saves of "none"'s; the model is not run."""
    planner = runtime.loaded.planner.get()
    rows: dict[Masking, list[dict[str, float]]] = {m: [] for m in MASKINGS if m in options.maskings}
    for demonstration in track(sample, "prompts", len(sample)):
        for task, _ in forced(runtime, demonstration):
            for masking, counts in rows.items():
                prompt = task.prompt(masking=masking, weighted=options.weighted, coverage=options.coverage)
                constant, variable = planner.count(prompt)
                counts.append({"constant": constant, "variable": variable, "total": constant + variable})
    means: dict[str, dict[str, float]] = {masking: mean(counts) for masking, counts in rows.items()}
    both = "none" in means and "hard" in means
    return {"maskings": means, "hard_saves": 1 - means["hard"]["total"] / means["none"]["total"] if both else None}


def reuse(runtime: Runtime, sample: Sequence[Demonstration], options: Options) -> dict[str, Any]:
    """What a second or later decision by planner and hard mask costs right after the one before it (warm), and with
    nothing in the cache (cold): ms, tokens read, and the ratio of the medians.

    Both are measured in turn, each first every other time, at seeded steps where the planner is asked both here and
    at the step before.
    """
    planner = runtime.loaded.planner.get()
    shared: dict[str, Any] = {"policy": "planner", "weighted": options.weighted, "coverage": options.coverage}
    places = [(demonstration, i) for demonstration in sample for i in range(1, len(demonstration.calls) + 1)]
    order = np.random.default_rng(options.seed).permutation(len(places))
    ms: dict[str, list[float]] = {"warm": [], "cold": []}
    read: dict[str, list[float]] = {"warm": [], "cold": []}
    for demonstration, i in track((places[k] for k in order), "reuse", len(places)):
        before, after = (_after(runtime, demonstration, n) for n in (i - 1, i))
        if min(len(asked_about(task, options.coverage)) for task in (before, after)) < 2:
            continue
        for leg in ("warm", "cold") if len(ms["warm"]) % 2 else ("cold", "warm"):
            planner.clear()
            if leg == "warm":
                before.next(**shared)
            started = perf_counter()
            usage = after.next(**shared).usage
            ms[leg].append((perf_counter() - started) * 1e3)
            read[leg].append(usage.tokens_evaluated if usage else 0)
        if len(ms["warm"]) == REUSE_STEPS:
            break
    if not ms["warm"]:
        return {"unavailable": "no two steps in a row of the sample leave the planner a choice; raise --steps"}
    measured = {f"{leg}_ms": quantiles(values) for leg, values in ms.items()}
    tokens = {f"{leg}_tokens_evaluated": float(np.mean(values)) for leg, values in read.items()}
    ratio = measured["warm_ms"]["p50"] / measured["cold_ms"]["p50"]
    return {"n_steps": len(ms["warm"]), **measured, **tokens, "warm_over_cold": ratio}


def _why_no_planner(runtime: Runtime, wanted: bool) -> str | None:
    """Loads the planner: None, or why there is none to ask; raised instead if one is `wanted`."""
    try:
        _ = runtime.loaded.planner.get()
    except (InputError, PlannerError, MissingExtraError) as error:
        if wanted:
            raise
        return str(error)
    return None


def _after(runtime: Runtime, demonstration: Demonstration, n: int) -> Task:
    """A task at which the plan's first `n` calls have been made."""
    task = runtime.task(demonstration.query)
    for call in demonstration.calls[:n]:
        task.call(call.tool, call.arguments)
    return task


def _by(answers: Sequence[Answer], key: str, last: int) -> dict[str, dict[str, float]]:
    """FSA by a number that answers have, as text, `last` and more in one row; only rows that occur."""
    groups: dict[int, list[bool]] = {}
    for answer in answers:
        groups.setdefault(min(getattr(answer, key), last), []).append(answer.right)
    return {f"{n}+" if n == last else str(n): {"n": len(g), "fsa": share(g)} for n, g in sorted(groups.items())}
