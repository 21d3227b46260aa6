"""Counters of servers on a port of their own: what they count, and who is answered."""

from __future__ import annotations

import socket
from contextlib import suppress
from pathlib import Path

import anyio
import httpx
import pytest
from conftest import TOOLS
from gates import all_of, gating
from hostile_server import completion, serving, whole
from mcp_client import call, found, hostile, proxied, write_config
from patience import PATIENCE_S
from samples import functions, many_tools, user
from serves import hosted

from edgeret.adapters.exporter import exporting
from edgeret.errors import InputError

pytest.importorskip("uvicorn", reason="the extra 'gate' is not installed")


def free() -> str:
    """An address that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


def samples(address: str) -> dict[str, str]:
    answer = httpx.get(f"http://{address}/metrics", trust_env=False, timeout=PATIENCE_S)
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return dict(line.rsplit(" ", 1) for line in answer.text.splitlines() if not line.startswith("#"))


def raw(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as client:
        client.sendall(request)
        client.shutdown(socket.SHUT_WR)
        return all_of(client)


def test_only_metrics_are_answered_and_no_page_of_a_strangers() -> None:
    with exporting("127.0.0.1:0", lambda: b"up 1\n") as port:
        plain = raw(port, b"GET /metrics HTTP/1.1\r\nhost: localhost:1\r\n\r\n")
        assert plain.startswith(b"HTTP/1.1 200 OK\r\n")
        assert plain.endswith(b"\r\n\r\nup 1\n")
        assert raw(port, b"HEAD /metrics HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n").endswith(b"\r\n\r\n")
        for request in (
            b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n",
            b"POST /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n",
            b"GET /metrics HTTP/1.1\r\nhost: evil.example\r\n\r\n",
            b"GET /metrics HTTP/1.1\r\n\r\n",
        ):
            assert raw(port, request).startswith(b"HTTP/1.1 404 ")
        with suppress(ConnectionError):
            assert raw(port, b"x" * 100_000) == b""
        assert raw(port, b"GET /met") == b""
        assert b"up 1" in raw(port, b"GET /metrics?x=1 HTTP/1.0\r\nhost: [::1]:9\r\n\r\n")


def test_an_address_that_cannot_be_had_is_refused() -> None:
    with pytest.raises(InputError, match="--metrics 'nowhere' is no HOST:PORT"), exporting("nowhere", bytes):
        pass
    with (
        exporting("127.0.0.1:0", bytes) as port,
        pytest.raises(InputError, match=r"cannot be listened on \(.*\); choose another port"),
        exporting(f"127.0.0.1:{port}", bytes),
    ):
        pass
    with exporting(None, bytes) as port:
        assert port == 0


def test_the_server_counts_what_a_session_called_instead(tiny_original: Path) -> None:
    with hosted(tiny_original) as served:
        told = {"query": "find my file and send a mail", "session": "a", "policy": "heads"}
        first = served.ask("/v1/decide", told).json()["tool"]
        served.ask("/v1/decide", {**told, "calls": ["play_music" if first != "play_music" else "send_mail"]})
        assert "\nedgeret_corrections_total 1\n" in served.get("/metrics").text
        assert "\nedgeret_planner_asked_total 0\n" in served.get("/metrics").text


def test_the_gate_counts_choices_and_calls_of_other_tools(tiny_tools: Path) -> None:
    address = free()
    tools = functions([*many_tools(30), *TOOLS])
    first = [user("find my file and send a mail")]
    answer = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "play_music", "arguments": "{}"}}]}
    second = [*first, answer, {"role": "tool", "tool_call_id": "1", "content": "ok"}]
    with (
        serving(whole(completion())) as server,
        gating(server.url, tiny_tools, "-k", "3", "--metrics", address) as gate,
    ):
        for messages in (first, second, second):
            assert gate.post({"model": "m", "messages": messages, "tools": tools}).status_code == 200
        told = samples(address)
    assert told['edgeret_decisions_total{outcome="chosen",stage="selection"}'] == "3"
    assert told["edgeret_decision_seconds_count"] == "3"
    assert told["edgeret_corrections_total"] == "1"
    assert told["edgeret_gate_trimmed"] == "3"


def test_the_proxy_counts_searches_and_calls_of_other_tools(tiny: Path, tmp_path: Path) -> None:
    pytest.importorskip("mcp", reason="needs the extra mcp")
    address = free()
    config = write_config(tmp_path, one=hostile("plain"))

    async def talk() -> dict[str, str]:
        async with proxied(config, tiny, "--metrics", address) as client:
            names = [tool["name"] for tool in (await found(client, "write a note"))["tools"]]
            await call(client, names[0])
            await found(client, "write a note")
            await call(client, names[1])
            return await anyio.to_thread.run_sync(samples, address)

    told = anyio.run(talk)
    assert told['edgeret_decisions_total{outcome="chosen",stage="search"}'] == "2"
    assert told["edgeret_corrections_total"] == "1"
    assert told["edgeret_mcp_servers"] == "1"


def test_a_proxy_whose_port_is_taken_goes_on_without(tiny: Path, tmp_path: Path) -> None:
    pytest.importorskip("mcp", reason="needs the extra mcp")
    config = write_config(tmp_path, one=hostile("plain"))

    async def talk() -> None:
        async with proxied(config, tiny, "--metrics", taken) as client:
            assert (await found(client, "write a note"))["tools"]
            assert "cannot be listened on" in client.told()

    with exporting("127.0.0.1:0", bytes) as port:
        taken = f"127.0.0.1:{port}"
        anyio.run(talk)
