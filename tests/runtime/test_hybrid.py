"""Hybrid search over real vectors: among all tools and among an HNSW graph's candidates, and as tools come and go."""

from __future__ import annotations

from pathlib import Path

import pytest

import edgeret
from edgeret import Runtime, Tool
from edgeret_export.reference.hybrid import HybridSearch
from edgeret_export.reference.runtime import components_of
from edgeret_export.reference.scoring.index import Index, build_hnsw, open_hnsw


@pytest.fixture(scope="module")
def runtime(tiny_original: Path) -> Runtime:
    return edgeret.load(tiny_original, threads=1)


def arranged(runtime: Runtime, tools: list[Tool], kind: str) -> HybridSearch:
    components = components_of(runtime)
    index = Index([tool.name for tool in tools], components.encoder.encode_tools([t.description for t in tools]))
    if kind == "hnsw":
        pytest.importorskip("hnswlib")
        index = Index(index.names, index.vectors, open_hnsw(build_hnsw(index.vectors, 0), index.vectors))
    return HybridSearch(tools, index, components.encoder, components.word_vectors, components.prior)


def test_a_tool_that_a_request_is_the_name_of_is_found_first_whatever_its_description_says(runtime: Runtime) -> None:
    tools = [Tool(f"tool_{i}", text) for i, text in enumerate(("a letter", "a song", "a file", "a meeting"))]
    search = arranged(runtime, [*tools, Tool("quux_frobnicate", "a thing")], "exact")
    assert search("frobnicate the QUUX please", 1)[0].tool == "quux_frobnicate"


def test_candidates_of_a_graph_hold_what_all_tools_would_give(runtime: Runtime) -> None:
    verbs, things = ("send", "find", "open", "delete", "share"), ("letter", "song", "file", "photo", "meeting", "note")
    tools = [Tool(f"{v}_{t}_{i}", f"{v} the {t} number {i}") for v in verbs for t in things for i in range(10)]
    query = "open the photo number 7 and then send a letter"
    exact, graph = (arranged(runtime, tools, kind)(query, 5) for kind in ("exact", "hnsw"))
    assert [hit.tool for hit in graph[:2]] == [hit.tool for hit in exact[:2]]
    assert len({hit.tool for hit in graph}) == 5


def test_a_tool_that_came_is_found_and_one_that_went_is_not(runtime: Runtime) -> None:
    gone = next(iter(runtime.tools))
    changed = runtime.with_tools(add=[Tool("tune_piano", "Tunes a piano.")], remove=[gone])
    assert changed.search("tune the piano", 1, strategy="hybrid")[0].tool == "tune_piano"
    assert gone not in {hit.tool for hit in changed.search("tune the piano", 50, strategy="hybrid")}


def test_as_many_tools_as_asked_for_and_all_of_few(runtime: Runtime) -> None:
    assert len(runtime.search("send it", 2, strategy="hybrid")) == 2
    assert {hit.tool for hit in runtime.search("send it", 1000, strategy="hybrid")} == set(runtime.tools)
