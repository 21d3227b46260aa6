"""Who may ask the gate, and what pages of browsers cannot make it do; every request comes in the bytes that browsers
send. A real browser tries in test_gate_browser.py."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from conftest import TOOLS
from gates import HostedGate, gating, hosting
from hostile_server import Server, completion, serving, whole
from samples import functions, user

pytest.importorskip("uvicorn", reason="the extra 'gate' is not installed")

from edgeret.adapters.web.refusals import RefusedError
from edgeret.adapters.web.visitors import Visitors, preflight

HOST = (b"host", b"127.0.0.1:8089")
JSON = (b"content-type", b"application/json")
SIZE = (b"content-length", b"7")
APP = "http://localhost:3000"
TOKEN = "a-token-that-is-long-enough"
WANTS = json.dumps({"messages": [user("find my file")], "tools": functions(TOOLS)}).encode()


def status(visitors: Visitors, *headers: tuple[bytes, bytes], method: str = "POST") -> int:
    """What such a request is answered with; 200 where it may pass."""
    try:
        visitors.admit(method, list(headers))
    except RefusedError as refused:
        return refused.status
    return 200


@pytest.mark.parametrize(
    ("host", "answered"),
    [(b"127.0.0.1:80", True), (b"localhost:8089", True), (b"[::1]:9", True), (b"LOCALHOST", True), (b"", False),
     (b"evil.example", False), (b"127.0.0.1.evil.example:80", False), (b"localhost.evil.example", False),
     (b"localhost.", False), (b"me@localhost", False), (b"127.0.0.1:80@evil.example", False), (b"0.0.0.0:8089", False),
     (b"evil.localhost", False), (b"2130706433", False), (b"localhost,evil.example", False), (b"localhost:", False)],
)  # fmt: skip
def test_without_a_token_only_names_of_this_machine_are_answered(host: bytes, answered: bool) -> None:
    assert (status(Visitors(), (b"host", host), method="GET") == 200) is answered
    assert status(Visitors(TOKEN.encode()), (b"host", host), method="GET") == 403
    assert status(Visitors(TOKEN.encode()), (b"host", host), (b"x-edgeret-token", TOKEN.encode()), method="GET") == 200
    assert status(Visitors(TOKEN.encode()), (b"host", host), (b"x-edgeret-token", TOKEN[:-1].encode())) == 403


@pytest.mark.parametrize("token", [None, TOKEN.encode()])
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
@pytest.mark.parametrize(
    ("headers", "passes"),
    [([], True), ([(b"origin", b"https://evil.example")], False), ([(b"origin", b"null")], False),
     ([(b"origin", b"")], False), ([(b"origin", b"http://127.0.0.1:8089")], True),
     ([(b"Origin", b"HTTP://127.0.0.1:8089")], True), ([(b"origin", b"http://127.0.0.1:8090")], False),
     ([(b"origin", b"http://localhost:8089")], False), ([(b"origin", b"http://127.0.0.1")], False),
     ([(b"origin", b"http://127.0.0.1:8089 https://evil.example")], False),
     ([(b"origin", b"http://127.0.0.1:8089"), (b"origin", b"https://evil.example")], False),
     ([(b"origin", b"http://127.0.0.1:8089.evil.example")], False), ([(b"origin", b"file://")], False),
     ([(b"origin", b"chrome-extension://abcdefgh")], False),
     ([(b"sec-fetch-site", b"none")], True), ([(b"sec-fetch-site", b"same-origin")], True),
     ([(b"sec-fetch-site", b"cross-site")], False), ([(b"sec-fetch-site", b"same-site")], False),
     ([(b"Sec-Fetch-Site", b"CROSS-SITE")], False), ([(b"sec-fetch-site", b"none, cross-site")], False),
     ([(b"sec-fetch-site", b"")], False), ([(b"sec-fetch-site", b"none"), (b"sec-fetch-site", b"cross-site")], False),
     ([(b"origin", b"http://127.0.0.1:8089"), (b"sec-fetch-site", b"cross-site")], False),
     ([(b"origin", b"http://127.0.0.1:8089"), (b"sec-fetch-site", b"same-origin")], True)],
)  # fmt: skip
def test_a_page_that_was_not_named_is_refused(
    token: bytes | None, method: str, headers: list[tuple[bytes, bytes]], passes: bool
) -> None:
    said = [HOST, *headers, *([(b"x-edgeret-token", token)] if token else [])]
    assert (status(Visitors(token), *said, method=method) == 200) is passes


def test_a_page_that_was_named_may_ask_and_no_other() -> None:
    visitors = Visitors(origins=frozenset([APP.encode(), b"app://obsidian.md"]))
    for origin in (APP.encode(), b"app://obsidian.md", b"HTTP://LOCALHOST:3000"):
        assert status(visitors, HOST, JSON, SIZE, (b"origin", origin), (b"sec-fetch-site", b"same-site")) == 200
        assert status(visitors, HOST, JSON, SIZE, (b"origin", origin), (b"sec-fetch-site", b"cross-site")) == 200
        assert status(visitors, HOST, (b"content-type", b"text/plain"), SIZE, (b"origin", origin)) == 415
    for origin in (
        b"http://localhost:3001",
        b"https://localhost:3000",
        b"http://localhost",
        b"null",
        b"app://obsidian",
    ):
        assert status(visitors, HOST, JSON, SIZE, (b"origin", origin)) == 403
    assert status(visitors, HOST, (b"sec-fetch-site", b"cross-site"), method="GET") == 403
    assert status(visitors, (b"host", b"evil.example"), JSON, SIZE, (b"origin", APP.encode())) == 403


@pytest.mark.parametrize(
    ("kind", "passes"),
    [(b"application/json", True), (b"application/json; charset=utf-8", True), (b"APPLICATION/JSON", True),
     (b"application/vnd.api+json", True), (b"application/problem+json ;x=y", True), (None, False), (b"", False),
     (b"text/plain", False), (b"text/plain;charset=UTF-8", False), (b"application/x-www-form-urlencoded", False),
     (b"multipart/form-data; boundary=x", False), (b"text/plain; application/json", False), (b"text/json", False),
     (b"application/jsonp", False), (b"text/plain, application/json", False), (b"application/octet-stream", False)],
)  # fmt: skip
def test_a_body_that_is_not_json_by_its_type_could_come_from_a_page(kind: bytes | None, passes: bool) -> None:
    typed = [] if kind is None else [(b"content-type", kind)]
    for size in (SIZE, (b"transfer-encoding", b"chunked")):
        assert status(Visitors(), HOST, size, *typed) == (200 if passes else 415)
    assert status(Visitors(), HOST, (b"content-length", b"0"), *typed) == 200
    assert status(Visitors(), HOST, SIZE, *typed, (b"content-type", b"text/plain")) == 415
    with_token = [HOST, SIZE, *typed, (b"x-edgeret-token", TOKEN.encode())]
    assert status(Visitors(TOKEN.encode()), *with_token) == 200


def test_files_pass_with_a_key_which_a_page_cannot_add() -> None:
    files = (b"content-type", b"multipart/form-data; boundary=x")
    assert status(Visitors(), HOST, SIZE, files, (b"authorization", b"Bearer sk-x")) == 200
    assert status(Visitors(), HOST, SIZE, files, (b"authorization", b"Basic eDp5")) == 415
    assert status(Visitors(), HOST, SIZE, (b"content-type", b"text/plain"), (b"authorization", b"Bearer sk-x")) == 415


def test_only_a_question_of_a_browser_is_answered_as_one() -> None:
    asks = [(b"access-control-request-method", b"POST"), (b"access-control-request-headers", b"authorization")]
    told = dict(preflight("OPTIONS", [*asks, (b"access-control-request-private-network", b"true")], b"app://x") or [])
    assert told[b"access-control-allow-origin"] == b"app://x"
    assert told[b"access-control-allow-headers"] == b"authorization"
    assert told[b"access-control-allow-private-network"] == b"true"
    assert preflight("OPTIONS", [], b"app://x") is None
    assert preflight("POST", asks, b"app://x") is None


@pytest.fixture(scope="module")
def stage(tiny_tools: Path) -> Iterator[tuple[HostedGate, Server]]:
    """A gate that one page may ask, before a server that would let every page read."""
    script = whole(completion(), headers="Access-Control-Allow-Origin: *\r\nAccess-Control-Allow-Methods: *\r\n")
    with serving(script) as server, hosting(server.url, tiny_tools, origins=[APP]) as gate:
        yield gate, server


def test_what_is_refused_never_reaches_the_upstream_and_is_no_learning(stage: tuple[HostedGate, Server]) -> None:
    gate, server = stage
    before = len(server.visits)
    evil = "https://evil.example"
    for method, headers in (
        ("POST", {"origin": evil, "content-type": "text/plain"}), ("POST", {"origin": "null"}),
        ("POST", {"content-type": "text/plain"}), ("POST", {"host": "evil.example"}),
        ("GET", {"origin": evil}), ("GET", {"sec-fetch-site": "cross-site"}), ("PUT", {"sec-fetch-site": "same-site"}),
        ("OPTIONS", {"origin": evil, "access-control-request-method": "POST"}), ("GET", {"host": "localhost."}),
        ("GET", {"upgrade": "websocket", "connection": "upgrade", "sec-websocket-key": "x", "origin": evil}),
    ):  # fmt: skip
        typed = {"content-type": "application/json"} | headers
        reply = httpx.request(method, f"{gate.url}/chat/completions", content=WANTS, headers=typed, trust_env=False)
        assert reply.status_code in (403, 415), (method, headers)
        assert reply.json()["error"]["type"] == "edgeret_gate"
        assert not [name for name in reply.headers if name.startswith("access-control")]
    assert len(server.visits) == before


def test_a_named_page_is_answered_as_browsers_want_it(stage: tuple[HostedGate, Server]) -> None:
    gate, server = stage
    before = len(server.visits)
    asks = {
        "origin": APP,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type",
    }
    told = httpx.options(f"{gate.url}/chat/completions", headers=asks, trust_env=False)
    assert (told.status_code, told.content, len(server.visits)) == (204, b"", before)
    assert told.headers["access-control-allow-origin"] == APP
    assert told.headers["access-control-allow-headers"] == "authorization,content-type"
    reply = gate.post(WANTS, headers={"origin": APP, "sec-fetch-site": "same-site"})
    assert reply.headers.get_list("access-control-allow-origin") == [APP]
    assert reply.headers["access-control-expose-headers"] == "x-edgeret"
    assert reply.headers["x-edgeret"].startswith("kept ")
    refused = gate.post(WANTS, headers={"origin": APP, "content-type": "text/plain"})
    assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (415, APP)


def test_with_a_token_a_named_page_may_ask_whether_it_may_send_one(tiny_tools: Path) -> None:
    with (
        serving(whole(completion())) as server,
        gating(server.url, tiny_tools, "--allow-origin", APP, EDGERET_GATE_TOKEN=TOKEN) as gate,
    ):
        asks = {"access-control-request-method": "POST", "access-control-request-headers": "x-edgeret-token"}
        url = f"{gate.url}/chat/completions"
        assert httpx.options(url, headers={"origin": APP, **asks}, trust_env=False).status_code == 204
        assert httpx.options(url, headers={"origin": "https://evil.example", **asks}).status_code == 403
        assert gate.post(WANTS, headers={"origin": APP}).status_code == 403
        assert gate.post(WANTS, headers={"origin": APP, "x-edgeret-token": TOKEN}).status_code == 200
        assert gate.post(WANTS, headers={"origin": "null", "x-edgeret-token": TOKEN}).status_code == 403
        assert len(server.visits) == 1
