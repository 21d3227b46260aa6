"""The proxy's own tools: how a call may be written, what a search teaches, results that are cut, and "nothing fits"."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_client import call, found, hostile, proxied, write_config

pytest.importorskip("mcp", reason="needs the extra mcp")

from edgeret.adapters.mcp.catalogue import Catalogue
from edgeret.adapters.mcp.definitions import accepted
from edgeret.adapters.mcp.long_results import READ_MORE, LongResults
from edgeret.adapters.mcp.request import MOST_OPEN, Request
from edgeret.adapters.mcp.toolbox import called


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"name": "a__b"}, None),
        ({"name": "a__b", "arguments": None}, None),
        ({"name": "a__b", "arguments": ""}, None),
        ({"name": "a__b", "arguments": {"x": 1}}, {"x": 1}),
        ({"name": "a__b", "arguments": '{"x": 1}'}, {"x": 1}),
        ({"name": "a__b", "arguments": json.dumps('{"x": 1}')}, {"x": 1}),
    ],
)
def test_arguments_may_be_an_object_or_its_text(given: dict[str, Any], meant: object) -> None:
    assert called(given) == ("a__b", meant)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"name": "a__b", "text": "hi"}, '"text" beside them.*{"name": "a__b", "arguments": {"text": …}}'),
        ({"name": "a__b", "args": {"x": 1}}, '"args" beside them'),
        ({"name": "a__b", "arguments": "x=1"}, 'no JSON; call_tool takes {"name": "a__b", "arguments": {…}}'),
        ({"name": "a__b", "arguments": "[1]"}, "call_tool takes"),
        ({"name": "a__b", "arguments": [1]}, "call_tool takes"),
        ({"name": 3}, '{"name": "NAME", "arguments": {…}}'),
        ({}, "call_tool takes"),
        ({"name": "a\u202eb", "x\x1b[2J": 1}, r"x\\\\u001b|x\\\\x1b"),
    ],
)
def test_a_call_that_would_lose_its_arguments_is_refused_with_the_right_form(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        called(given)


def test_a_call_teaches_the_search_that_offered_it() -> None:
    request = Request()
    request.search("play jazz", ["play", "pause", "mail"])
    request.search("write to Ana", ["mail", "call", "play"])
    assert request.worked("play") == "play jazz"
    assert request.worked("mail") == "write to Ana"
    assert request.worked("call") is None and request.worked("unheard_of") is None
    request.search("louder", ["volume"])
    request.search("a bit louder", ["volume"])
    assert request.worked("volume") == "a bit louder"
    for number in range(2 * MOST_OPEN):
        request.search(f"wish {number}", ["tool"])
    assert len(request.unanswered) == MOST_OPEN


def text_of(result: dict[str, Any]) -> str:
    return "".join(item["text"] for item in result["content"] if not item["text"].startswith("[edgeret: cut"))


def next_id(result: dict[str, Any]) -> str | None:
    last = (result["content"] or [{}])[-1].get("text", "")
    return json.loads(last[last.index("{") : last.index("}") + 1])["id"] if last.startswith("[edgeret: cut") else None


@given(st.lists(st.text(max_size=60), max_size=4), st.integers(1, 40))
def test_a_cut_result_is_whole_again_when_read_on(texts: list[str], most: int) -> None:
    long = LongResults(most)
    picture = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    whole = {
        "content": [picture, *({"type": "text", "text": text} for text in texts)],
        "structuredContent": {"a": "b" * 99},
    }
    part = long.cut(whole)
    assert part["structuredContent"] == whole["structuredContent"] and part["content"][0] == picture
    part = {"content": part["content"][1:]}
    read, parts = text_of(part), 0
    while (key := next_id(part)) is not None:
        part = long.read({"id": key})
        assert part == long.read({"id": key})
        read, parts = read + text_of(part), parts + 1
        assert parts < 1000
    assert read.replace("\n", "") == "".join(texts).replace("\n", "")


def test_a_result_that_fits_stays_as_it_is_and_foreign_ids_are_told() -> None:
    long = LongResults(10)
    for whole in ({"content": [{"type": "text", "text": "ten bytes!"}]}, {"content": None}, {"structuredContent": {}}):
        assert long.cut(whole) == whole
    key = next_id(long.cut({"content": [{"type": "text", "text": "höre " * 9}]}))
    assert key is not None
    for wrong in ({}, {"id": 3}, {"id": "x"}, {"id": key + "0" * 30}, {"id": key.split("-")[0]}, {"id": "a\x1b[2J-0"}):
        result = long.read(wrong)
        assert result["isError"] and "may have to be called again" in result["content"][0]["text"]
        assert "\x1b" not in result["content"][0]["text"]
    assert not long.read({"id": key.split("-")[0] + "-1"}).get("isError")  # in the middle of a character


def test_long_results_are_read_on_through_the_proxy(tiny: Path, tmp_path: Path) -> None:
    config = write_config(tmp_path, one=hostile("plain"))

    async def talk() -> None:
        async with proxied(config, tiny, "--max-result", "64") as client:
            assert READ_MORE in [tool.name for tool in (await client.list_tools()).tools]
            part = await call(client, "one__send_mail", {"text": "long " * 40})
            read = part.content[0].text
            while part.content[-1].text.startswith("[edgeret: cut"):
                told = part.content[-1].text
                part = await client.call_tool(READ_MORE, json.loads(told[told.index("{") : told.index("}") + 1]))
                read += part.content[0].text
            assert json.loads(read)["arguments"] == {"text": "long " * 40}
        async with proxied(config, tiny) as client:
            assert READ_MORE not in [tool.name for tool in (await client.list_tools()).tools]
            assert (
                await call(
                    client,
                    "one__send_mail",
                    {},
                )
            ).content

    anyio.run(talk)


def test_a_search_tells_scores_titles_and_annotations(tiny: Path, tmp_path: Path) -> None:
    config = write_config(tmp_path, one=hostile("titled"))

    async def talk() -> None:
        async with proxied(config, tiny) as client:
            (tool,) = (await found(client, "one__write_note"))["tools"]
            assert tool["title"] == "Write a note" and tool["annotations"] == {"destructiveHint": False}
            assert tool["score"] == 1

    anyio.run(talk)


@pytest.mark.real
def test_names_are_always_found_and_nothing_fits_what_fits_nothing(real: Path) -> None:
    catalogue = Catalogue(real, None)
    described = {
        "send_mail": "Sends an email.",
        "printFile": "Prints a file.",
        "report-defect": "Reports a defect in a room.",
        "fetch": "Fetches a page from the internet.",
        "canteen_menu": "Says what the canteen cooks today.",
    }
    names = list(described)
    listed = [{"name": name, "description": words, "inputSchema": {}} for name, words in described.items()]
    tools = accepted("a", "a", listed, print)
    while catalogue.update(tools):
        pass
    for name in names:
        for query in (name, f"a__{name}", f" `{name.upper()}` "):
            assert next(iter(catalogue.find(query, 1))) == f"a__{name}", query
    assert next(iter(catalogue.find("please use printFile for that one", 1))) == "a__printFile"
    assert catalogue.find("mail the minutes to Ana", 5) and catalogue.find("what's for lunch in the canteen", 5)
    for nothing in ("thanks, that was all", "no, nothing else", "good night", "ok great"):
        assert catalogue.find(nothing, 5) == {}, nothing
    assert next(iter(catalogue.find(["thanks, that was all", "print a file"], 5))) == "a__printFile"  # one is enough
    assert catalogue.find(["thanks, that was all", "good night"], 5) == {}
    assert next(iter(catalogue.find(["that one", "please use printFile"], 1))) == "a__printFile"
    for number in range(20):  # what is taught without counterexamples makes nothing fit that does not
        catalogue.learn(f"the song number {number}", "a__canteen_menu")
    assert catalogue.find("thanks, that was all", 5) == {}
    assert next(iter(catalogue.find("that song number 7", 1))) == "a__canteen_menu"
