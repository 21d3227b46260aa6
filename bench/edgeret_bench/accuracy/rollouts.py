"""Whole plans that run freely: how many are the truth, functions and arguments, and whether arguments validate."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from edgeret.errors import MissingExtraError, PlannerError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.planner.arguments import validates
from edgeret.planner.grammar import UnsupportedSchemaError
from edgeret.runtime.options import Policy
from edgeret.runtime.runtime import Runtime
from edgeret.terminal.progress import track
from edgeret.types import Call, references
from edgeret_bench.metrics import quantiles, share


def whole_plans(
    runtime: Runtime, sample: Sequence[Demonstration], policy: Policy, has_arguments: bool
) -> dict[str, Any]:
    """Plans that run freely against the truth, with arguments as they are read, and as a planner that proved worth it
    gives what is missing then: `ms_per_filling` counts how often one was asked.

    `sr` and `plan_fsa` are the shares of plans that are `isomorphic` to the truth with and without arguments, however
    they ended (`outcomes`); `valid_arguments` is the share of calls whose arguments validate, of the `n_validated`
    whose schema can be checked. A plan at which the planner failed is wrong, its outcome "failed".
    """
    ms: list[float] = []
    same: list[bool] = []
    exact: list[bool] = []
    valid: list[bool] = []
    fillings: list[float] = []
    outcomes: Counter[str] = Counter()
    for demonstration in track(sample, f"whole plans, {policy}", len(sample)):
        started = perf_counter()
        try:
            plan = runtime.plan(demonstration.query, policy=policy)
        except PlannerError:
            outcomes["failed"] += 1
            for judged in (same, exact):
                judged.append(False)
            continue
        ms.append((perf_counter() - started) * 1e3)
        outcomes[plan.outcome] += 1
        same.append(isomorphic(plan.calls, demonstration, arguments=False))
        exact.append(isomorphic(plan.calls, demonstration))
        fillings += [step.filling.ms for step in plan.steps if step.filling is not None]
        for n_outputs, call in enumerate(plan.calls):
            with contextlib.suppress(UnsupportedSchemaError, MissingExtraError):
                valid.append(validates(call.arguments, runtime.tools[call.tool].parameters, n_outputs))
    reason = None if has_arguments else "no demonstration has arguments to compare with"
    return {
        "n_plans": len(sample),
        "sr": None if reason else share(exact),
        **({"sr_unavailable": reason} if reason else {}),
        "plan_fsa": share(same),
        "valid_arguments": share(valid) if valid else None,
        "n_validated": len(valid),
        "outcomes": dict(outcomes),
        "ms_per_plan": float(np.mean(ms)) if ms else None,
        "ms_per_filling": quantiles(fillings) if fillings else None,
    }


def isomorphic(calls: Sequence[Call], truth: Demonstration, arguments: bool = True) -> bool:
    """Whether calls, in the order they were made, are the truth's up to an order that its links allow (the order as
    written if it has none): a one-to-one map between both keeps functions, links and, with `arguments`, arguments.

    Arguments are compared as JSON (true is not 1, but 30 is 30.0; absent is not null), strings without regard to case
    and to how much white space separates words. A reference "$out_k" is to the call that the map takes call k to.
    """
    if sorted(call.tool for call in calls) != sorted(call.tool for call in truth.calls):
        return False
    wanted = [comparable(call.arguments, range(len(truth.calls))) for call in truth.calls]
    referred = sorted({k - 1 for call in calls for k in references(call.arguments)}) if arguments else []
    hopeless: set[tuple[frozenset[int], tuple[int, ...]]] = set()

    def extend(chosen: tuple[int, ...]) -> bool:
        """Whether the map that takes call k to `chosen[k]` can be completed."""
        if len(chosen) == len(calls):
            return True
        # All that the rest depends on: many calls alike must not be tried in all their orders.
        state = (frozenset(chosen), tuple(chosen[k] for k in referred if k < len(chosen)))
        if state in hopeless:
            return False
        call = calls[len(chosen)]
        found = comparable(call.arguments, chosen)
        for j in truth.ready(chosen):
            fits = truth.calls[j].tool == call.tool and (not arguments or found == wanted[j])
            if fits and extend((*chosen, j)):
                return True
        hopeless.add(state)
        return False

    return extend(())


def comparable(value: Any, outputs: Sequence[int]) -> Any:
    """A form of JSON for ==; `outputs[k - 1]` is what "$out_k" stands for."""
    if isinstance(value, str):
        if found := references(value):
            return ("output", outputs[found[0] - 1] if found[0] <= len(outputs) else -found[0])
        return ("text", " ".join(value.split()).casefold())
    if isinstance(value, Mapping):
        return {key: comparable(inner, outputs) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [comparable(inner, outputs) for inner in value]
    return ("truth", value) if isinstance(value, bool) else value
