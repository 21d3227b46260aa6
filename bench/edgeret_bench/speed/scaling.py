"""What a device's decisions cost as tools, calls so far and learned plans grow.

Tools with made-up words are decided among by another bundle's encoder, as `edgeret.from_tools` has it. What is timed is
what a user of so many tools waits for, the encoding included.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import edgeret
from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.runtime.runtime import Runtime
from edgeret.runtime.task import Task
from edgeret.terminal.progress import track
from edgeret.types import Call, Tool
from edgeret_bench.metrics import quantiles

TOOLS = (10, 50, 200, 1_000, 4_000, 10_000)
LEARNED = (10, 100, 1_000)
HISTORIES = (0, 1, 2, 4, 8, 16, 32)
DEFAULT_TOOLS, QUERIES, LEAST_TOOLS, MOST_TOOLS = 200, 200, 2, 50_000
_VERBS = ("open", "close", "start", "stop", "read", "write", "send", "list", "find", "delete", "add", "show", "mute")
_ADJECTIVES = ("red", "large", "old", "new", "remote", "local", "shared", "private", "daily", "urgent", "archived")
_THINGS = ("window", "file", "light", "door", "mail", "song", "alarm", "timer", "photo", "route", "ticket", "order")
_PLACES = ("kitchen", "garage", "office", "server", "cloud", "warehouse", "ship", "school", "hotel", "farm")


def run(sizes: Sequence[int] = TOOLS, seed: int = 0, base: Path | None = None) -> dict[str, Any]:
    """Rows by `tools`, `history` (calls so far) and `learned` (plans), with times in ms. `base` is the bundle whose
    encoder decides, None for the one that is installed. Raises InputError for sizes that make no sense, and as
    `edgeret.load`.
    """
    if min(sizes, default=0) < LEAST_TOOLS or max(sizes) > MOST_TOOLS:
        raise InputError(f"scaling needs from {LEAST_TOOLS} to {MOST_TOOLS} tools")
    words = random.Random(seed)
    encoder = edgeret.from_tools(synthetic(LEAST_TOOLS, seed), base=base)
    kinds = (_VERBS, _THINGS, _PLACES)
    queries = ["{} the {} in the {}".format(*(words.choice(kind) for kind in kinds)) for _ in range(QUERIES)]
    return {
        "seed": seed,
        "n_queries": len(queries),
        "tools": [_by_tools(encoder, size, queries, seed) for size in track(sorted(sizes), "tools", len(sizes))],
        "history": _by_history(encoder, queries, seed),
        "learned": _by_learned(encoder, queries, seed),
    }


def synthetic(count: int, seed: int) -> list[Tool]:
    """So many tools, each with its own name, and words that many of them share."""
    words, names = random.Random(seed), dict[str, str]()
    while len(names) < count:
        parts = [words.choice(kind) for kind in (_VERBS, _ADJECTIVES, _THINGS, _PLACES)]
        name, (verb, adjective, thing, place) = "_".join(parts), parts
        name = f"{name}_{len(names)}" if name in names else name
        names[name] = f"{verb.capitalize()}s the {adjective} {thing} of the {place}."
    return [Tool(name, description) for name, description in names.items()]


def _by_tools(encoder: Runtime, size: int, queries: Sequence[str], seed: int) -> dict[str, Any]:
    tools = synthetic(size, seed)
    began = perf_counter()
    runtime = edgeret.from_tools(tools, base=encoder)
    made = (perf_counter() - began) * 1e3
    tasks = [_called(runtime, query, tools[:1]) for query in queries]
    return {
        "tools": size,
        "made_ms": made,
        "first_ms": _cost(lambda query: runtime.task(query).next(), queries),
        "step_ms": _cost(lambda task: task.next(), tasks),
        "search_ms": _cost(runtime.search, queries),
    }


def _by_history(encoder: Runtime, queries: Sequence[str], seed: int) -> list[dict[str, Any]]:
    tools = synthetic(DEFAULT_TOOLS, seed)
    runtime, words = edgeret.from_tools(tools, base=encoder), random.Random(seed)
    rows = []
    for length in track(HISTORIES, "histories", len(HISTORIES)):
        tasks = [_called(runtime, query, words.choices(tools, k=length)) for query in queries]
        rows.append({"history": length, "step_ms": _cost(lambda task: task.next(), tasks)})
    return rows


def _by_learned(encoder: Runtime, queries: Sequence[str], seed: int) -> list[dict[str, Any]]:
    tools = synthetic(DEFAULT_TOOLS, seed)
    runtime, words = edgeret.from_tools(tools, base=encoder), random.Random(seed)
    rows, known = list[dict[str, Any]](), 0
    for count in track(LEARNED, "learned", len(LEARNED)):
        plans = []
        for number in range(known, count):
            chosen = words.choice(tools)
            plans.append([Demonstration(f"{number}", f"{chosen.description} {number}", (Call(chosen.name),))])
        row = {"learned": count, "learn_ms": _cost(runtime.learn, plans)}
        row["first_ms"] = _cost(lambda query: runtime.task(query).next(), queries)
        tasks = [_called(runtime, query, tools[:1]) for query in queries]
        rows.append({**row, "step_ms": _cost(lambda task: task.next(), tasks)})
        known = count
    return rows


def _called(runtime: Runtime, query: str, tools: Sequence[Tool]) -> Task:
    task = runtime.task(query)
    for tool in tools:
        task.call(tool.name)
    return task


def _cost(work: Callable[[Any], object], inputs: Iterable[Any]) -> dict[str, float]:
    times = []
    for value in inputs:
        started = perf_counter()
        work(value)
        times.append((perf_counter() - started) * 1e3)
    return quantiles(times)
