"""Anthropic's and OpenAI's tool search with edgeret as the search, checked by the SDKs' own types."""

from __future__ import annotations

import copy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import TOOLS
from samples import functions, many_tools

import edgeret
from edgeret import InputError
from edgeret.adapters import anthropic, openai
from edgeret.adapters.tool_sets import ToolSets

pydantic = pytest.importorskip("pydantic")
ALL = (*many_tools(30), *TOOLS)
CLAUDES: list[Any] = [
    {"name": t.name, "description": t.description, "input_schema": t.parameters or {"type": "object"}} for t in ALL
]
FLAT: list[Any] = [
    {"type": "function", "name": t.name, "description": t.description, "parameters": t.parameters, "strict": False}
    for t in ALL
]


@pytest.fixture(scope="module")
def base(tiny_tools: Path) -> ToolSets:
    return ToolSets(tiny_tools)


def fits(kind: Any, value: Any) -> Any:
    """Raises unless a value is what an SDK's type says."""
    return pydantic.TypeAdapter(kind).validate_python(value)


class TestAnthropic:
    """A tool that gives references."""

    @pytest.fixture(autouse=True)
    def installed(self) -> None:
        pytest.importorskip("anthropic", reason="needs the SDK anthropic")

    def test_the_request_is_what_the_sdk_takes(self, base: ToolSets) -> None:
        from anthropic.types import ToolUnionParam

        own = {"type": "bash_20250124", "name": "bash"}
        cached = {**CLAUDES[-1], "cache_control": {"type": "ephemeral"}}
        shown = {**CLAUDES[-2], "defer_loading": False}
        given = [own, *CLAUDES[:-2], shown, cached]
        before = copy.deepcopy(given)
        search = anthropic.ToolSearch(given, base=base, always=["send_mail"])
        for tool in search.tools:
            fits(ToolUnionParam, tool)
        loaded = [tool["name"] for tool in search.tools if not tool.get("defer_loading")]
        assert loaded == ["find_tools", "bash", "send_mail", shown["name"], cached["name"]]
        assert len(search.tools) == len(given) + 1 and given == before
        assert search.tools is search.tools

    def test_a_call_is_answered_with_references(self, base: ToolSets) -> None:
        from anthropic.types import MessageParam, ToolUseBlock

        search = anthropic.ToolSearch(CLAUDES, base=base, k=3)
        block = ToolUseBlock(
            id="toolu_1", type="tool_use", name="find_tools", input={"query": "send a mail"}, caller={"type": "direct"}
        )
        for asked in (block, block.model_dump()):
            assert search.asks(asked)
            result = search.answer(asked)
            fits(MessageParam, {"role": "user", "content": [result]})
            assert result["tool_use_id"] == "toolu_1" and len(result["content"]) == 3
            assert {"type": "tool_reference", "tool_name": "send_mail"} in result["content"]
            deferred = {tool["name"] for tool in search.tools if tool.get("defer_loading")}
            assert {reference["tool_name"] for reference in result["content"]} <= deferred

    @pytest.mark.parametrize("asked", [{}, {"query": ""}, {"query": 7}, {"q": "x"}, None, "send a mail"])
    def test_a_call_without_words_is_told_how(self, base: ToolSets, asked: Any) -> None:
        from anthropic.types import MessageParam

        search = anthropic.ToolSearch(CLAUDES, base=base)
        result = search.answer({"type": "tool_use", "id": "1", "name": "find_tools", "input": asked})
        fits(MessageParam, {"role": "user", "content": [result]})
        assert result["is_error"] is True and "query" in result["content"]

    def test_several_texts_are_searched_for_and_what_is_none_is_told(self, base: ToolSets) -> None:
        search = anthropic.ToolSearch(CLAUDES, base=base, k=2)
        assert "late again" in search.tools[0]["description"] and "delays of a train" in search.tools[0]["description"]

        def answer(**given: Any) -> Any:
            block = {"type": "tool_use", "id": "1", "name": "find_tools", "input": given}
            return search.answer(block)["content"]

        both = [{"type": "tool_reference", "tool_name": name} for name in ("send_mail", "play_music")]
        for given in (
            {"queries": ["send a mail", "play music"]},
            {"query": "send a mail", "queries": ["play music"]},
        ):
            assert sorted(map(str, answer(**given))) == sorted(map(str, both))
        assert "more than 4 different texts" in answer(queries=["a", "b", "c", "d", "e"])
        assert "an empty text" in answer(queries=["send a mail", ""])
        assert len(answer(queries=["a", "b", "c", "d", "A"])) == 2

    def test_other_blocks_are_not_its(self, base: ToolSets) -> None:
        search = anthropic.ToolSearch(CLAUDES, base=base, name="look_up")
        others = [
            {"type": "text", "text": "x"},
            {"type": "tool_use", "id": "1", "name": "find_tools", "input": {}},
            {"type": "server_tool_use", "id": "1", "name": "look_up", "input": {}},
        ]
        for block in others:
            assert not search.asks(block)
            with pytest.raises(InputError, match="no call of look_up"):
                search.answer(block)

    def test_options_that_do_not_fit_are_refused(self, base: ToolSets, tiny_tools: Path) -> None:
        wrong: list[tuple[list[Any], dict[str, Any], str]] = [
            (CLAUDES, {}, "give base"),
            (CLAUDES, {"base": base, "runtime": edgeret.load(tiny_tools)}, "give base"),
            (CLAUDES, {"base": base, "k": 0}, "at least 1"),
            ([], {"base": base}, "no tool is left"),
            (CLAUDES[:1], {"base": base, "always": [CLAUDES[0]["name"]]}, "no tool is left"),
            ([{**CLAUDES[0], "name": "find_tools"}, *CLAUDES], {"base": base}, "another name="),
        ]
        for tools, options, says in wrong:
            with pytest.raises(InputError, match=says):
                anthropic.ToolSearch(tools, **options)

    def test_a_runtime_of_its_own_finds_what_it_knows(self, tiny_original: Path) -> None:
        stranger = {"name": "lock_door", "description": "send a mail", "input_schema": {"type": "object"}}
        search = anthropic.ToolSearch([stranger, *CLAUDES[-6:]], runtime=edgeret.load(tiny_original), k=1)
        assert "defer_loading" not in search.tools[1]
        asked = {"type": "tool_use", "id": "1", "name": "find_tools", "input": {"query": "send a mail \ud800"}}
        assert search.answer(asked)["content"] == [{"type": "tool_reference", "tool_name": "send_mail"}]


class TestOpenAI:
    """A search that gives definitions."""

    @pytest.fixture(autouse=True)
    def installed(self) -> None:
        pytest.importorskip("openai.types.responses", reason="needs the SDK openai")

    @staticmethod
    def call(**more: Any) -> Any:
        from openai.types.responses import ResponseToolSearchCall

        return ResponseToolSearchCall(**{
            "id": "tsc_1", "type": "tool_search_call", "call_id": "call_1", "execution": "client",
            "status": "completed", "arguments": {"query": "send a mail"}, **more,
        })  # fmt: skip

    def test_the_request_is_what_the_sdk_takes(self, base: ToolSets) -> None:
        from openai.types.responses import ToolParam

        search = openai.ToolSearch([{"type": "web_search"}, *FLAT], base=base, always=["play_music"])
        for tool in search.tools:
            fits(ToolParam, tool)
        assert [tool.get("name") or tool["type"] for tool in search.tools] == [
            "tool_search",
            "web_search",
            "play_music",
        ]
        assert search.tools[0]["execution"] == "client"

    @pytest.mark.parametrize("shape", ["flat", "chat", "objects"])
    def test_a_call_is_answered_with_definitions(self, base: ToolSets, shape: str) -> None:
        from openai.types.responses import FunctionTool, ResponseInputItemParam

        tools = {"flat": FLAT, "chat": functions(ALL), "objects": [FunctionTool(**tool) for tool in FLAT]}[shape]
        search = openai.ToolSearch(tools, base=base, k=3)
        for asked in (self.call(), self.call().model_dump()):
            assert search.asks(asked)
            item = search.answer(asked)
            fits(ResponseInputItemParam, item)
            assert (item["call_id"], item["execution"], len(item["tools"])) == ("call_1", "client", 3)
            (found,) = [tool for tool in item["tools"] if tool["name"] == "send_mail"]
            assert found == {**FLAT[ALL.index(TOOLS[1])], "defer_loading": True}

    def test_namespaces_are_given_with_the_functions_that_fit(self, base: ToolSets) -> None:
        from openai.types.responses import ResponseInputItemParam, ToolParam

        office = {"type": "namespace", "name": "office", "description": "Mail and notes.", "tools": FLAT[-6:]}
        search = openai.ToolSearch([*FLAT[:9], office], base=base, k=6, always=["play_music"])
        for tool in search.tools:
            fits(ToolParam, tool)
        assert search.tools[1] == {**office, "tools": [FLAT[-3]]}
        item = search.answer(self.call(arguments={"query": "send a mail and find a file"}))
        fits(ResponseInputItemParam, item)
        (space,) = [tool for tool in item["tools"] if tool["type"] == "namespace"]
        assert space["name"] == "office" and {tool["name"] for tool in space["tools"]} >= {"send_mail", "find_file"}
        assert len(item["tools"]) < 6 and all(tool["defer_loading"] for tool in space["tools"])
        assert len(office["tools"]) == 6

    def test_several_texts_are_searched_for_as_far_as_they_can_be(self, base: ToolSets) -> None:
        search = openai.ToolSearch(FLAT, base=base, k=2)
        for texts in (["send a mail", "play music"], ["send a mail", "", 7, "play music"]):
            found = search.answer(self.call(arguments={"queries": texts}))["tools"]
            assert {tool["name"] for tool in found} == {"send_mail", "play_music"}
        five = ["send a mail", "b", "c", "d", "e"]
        assert search.answer(self.call(arguments={"queries": five})) == search.answer(
            self.call(arguments={"queries": five[:4]})
        )

    def test_a_call_without_words_finds_nothing_and_other_items_are_not_its(self, base: ToolSets) -> None:
        search = openai.ToolSearch(FLAT, base=base)
        for asked in ({}, {"query": ""}, {"paths": ["x"]}, None, "x"):
            assert search.answer(self.call(arguments=asked))["tools"] == []
        for other in (self.call(execution="server"), {"type": "function_call"}, SimpleNamespace(type="reasoning")):
            assert not search.asks(other)
            with pytest.raises(InputError, match="no tool_search_call"):
                search.answer(other)
