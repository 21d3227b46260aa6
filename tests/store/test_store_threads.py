"""Eight threads decide while tools change and bundles are swapped: every decision is one that a single thread makes."""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import edgeret
from edgeret import BundleStore
from edgeret.types import Tool

QUERIES = ("find my file and send a mail", "play my song", "write a note", "book a meeting and write a note of it")
THREADS = 8
Key = tuple[str, str, str]
"""A bundle's content hash, the name of the tool that was added last, and a query."""
Answer = tuple[tuple[str | None, float], ...]


@dataclass
class Seen:
    """What one thread decided, by what decided it; and what went wrong."""

    answers: dict[Key, set[Answer]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


def steps(runtime: edgeret.Runtime, query: str) -> Answer:
    """Two decisions of one task, the second behind the first one's tool."""
    task = runtime.task(query)
    first = task.next(policy="heads")
    if first.is_call:
        task.accept(first)
    second = task.next(policy="heads")
    return (first.tool, round(first.probability, 6)), (second.tool, round(second.probability, 6))


def generation(runtime: edgeret.Runtime) -> str:
    """Which of the added tools is there; there must be one at most."""
    added = [name for name in runtime.tools if name.startswith("extra_")]
    assert len(added) <= 1, added
    return added[0] if added else ""


def extra(number: int) -> Tool:
    return Tool(f"extra_{number}", ("open the calendar", "call mother now", "stop the alarm")[number % 3])


def decide(store: BundleStore, over: threading.Event, seen: Seen) -> None:
    """Decides until it is over."""
    for query in itertools.cycle(QUERIES):
        try:
            runtime = store.runtime
            key = (runtime.manifest.content_hash, generation(runtime), query)
            seen.answers.setdefault(key, set()).add(steps(runtime, query))
        except Exception as error:  # none of any kind may come
            seen.wrong.append(f"{type(error).__name__}: {error}")
        if seen.wrong or over.is_set():
            return


@pytest.mark.parametrize(
    ("changes", "swaps"), [(40, 4), pytest.param(200, 20, marks=pytest.mark.full)], ids=["few", "all"]
)
def test_no_error_and_no_mixed_generation(
    changes: int, swaps: int, tmp_path: Path, tiny_original: Path, tiny_many: Path, tiny_tools: Path
) -> None:
    bundles = {"a": tiny_original, "b": tiny_many, "c": tiny_tools}
    store = BundleStore(tmp_path / "store", threads=1)
    for name, folder in bundles.items():
        store.add(folder, name)
    store.activate("a")
    over, done, results = threading.Event(), threading.Event(), [Seen() for _ in range(THREADS + 1)]
    done.set()
    threads = [threading.Thread(target=decide, args=(store, over, seen)) for seen in results[1:]]
    for thread in threads:
        thread.start()
    try:
        for number in range(changes):
            old = generation(store.runtime)
            store.with_tools(add=[extra(number)], remove=[old] if old else [])
            if number % (changes // swaps) == 0:
                store.activate("bca"[number // (changes // swaps) % 3])
                decide(store, done, results[0])  # so that some decision is of this version, however busy the machine
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert [wrong for seen in results for wrong in seen.wrong] == []
    assert all(seen.answers for seen in results)
    # Each key was decided in one way by all threads, and a single thread that makes the same runtime decides it so.
    answers: dict[Key, set[Answer]] = {}
    for seen in results:
        for key, found in seen.answers.items():
            answers.setdefault(key, set()).update(found)
    assert {key: found for key, found in answers.items() if len(found) != 1} == {}
    plain = {
        runtime.manifest.content_hash: runtime for runtime in (edgeret.load(f, threads=1) for f in bundles.values())
    }
    made: dict[tuple[str, str], edgeret.Runtime] = {}
    for (content_hash, added, query), (answer,) in answers.items():
        if (content_hash, added) not in made:
            number = int(added.removeprefix("extra_") or -1)
            add = [extra(number)] if added else []
            made[content_hash, added] = plain[content_hash].with_tools(add=add)
        again = steps(made[content_hash, added], query)
        assert [tool for tool, _ in again] == [tool for tool, _ in answer]
        assert [p for _, p in again] == pytest.approx([p for _, p in answer], abs=2e-6)
    assert len({key[0] for key in answers}) == len(bundles)
