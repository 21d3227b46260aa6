"""What goes wrong over HTTP has a cause that tells what to do, in words of ours; and what comes is bounded."""

from __future__ import annotations

import datetime
import ipaddress
import json
import ssl
from collections.abc import Awaitable, Callable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import anyio
import pytest
from patience import PATIENCE_S

pytest.importorskip("mcp", reason="needs the extra mcp")

from odd_http import INJECTION, Asked, Odd, bomb, odd, plain, reply

from edgeret import InputError
from edgeret.adapters.mcp.causes import unreachable
from edgeret.adapters.mcp.config import Server
from edgeret.adapters.mcp.passing import Nobody
from edgeret.adapters.mcp.upstream import CallError, Patience, Upstream
from edgeret.adapters.mcp.web import Access, check_access
from edgeret.cli.commands import main

ONCE = Patience(start_s=PATIENCE_S, call_s=PATIENCE_S, first_delay_s=600, last_delay_s=600)
EVENTS = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
KEY = {"Authorization": "Bearer secret"}


async def tried(server: Server, then: Callable[[Upstream], Awaitable[Any]] | None = None, **more: Any) -> Upstream:
    """A server's life when it is known how it began, and `then` has returned."""
    one = Upstream(
        server, more.pop("patience", ONCE), lambda _: None, more.pop("say", lambda _: None), Nobody(), Access(**more)
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(one.run)
        with anyio.fail_after(PATIENCE_S):
            await one.tried.wait()
            if then is not None:
                await then(one)
        kept = one.problem if one.failed else "", one.tools
        tasks.cancel_scope.cancel()
    one.problem, one.tools = kept
    return one


def far(server: Odd, **more: Any) -> Server:
    """Its entry."""
    return Server("far", "far", url=server.url, transport=more.pop("transport", "http"), **more)


CAUSES = [
    (reply(401), {}, 'asks for authorization (401); put a token into its "headers"'),
    (reply(401, www_authenticate="Bearer realm=x"), {}, "asks for a login (401); run edgeret mcp --login NAME"),
    (reply(401, www_authenticate="Bearer"), KEY, 'does not take the authorization that its "headers" hold (401)'),
    (reply(403, "{}", "application/json"), {}, "refuses access (403)"),
    (reply(404), {}, 'has nothing at that address (404); correct its "url"'),
    (reply(405), {}, "takes no requests at that address (405)"),
    (reply(418), {}, "refuses what it is sent (418)"),
    (reply(429), {}, "is asked too often (429)"),
    (reply(500, '{"oops": 1}', "application/json"), {}, "is out of order (500)"),
    (reply(503), {}, "is out of order (503)"),
    (reply(302, location="/elsewhere"), {}, "sends elsewhere (302), which is not followed"),
    (reply(307, location="file:///etc/passwd"), {}, "sends elsewhere (307), which is not followed"),
    (reply(200), {}, "answers with what is no MCP"),
    (reply(200, b"", "text/plain"), {}, "answers with what is no MCP"),
    (reply(200, "{}", "application/json", content_encoding="br"), {}, "answers with what is no MCP"),
    (b"SSH-2.0 " + INJECTION.encode() + b"\r\n\r\n", {}, "does not speak HTTP as it should"),
    (reply(200, "{}", "application/json", content_encoding="gzip"), {}, "does not speak HTTP as it should"),
]


@pytest.mark.parametrize(("answer", "headers", "words"), CAUSES, ids=[words[:24] for _, _, words in CAUSES])
@pytest.mark.parametrize("transport", ["http", "sse"])
def test_a_failure_at_listing_has_its_cause(answer: bytes, headers: Any, words: str, transport: str) -> None:
    lines: list[str] = []

    async def talk() -> str:
        async with odd(lambda _: answer) as server:
            one = await tried(far(server, headers=headers, transport=transport), say=lines.append)
            return one.problem

    problem = anyio.run(talk)
    if not (transport == "sse" and b"gzip" in answer):  # where the head says enough
        assert problem.startswith(words)
    assert INJECTION not in problem + "".join(lines) and lines[0].startswith(f"server far {problem}")


@pytest.mark.parametrize(("answer", "headers", "words"), CAUSES[:14], ids=[words[:24] for _, _, words in CAUSES[:14]])
def test_a_failure_at_a_call_has_its_cause_and_the_servers_name(answer: bytes, headers: Any, words: str) -> None:
    def answered(asked: Asked) -> bytes:
        return answer if asked.message.get("method") == "tools/call" else plain(asked)

    async def call(one: Upstream) -> None:
        for _ in range(2):
            with pytest.raises(CallError) as caught:
                await one.request("tools/call", {"name": "write_note", "arguments": {}})
            assert str(caught.value).startswith(f"server far {words}") and INJECTION not in str(caught.value)

    async def talk() -> Upstream:
        async with odd(answered) as server:
            return await tried(far(server, headers=headers), call)

    assert anyio.run(talk).tools


def test_a_server_that_nobody_finds_is_told_from_one_that_does_not_run() -> None:
    async def talk(url: str) -> str:
        return (await tried(Server("far", "far", url=url, transport="http"))).problem

    assert anyio.run(talk, "http://127.0.0.1:9/mcp").startswith("cannot be reached: nothing listens at that address")
    assert anyio.run(talk, "http://nonesuch.invalid/mcp").startswith("cannot be reached: the name of its host")


def test_an_error_that_a_server_gives_with_a_status_is_its_own() -> None:
    from mcp import MCPError

    def answered(asked: Asked) -> bytes:
        if asked.message.get("method") != "tools/call":
            return plain(asked)
        error = {"code": -32602, "message": "no such note", "data": 7}
        return reply(400, json.dumps({"jsonrpc": "2.0", "id": None, "error": error}), "application/json")

    async def call(one: Upstream) -> None:
        with pytest.raises(MCPError) as caught:
            await one.request("tools/call", {"name": "write_note", "arguments": {}})
        assert (caught.value.error.code, caught.value.error.data) == (-32602, 7)

    async def talk() -> None:
        async with odd(answered) as server:
            await tried(far(server), call)

    anyio.run(talk)


def test_headers_go_to_no_other_host() -> None:
    async def talk() -> None:
        async with odd(plain) as other, odd(lambda _: reply(307, location=other.url)) as server:
            one = await tried(far(server, headers=KEY))
            assert one.problem.startswith("sends elsewhere (307)") and not other.asked
        for transport in ("http", "sse"):
            async with odd(plain) as other:
                told = EVENTS + f"event: endpoint\ndata: {other.url}\n\n".encode()
                async with odd(lambda asked: reply(404) if asked.method == "POST" else iter([told])) as server:  # noqa: B023
                    one = await tried(far(server, headers=KEY, transport=transport))
                    assert one.problem == "wants messages to be sent to another host, which is not done"
                    assert not other.asked

    anyio.run(talk)


def test_a_redirect_within_the_host_is_followed() -> None:
    async def talk() -> None:
        def answered(asked: Asked) -> bytes:
            return plain(asked) if asked.path.endswith("/") else reply(307, location=f"{asked.path}/")

        async with odd(answered) as server:
            assert list((await tried(far(server))).tools) == ["far__write_note"]

    anyio.run(talk)


def events(asked: Asked, *parts: bytes) -> Iterator[bytes]:
    """An answer of events that begins with these parts."""
    yield EVENTS
    yield from parts


PACKED_EVENTS = EVENTS.replace(b"\r\n\r\n", b"\r\ncontent-encoding: gzip\r\n\r\n")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            lambda _: reply(200, bomb(100), "application/json", content_encoding="gzip"),
            "sent a message of more than 32 MiB",
        ),
        (
            lambda _: reply(500, bomb(100), "application/json", content_encoding="gzip"),
            "sent a message of more than 32 MiB",
        ),
        (lambda _: iter([PACKED_EVENTS, bomb(100, b"x")]), "sent a message of more than 32 MiB"),
        (lambda _: reply(200, b"[" * 300_000, "application/json"), "sent a message of more than 250,000 values"),
        (lambda asked: events(asked, b"data: ", *repeat(b"[" * 1000, 400)), "sent a message of more than 250,000"),
        (
            lambda asked: events(asked, *repeat(b"data: " + b"x" * 100_000 + b"\n", 400)),
            "sent a message of more than 32",
        ),
        (lambda asked: events(asked, *repeat(b": " + b"x" * 100_000 + b"\n", 400)), "sent a message of more than 32"),
        (lambda _: repeat(b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 10_000, 100), "does not speak HTTP as it should"),
    ],
)
def test_what_comes_is_bounded_before_it_is_in_memory(answer: Callable[[Asked], Any], words: str) -> None:
    async def talk() -> str:
        async with odd(lambda asked: answer(asked) if asked.body else reply(405)) as server:
            return (await tried(far(server))).problem

    assert anyio.run(talk).startswith(words)


def test_packed_answers_are_read_all_the_same() -> None:
    import gzip

    def answered(asked: Asked) -> bytes:
        head, _, body = plain(asked).partition(b"\r\n\r\n")
        packed = gzip.compress(body)
        return reply(int(head.split()[1]), packed, "application/json", content_encoding="gzip")

    async def talk() -> None:
        async with odd(answered) as server:
            assert (await tried(far(server))).tools
            assert {asked.headers["accept-encoding"] for asked in server.asked} == {"identity"}

    anyio.run(talk)


def test_an_answer_that_drips_ends_with_the_time_of_a_call() -> None:
    def answered(asked: Asked) -> Any:
        if asked.message.get("method") != "tools/call":
            return plain(asked)
        return iter(
            [b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n", *repeat(b" ", 9)]
        )

    async def call(one: Upstream) -> None:
        with pytest.raises(CallError, match="server far"):
            await one.request("tools/call", {"name": "write_note", "arguments": {}})

    async def talk() -> None:
        async with odd(answered) as server:
            await tried(far(server), call, patience=Patience(20, 0.5, 600, 600))

    anyio.run(talk)


class Authority:
    """A private authority; `file` is its certificate."""

    def __init__(self, folder: Path) -> None:
        self._x509 = pytest.importorskip("cryptography.x509")
        from cryptography.hazmat.primitives.asymmetric import ec

        self._key, self._folder = ec.generate_private_key(ec.SECP256R1()), folder
        self.file = folder / "ca.pem"
        self.file.write_bytes(
            self._signed("ours", self._key, 1, self._x509.BasicConstraints(ca=True, path_length=None))
        )

    def server(self, address: str = "127.0.0.1", days: int = 1) -> ssl.SSLContext:
        """What a server needs that has a certificate of it, for that address and so many days."""
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        key, chain = ec.generate_private_key(ec.SECP256R1()), self._folder / "server.pem"
        name = self._x509.SubjectAlternativeName([self._x509.IPAddress(ipaddress.ip_address(address))])
        form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        pem = key.private_bytes(serialization.Encoding.PEM, *form)
        chain.write_bytes(pem + self._signed("server", key, days, name))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain)
        return context

    def _signed(self, name: str, key: Any, days: int, extension: Any) -> bytes:
        from cryptography.hazmat.primitives import hashes, serialization

        x509, now = self._x509, datetime.datetime.now(datetime.UTC)
        names = [x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)]) for text in ("ours", name)]
        made = x509.CertificateBuilder(*names, key.public_key(), x509.random_serial_number())
        made = made.not_valid_before(now - datetime.timedelta(days=9)).not_valid_after(now + datetime.timedelta(days))
        signed = made.add_extension(extension, critical=False).sign(self._key, hashes.SHA256())
        found: bytes = signed.public_bytes(serialization.Encoding.PEM)
        return found


def test_a_private_authority_is_named_and_trusted_where_it_is_given(tmp_path: Path) -> None:
    authority = Authority(tmp_path)

    async def problem(server: Odd, **more: Any) -> str:
        return (await tried(far(server), **more)).problem

    async def talk() -> None:
        async with odd(plain, authority.server()) as server:
            told = await problem(server)
            assert told.startswith("has a certificate that is not trusted here; name the authority's with --ca")
            assert not await problem(server, ca=authority.file)
        async with odd(plain, authority.server("127.0.0.2")) as server:
            assert "has a certificate for another host" in await problem(server, ca=authority.file)
        async with odd(plain, authority.server(days=-1)) as server:
            assert await problem(server, ca=authority.file) == "has a certificate that has expired"
        assert "does not speak TLS as it should" in unreachable(ssl.SSLError("WRONG_VERSION_NUMBER"))

    anyio.run(talk)


def test_an_authority_that_cannot_be_read_is_told_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match=r"--ca .*no certificates can be read there"):
        check_access(Access(tmp_path / "none"))
    (tmp_path / "empty").write_text("no certificate")
    with pytest.raises(InputError, match=r"--ca .*no certificates can be read there"):
        check_access(Access(tmp_path / "empty"))
    config = tmp_path / "mcp.json"
    config.write_text('{"mcpServers": {"far": {"url": "https://127.0.0.1:9/mcp"}}}')
    assert main(["mcp", "--config", str(config), "--ca", str(tmp_path / "none"), "--check"]) == 2
    assert "no certificates can be read there" in capsys.readouterr().err
