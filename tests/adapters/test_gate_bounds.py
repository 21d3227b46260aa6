"""What the gate takes from clients before and beside a request: headers, framing, connections, slow bodies and readers.
Limits are small here, so that nobody waits; tests/attacks_run.py tries the real ones."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import pytest
from conftest import TOOLS
from gates import HostedGate, all_of, hosting
from hostile_server import Server, completion, endless, serving, whole
from patience import PATIENCE_S
from samples import functions, many_tools, user

pytest.importorskip("uvicorn", reason="the extra 'gate' is not installed")

from edgeret.adapters.web.limits import Limits

MANY = functions([*many_tools(30), *TOOLS])
WANTS: dict[str, Any] = {"messages": [user("find my file and send a mail")], "tools": MANY}
BODY = json.dumps(WANTS).encode()
POST = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
TEXT = POST.replace(b"application/json", b"text/plain")
CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
GET = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving(whole(completion())) as server:
        yield server


@pytest.fixture(scope="module")
def gate(server: Server, tiny_tools: Path) -> Iterator[HostedGate]:
    """One with the limits that everybody gets, but for those that a test would have to wait for."""
    with hosting(server.url, tiny_tools, Limits(linger_s=0.2)) as gate:
        yield gate


def answer(client: socket.socket) -> bytes:
    """One whole answer."""
    client.settimeout(PATIENCE_S)
    found = b""
    while b"\r\n\r\n" not in found:
        part = client.recv(65536)
        assert part, found
        found += part
    length = int(found.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
    while len(found.partition(b"\r\n\r\n")[2]) < length:
        found += client.recv(65536)
    return found


def is_cut_off(client: socket.socket) -> bool:
    """Whether a client that sends a byte now and then is heard no longer after a while."""
    try:
        for _ in range(2000):
            client.sendall(b"x")
            sleep(0.01)
    except OSError:
        return True
    return False


def refusal(answer: bytes) -> tuple[int, str]:
    """Status and words of an answer in the form of OpenAI's errors."""
    head, _, body = answer.partition(b"\r\n\r\n")
    error = json.loads(body)["error"]
    assert error["type"] == "edgeret_gate"
    assert b"x-edgeret: " in head.lower()
    assert int(head.split()[1]) == error["code"]
    return error["code"], error["message"]


@pytest.mark.parametrize(
    ("request_", "status", "says"),
    [
        (POST + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "both Content-Length and"),
        (POST + b"transfer-encoding: chunked\r\ncontent-length: 2\r\n\r\n{}", 400, "both Content-Length and"),
        (POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400, "Content-Length"),
        (POST + b"Content-Length: 2, 3\r\n\r\n{}", 400, "Content-Length"),
        (POST + b"Content-Length: +2\r\n\r\n{}", 400, "Content-Length"),
        (POST + b"Content-Length: -1\r\n\r\n{}", 400, "Content-Length"),
        (POST + b"Content-Length: 0x2\r\n\r\n{}", 400, "Content-Length"),
        (POST + b"Content-Length: " + b"9" * 40 + b"\r\n\r\n{}", 400, "Content-Length"),
        (POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501, "chunked"),
        (POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501, "multiple"),
        (POST.replace(b"1.1", b"1.0") + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "HTTP/1.0"),
        (POST + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 400, "chunk"),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n", 400, "chunk"),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}}\r\n0\r\n\r\n", 400, "chunk"),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\n[\r\n" * 9000, 400, "send larger ones"),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"x" * 70_000, 431, ""),
        (GET + b"X: 1\r\nX : 2\r\n\r\n", 400, "header"), (GET + b"X\r\n\r\n", 400, "header"),
        (GET + b"Host: evil.example\r\n\r\n", 400, "Host"), (b"GET /v1/models HTTP/1.1\r\n\r\n", 400, "Host"),
        (GET + b"X: a\x00b\r\n\r\n", 400, "header"), (GET + b"X: a\rb\r\n\r\n", 400, "header"),
        (b"GET /v1/mo dels HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "request line"),
        (b"GET /v1/models HTTP/2.0x\r\nHost: localhost\r\n\r\n", 400, "request line"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "HTTP/1.1"), (b"\x16\x03\x01\x02\x00\x01\x00", 400, ""),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", 400, "request line"), (b"\r\n\r\n", 400, ""),
        (b"CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "path of the upstream"),
        (b"GET http://evil.example/v1 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "path of the upstream"),
        (b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "path of the upstream"),
        (b"GET /v1/\xc3\xa4 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, ""),
        (GET + b"X: y\r\n" * 200 + b"\r\n", 431, "lines of header"), (GET + b"X: y\r\n" * 200, 431, "lines of header"),
        (GET + b"a:\r\n" * 60_000 + b"\r\n", 431, "lines of header"),
        (GET + b"X: " + b"y" * 40_000 + b"\r\n\r\n", 431, "kB"), (GET + b"X: " + b"y" * 40_000, 431, "kB"),
        (b"GET /" + b"y" * 40_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 431, "kB"),
    ],
)  # fmt: skip
def test_what_is_no_request_is_refused_in_our_own_words(
    gate: HostedGate, server: Server, request_: bytes, status: int, says: str
) -> None:
    before = len(server.visits)
    with gate.connect() as client:
        client.sendall(request_)
        found, message = refusal(answer(client))
    assert (found, says in message) == (status, True), message
    assert len(server.visits) == before


@pytest.mark.parametrize(
    "request_",
    [
        GET + b"\r\n", GET.replace(b"\r\n", b"\n") + b"\n", GET.replace(b"1.1", b"1.0") + b"\r\n",
        GET + b"X: y\r\n" * 100 + b"\r\n", GET + b"X: " + b"y" * 30_000 + b"\r\n\r\n", GET + b"X: a\r\n b\r\n\r\n",
        POST + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY, POST + b"Content-Length: 0\r\n\r\n",
        POST + b"Content-Length: 2, 2\r\n\r\n{}", GET + b"Upgrade: h2c\r\nConnection: upgrade\r\n\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\n2;name=value\r\n{}\r\n0\r\nTrailer: x\r\n\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n" + b"1\r\n \r\n" * 60 + b"1\r\n}\r\n0\r\n\r\n",
    ],
)  # fmt: skip
def test_what_is_odd_but_right_passes(gate: HostedGate, request_: bytes) -> None:
    with gate.connect() as client:
        client.sendall(request_)
        assert answer(client).startswith(b"HTTP/1.1 200")


def test_requests_in_one_piece_are_answered_in_order_and_each_is_checked(gate: HostedGate) -> None:
    one = GET.replace(b"models", b"one") + b"\r\n"
    answer = gate.raw(one + one + GET + b"X: y\r\n" * 200 + b"\r\n")
    assert answer.count(b"HTTP/1.1 200") == 2
    assert refusal(answer[answer.rindex(b"HTTP/1.1 ") :])[0] == 431


def test_who_waits_for_leave_to_send_gets_it(gate: HostedGate) -> None:
    with gate.connect() as client:
        client.sendall(POST + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert answer(client).startswith(b"HTTP/1.1 100")
        client.sendall(b"{}")
        assert answer(client).startswith(b"HTTP/1.1 200")
    with gate.connect() as client:
        client.sendall(TEXT + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert answer(client).startswith(b"HTTP/1.1 415")


def test_half_a_header_is_not_waited_for(server: Server, tiny_tools: Path) -> None:
    with hosting(server.url, tiny_tools, Limits(head_s=0.1)) as gate, gate.connect() as client:
        assert is_cut_off(client)  # a byte now and then is no header either
        assert gate.raw(b"") == b""
        assert refusal(gate.raw(GET)) == (408, "edgeret gate: the header was not there within 0.1 s")


def test_a_body_that_comes_slowly_is_not_waited_for_and_takes_nobodys_place(server: Server, tiny_tools: Path) -> None:
    with hosting(server.url, tiny_tools, Limits(requests=2, pause_s=0.5)) as gate, ExitStack() as open_:
        slow = [open_.enter_context(gate.connect()) for _ in range(12)]
        for path, client in enumerate(slow):
            head = POST if path % 2 else POST.replace(b"chat/completions", b"embeddings")
            client.sendall(head + b"Content-Length: 1000\r\n\r\n{")
        assert gate.post(WANTS).status_code == 200
        for client in slow:
            assert "send 16 kB a second or more" in refusal(answer(client))[1]
    with hosting(server.url, tiny_tools, Limits(pause_s=0.2)) as gate, gate.connect() as client:
        client.sendall(POST + b"Content-Length: 100000\r\n\r\n")
        assert is_cut_off(client)  # a byte now and then earns no time


def test_a_body_that_comes_fast_enough_may_take_its_time(server: Server, tiny_tools: Path) -> None:
    with hosting(server.url, tiny_tools, Limits(pause_s=0.5, body_rate=1000)) as gate, gate.connect() as client:
        client.sendall(POST + b"Content-Length: %d\r\n\r\n" % 100_000)
        for _ in range(20):
            client.sendall(b" " * 5000)
            sleep(0.05)
        client.settimeout(PATIENCE_S)
        assert client.recv(65536).startswith(b"HTTP/1.1 200")


def test_where_too_many_connections_wait_the_oldest_gives_way(server: Server, tiny_tools: Path) -> None:
    with hosting(server.url, tiny_tools, Limits(connections=8)) as gate, ExitStack() as open_:
        asked = GET + b"\r\n"
        for half in (b"", GET, POST + b"Content-Length: 9\r\n\r\n{", asked):
            held = [open_.enter_context(gate.connect()) for _ in range(30)]
            for client in held:
                with suppress(OSError):
                    client.sendall(half)
            for client in held if half == asked else ():  # who is being answered gives no way
                with suppress(OSError, AssertionError):  # most were cut off for others
                    answer(client)
            assert gate.post(WANTS).status_code == 200
            held[0].settimeout(PATIENCE_S)
            with suppress(ConnectionError):
                all_of(held[0])


def test_one_address_cannot_take_all_connections(server: Server, tiny_tools: Path) -> None:
    with hosting(server.url, tiny_tools, Limits(connections=8, per_address=4)) as gate, ExitStack() as open_:
        mine = open_.enter_context(gate.connect())
        mine.sendall(GET + b"\r\n")
        assert answer(mine).startswith(b"HTTP/1.1 200")
        for _ in range(40):
            open_.enter_context(gate.connect("127.0.0.2")).sendall(GET)
        sleep(0.1)
        mine.sendall(GET + b"\r\n")
        assert answer(mine).startswith(b"HTTP/1.1 200")


def test_who_is_being_answered_never_gives_way(tiny_tools: Path) -> None:
    go_on = threading.Event()
    with (
        serving(lambda visit: (go_on.wait(PATIENCE_S), visit.reply(completion()))[1]) as server,
        hosting(server.url, tiny_tools, Limits(connections=4, per_address=4)) as gate,
        ExitStack() as open_,
    ):
        asked = [open_.enter_context(gate.connect()) for _ in range(3)]
        for client in asked:
            client.sendall(GET + b"\r\n")
        end = perf_counter() + PATIENCE_S
        while len(server.visits) < 3 and perf_counter() < end:
            sleep(0.01)
        assert refusal(gate.raw(b""))[0] == 503
        go_on.set()
        assert all(client.recv(65536).startswith(b"HTTP/1.1 200") for client in asked)


def test_who_does_not_read_his_answer_loses_it(tiny_tools: Path) -> None:
    script, limits = endless(CHUNKED, b"1000\r\n" + b"x" * 4096 + b"\r\n"), Limits(pause_s=0.2)
    with serving(script) as server, hosting(server.url, tiny_tools, limits) as gate, gate.connect() as client:
        client.sendall(GET + b"\r\n")
        assert server.closed_by_client.wait(PATIENCE_S)
        client.settimeout(PATIENCE_S)
        with suppress(ConnectionError):
            assert not all_of(client).endswith(b"0\r\n\r\n")


def test_the_rest_of_a_body_that_nobody_wants_is_not_taken_for_ever(gate: HostedGate) -> None:
    with gate.connect() as client:
        client.sendall(TEXT + b"Content-Length: 100000\r\n\r\n")
        assert refusal(answer(client))[0] == 415
        assert is_cut_off(client)


def test_large_bodies_that_do_not_fit_pass_unread(server: Server, tiny_tools: Path) -> None:
    large = json.dumps(WANTS | {"picture": "x" * 600_000}).encode()
    with hosting(server.url, tiny_tools, Limits(read_bytes=100_000)) as gate:
        reply = gate.post(large)
        assert (reply.status_code, reply.headers["x-edgeret"][:9]) == (200, "passed on")
        assert "too many large bodies" in reply.headers["x-edgeret"]
        assert server.visits[-1].body == large
        assert gate.post(WANTS).headers["x-edgeret"].startswith("kept ")
    with hosting(server.url, tiny_tools, Limits(read_bytes=500_000)) as gate:
        for _ in range(4):  # room is given back
            assert gate.post(large).headers["x-edgeret"].startswith("kept ")


def test_json_of_very_many_values_passes_unread_and_marks_in_texts_are_none(gate: HostedGate, server: Server) -> None:
    for many in (b"[]," * 600_000 + b"[]", b"{}," * 600_000 + b"1", b"1," * 1_100_000 + b"1", b'"",' * 600_000 + b"1"):
        body = b'{"a": [' + many + b'], "tools": [], "messages": []}'
        reply = gate.post(body)
        assert reply.headers["x-edgeret"] == "passed on: more than 600000 values and marks of JSON"
        assert server.visits[-1].body == body
    texts = WANTS | {"messages": [user("find my file " + '[{,:\\" ' * 300_000)]}
    assert not gate.post(texts).headers["x-edgeret"].startswith("passed on")
    assert "12001 tools" in gate.post(WANTS | {"tools": [{}] * 12_001}).headers["x-edgeret"]


FULL = """
import os, resource, sys
from pathlib import Path
from edgeret.adapters.web.limits import Limits
from edgeret.adapters.gate.options import Options
from edgeret.adapters.gate.server import prepared

def say(line):
    print(line, flush=True)

with prepared(Options(sys.argv[1], Path(sys.argv[2]), "127.0.0.1:0", limits=Limits(head_s=2.0)), say) as (server, _):
    used = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 12, used + 12))
    server.run()
"""


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts descriptors as Linux does")
def test_a_process_without_descriptors_says_so_once_and_goes_on(server: Server, tiny_tools: Path) -> None:
    command = [sys.executable, "-c", FULL, server.url, str(tiny_tools)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout is not None
            gate = HostedGate(process.stdout.readline().split("base URL ")[1].split()[0], [])
            with ExitStack() as open_:
                for _ in range(60):
                    open_.enter_context(gate.connect())
                assert "too many files are open" in process.stdout.readline()
                sleep(2)
            assert gate.post(WANTS).status_code == 200
        finally:
            process.kill()
        assert process.stdout.read() == ""
