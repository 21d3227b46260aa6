"""Prompts, resources and what servers ask and tell, of two servers by hand that differ in their names alone: what is
told apart, what stays as it is, and what reaches whom."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp_client import call, hostile, proxied, write_config
from patience import PATIENCE_S

mcp = pytest.importorskip("mcp", reason="needs the extra mcp")

import mcp_types as types  # noqa: E402
from mcp.client.subscriptions import ResourcesListChanged, ResourceUpdated  # noqa: E402
from test_mcp_whole_protocol import ERAS, Person  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")


def wide(name: str, *more: str) -> dict[str, Any]:
    """The entry of a server with one of everything."""
    return {"command": sys.executable, "args": [str(Path(__file__).with_name("wide_mcp.py")), name, *more]}


def text(result: Any) -> Any:
    """What a tool said."""
    assert not result.is_error, result
    return json.loads(result.content[0].text)


async def eventually(true: Callable[[], bool]) -> None:
    """Returns when it is so."""
    with anyio.fail_after(PATIENCE_S):
        while not true():
            await anyio.sleep(0.02)


async def read(client: Any, uri: str) -> str:
    """A resource's text."""
    contents = (await client.read_resource(uri)).contents
    assert [part.uri for part in contents] == [uri]
    return contents[0].text


@pytest.mark.parametrize("mode", ERAS)
def test_uris_stay_as_they_are_and_shared_ones_are_told_apart(mode: str, tiny: Path, tmp_path: Path) -> None:
    config = write_config(tmp_path, a=wide("a"), b=wide("b"))

    async def talk() -> None:
        async with proxied(config, tiny, mode=mode) as client:
            assert await read(client, "edgeret:b:memo://shared") == "b memo://shared"  # before anybody listed it
            listed = (await client.list_resources()).resources
            assert [one.uri for one in listed] == ["memo://a", "memo://shared", "memo://b", "edgeret:b:memo://shared"]
            first = listed[0].model_dump(by_alias=True, exclude_none=True)
            entry = {"uri": "memo://a", "name": "a", "annotations": {"priority": 0.5}, "size": 3, "_meta": {"x": 1}}
            assert first == entry
            templates = [one.uri_template for one in (await client.list_resource_templates()).resource_templates]
            assert templates == ["item://{number}", "edgeret:b:item://{number}"]
            assert await read(client, "memo://b") == "b memo://b"
            assert await read(client, "memo://shared") == "a memo://shared"
            assert await read(client, "edgeret:b:memo://shared") == "b memo://shared"
            assert await read(client, "item://3") == "a item://3"
            assert await read(client, "edgeret:b:item://3") == "b item://3"
            assert await read(client, "hidden://b/x") == "b hidden://b/x"  # nobody lists it, and one has it
            with pytest.raises(mcp.MCPError, match="b has no such thing"):
                await client.read_resource("memo://nowhere")

    anyio.run(talk)


@pytest.mark.parametrize("mode", ERAS)
def test_links_in_results_can_be_read_and_are_else_as_they_came(mode: str, tiny: Path, tmp_path: Path) -> None:
    config = write_config(tmp_path, a=wide("a"), b=wide("b"))

    async def talk() -> None:
        async with proxied(config, tiny, mode=mode) as client:
            result = await call(client, "b__links")  # nothing was listed yet, so nobody else has them
            links = [part.uri for part in result.content[:3]]
            assert links == ["memo://shared", "memo://b", "item://7"]
            assert [await read(client, uri) for uri in links] == [f"b {uri}" for uri in links]
            again = await call(client, "a__links")
            links = [part.uri for part in again.content[:3]]
            assert links == ["edgeret:a:memo://shared", "memo://a", "edgeret:a:item://7"]
            assert [await read(client, uri) for uri in links] == [
                f"a {uri.removeprefix('edgeret:a:')}" for uri in links
            ]
            assert again.content[3].resource.uri == "edgeret:a:memo://shared"
            assert again.content[4].text == "memo://shared" and again.structured_content == {"uri": "memo://shared"}

    anyio.run(talk)


@pytest.mark.parametrize("mode", ERAS)
def test_prompts_and_completions_reach_the_server_that_has_them(mode: str, tiny: Path, tmp_path: Path) -> None:
    config = write_config(tmp_path, a=wide("a"), b=wide("b"))

    async def talk() -> None:
        async with proxied(config, tiny, mode=mode) as client:
            early = await client.get_prompt("b__hello", {"whom": "you"})  # before anybody listed it
            assert json.loads(early.description) == {"name": "hello", "arguments": {"whom": "you"}}
            assert early.messages[0].content.resource.text == "b"
            listed = (await client.list_prompts()).prompts
            assert [one.name for one in listed] == ["a__hello", "b__hello"]
            plain = listed[1].model_dump(by_alias=True, exclude_none=True)
            assert plain["_meta"] == {"of": "b"} and plain["icons"][0]["sizes"] == ["48x48"]
            for reference, own in (
                (types.PromptReference(type="ref/prompt", name="b__hello"), {"name": "hello"}),
                (types.ResourceTemplateReference(type="ref/resource", uri="edgeret:b:item://{number}"), {}),
            ):
                completed = await client.complete(reference, {"name": "whom", "value": "y"})
                values = completed.completion.values
                assert values[0] == "b" and own.items() <= json.loads(values[1])["ref"].items()
            with pytest.raises(mcp.MCPError, match='Unknown prompt: "c__hello"'):
                await client.get_prompt("c__hello")
            with pytest.raises(mcp.MCPError):
                await client.get_prompt("hello")

    anyio.run(talk)


def test_changes_are_told_to_a_client_with_a_handshake(tiny: Path, tmp_path: Path) -> None:
    config = write_config(tmp_path, a=wide("a"), b=wide("b"))

    async def talk() -> None:
        person = Person()

        def heard(kind: type) -> list[Any]:
            return [message for message in person.told if isinstance(message, kind)]

        async with proxied(config, tiny, mode="legacy", **person.callbacks) as client:
            await call(client, "b__touch")  # it knows no list yet
            await client.list_resources()
            await client.list_prompts()
            for uri in ("memo://shared", "edgeret:b:memo://shared", "memo://b"):
                await client.subscribe_resource(uri)
            await client.unsubscribe_resource("memo://b")
            await call(client, "b__touch")
            await call(client, "a__touch")
            await eventually(lambda: len(heard(types.ResourceUpdatedNotification)) == 2)
            updated = {message.params.uri for message in heard(types.ResourceUpdatedNotification)}
            assert updated == {"memo://shared", "edgeret:b:memo://shared"}
            await eventually(lambda: bool(heard(types.ResourceListChangedNotification)))
            await eventually(lambda: bool(heard(types.PromptListChangedNotification)))
            assert len(heard(types.ResourceListChangedNotification)) < 6  # swarms are told once

    anyio.run(talk)


def test_changes_are_told_to_a_client_that_listens(tiny: Path, tmp_path: Path) -> None:
    config = write_config(tmp_path, a=wide("a"), b=wide("b"))

    async def talk() -> None:
        async with proxied(config, tiny) as client:
            await client.list_resources()
            wanted = {"resources_list_changed": True, "resource_subscriptions": ["edgeret:b:memo://shared"]}
            async with client.listen(**wanted) as changes:
                await call(client, "b__touch")
                found = set()
                with anyio.fail_after(PATIENCE_S):
                    async for change in changes:
                        found.add(change)
                        if len(found) == 2:
                            break
                assert found == {ResourcesListChanged(), ResourceUpdated("edgeret:b:memo://shared")}
            with anyio.fail_after(PATIENCE_S):
                while "resources/unsubscribe" not in str(text(await call(client, "b__seen"))):
                    await anyio.sleep(0.02)

    anyio.run(talk)


def test_logs_pass_under_their_server_s_name_and_levels_reach_all(tiny: Path, tmp_path: Path) -> None:
    config = write_config(tmp_path, a=wide("a"), b=wide("b"))

    async def talk(mode: str, level: str | None) -> list[Any]:
        person = Person()
        more = {"log_level": level} if level and mode == "auto" else {}
        async with proxied(config, tiny, mode=mode, **more, **person.callbacks) as client:
            if level and mode == "legacy":
                await client.set_logging_level(level)
                assert '"level": "error"' in json.dumps(text(await call(client, "a__seen")))
            await call(client, "b__log")
            if level or mode == "legacy":
                await eventually(lambda: any(entry.data == "bare" for entry in person.logged))
            if mode == "legacy":
                await eventually(lambda: any("ElicitComplete" in type(one).__name__ for one in person.told))
            return [(entry.level, entry.logger, entry.data) for entry in person.logged]

    core = [(level, "b__core", {"of": "b"}) for level in ("debug", "info", "error")]
    bare = ("error", "b", "bare")
    assert sorted(anyio.run(talk, "legacy", None), key=str) == sorted([*core, bare], key=str)
    anyio.run(talk, "legacy", "error")
    assert anyio.run(talk, "auto", None) == []
    assert sorted(anyio.run(talk, "auto", "error"), key=str) == sorted([core[2], bare], key=str)


@pytest.mark.parametrize("mode", ERAS)
def test_what_servers_ask_at_once_is_answered_to_each(mode: str, tiny: Path, tmp_path: Path) -> None:
    config = write_config(tmp_path, a=wide("a"), b=wide("b"))
    person = Person(("file:///tmp",))
    found: dict[str, Any] = {}

    async def sample(_: Any, params: Any) -> Any:
        said = params.messages[0].content.text
        assert params.metadata == {"nothing": None}
        return types.CreateMessageResult(
            role="assistant", content=types.TextContent(type="text", text=f"to {said}"), model="m"
        )

    async def talk() -> None:
        callbacks = {**person.callbacks, "sampling_callback": sample}
        async with proxied(config, tiny, mode=mode, **callbacks) as client:

            async def one(name: str) -> None:
                found[name] = text(await call(client, name))

            async with anyio.create_task_group() as tasks:
                for name in ("a__ask", "b__ask", "b__ask_twice"):
                    tasks.start_soon(one, name)
        assert found["a__ask"]["content"]["text"] == "to a asks" and found["b__ask"]["content"]["text"] == "to b asks"
        roots, answer = found["b__ask_twice"]
        assert roots["roots"][0]["uri"] == "file:///tmp" and answer["action"] == "accept"

    anyio.run(talk)


@pytest.mark.parametrize("mode", ERAS)
def test_servers_are_offered_what_the_client_can_do_and_no_more(mode: str, tiny: Path, tmp_path: Path) -> None:
    config = write_config(tmp_path, a=wide("a"))

    async def offered(**callbacks: Any) -> Any:
        async with proxied(config, tiny, mode=mode, **callbacks) as client:
            seen = text(await call(client, "a__seen"))
            refused = text(await call(client, "a__ask")) if not callbacks else None
            assert refused is None or refused["code"] == -32601
            hello = next(one for one in seen if one["method"] == "initialize")
            return hello["params"]["capabilities"]

    assert anyio.run(lambda: offered()) == {}
    person = Person(("file:///tmp",))
    given = anyio.run(lambda: offered(sampling_callback=person.sample, list_roots_callback=person.list_roots))
    assert given == {"sampling": {}, "roots": {"listChanged": True}}
    every = anyio.run(lambda: offered(**person.callbacks))
    assert every["elicitation"] == {"form": {}, "url": {}}


def test_a_change_of_roots_is_told_to_servers(tiny: Path, tmp_path: Path) -> None:
    config = write_config(tmp_path, a=wide("a"))
    person = Person(("file:///tmp",))

    async def talk() -> None:
        async with proxied(config, tiny, mode="legacy", **person.callbacks) as client:
            await call(client, "a__seen")
            await client.send_roots_list_changed()
            with anyio.fail_after(PATIENCE_S):
                while "notifications/roots/list_changed" not in str(text(await call(client, "a__seen"))):
                    await anyio.sleep(0.02)

    anyio.run(talk)


def test_the_client_is_told_of_what_servers_have_and_no_more(tiny: Path, tmp_path: Path) -> None:
    async def told(mode: str, **servers: Any) -> tuple[set[str], str]:
        async with proxied(write_config(tmp_path, **servers), tiny, mode=mode) as client:
            has = client.server_capabilities.model_dump(by_alias=True, exclude_none=True)
            assert has["tools"] == {"listChanged": True}
            if "resources" in has:
                assert has["resources"] == {"listChanged": True, "subscribe": True}
            return set(has), client.instructions or ""

    for mode in ERAS:
        assert anyio.run(lambda mode=mode: told(mode, one=hostile("plain")))[0] == {"tools"}
        has, said = anyio.run(lambda mode=mode: told(mode, one=hostile("plain"), a=wide("a")))
        assert has == {"tools", "prompts", "resources", "completions", "logging"}
        assert "find_tools" in said and "Ask a twice" not in said  # that is for who wrote the server's tools to say


@pytest.mark.parametrize("mode", ERAS)
def test_a_question_outside_of_any_request_is_asked_with_the_next(mode: str, tiny: Path, tmp_path: Path) -> None:
    config = write_config(tmp_path, a=wide("a", "early"))
    person = Person(("file:///tmp",))
    asked: list[Any] = []

    async def list_roots(context: Any) -> Any:
        asked.append(context)
        return await person.list_roots(context)

    async def talk() -> None:
        async with proxied(config, tiny, mode=mode, list_roots_callback=list_roots) as client:
            await call(client, "a__seen")
            await eventually(lambda: bool(asked)) if mode == "legacy" else None
            assert len(asked) == 1

    anyio.run(talk)


@pytest.mark.parametrize(
    ("behaviour", "kind", "left", "words"),
    [
        ("odd", "resources", ["memo://fine"], "1 of 8 resources left out, each has a uri that another one has"),
        ("odd", "prompts", None, "1 of 5 prompts left out, each is not as the protocol wants it"),
        ("endless", "resources", None, "server a lists its resources on more than 200 pages; the rest is left out"),
        ("again", "resources", ["memo://None", "memo://same"], ""),
        ("flood", "resources", None, "3000 of 5000 resources left out, each comes after the first 2,000"),
    ],
)
def test_lists_are_bounded_and_an_odd_entry_leaves_out_itself_alone(
    behaviour: str, kind: str, left: list[str] | None, words: str, tiny: Path, tmp_path: Path
) -> None:
    config = write_config(tmp_path, a=wide("a", behaviour), b=wide("b"))

    async def talk() -> None:
        async with proxied(config, tiny, mode="legacy") as client:
            if kind == "prompts":
                names = [one.name for one in (await client.list_prompts()).prompts]
                assert names == ["a___\\[2Jclear".replace("\\[", "_") + "_" + names[0][-6:], "a__hello", "b__hello"]
                assert await client.get_prompt(names[0], {})
            else:
                listed = (await client.list_resources()).resources
                assert "memo://b" in [one.uri for one in listed]
                mine = [
                    one for one in listed if one.uri.removeprefix("edgeret:a:") not in ("memo://b", "memo://shared")
                ]
                assert left is None or [one.uri for one in mine if not one.uri.startswith("edgeret:b")] == left
                for one in mine if behaviour == "odd" else ():
                    assert (one.name, one.description) == ("fine", "read[2J this")
                assert len(listed) <= 2_002
            assert words in client.told()

    anyio.run(talk)
