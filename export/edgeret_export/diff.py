"""What changed from one bundle to another: tools, recipe, files, vectors, and what they decide. Changes neither; knows
nothing of how a bundle is built."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle import roles
from edgeret.bundle.layout import Manifest
from edgeret.inputs.demonstrations import Demonstration
from edgeret.runtime.runtime import Runtime
from edgeret.runtime.task import Task
from edgeret.terminal.progress import track
from edgeret.types import END, Decision, Tool

NEAR = 5
"""Neighbours of a tool that are compared."""
MOST_TOLD = 20
"""Tools, keys or queries listed of one kind; the numbers beside them count all."""


def compare(
    before: Runtime, after: Runtime, demonstrations: Sequence[Demonstration] = (), queries: Sequence[str] = ()
) -> dict[str, Any]:
    """All that differs, JSON-ready. With `demonstrations` both bundles take the same decisions, histories as
    demonstrated; of `queries` the first decisions are told one by one."""
    manifests = (before.manifest, after.manifest)
    return {
        "content_hash": [manifest.content_hash for manifest in manifests],
        "tools": _tools(before.tools, after.tools),
        "vectors": _vectors(before, after),
        "info": {
            name: _changed(*(_flat(manifest.info.get(key, {})) for manifest in manifests))
            for name, key in (
                ("encoder", roles.INFO_ENCODER),
                ("planner", roles.INFO_PLANNER),
                ("recipe", roles.INFO_RECIPE),
                ("counts", roles.INFO_COUNTS),
                ("toolchain", roles.INFO_TOOLCHAIN),
            )
        },
        "files": _files(*manifests),
        "decisions": _decisions(before, after, demonstrations) if demonstrations else None,
        "queries": [_asked(before, after, query) for query in queries],
    }


def _tools(before: Mapping[str, Tool], after: Mapping[str, Tool]) -> dict[str, Any]:
    """Names that came and went, and what changed of the others: the description, and which places of the schema."""
    changed = []
    for name in before.keys() & after.keys():
        places = _changed(_flat(before[name].parameters), _flat(after[name].parameters))
        described = before[name].description != after[name].description
        if described or places:
            changed.append({"name": name, "description": described, "parameters": sorted(places)})
    return {
        "added": sorted(after.keys() - before.keys()),
        "removed": sorted(before.keys() - after.keys()),
        "changed": sorted(changed, key=lambda each: str(each["name"])),
    }


def _flat(value: Any, place: str = "") -> dict[str, Any]:
    """The leaves of nested data by their dotted places; empty lists and objects are leaves too."""
    if isinstance(value, Mapping) and value:
        parts = [_flat(each, f"{place}.{key}" if place else str(key)) for key, each in value.items()]
    elif isinstance(value, list | tuple) and any(isinstance(each, Mapping | list | tuple) for each in value):
        parts = [_flat(each, f"{place}[{i}]") for i, each in enumerate(value)]
    else:
        return {place: value}
    return {key: each for part in parts for key, each in part.items()}


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Before and after of every place that differs; None where one side has nothing."""
    return {
        key: [before.get(key), after.get(key)]
        for key in sorted(before.keys() | after.keys())
        if (key in before) != (key in after) or _written(before.get(key)) != _written(after.get(key))
    }


def _written(leaf: Any) -> str:
    """A leaf as JSON, where 1 and true are two things."""
    return json.dumps(leaf)


def _files(before: Manifest, after: Manifest) -> dict[str, Any]:
    """By role: sizes in bytes before and after of files whose bytes differ; None where there is none."""
    old, new = ({entry.role: entry for entry in manifest.files} for manifest in (before, after))
    return {
        role: [None if entry is None else entry.size for entry in (old.get(role), new.get(role))]
        for role in sorted(old.keys() | new.keys())
        if (old[role].sha256 if role in old else None) != (new[role].sha256 if role in new else None)
    }


def _vectors(before: Runtime, after: Runtime) -> dict[str, Any] | None:
    """How the vectors of tools that both have moved: cosines of each to itself, where both encoders are the same one;
    and which share of its nearest tools a tool has kept, which can be said of any two encoders. None without two
    common tools."""
    names = [name for name in before.tools if name in after.tools]
    if len(names) < 2:
        return None
    first, second = (runtime.loaded.vectors_of(names)[0] for runtime in (before, after))
    same = before.manifest.fingerprint == after.manifest.fingerprint
    kept = _neighbours_kept(first, second)
    found: dict[str, Any] = {"tools": len(names), "neighbours_kept": float(kept.mean()), "cosine": None}
    drift = kept
    if same:
        drift = (first * second).sum(axis=1)
        found["cosine"] = {"mean": float(drift.mean()), "least": float(drift.min())}
    worst = np.argsort(drift, kind="stable")[:MOST_TOLD]
    found["most_moved"] = {names[i]: float(drift[i]) for i in worst.tolist() if drift[i] < 0.9995}
    return found


def _neighbours_kept(first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float64]:
    """The share of each tool's nearest tools that are the same in both, (tools,)."""
    k = min(NEAR, max(1, (len(first) - 1) // 2))  # of a handful, all would be near
    kept = np.empty(len(first))
    for i in range(len(first)):
        near = []
        for vectors in (first, second):
            cosines = vectors @ vectors[i]
            cosines[i] = -np.inf
            near.append(set(np.argsort(-cosines, kind="stable")[:k].tolist()))
        kept[i] = len(near[0] & near[1]) / k
    return kept


def _decisions(before: Runtime, after: Runtime, demonstrations: Sequence[Demonstration]) -> dict[str, Any]:
    """How often each is right at the demonstrations' steps, and which queries are decided otherwise somewhere."""
    right: list[tuple[bool, bool]] = []
    same: list[bool] = []
    moved: list[str] = []
    for demonstration in track(demonstrations, "demonstrations", len(demonstrations)):
        pairs = list(zip(_walk(before, demonstration), _walk(after, demonstration), strict=True))
        for (old, acceptable), (new, _) in pairs:
            right.append((old in acceptable, new in acceptable))
            same.append(old == new)
        if any(old != new for (old, _), (new, _) in pairs):
            moved.append(demonstration.query)
    top1 = np.mean(right, axis=0)
    return {
        "steps": len(right),
        "top1": [float(top1[0]), float(top1[1])],
        "same": float(np.mean(same)),
        "only_before_right": sum(old and not new for old, new in right),
        "only_after_right": sum(new and not old for old, new in right),
        "queries_decided_otherwise": len(moved),
        "examples": moved[:MOST_TOLD],
    }


def _walk(runtime: Runtime, demonstration: Demonstration) -> Iterator[tuple[str, Collection[str]]]:
    """What the runtime takes for best at each step, and what was acceptable there."""
    task = runtime.task(demonstration.query)
    for step in demonstration.steps():
        yield _best(task.next(k=1)), step.acceptable
        if step.taken != END:
            task.call(step.taken, foreign=step.taken not in runtime.tools)


def _best(decision: Decision) -> str:
    return decision.tool if decision.is_call and decision.tool is not None else END


def _asked(before: Runtime, after: Runtime, query: str) -> dict[str, Any]:
    """The first decisions about a query, and how much probability lies elsewhere: 0 is none, 1 all."""
    tasks: list[Task] = [runtime.task(query) for runtime in (before, after)]
    decisions = [task.next(k=1) for task in tasks]
    shares = [{each.tool: each.probability for each in task.candidates()} for task in tasks]
    moved = sum(abs(shares[0].get(name, 0.0) - shares[1].get(name, 0.0)) for name in {*shares[0], *shares[1]}) / 2
    return {
        "query": query,
        "tools": [_best(decision) for decision in decisions],
        "probabilities": [decision.candidates[0].probability for decision in decisions],
        "moved": float(moved),
    }
