"""Runtimes for lists of tools that come with each request."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import TOOLS
from patience import PATIENCE_S
from samples import functions, many_tools

import edgeret
from edgeret import Call, Demonstration, EdgeretError, InputError, Tool
from edgeret.adapters import tool_sets
from edgeret.adapters.openai import definition
from edgeret.adapters.tool_sets import MOST_WAITING, Definitions, ToolSets, read_definitions, shared
from edgeret_export.reference.runtime import components_of, runtime_of


def listed(tools: list[Tool]) -> Definitions:
    return read_definitions(functions(tools), definition)


class Counting:
    """An encoder that remembers how many tools it was given."""

    def __init__(self, encoder: Any) -> None:
        self.encoder, self.given = encoder, []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.encoder, name)

    def encode_tools(self, texts: Any) -> Any:
        self.given.append(len(texts))
        return self.encoder.encode_tools(texts)


def test_only_tools_that_changed_are_encoded(tiny_tools: Path) -> None:
    components = components_of(edgeret.load(tiny_tools))
    counting = Counting(components.encoder)
    sets, many = ToolSets(runtime_of(replace(components, encoder=counting))), many_tools(40)
    for tools in (many[:30], many[:30], many[2:31], many[:5], [*many[2:30], Tool(many[30].name, "other words")]):
        sets.runtime(listed(tools))
    assert [given for given in counting.given if given] == [30, 1, 1]


def test_a_list_is_read_once_whatever_its_order(tiny_tools: Path) -> None:
    sets = ToolSets(tiny_tools)
    first = sets.runtime(listed(TOOLS))
    assert sets.runtime(listed(TOOLS[::-1])) is first
    assert set(first.tools) == {tool.name for tool in TOOLS}
    other = [Tool("find_file", "something else altogether"), *TOOLS[1:]]
    assert sets.runtime(listed(other)).tools["find_file"].description == "something else altogether"
    assert first.tools["find_file"].description == "find a file"
    fewer = sets.runtime(listed(TOOLS[2:4]))
    assert set(fewer.tools) == {"write_note", "play_music"}


def test_made_from_another_list_a_runtime_decides_as_one_made_anew(tiny_tools: Path) -> None:
    sets, many = ToolSets(tiny_tools), many_tools(20)
    sets.runtime(listed([*many[:12], *TOOLS[:3], Tool("write_note", "play a song")]))
    grown = sets.runtime(listed([*many[5:], *TOOLS]))
    anew = edgeret.from_tools([*many[5:], *TOOLS], base=tiny_tools)
    query = "find my letter and write a note"
    found, right = (dict(r.task(query).candidates()) for r in (grown, anew))
    assert found == pytest.approx(right, abs=1e-5)


def test_what_one_list_learned_serves_the_others(tiny_tools: Path, tmp_path: Path) -> None:
    sets, said = ToolSets(tiny_tools, overlay=tmp_path / "learned"), "pack my song of the day"
    before = dict(sets.runtime(listed(TOOLS[1:])).task(said).candidates())["phone_call"]
    sets.runtime(listed(TOOLS)).learn([Demonstration("x", said, (Call("phone_call"),))])
    after = dict(sets.runtime(listed(TOOLS[1:])).task(said).candidates())["phone_call"]
    other = many_tools(9) + TOOLS[-1:]
    new = dict(sets.runtime(listed(other)).task(said).candidates())["phone_call"]
    assert after > before
    assert new > dict(edgeret.from_tools(other, base=tiny_tools).task(said).candidates())["phone_call"]
    sets.close()
    again = ToolSets(tiny_tools, overlay=tmp_path / "learned")
    assert dict(again.runtime(listed(TOOLS[1:])).task(said).candidates())["phone_call"] == pytest.approx(
        after, abs=1e-3
    )


def test_what_was_not_asked_for_for_long_is_let_go(tiny_tools: Path) -> None:
    sets, many = ToolSets(tiny_tools, lists=3, tools=25), many_tools(30)
    runtimes = [sets.runtime(listed(many[i : i + 5])) for i in range(3)]
    assert [sets.runtime(listed(many[i : i + 5])) for i in range(3)] == runtimes
    sets.runtime(listed(many[3:8]))
    assert sets.runtime(listed(many[2:7])) is runtimes[2]
    assert sets.runtime(listed(many[0:5])) is not runtimes[0]
    latest = sets.runtime(listed(many[5:28]))
    assert sets.runtime(listed(many[5:28])) is latest
    with pytest.raises(InputError, match="30 tools, at most 25"):
        sets.runtime(listed(many))
    with pytest.raises(InputError, match="no function"):
        sets.runtime(listed([]))


def test_threads_share_one_making_of_a_list(tiny_tools: Path) -> None:
    sets, many = ToolSets(tiny_tools), many_tools(40)
    together = threading.Barrier(16, timeout=PATIENCE_S)

    def ask(number: int) -> Any:
        together.wait()
        runtime = sets.runtime(listed(many[number % 2 : 30 + number % 2]))
        return number % 2, id(runtime), runtime.task("send a mail").candidates(1)[0].tool

    with ThreadPoolExecutor(16) as pool:
        assert len(set(pool.map(ask, range(16)))) == 2


def test_too_many_new_lists_at_once_are_refused(tiny_tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sets, go_on = ToolSets(tiny_tools), threading.Event()

    def held_up(*arguments: Any, **options: Any) -> edgeret.Runtime:
        go_on.wait(PATIENCE_S)
        return edgeret.from_tools(*arguments, **options)

    monkeypatch.setattr(tool_sets, "from_tools", held_up)
    waiting = [sets.prepare(listed([Tool(f"t{i}", "send")])) for i in range(MOST_WAITING)]
    with pytest.raises(EdgeretError, match="try again"):
        sets.prepare(listed(TOOLS))
    go_on.set()
    for future in waiting:
        future.result(PATIENCE_S)
    assert len(sets.runtime(listed(TOOLS)).tools) == len(TOOLS)


def test_a_list_that_is_read_in_slices_decides_as_one_read_at_once(
    tiny_tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool_sets, "SLICE", 7)
    sets, many = ToolSets(tiny_tools), many_tools(40)
    other = [Tool(tool.name, "play a song") for tool in many[5:30]]
    for tools in (many[:33], [*other, *many[30:], *TOOLS]):
        query = "find my letter and write a note"
        found, right = (
            dict(r.task(query).candidates())
            for r in (sets.runtime(listed(tools)), edgeret.from_tools(tools, base=tiny_tools))
        )
        assert found == pytest.approx(right, abs=1e-5)


def held_sets(tiny_tools: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[ToolSets, threading.Event, list[int]]:
    """Sets that read in slices of 5, whose first slice waits for the event; the list is told the size of each slice."""
    sets, go_on, slices = ToolSets(tiny_tools), threading.Event(), []
    real = edgeret.Runtime.with_tools

    def slowly(runtime: edgeret.Runtime, **change: Any) -> edgeret.Runtime:
        go_on.wait(PATIENCE_S)
        slices.append(len(change["add"]))
        return real(runtime, **change)

    monkeypatch.setattr(tool_sets, "SLICE", 5)
    sets.runtime(listed(TOOLS))
    monkeypatch.setattr(edgeret.Runtime, "with_tools", slowly)
    return sets, go_on, slices


@pytest.mark.parametrize(("first", "second"), [("a", "a"), ("a", "b")])
def test_a_short_list_does_not_wait_for_long_ones(
    tiny_tools: Path, monkeypatch: pytest.MonkeyPatch, first: str, second: str
) -> None:
    sets, go_on, slices = held_sets(tiny_tools, monkeypatch)
    many = many_tools(20 * MOST_WAITING)
    long = [sets.prepare(listed(many[20 * i : 20 * i + 20]), first) for i in range(MOST_WAITING)]
    short = sets.prepare(listed(TOOLS[1:4]), second)
    go_on.set()
    assert len(short.result(PATIENCE_S).tools) == 3
    assert slices[:2] == [5, 0]  # the long one's first slice, and the short list, of which all was known
    settled = [future.exception(PATIENCE_S) for future in long]
    assert [type(error) for error in settled if error is not None] == [EdgeretError]  # one of those made room


def test_clients_take_turns(tiny_tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sets, go_on, _ = held_sets(tiny_tools, monkeypatch)
    many, order = many_tools(300), ""

    def done(client: str) -> None:
        nonlocal order
        order += client

    small = [sets.prepare(listed(many[i * 5 : i * 5 + 5]), "a") for i in range(10)]
    large = sets.prepare(listed(many[200:220]), "b")
    for future in small:
        future.add_done_callback(lambda _: done("a"))
    large.add_done_callback(lambda _: done("b"))
    go_on.set()
    for future in (*small, large):
        future.result(PATIENCE_S)
    assert 3 <= order.index("b") <= 5


def test_what_is_kept_is_bounded_by_its_bytes_too(tiny_tools: Path) -> None:
    sets = ToolSets(tiny_tools, tools=100)
    large = [[Tool(f"t{i}", "send", {"type": "object", "title": "x" * 60_000})] for i in range(4)]
    runtimes = [sets.runtime(listed(tools)) for tools in large]
    assert sets.runtime(listed(large[3])) is runtimes[3]
    assert sets.runtime(listed(large[0])) is not runtimes[0]


def test_reading_a_list_is_remembered_by_its_content(tiny_tools: Path) -> None:
    sets, entries = ToolSets(tiny_tools), functions(TOOLS)
    assert sets.definitions(entries, definition) is sets.definitions([dict(entry) for entry in entries], definition)
    assert sets.definitions([object(), *entries], definition).names[0] is None
    deep: Any = {}
    for _ in range(100_000):
        deep = {"a": deep}
    odd = [{"type": "function", "function": {"name": "x", "description": "y", "parameters": deep}}, *entries]
    assert sets.definitions(odd, definition).names == (None, *(tool.name for tool in TOOLS))
    while deep:  # taken apart by hand: freeing what is nested so deeply is left to nobody else
        deep = deep.pop("a")


def test_a_base_is_loaded_once(tiny_tools: Path) -> None:
    assert shared(tiny_tools) is shared(str(tiny_tools))
    sets = ToolSets(tiny_tools)
    assert shared(sets) is sets
