"""Search in the core: as Python's hybrid search, however many are asked for; and what is refused."""

from __future__ import annotations

import ctypes
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from binding import AUTO, DESCRIPTION, Core, CoreError, HitRaw, Model, SearchOptions, Text
from conftest import WORDS, make_demonstrations, tiny_bundle
from python_reader import by_python

import edgeret
from edgeret import Tool
from edgeret_export.recipe import Recipe

TOOLS = [
    Tool("find_file", "find a file"),
    Tool("send_mail", "send a mail"),
    Tool("write_note", "write a note", examples=("jot this down", "keep that in my notes")),
    Tool("play_music", "play music"),
    Tool("book_meeting", "book a meeting"),
    Tool("phone_call", "call a phone"),
    # Pairs of these words, some of them twice: equal tools stay in the index's order.
    *(
        Tool(f"{a}_{b}_{i % 2}", f"{b} the {a}", {"properties": {b: {}}})
        for i, (a, b) in enumerate(pairwise(WORDS))
        if a != b
    ),
    *(Tool(f"x{i}", "the same") for i in range(60)),
]
QUERIES = (
    "find my file and send a mail", "play music", "find_file", "x5", "the same", "jot this down", "zebra",
    "write 5 notes, then share the calendar with them and phone them at 9:30; is it free?", "播放 music",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    recipe = Recipe(precision="fp32", profile="tiny")
    target = tmp_path_factory.mktemp("search") / "bundle"
    return tiny_bundle(target, tools=TOOLS, demonstrations=make_demonstrations(), recipe=recipe)


@pytest.fixture(scope="module")
def model(core: ctypes.CDLL, folder: Path) -> Model:
    return Core(core).load(folder)


def test_as_pythons_hybrid_search(model: Model, folder: Path) -> None:
    python, n = by_python(folder), len(TOOLS)
    for query in QUERIES:
        found, wanted = model.search(query, n), python.search(query, n, strategy="hybrid")
        share = {name: share for name, _, share in found}
        assert share == pytest.approx({hit.tool: hit.share for hit in wanted}, abs=2e-6)
        # Those that differ by less than rounding may change places.
        assert [share[name] for name, *_ in found] == pytest.approx([hit.share for hit in wanted], abs=2e-6)
        assert sum(share.values()) == pytest.approx(1)
        assert found[0][0] == wanted[0].tool


def test_however_many_are_asked_for(model: Model) -> None:
    for query in QUERIES:
        every = model.search(query, len(TOOLS))
        assert len(every) == len(TOOLS) and len({name for name, *_ in every}) == len(TOOLS)
        place = {name: i for i, name in enumerate(model.names)}
        assert every == sorted(every, key=lambda hit: (-hit[1], place[hit[0]]))
        for k in (0, 1, 2, 63, 64, 65, len(TOOLS) - 1, len(TOOLS) + 1, 1000):
            assert model.search(query, k) == every[:k]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", "empty"),
        (" \n\u3000", "empty"),
        ("é" * 20_001, "20001 characters"),
        (b"a" * 80_001, "80001 bytes"),
        (b"\xff", "UTF-8"),
    ],
)
def test_what_is_no_query_is_refused(model: Model, query: str | bytes, said: str) -> None:
    with pytest.raises(CoreError, match=said) as told:
        model.search(query)
    assert told.value.status == 1


def test_what_is_missing_is_named(model: Model) -> None:
    count, room = ctypes.c_size_t(1), (HitRaw * 1)()
    for given, said in (
        ((None, Text.of("a"), None, room, ctypes.byref(count)), "model"),
        ((model.handle, Text.of("a"), None, None, ctypes.byref(count)), "room"),
        ((model.handle, Text.of("a"), None, room, None), "count"),
    ):
        with pytest.raises(CoreError, match=f"{said} is NULL"):
            model.core("er_search", *given)


def test_what_was_demonstrated_ranks_as_in_python(model: Model, folder: Path) -> None:
    python, n = by_python(folder), len(TOOLS)
    asked = 0
    for query in (*QUERIES, "find the file", "send the mail and then play some music for me"):
        found, wanted = model.search(query, n, AUTO), python.search(query, n)
        assert {name: share for name, _, share in found} == pytest.approx({h.tool: h.share for h in wanted}, abs=2e-6)
        assert found[0][0] == wanted[0].tool and sum(share for *_, share in found) == pytest.approx(1)
        asked += found != model.search(query, n)
    assert asked > 0


def test_the_cosine_alone(model: Model, folder: Path) -> None:
    python = by_python(folder)
    for query in QUERIES:
        found, wanted = model.search(query, 5, DESCRIPTION), python.search(query, 5, strategy="description")
        assert [score for _, score, _ in found] == pytest.approx([hit.similarity for hit in wanted], abs=2e-6)
        assert {share for *_, share in found} == {0.0}


def test_a_tasks_own_words_are_not_encoded_again(model: Model) -> None:
    query = QUERIES[0]
    vector, tokens, spans = (
        np.eye(1, model.dimension, dtype=np.float32)[0],
        model.encode(query)[None],
        np.array([[0, 4]]),
    )
    given = model.task(query, encoding=(vector, tokens, spans))  # vectors that the encoder does not give
    cosines = [model.search(query, len(TOOLS), DESCRIPTION, task=task) for task in (given, model.task(query), None)]
    assert cosines[0] != cosines[1] == cosines[2]
    with pytest.raises(CoreError, match=r"options\.task is of another model, or was begun with other words"):
        model.search("other words", task=given)


def test_options_that_are_none_are_refused(model: Model) -> None:
    count, room = ctypes.c_size_t(1), (HitRaw * 1)()
    for options, said in (
        (SearchOptions(4, AUTO), "size is 4"),
        (SearchOptions(40, 3), "options.strategy is 3"),
    ):
        with pytest.raises(CoreError, match=said):
            model.core("er_search", model.handle, Text.of("a"), ctypes.byref(options), room, ctypes.byref(count))


def test_a_runtime_searches_by_the_library_and_tells_what_it_heard(folder: Path) -> None:
    mine, theirs = edgeret.load(folder), by_python(folder)
    words = "find the file, send the mail and then play some music for me"
    found, wanted = (runtime.search_with_trace(words, 5) for runtime in (mine, theirs))
    assert [(event.kind, event.text, event.tools) for event in found.trace.events] == [
        (event.kind, event.text, event.tools) for event in wanted.trace.events
    ]
    assert [hit.tool for hit in found.hits] == [hit.tool for hit in wanted.hits] and found.trace.complete
    hurried = mine.search_with_trace(words, 5, budget_ms=1e-6)
    assert hurried.hits and not hurried.trace.complete and hurried.trace.problem == "the budget is spent"
    assert mine.search(words, 5) == list(found.hits)


def test_a_task_ranks_what_comes_next_and_what_is_wanted(folder: Path) -> None:
    mine, theirs = edgeret.load(folder), by_python(folder)
    ranked = []
    for runtime in (mine, theirs):
        task = runtime.task(
            "find my file and send a mail", ["find_file"], tools=["find_file", "send_mail", "play_music"]
        )
        ranked.append(task.ranked())
    assert [hit.tool for hit in ranked[0]] == [hit.tool for hit in ranked[1]]
    assert ranked[0][0].tool == "send_mail" and len(ranked[0]) == 3
    assert sum(hit.share or 0.0 for hit in ranked[0]) == pytest.approx(1)
    with pytest.raises(edgeret.InputError, match="k must be"):
        mine.task("find my file").ranked(0)
