"""Conversations and tools that hold the SDKs' own objects, as programs append them: `messages.append(answer)`."""

from __future__ import annotations

from collections import UserDict, deque
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import TOOLS
from samples import functions, many_tools, names, user

from edgeret import InputError
from edgeret.adapters import anthropic as ours_anthropic
from edgeret.adapters import openai as ours
from edgeret.adapters.tool_sets import ToolSets

MANY = functions([*many_tools(30), *TOOLS])
WISH = "find my file and send a mail"


@pytest.fixture(scope="module")
def base(tiny_tools: Path) -> ToolSets:
    return ToolSets(tiny_tools)


def completion() -> Any:
    chat = pytest.importorskip("openai.types.chat")
    call = {"id": "1", "type": "function", "function": {"name": "phone_call", "arguments": "{}"}}
    return chat.ChatCompletion.model_validate(
        {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [
            {"index": 0, "finish_reason": "tool_calls", "logprobs": None,
             "message": {"role": "assistant", "content": None, "refusal": None, "tool_calls": [call]}}]}
    )  # fmt: skip


def response() -> Any:
    responses = pytest.importorskip("openai.types.responses")
    items = [
        {"type": "reasoning", "id": "r", "summary": []},
        {"type": "message", "id": "m", "role": "assistant", "status": "completed",
         "content": [{"type": "output_text", "text": "Calling.", "annotations": []}]},
        {"type": "function_call", "id": "f", "call_id": "1", "name": "phone_call", "arguments": "{}"},
    ]  # fmt: skip
    return responses.Response.model_construct(
        id="r", object="response", output=[_item(responses, item) for item in items], model="m"
    )


def _item(responses: Any, item: dict[str, Any]) -> Any:
    kinds = {
        "reasoning": responses.ResponseReasoningItem, "message": responses.ResponseOutputMessage,
        "function_call": responses.ResponseFunctionToolCall,
    }  # fmt: skip
    return kinds[item["type"]].model_validate(item)


def claude() -> Any:
    types = pytest.importorskip("anthropic.types", reason="needs the SDK anthropic")
    return types.Message.model_validate(
        {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use",
         "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}, "content": [
            {"type": "text", "text": "Calling.", "citations": None},
            {"type": "tool_use", "id": "1", "name": "phone_call", "input": {}}]}
    )  # fmt: skip


@dataclass
class Said:
    role: str
    content: Any


def test_answers_of_chat_completions_are_history(base: ToolSets) -> None:
    answer = completion().choices[0].message
    gave = {"role": "tool", "tool_call_id": "1", "content": "done"}
    for made in (answer, {"role": "assistant", "tool_calls": answer.tool_calls}, answer.model_dump()):
        said = ours.conversation([user(WISH), made, gave])
        assert [(call.tool, call.worked) for call in said.calls] == [("phone_call", True)], made
        assert "phone_call" in names(ours.select_tools([user(WISH), made, gave], MANY, base=base, k=2))


def test_items_of_responses_are_history() -> None:
    done = {"type": "function_call_output", "call_id": "1", "output": "done"}
    said = ours.conversation([user(WISH), *response().output, done])
    assert [(call.tool, call.worked) for call in said.calls] == [("phone_call", True)]


def test_blocks_of_claudes_are_history() -> None:
    answer = claude()
    result = user([{"type": "tool_result", "tool_use_id": "1", "content": "done"}])
    for made in (answer, {"role": "assistant", "content": answer.content}, {"role": "assistant", "content": answer}):
        if made is answer or made["content"] is not answer:
            said = ours_anthropic.conversation([user(WISH), made, result])
            assert [(call.tool, call.worked) for call in said.calls] == [("phone_call", True)]
        else:
            with pytest.raises(InputError, match=r"messages\[1\]\.content is of type Message.*give its content"):
                ours_anthropic.conversation([user(WISH), made, result])


@pytest.mark.parametrize(
    "messages",
    [
        (user(WISH),),
        deque([user(WISH)]),
        {"a": user(WISH)}.values(),
        [UserDict(user(WISH))],
        [Said("user", WISH)],
        [SimpleNamespace(role="user", content=[SimpleNamespace(type="text", text=WISH)])],
        [Said("user", (Said("x", None), {"type": "text", "text": WISH}))],
        [user([WISH])],
    ],
)
def test_other_peoples_objects_are_read_by_their_attributes(messages: Any) -> None:
    assert ours.conversation(messages).wanted == WISH


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ([user(WISH), 7], r"messages\[1\] is of type int"),
        ([None], r"messages\[0\] is of type NoneType"),
        ([user(WISH), ("user", "hi")], r"messages\[1\] is of type tuple"),
        (["hi"], r"messages\[0\] is of type str"),
        ([object()], r"messages\[0\] is of type object"),
        (user(WISH), "messages is of type dict, expected a list"),
        (iter([user(WISH)]), "can be read once"),
        ((message for message in [user(WISH)]), r"type generator, which can be read once; make a list of it"),
        ([user(iter([]))], r"messages\[0\]\.content is of type list_iterator, which can be read once"),
        ([user({"a": 1})], r"messages\[0\]\.content is of type dict, expected a list"),
        ([user([{"type": "text", "text": "x"}, 7])], r"messages\[0\]\.content\[1\] is of type int"),
        ([{"role": "assistant", "tool_calls": [7]}], r"messages\[0\]\.tool_calls\[0\] is of type int"),
        ([{"object": "chat.completion", "choices": []}], r"a whole answer .*give its choices\[0\]\.message"),
        ({7, 8}, r"messages\[0\] is of type int"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(messages: Any, says: str, base: ToolSets) -> None:
    with pytest.raises(InputError, match=says):
        ours.select_tools(messages, MANY, base=base, k=2)


def test_whole_answers_among_messages_are_refused_with_what_is_meant() -> None:
    whole = completion()
    for wrong, says in (
        (whole, r"messages\[1\] is a whole answer \(chat.completion\); give its choices\[0\].message"),
        (whole.choices[0], r"messages\[1\] is of type Choice.*give its message"),
        (response(), r"messages\[1\] is a whole answer \(response\); give its output"),
    ):
        with pytest.raises(InputError, match=says):
            ours.conversation([user(WISH), wrong])
    with pytest.raises(InputError, match="messages is of type ChatCompletion, expected a list"):
        ours.conversation(whole)


def test_frameworks_messages_are_refused_with_what_is_meant() -> None:
    messages = pytest.importorskip("langchain_core.messages")
    with pytest.raises(InputError, match=r"messages\[0\] is LangChain's; give convert_to_openai_messages"):
        ours.conversation([messages.HumanMessage(WISH)])


def test_tools_may_be_objects(base: ToolSets) -> None:
    openai = pytest.importorskip("openai")
    pydantic = pytest.importorskip("pydantic")
    responses = pytest.importorskip("openai.types.responses")

    class SendMail(pydantic.BaseModel):
        """send a mail"""

        to: str

    described = [openai.pydantic_function_tool(SendMail, name="send_mail")]
    parameters = {"type": "object", "properties": {}}
    flat = responses.FunctionTool(
        type="function", name="send_mail", description="send a mail", parameters=parameters, strict=True
    )
    agents = SimpleNamespace(name="send_mail", description="send a mail", params_json_schema=parameters)
    others = functions(many_tools(12)[1:8])
    for one in (described[0], flat, agents):
        kept = ours.select_tools([user("send a mail")], [*others, one], base=base, k=1)
        assert len(kept) == 1 and kept[0] is one, one
    broken = SimpleNamespace(model_dump=lambda **_: 1 / 0)
    assert broken in ours.select_tools([user("send a mail")], [*others, broken], base=base, k=1)


def test_tools_of_claudes_sdk_may_be_objects(base: ToolSets) -> None:
    anthropic = pytest.importorskip("anthropic", reason="needs the SDK anthropic")

    @anthropic.beta_tool
    def send_mail(to: str) -> str:
        """send a mail"""
        return to

    others = [{"name": t.name, "description": t.description, "input_schema": {}} for t in many_tools(12)[1:8]]
    kept = ours_anthropic.select_tools([user("send a mail")], [*others, send_mail], base=base, k=1)
    assert kept == [send_mail]
