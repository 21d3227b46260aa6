"""Frameworks' own agents, stores and retrievers around edgeret: what a model is shown, what a search gives."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import edgeret

WISH = "send a mail"
DESCRIBED = {
    "find_file": "find a file",
    "send_mail": "send a mail",
    "write_note": "write a note",
    "play_music": "play music",
    "phone_call": "call a phone",
}


class TestLangChain:
    """A middleware and a retriever, by LangChain's own agent and with its own tools."""

    @pytest.fixture(autouse=True)
    def installed(self) -> None:
        pytest.importorskip("langchain.agents", reason="needs the extra langchain")

    @staticmethod
    def tools() -> list[Any]:
        from langchain_core.tools import StructuredTool

        return [
            StructuredTool.from_function(lambda text="": "done", name=name, description=text)
            for name, text in DESCRIBED.items()
        ]

    @staticmethod
    def model(seen: list[list[str]], answers: list[Any]) -> Any:
        from langchain_core.language_models.fake_chat_models import GenericFakeChatModel

        class Told(GenericFakeChatModel):
            """Says what it was told to say, and writes down which tools it was shown."""

            def bind_tools(self, tools: Any, **_: Any) -> Any:
                seen.append([tool.name for tool in tools])
                return self

        return Told(messages=iter(answers))

    @pytest.mark.parametrize("loop", [False, True])
    def test_the_model_is_shown_what_the_conversation_needs(self, tiny_tools: Path, loop: bool) -> None:
        from langchain.agents import create_agent
        from langchain_core.messages import AIMessage

        from edgeret.adapters.langchain import ToolSelector

        seen: list[list[str]] = []
        call = {"name": "send_mail", "args": {}, "id": "1", "type": "tool_call"}
        model = self.model(seen, [AIMessage("", tool_calls=[call]), AIMessage("fine")])
        selector = ToolSelector(base=tiny_tools, k=2, always=["phone_call"])
        agent = create_agent(model, self.tools(), middleware=[selector])
        wish = {"messages": [("user", WISH)]}
        result = asyncio.run(agent.ainvoke(wish)) if loop else agent.invoke(wish)
        assert result["messages"][-1].content == "fine" and len(seen) == 2
        for shown in seen:
            assert len(shown) <= 4 and {"send_mail", "phone_call"} <= set(shown)
            assert shown == [name for name in DESCRIBED if name in shown]  # in their order

    @pytest.mark.parametrize(
        "block",
        [
            {"cachePoint": {"type": "default"}},
            {"type": "video", "url": "https://a/b.mp4"},
            {"type": "media", "mime_type": "video/mp4", "data": "AAAA"},
            {"type": "text-plain", "text": "about the file", "mime_type": "text/plain"},
            {"type": "guard_content", "guard_content": {"text": "x"}},
            {"guardContent": {"text": {"text": "x"}}},
            {"type": "file", "file_id": "f"},
            {"type": "something_new", "text": 7},
            {"type": "non_standard", "value": {"a": 1}},
            {},
        ],
    )
    def test_a_block_of_any_provider_is_no_hindrance(self, tiny_tools: Path, block: dict[str, Any]) -> None:
        from langchain.agents import create_agent
        from langchain_core.messages import AIMessage, HumanMessage

        from edgeret.adapters.langchain import ToolSelector

        seen: list[list[str]] = []
        agent = create_agent(
            self.model(seen, [AIMessage("fine")]), self.tools(), middleware=[ToolSelector(base=tiny_tools, k=2)]
        )
        wish = HumanMessage([{"type": "text", "text": WISH}, block])
        assert agent.invoke({"messages": [wish]})["messages"][-1].content == "fine"
        assert len(seen[0]) == 2 and "send_mail" in seen[0]

    def test_messages_are_read_as_they_are(self) -> None:
        from langchain_core.messages import (
            AIMessage,
            ChatMessage,
            FunctionMessage,
            HumanMessage,
            RemoveMessage,
            SystemMessage,
            ToolMessage,
        )

        from edgeret.adapters.langchain import conversation

        calls = [{"name": name, "args": {}, "id": name} for name in ("a", "b", "c")]
        said = conversation([
            SystemMessage("be brief"), RemoveMessage(id="7"), FunctionMessage("x", name="y"), HumanMessage("find it"),
            AIMessage("", tool_calls=[{"name": "old", "args": {}, "id": "0"}]), ChatMessage(WISH, role="user"),
            AIMessage([{"type": "tool_use", "name": "a", "id": "a", "input": {}}], tool_calls=calls),
            ToolMessage("fine", tool_call_id="a"), ToolMessage("fine", tool_call_id="b", status="error"),
            HumanMessage([]),
        ][:-1])  # fmt: skip
        assert (said.wanted, said.before, said.called) == (WISH, ("find it",), {"old", "a", "b", "c"})
        assert [(call.tool, call.worked) for call in said.calls] == [("a", True), ("b", False), ("c", None)]
        assert conversation([7, None, HumanMessage([])]).wanted is None

    @pytest.mark.parametrize("why", ["words", "tools", "bundle"])
    def test_where_nothing_can_be_chosen_all_tools_are_shown(
        self, tiny_tools: Path, why: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from langchain.agents import create_agent
        from langchain_core.messages import AIMessage

        from edgeret.adapters.langchain import ToolSelector
        from edgeret.adapters.tool_sets import ToolSets

        seen: list[list[str]] = []
        sets = ToolSets(tiny_tools, tools=3 if why == "tools" else 50)
        call = {"name": "send_mail", "args": {}, "id": "1", "type": "tool_call"}
        model = self.model(seen, [AIMessage("", tool_calls=[call]), AIMessage("fine")])
        agent = create_agent(model, self.tools(), middleware=[ToolSelector(base=sets, k=2)])
        if why == "bundle":
            monkeypatch.setattr(sets, "runtime", lambda _: 1 / 0)
        wish = f"{WISH} \ud800" if why == "words" else WISH
        assert agent.invoke({"messages": [("user", wish)]})["messages"][-1].content == "fine"
        assert seen == [list(DESCRIBED)] * 2
        assert [record.levelname for record in caplog.records if record.name.startswith("edgeret")] == ["WARNING"]

    def test_a_tool_that_is_forced_by_its_name_is_shown(self, tiny_tools: Path) -> None:
        from langchain.agents.middleware.types import ModelRequest
        from langchain_core.messages import HumanMessage

        from edgeret.adapters.langchain import ToolSelector

        for choice in ("play_music", {"type": "function", "function": {"name": "play_music"}}):
            request = ModelRequest(
                model=self.model([], []), messages=[HumanMessage(WISH)], tools=self.tools(), tool_choice=choice
            )
            shown = [tool.name for tool in ToolSelector(base=tiny_tools, k=1).shown(request)]
            assert shown == ["send_mail", "play_music"]

    def test_what_is_wrong_from_the_beginning_is_refused_then(self, tiny_tools: Path, tmp_path: Path) -> None:
        from edgeret.adapters.langchain import ToolSelector

        for options, says in (
            ({"base": tiny_tools, "k": 0}, "at least 1"),
            ({"base": tiny_tools, "k": 1, "coverage": 0.5}, "not both"),
            ({"base": tmp_path / "none"}, "none"),
        ):
            with pytest.raises(edgeret.EdgeretError, match=says):
                ToolSelector(**options)

    def test_what_hides_in_a_tool_is_not_shown_and_the_tool_is_called_all_the_same(self, tiny_tools: Path) -> None:
        from langchain.agents import create_agent
        from langchain_core.messages import AIMessage
        from langchain_core.tools import StructuredTool

        from edgeret.adapters.langchain import ToolSelector

        given: list[Any] = []

        class Model(type(self.model([], []))):  # type: ignore[misc]
            def bind_tools(self, tools: Any, **_: Any) -> Any:
                given.extend(tools)
                return self

        poisoned = StructuredTool.from_function(
            lambda to="": f"sent to {to}", name="send_mail", description="send a mail\u200b\U000e0041"
        )
        call = {"name": "send_mail", "args": {"to": "Ana"}, "id": "1", "type": "tool_call"}
        model = Model(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("fine")]))
        always = StructuredTool.from_function(lambda: "", name="phone_call", description="call\u200b a phone")
        others = [tool for tool in self.tools() if tool.name not in ("send_mail", "phone_call")]
        selector = ToolSelector(base=tiny_tools, k=2, always=["phone_call"])
        agent = create_agent(model, [poisoned, always, *others], middleware=[selector])
        with pytest.warns(UserWarning, match="held characters that nobody sees: send_mail"):
            result = agent.invoke({"messages": [("user", WISH)]})
        assert [message.content for message in result["messages"]][-2:] == ["sent to Ana", "fine"]
        shown = {tool["function"]["name"]: tool["function"] for tool in given if isinstance(tool, dict)}
        assert shown["send_mail"]["description"] == "send a mail"
        assert shown["phone_call"]["description"] == "call a phone"
        assert not any("\u200b" in str(getattr(tool, "description", tool)) for tool in given)

    def test_one_of_base_and_runtime_is_needed(self, tiny_tools: Path) -> None:
        from edgeret.adapters.langchain import ToolSelector

        with pytest.raises(edgeret.InputError, match="give base"):
            ToolSelector()

    def test_the_retriever_gives_what_search_gives(self, tiny_tools: Path) -> None:
        from edgeret.adapters.langchain import ToolRetriever

        retriever = ToolRetriever.of(self.tools(), tiny_tools, k=3)
        found = retriever.invoke(WISH)
        assert found[0].metadata["tool"] == "send_mail" and len(found) == 3
        assert found[0].page_content == "send a mail" and 0 < found[0].metadata["share"] <= 1
        assert asyncio.run(retriever.ainvoke(WISH)) == found


class TestLangGraph:
    """The store, by itself and by langgraph-bigtool's own way of asking it."""

    @pytest.fixture(autouse=True)
    def installed(self) -> None:
        pytest.importorskip("langgraph.store.memory", reason="needs the extra langgraph")

    @staticmethod
    def store(base: Path) -> Any:
        from edgeret.adapters.langgraph import ToolStore

        store = ToolStore(base)
        for number, (name, text) in enumerate(DESCRIBED.items()):
            store.put(("tools",), f"id-{number}", {"description": f"{name}: {text}", "kind": number % 2})
        return store

    def test_a_search_ranks_and_all_else_is_as_in_memory(self, tiny_tools: Path) -> None:
        store = self.store(tiny_tools)
        found = store.search(("tools",), query=WISH, limit=2)
        assert found[0].key == "id-1" and len(found) == 2 and found[0].score > found[1].score > 0
        behind = store.search(("tools",), query=WISH, limit=2, offset=1)
        assert behind[0].key == found[1].key
        assert {item.key for item in store.search(("tools",), query=WISH, filter={"kind": 0})} == {
            "id-0",
            "id-2",
            "id-4",
        }
        assert store.get(("tools",), "id-3").value["description"] == "play_music: play music"
        assert len(store.search(("tools",))) == 5 and store.search(("others",), query=WISH) == []
        assert [item.key for item in asyncio.run(store.asearch(("tools",), query=WISH, limit=2))] == [
            item.key for item in found
        ]

    def test_items_of_any_kind_are_kept_and_come_last(self, tiny_tools: Path) -> None:
        store = self.store(tiny_tools)
        store.put(("tools",), "plain", {"description": "open the calendar"})
        store.put(("tools",), "again", {"description": "send_mail: send a letter"})
        store.put(("tools",), "none", {"other": 1})
        keys = [item.key for item in store.search(("tools",), query=WISH, limit=20)]
        assert len(keys) == 8 and keys[-1] == "none" and set(keys[:3]) >= {"id-1", "again"}
        store.delete(("tools",), "id-1")
        assert "id-1" not in [item.key for item in store.search(("tools",), query=WISH, limit=20)]

    def test_bigtool_finds_tools_by_it(self, tiny_tools: Path) -> None:
        tools = pytest.importorskip("langgraph_bigtool.tools", reason="needs langgraph-bigtool")
        retrieve, aretrieve = tools.get_default_retrieval_tool(("tools",), limit=1)
        store = self.store(tiny_tools)
        assert retrieve(WISH, store=store) == asyncio.run(aretrieve(WISH, store=store)) == ["id-1"]


def test_llamaindex_retrieves_its_own_tools(tiny_tools: Path) -> None:
    pytest.importorskip("llama_index.core", reason="needs the extra llamaindex")
    from llama_index.core.tools import FunctionTool

    from edgeret.adapters.llamaindex import tool_retriever

    tools = [
        FunctionTool.from_defaults(lambda text="": "done", name=name, description=text)
        for name, text in DESCRIBED.items()
    ]
    retriever = tool_retriever(tools, tiny_tools, k=2)
    found = retriever.retrieve(WISH)
    assert found[0] is tools[1] and len(found) == 2
    assert asyncio.run(retriever.aretrieve(WISH)) == found
