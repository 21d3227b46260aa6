"""What every strategy of tool search keeps to, whichever it is; a new one is a new row by its line in STRATEGIES."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import TOOLS

import edgeret
from edgeret import Runtime
from edgeret.strategies import STRATEGIES
from edgeret_export.reference.inputs.clauses import split_clauses

QUERIES = (
    "find my file and then send it",
    "book a meeting",
    "the",
    "play my song, write a note of it and call a phone",
)
NAMES = {tool.name for tool in TOOLS}
ALONE = [name for name, strategy in STRATEGIES.items() if not strategy.asks]
"""Those that need no planner; the others are in test_asking.py."""


@pytest.fixture(scope="module")
def runtime(tiny_original: Path) -> Runtime:
    return edgeret.load(tiny_original, threads=1)


@pytest.mark.parametrize("strategy", ALONE)
@pytest.mark.parametrize("query", QUERIES)
def test_a_ranking_names_as_many_different_tools_as_asked_for(runtime: Runtime, strategy: str, query: str) -> None:
    for k in (1, 3, len(TOOLS), 10 * len(TOOLS)):
        hits = runtime.search(query, k, strategy=strategy)
        found = [hit.tool for hit in hits]
        assert len(found) == len(set(found)) == min(k, len(TOOLS))
        assert set(found) <= NAMES
        assert all(-1.001 <= hit.similarity <= 1.001 for hit in hits)


@pytest.mark.parametrize("strategy", ALONE)
def test_a_ranking_is_the_same_every_time(runtime: Runtime, strategy: str) -> None:
    for query in QUERIES:
        assert runtime.search(query, 4, strategy=strategy) == runtime.search(query, 4, strategy=strategy)


@pytest.mark.parametrize("strategy", ALONE)
def test_the_query_itself_always_counts(runtime: Runtime, strategy: str) -> None:
    """A strategy may find more, but what the whole query finds first stays among the first."""
    for query in QUERIES:
        first = runtime.search(query, 1, strategy="description")[0].tool
        assert first in [hit.tool for hit in runtime.search(query, 1 + len(split_clauses(query)), strategy=strategy)]


def test_the_default_is_the_first_of_all() -> None:
    assert next(iter(STRATEGIES)) == "auto"
