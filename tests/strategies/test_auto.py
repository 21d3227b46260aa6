"""What is searched for by demonstrations: where they know the request, where they do not, and in how much time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter

import numpy as np
import pytest
from numpy.typing import NDArray

import edgeret
from edgeret import Runtime, Tool
from edgeret.strategies import STRATEGIES
from edgeret.strategies.base import Found, Search, run
from edgeret.types import Hit
from edgeret_export.reference.python_finder import PythonFinder
from edgeret_export.reference.scoring.index import Index

AUTO = STRATEGIES["auto"]
NAMES = ("alpha", "beta", "gamma", "delta")
QUERY = "do the first thing, then do the second thing"


@pytest.fixture(scope="module")
def runtime(tiny_original: Path) -> Runtime:
    return edgeret.load(tiny_original, threads=1)


def found(said: Mapping[str, Mapping[str, float]], deadline: float = math.inf) -> Found:
    """Hybrid search ranks as in NAMES; demonstrations say what is given, by text."""

    def rank(_: str, k: int) -> list[Hit]:
        return [Hit(name, 0.5) for name in NAMES[:k]]

    index = Index(NAMES, np.eye(4, dtype=np.float32))
    finder = PythonFinder(index, unasked, rank, said.get)
    return run(AUTO, Search(QUERY, 4, finder, deadline=deadline))


def unasked(_: str) -> NDArray[np.float32]:
    raise AssertionError("encoded")


def names(what: Found) -> list[str]:
    return [hit.tool for hit in what.hits]


def test_what_was_demonstrated_comes_first_and_hybrid_search_orders_the_rest() -> None:
    assert names(found({QUERY: {"gamma": 0.9, "beta": 0.1}})) == ["gamma", "beta", "alpha", "delta"]


def test_a_clause_brings_a_tool_forward_that_the_whole_request_leaves_room_for() -> None:
    said = {QUERY: {"gamma": 0.6, "alpha": 0.2, "delta": 0.02}, "do the second thing": {"delta": 0.8}}
    assert names(found(said))[:2] == ["gamma", "delta"]  # 0.02 ** 0.25 * 0.8 ** 0.75 = 0.32
    assert names(found({**said, QUERY: {"gamma": 0.2, "delta": 0.02}}))[:2] == ["delta", "gamma"]
    assert names(found({**said, QUERY: {"gamma": 0.6, "alpha": 0.2}}))[:2] == ["gamma", "alpha"]


def test_where_nothing_like_it_was_demonstrated_hybrid_search_decides_and_clauses_are_not_asked() -> None:
    assert names(found({"do the second thing": {"delta": 1.0}})) == list(NAMES)


def test_without_time_for_clauses_the_whole_request_decides() -> None:
    asked: list[str] = []

    class Slow(dict[str, Mapping[str, float]]):
        def get(self, text: str, default: object = None) -> Mapping[str, float]:  # type: ignore[override]
            asked.append(text)
            while len(asked) == 2 and perf_counter() < deadline:
                pass
            return {"delta": 0.9} if len(asked) == 1 else {"beta": 1.0}

    deadline = perf_counter() + 0.05
    late = found(Slow(), deadline)
    assert names(late)[0] == "delta" and not late.trace.complete and len(asked) <= 2


def test_the_runtimes_search_goes_by_its_demonstrations(runtime: Runtime) -> None:
    query = "send the mail"
    likeliest = next(c.tool for c in runtime.task(query).candidates() if c.tool in runtime.tools)
    assert runtime.search(query, 1)[0].tool == likeliest


def test_without_demonstrations_it_is_hybrid_search(runtime: Runtime) -> None:
    alone = edgeret.from_tools([Tool("send_mail", "Sends a mail."), Tool("find_file", "Finds a file.")], base=runtime)
    for query in ("find it and send it", "mail"):
        assert alone.search(query) == alone.search(query, strategy="hybrid")


def test_a_budget_shorter_than_an_encoding_still_gives_what_demonstrations_said() -> None:
    late = found({QUERY: {"gamma": 0.9}, "do the second thing": {"delta": 1.0}}, deadline=perf_counter() - 1)
    assert names(late) == ["gamma", "alpha", "beta", "delta"] and not late.trace.complete
