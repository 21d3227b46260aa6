"""`edgeret serve` as a process: where it listens, how it stops, what it says; and clients that mean no good."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from conftest import TOOLS
from gates import all_of
from patience import PATIENCE_S
from serves import Served, hosted, process

from edgeret.cli.commands import main

pytest.importorskip("uvicorn", reason="the extra 'serve' is not installed")

from edgeret.adapters.serve import server as serving
from edgeret.adapters.web.limits import Limits

ASKED = {"query": "find my file and send a mail"}
BODY = json.dumps(ASKED).encode()
HEAD = b"POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
POST = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY


def one_answer(client: socket.socket) -> Any:
    """A whole answer on a connection that goes on."""
    answer = http.client.HTTPResponse(client)
    answer.begin()
    return json.loads(answer.read())


def test_several_requests_go_over_one_connection_also_sent_at_once(tiny_original: Path) -> None:
    with hosted(tiny_original) as served, served.connect() as client:
        for _ in range(3):
            client.sendall(POST)
            assert one_answer(client)["tool"] == "find_file"
        client.sendall(POST + POST + POST.replace(b"Host", b"Connection: close\r\nHost"))
        assert all_of(client).count(b'"tool":"find_file","probability"') >= 3


def test_a_half_closed_connection_gets_its_answer(tiny_original: Path) -> None:
    with hosted(tiny_original) as served, served.connect() as client:
        client.sendall(POST + POST)
        client.shutdown(socket.SHUT_WR)
        assert all_of(client).count(b"HTTP/1.1 200") == 2


def test_many_clients_at_once_are_all_answered(tiny_original: Path) -> None:
    with hosted(tiny_original) as served, ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: served.ask("/v1/decide", ASKED).json(), range(100)))
    assert {answer["tool"] for answer in answers} == {"find_file"}


def test_a_thousand_idle_connections_keep_nobody_out(tiny_original: Path) -> None:
    with hosted(tiny_original) as served, ExitStack() as open_:
        for _ in range(400):  # descriptors are this process's, on both sides
            open_.enter_context(served.connect())
        assert served.ask("/v1/decide", ASKED).json()["tool"] == "find_file"


def test_a_slow_body_is_cut_off_and_others_go_on(tiny_original: Path) -> None:
    limits = Limits(body_bytes=1 << 20, pause_s=0.2)
    with hosted(tiny_original, limits) as served, served.connect() as slow:
        slow.sendall(HEAD + b"Content-Length: 100\r\n\r\n{")
        assert served.ask("/v1/decide", ASKED).status_code == 200
        assert b"408" in all_of(slow).split(b"\r\n")[0]


def test_a_body_that_says_less_than_it_sends_is_cut(tiny_original: Path) -> None:
    with hosted(tiny_original) as served:
        chunks = b"%x\r\n" % (1 << 20) + b"x" * (1 << 20) + b"\r\n"
        found = served.raw(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunks * 2 + b"0\r\n\r\n")
    assert b"413" in found.split(b"\r\n")[0]


def test_sigterm_ends_in_order_and_says_what_was_done(tiny_original: Path) -> None:
    with process(tiny_original, "--listen", "127.0.0.1:0", "--json", cold=True) as child:
        assert child.stderr is not None
        port = int(child.stderr.readline().split("127.0.0.1:")[1].split("/")[0])
        with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as client:
            client.sendall(POST)
            assert one_answer(client)["tool"] == "find_file"
            client.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY))
            with socket.create_connection(
                ("127.0.0.1", port), PATIENCE_S
            ) as other:  # the first one's header was read by then
                other.sendall(POST)
                one_answer(other)
                child.send_signal(signal.SIGTERM)
                assert other.recv(1) == b""  # it is idle, so it is closed
            client.sendall(BODY)
            assert one_answer(client)["tool"] == "find_file"
        told, complained = child.communicate(timeout=PATIENCE_S)
    assert (child.returncode, complained) == (0, "")
    assert json.loads(told) == {"requests": 3, "decisions": 3, "refused": 0}


def test_a_port_in_use_is_said(tiny_original: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = str(held.getsockname()[1])
        assert main(["serve", str(tiny_original), "--port", port]) == 2
    assert f"cannot listen on 127.0.0.1:{port}; is it in use? Choose another with --port" in capsys.readouterr().err


def over(path: Path) -> httpx.Client:
    """A client of a socket file."""
    return httpx.Client(transport=httpx.HTTPTransport(uds=str(path)), base_url="http://edgeret", timeout=PATIENCE_S)


def test_a_socket_file_is_this_users_alone_and_outlives_a_crash(tiny_original: Path, tmp_path: Path) -> None:
    path = tmp_path / "s"
    for end in (signal.SIGKILL, signal.SIGTERM):  # the second finds what the first left behind
        with process(tiny_original, "--socket", path) as child:
            assert child.stderr is not None
            assert child.stderr.readline() == f"edgeret serve: listening on {path}\n"
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            with over(path) as client:
                assert client.post("/v1/decide", json=ASKED).json()["tool"] == "find_file"
            with process(tiny_original, "--socket", path) as second:
                _, told = second.communicate(timeout=PATIENCE_S)
                assert (second.returncode, "somebody listens there; choose another place" in told) == (2, True)
            child.send_signal(end)
            child.wait(PATIENCE_S)
        assert path.exists() == (end == signal.SIGKILL)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([], "give a bundle, or --tools T"), (["B", "--tools", "t"], "one of these"),
        (["B", "--port", "99999"], "at most 65535"), (["B", "--port", "0"], "at least 1"),
        (["B", "--listen", "0.0.0.0:0"], "EDGERET_SERVE_TOKEN"), (["B", "--listen", "nowhere"], "127.0.0.1:8090"),
        (["B", "--socket", "/no/such/folder/s"], "there is no folder"), (["B", "--socket", "B/manifest"], "no socket"),
        (["B", "--socket", "/tmp/" + "x" * 120], "100 bytes"), (["B", "--allow-origin", "*"], "cannot be named"),
        (["B", "--socket", "s", "--port", "1"], "not allowed with"), (["nowhere"], "nowhere"),
        (["--tools", "T", "--base", "nowhere"], "no such bundle"),
        (["--tools", "T", "--base", "B", "--overlay", "x"], "--overlay goes with a bundle"),
    ],
)  # fmt: skip
def test_options_that_do_not_fit_are_refused(
    capsys: pytest.CaptureFixture[str], tiny_original: Path, tmp_path: Path, options: list[str], says: str
) -> None:
    tools = tmp_path / "tools.jsonl"
    tools.write_text("".join(json.dumps(tool.to_dict()) + "\n" for tool in TOOLS))
    named = {"B": str(tiny_original), "B/manifest": str(tiny_original / "manifest"), "T": str(tools)}
    try:
        code: Any = main(["serve", *(named.get(option, option) for option in options)])
    except SystemExit as end:
        code = end.code
    said = capsys.readouterr()
    assert (code, said.out, said.err.count("\n")) == (2, "", 1), said.err
    assert says in said.err


def test_a_missing_extra_is_named(
    tiny_original: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "uvicorn", None)
    monkeypatch.delitem(__import__("sys").modules, "edgeret.adapters.serve.server")
    monkeypatch.delattr("edgeret.adapters.serve.server")
    monkeypatch.delitem(__import__("sys").modules, "edgeret.adapters.web.listening", raising=False)
    assert main(["serve", str(tiny_original)]) == 2
    assert "Install it with: pip install 'edgeret[serve]'" in capsys.readouterr().err


def test_tools_alone_are_served(tiny_original: Path, tmp_path: Path) -> None:
    tools = tmp_path / "tools.jsonl"
    tools.write_text('{"name": "send_letter", "description": "send a letter"}\n{"name": "zip", "description": "zip"}\n')
    options = ("--tools", tools, "--base", tiny_original, "--listen", "127.0.0.1:0")
    with process(*options) as child:
        assert child.stderr is not None
        url = child.stderr.readline().split("ask ")[1].strip().removesuffix("/v1/decide")
        served = Served(url, [])
        listed = served.get("/v1/tools").json()
        assert ([tool["name"] for tool in listed["tools"]], listed["overlay"]) == (["send_letter", "zip"], None)
        assert served.ask("/v1/tools", {"remove": ["zip"]}).json()["overlay"] is None
    assert not list(tmp_path.glob("*.overlay"))


def test_tools_change_while_others_decide(tiny_original: Path) -> None:
    problems: list[str] = []
    with hosted(tiny_original) as served:
        over_ = threading.Event()

        def decide() -> None:
            while not over_.is_set():
                answer = served.ask("/v1/decide", ASKED)
                if answer.status_code != 200:
                    problems.append(answer.text)

        with ThreadPoolExecutor(2) as pool:
            for _ in range(2):
                pool.submit(decide)
            for number in range(4):  # each waits behind what is decided
                tool = {"name": f"new_{number}", "description": "new"}
                assert served.ask("/v1/tools", {"add": [tool]}).status_code == 200
                assert served.ask(f"/v1/tools/new_{number}", None, "DELETE").status_code == 200
            over_.set()
    assert not problems


def test_whoever_asks_for_its_health_waits_for_no_plan(tiny_original: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from edgeret.adapters.serve.service import Service

    begun, may_end, plan = threading.Event(), threading.Event(), Service.plan

    def late(self: Service, fields: Any) -> dict[str, Any]:
        begun.set()
        assert may_end.wait(PATIENCE_S)
        return plan(self, fields)

    monkeypatch.setattr(Service, "plan", late)
    with hosted(tiny_original) as server, ThreadPoolExecutor(1) as pool:
        planned = pool.submit(server.ask, "/v1/plan", {"query": "play some jazz"})
        assert begun.wait(PATIENCE_S)
        assert server.get("/health").json()["ok"] is True
        assert not planned.done()
        may_end.set()
        assert planned.result(PATIENCE_S).status_code == 200


def test_an_error_of_its_own_ends_no_server(tiny_original: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from edgeret.adapters.serve.service import Service

    def fails(*_: object) -> Any:
        raise ZeroDivisionError

    with hosted(tiny_original) as served:
        with monkeypatch.context() as patch:
            patch.setattr(Service, "do", fails)
            answer = served.ask("/v1/decide", ASKED)
        assert (answer.status_code, "an error of its own, ZeroDivisionError" in answer.text) == (500, True)
        assert served.ask("/v1/decide", ASKED).status_code == 200


def test_the_default_port_is_the_one_that_help_names() -> None:
    assert serving.LISTEN == "127.0.0.1:8090"
