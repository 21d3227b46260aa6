"""The gate before servers and behind clients that do what none should. Nothing is mocked: the command runs."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import httpx
import pytest
from conftest import TOOLS
from gates import RunningGate, gating
from hostile_server import Script, Server, Visit, completion, dripping, serving, whole
from patience import PATIENCE_S
from samples import functions, many_tools, names, user

from edgeret import without_hidden

pytest.importorskip("uvicorn", reason="the extra 'gate' is not installed")

MANY = functions([*many_tools(30), *TOOLS])
KEY = "sk-never-to-be-seen-0123456789"
WANTS = {"model": "m", "messages": [user("find my file and send a mail")], "tools": MANY, "temperature": 0.10}
JSON = {"content-type": "application/json"}
OK = "HTTP/1.1 200 OK\r\n"


class Stage:
    """A gate, and a server behind it whose script a test chooses."""

    def __init__(self, gate: RunningGate, server: Server, scripts: list[Script]) -> None:
        self.gate, self.server, self._scripts = gate, server, scripts

    def play(self, script: Script) -> None:
        self._scripts[0] = script

    @property
    def asked(self) -> Visit:
        """What the server was asked last."""
        return self.server.visits[-1]


@pytest.fixture(scope="module")
def played(tiny_tools: Path) -> Iterator[Stage]:
    scripts: list[Script] = [whole(completion())]
    with (
        serving(lambda visit: scripts[0](visit)) as server,
        gating(server.url, tiny_tools, "-k", "3", "--max-requests", "8", "--max-body", "60") as gate,
    ):
        yield Stage(gate, server, scripts)
        assert KEY not in gate.stop()


@pytest.fixture
def stage(played: Stage) -> Stage:
    played.play(whole(completion()))
    return played


@pytest.mark.parametrize("said", [user("find my file and send a mail"), {"role": "system", "content": "x"}])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_what_hides_in_a_definition_goes_no_further(stage: Stage, said: Any, ascii_only: bool) -> None:
    poison = "\u200b\U000e0041\u202e\U0001f3f4\ufe0e"
    mail = {"name": "send_mail", "description": "send a mail", "parameters": {"enum": [1.50, f"x{poison}", "\u00e9"]}}
    tools = [{"type": "function", "function": mail}, *MANY[:30], {"type": "web_search", f"own{poison}": 'say \\ "'}]
    asked = {"model": "m", "messages": [said], "x": poison, "tools": tools}
    reply = stage.gate.post(json.dumps(asked, ensure_ascii=ascii_only).encode())
    told = reply.headers["x-edgeret"]
    assert told.startswith("kept ") and told.endswith("; dropped what 2 of them hid")
    got = stage.asked.question
    assert got["x"] == poison  # what is no tool is passed on as it came
    assert without_hidden(got["tools"]) is got["tools"] or without_hidden(got["tools"]) == got["tools"]
    shown = {str(tool.get("function", tool).get("name")): tool for tool in got["tools"]}
    assert shown["send_mail"]["function"]["parameters"] == {"enum": [1.5, "x\U0001f3f4\ufe0e", "\u00e9"]}
    assert shown["None"] == {"type": "web_search", "own\U0001f3f4\ufe0e": 'say \\ "'}
    assert b'{"enum": [1.5, "x' in stage.asked.body
    assert json.loads(stage.gate.post(asked).content) == json.loads(completion())


def test_a_request_brings_fewer_tools_and_is_else_as_it_was(stage: Stage) -> None:
    raw = json.dumps(WANTS, indent=1).encode()
    reply = stage.gate.post(
        raw, headers={"authorization": f"Bearer {KEY}", "connection": "keep-alive, x-mine", "x-mine": "1"}
    )
    assert (reply.status_code, reply.content) == (200, completion())
    kept = stage.asked.question["tools"]
    assert reply.headers["x-edgeret"].startswith(f"kept 3 of {len(MANY)}; ")
    assert {"find_file", "send_mail"} <= set(names(kept))
    assert stage.asked.question == WANTS | {"tools": [tool for tool in MANY if tool in kept]}
    begin, end = raw.index(b'"tools": [') + 10, raw.rindex(b"]")
    assert stage.asked.body.startswith(raw[:begin])
    assert stage.asked.body.endswith(raw[end:])
    head = stage.asked.head.lower()
    assert f"authorization: bearer {KEY}" in head
    assert f"host: {stage.server.url.split('/')[2]}" in head
    assert "x-mine" not in head


def test_responses_are_trimmed_too(stage: Stage) -> None:
    flat = [{"type": "function", **tool["function"]} for tool in MANY]
    reply = stage.gate.post(
        {"input": "find my file and send a mail", "tools": [{"type": "web_search"}, *flat]}, "/responses"
    )
    assert reply.headers["x-edgeret"].startswith("kept 4 of 37")
    assert {"web_search"} == {tool["type"] for tool in stage.asked.question["tools"]} - {"function"}


def test_a_forced_tool_stays(stage: Stage) -> None:
    choice = {"type": "function", "function": {"name": "play_music"}}
    stage.gate.post(WANTS | {"tool_choice": choice})
    assert "play_music" in names(stage.asked.question["tools"])


def test_tools_with_one_name_stay_together(stage: Stage) -> None:
    stage.gate.post(WANTS | {"tools": [*MANY, *MANY]})
    assert len(stage.asked.question["tools"]) == 6


def test_every_other_path_and_method_passes_untouched(stage: Stage) -> None:
    with httpx.Client(trust_env=False) as client:
        for method, path, body in (
            ("GET", "/models?a=%2F&b=c%20d", b""), ("DELETE", "/files/x%2Fy", b""), ("PUT", "/a//b/../c", b"x"),
            ("POST", "/embeddings", json.dumps(WANTS).encode()), ("POST", "/chat/completions/x", b"{}"),
            ("GET", "/chat/completions", b""),
        ):  # fmt: skip
            target = {"target": f"/v1{path}".encode()}
            reply = client.request(method, stage.gate.url, content=body, headers=JSON, extensions=target)
            assert (reply.status_code, reply.content) == (200, completion()), path
            assert "x-edgeret" not in reply.headers
            assert stage.asked.head.startswith(f"{method} /v1{path} HTTP/1.1"), stage.asked.head
            assert stage.asked.body == body


@pytest.mark.parametrize(
    ("body", "told"),
    [(b"", "passed on: not JSON"), (b"{no", "passed on: not JSON"), (b"\xff\xfe", "passed on: not UTF-8"),
     (b'{"tools":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "passed on: nested too deeply"),
     (b'{"a":' * 100_000, "passed on: nested too deeply"), (b"[]", "passed on: not a JSON object"),
     (b'{"tools": [1], "tools": [2]}', "passed on: it has tools twice"), (b"{}", "passed on: no tools"),
     (b'{"tools": {"a": 1}}', "passed on: no tools"), (b'{"tools": []}', "kept all 0: no functions"),
     (json.dumps({"tools": [7, None, {"type": "x"}], "messages": 7}).encode(), "kept all 3: no functions"),
     (json.dumps({"tools": MANY, "messages": {"a": []}}).encode(), "kept all 36: messages is of type dict"),
     (json.dumps({"tools": MANY, "messages": [user("\ud800 " * 9)]}).encode(), "kept all 36: query: holds half")],
)  # fmt: skip
def test_what_cannot_be_trimmed_is_passed_on_as_it_is_and_said(stage: Stage, body: bytes, told: str) -> None:
    reply = stage.gate.post(body)
    assert (reply.status_code, reply.content) == (200, completion())
    assert reply.headers["x-edgeret"].startswith(told)
    assert stage.asked.body == body


def test_a_packed_body_passes(stage: Stage) -> None:
    reply = stage.gate.post(b"\x1f\x8b not really", headers={"content-encoding": "gzip"})
    assert reply.headers["x-edgeret"] == "passed on: a body that is packed"
    assert stage.asked.body == b"\x1f\x8b not really"


def test_a_body_of_50_mb_passes_and_one_beyond_the_bound_is_refused(tiny_tools: Path) -> None:
    seen: list[str] = []

    def script(visit: Visit) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            head += visit.socket.recv(65536)
        head, _, part = head.partition(b"\r\n\r\n")
        _, told, length_on = head.lower().partition(b"content-length: ")
        length = int(length_on.split(b"\r\n")[0]) if told else 1 << 40  # a body without a length is never whole
        digest = sha256(part)
        length -= len(part)
        while length > 0 and (part := visit.socket.recv(1 << 20)):
            digest.update(part)
            length -= len(part)
        if length:
            return
        seen.append(digest.hexdigest())
        visit.reply(completion())

    with serving(script, reads=False) as server, gating(server.url, tiny_tools, "--max-body", "60") as gate:
        body = json.dumps(WANTS | {"picture": "x" * 50_000_000}).encode()
        reply = gate.post(body)
        assert reply.headers["x-edgeret"] == "passed on: a body of more than 16 MB"
        assert seen == [sha256(body).hexdigest()]
        big = b"x" * 70_000_000
        assert gate.post(big).status_code == 413
        with httpx.Client(
            trust_env=False, timeout=PATIENCE_S, headers=JSON
        ) as client:  # without a length that would tell
            reply = client.post(
                f"{gate.url}/embeddings", content=(big[i : i + 65536] for i in range(0, len(big), 65536))
            )
        assert reply.status_code == 413
        assert "more than 60 MB" in reply.json()["error"]["message"]
        assert gate.post(WANTS).status_code == 200


def test_answers_are_streamed_as_they_come(stage: Stage) -> None:
    goes_on = threading.Event()

    def script(visit: Visit) -> None:
        visit.send(f"{OK}Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        visit.send(b"d\r\ndata: {1}\r\n\r\n\r\n")
        assert goes_on.wait(PATIENCE_S)
        visit.send(b"6\r\ndata: \r\n0\r\n\r\n")

    stage.play(script)
    with httpx.stream(
        "POST", f"{stage.gate.url}/chat/completions", json=WANTS, timeout=PATIENCE_S, trust_env=False
    ) as reply:
        parts = reply.iter_raw()
        assert next(parts) == b"data: {1}\r\n\r\n"
        goes_on.set()
        assert b"".join(parts) == b"data: "
        assert reply.headers["content-type"] == "text/event-stream"


SINS: dict[str, tuple[Script, int, str]] = {
    "closes at once": (lambda visit: None, 502, "broke off"),
    "speaks another protocol": (lambda visit: visit.send(b"SSH-2.0-OpenSSH_9.6\r\n"), 502, "broke off"),
    "has headers without end": (lambda visit: visit.send(OK.encode() + b"X: " + b"y" * 300_000), 502, "broke off"),
}


@pytest.mark.parametrize(("script", "status", "says"), SINS.values(), ids=SINS)
def test_an_upstream_that_does_not_answer_is_said(stage: Stage, script: Script, status: int, says: str) -> None:
    stage.play(script)
    reply = stage.gate.post(WANTS)
    assert reply.status_code == status
    assert says in reply.json()["error"]["message"]


def test_an_upstream_that_hangs_is_said(tiny_tools: Path) -> None:
    with (
        serving(lambda visit: visit.ended.wait() and None) as server,
        gating(server.url, tiny_tools, "--timeout", "1") as gate,
    ):
        reply = gate.post(WANTS)
    assert reply.status_code == 504
    assert "said nothing for 1 s" in reply.json()["error"]["message"]


def test_an_upstream_that_is_not_there_is_said(tiny_tools: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        free = listener.getsockname()[1]
    with gating(f"http://127.0.0.1:{free}/v1", tiny_tools) as gate:
        reply = gate.post(WANTS)
        assert (reply.status_code, reply.json()["error"]["code"]) == (502, 502)
        assert "cannot be reached" in reply.text


@pytest.mark.parametrize("framing", ["Content-Length: 99", "Transfer-Encoding: chunked"])
def test_an_answer_that_breaks_off_breaks_off_for_the_client_too(stage: Stage, framing: str) -> None:
    part = b'5\r\n{"a":\r\n' if "chunked" in framing else b'{"a":'
    stage.play(lambda visit: visit.send(f"{OK}{framing}\r\n\r\n".encode() + part))
    with pytest.raises(httpx.RemoteProtocolError):
        stage.gate.post(WANTS)


def test_errors_and_garbage_of_the_upstream_come_as_they_are(stage: Stage) -> None:
    for body, status in ((b'{"error": "no"}', "429 Busy"), (b"\x00\xff", "200 OK"), (b"", "500 Oh")):
        stage.play(whole(body, status, "Retry-After: 7\r\nX-Twice: 1\r\nX-Twice: 2\r\n"))
        reply = stage.gate.post(WANTS)
        assert (reply.status_code, reply.content) == (int(status[:3]), body)
        assert reply.headers["retry-after"] == "7"
        assert reply.headers.get_list("x-twice") == ["1", "2"]


def test_a_client_that_goes_away_is_not_asked_for_any_longer(stage: Stage) -> None:
    for script in (
        dripping(f"{OK}Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        dripping("", b"HTTP/1.1 100 C\r\n\r\n"),
    ):
        stage.server.closed_by_client.clear()
        stage.play(script)
        before = len(stage.server.visits)
        with socket.create_connection(("127.0.0.1", httpx.URL(stage.gate.url).port or 0)) as client:
            body = json.dumps(WANTS).encode()
            client.sendall(
                b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                b"Content-Length: %d\r\n\r\n" % len(body)
            )
            client.sendall(body)
            end = perf_counter() + PATIENCE_S
            while len(stage.server.visits) == before and perf_counter() < end:
                sleep(0.01)
            assert len(stage.server.visits) > before
            sleep(0.3)
        assert stage.server.closed_by_client.wait(PATIENCE_S)


@pytest.mark.parametrize("path", ["chat/completions", "embeddings"])
def test_a_client_that_goes_away_in_the_middle_of_its_body_leaves_nothing_behind(stage: Stage, path: str) -> None:
    for _ in range(10):  # more than may be under way at once
        with socket.create_connection(("127.0.0.1", httpx.URL(stage.gate.url).port or 0)) as client:
            client.sendall(
                f"POST /v1/{path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                "Content-Length: 1000\r\n\r\n{".encode()
            )
            sleep(0.02)
    end = perf_counter() + PATIENCE_S
    while (reply := stage.gate.post(WANTS)).status_code == 503 and perf_counter() < end:
        sleep(0.05)
    assert reply.status_code == 200


def test_more_requests_at_once_than_allowed_are_told_to_come_back(stage: Stage) -> None:
    goes_on = threading.Event()
    stage.play(lambda visit: (goes_on.wait(PATIENCE_S), visit.reply(completion()))[1])
    with ThreadPoolExecutor(12) as pool:
        replies = [pool.submit(stage.gate.post, WANTS) for _ in range(12)]
        end = perf_counter() + PATIENCE_S
        while sum(reply.done() for reply in replies) < 4 and perf_counter() < end:
            sleep(0.02)
        goes_on.set()
        statuses = sorted(reply.result().status_code for reply in replies)
    assert statuses == [200] * 8 + [503] * 4


def test_a_name_from_elsewhere_is_refused(stage: Stage) -> None:
    before = len(stage.server.visits)
    reply = stage.gate.post(WANTS, headers={"host": "evil.example"})
    assert reply.status_code == 403
    assert len(stage.server.visits) == before


def test_ten_thousand_tools_are_passed_on_until_they_are_read(stage: Stage) -> None:
    wants = WANTS | {"tools": functions([*many_tools(10_000), *TOOLS])}
    told, end, pause = "kept all 10006: reading them takes longer than 2 s", perf_counter() + PATIENCE_S, 0.5
    while told == "kept all 10006: reading them takes longer than 2 s" and perf_counter() < end:
        reply = stage.gate.post(wants)
        assert reply.status_code == 200
        told = reply.headers["x-edgeret"]
        sleep(pause)  # each request of so many is a second's work for the gate, which has them to read
        pause *= 1.5  # and that second is many on a machine that others use
    assert told.startswith("kept 3 of 10006")
    assert len(stage.asked.question["tools"]) == 3


def test_the_token_is_needed_where_it_is_set_and_goes_no_further(tiny_tools: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("a-secret-of-the-gate\n")
    with (
        serving(whole(completion())) as server,
        gating(server.url, tiny_tools, "--token-file", str(tmp_path / "token"), "--listen", "0.0.0.0:0") as gate,
    ):
        url = gate.url.replace("0.0.0.0", "127.0.0.1")
        asked: list[tuple[dict[str, str], int]] = [
            ({}, 403), ({"x-edgeret-token": "a-secret-of-the-gatE"}, 403),
            ({"authorization": "a-secret-of-the-gate"}, 403),
            ({"x-edgeret-token": "a-secret-of-the-gate", "host": "any.example"}, 200),
        ]  # fmt: skip
        for headers, status in asked:
            reply = httpx.post(f"{url}/chat/completions", json=WANTS, headers=headers, trust_env=False)
            assert reply.status_code == status
        assert len(server.visits) == 1
        assert "a-secret" not in server.visits[0].head
        assert "a-secret" not in gate.stop()


def test_it_says_what_it_did_when_it_is_stopped(tiny_tools: Path) -> None:
    with serving(whole(completion())) as server, gating(server.url, tiny_tools, "-k", "2") as gate:
        gate.post(WANTS)
        gate.post({})
        gate.stop()
        done: dict[str, Any] = json.loads(gate.out[0])
        assert done == {"requests": 2, "trimmed": 1, "refused": 0, "learned": 0}
        assert gate.process.returncode == 0
