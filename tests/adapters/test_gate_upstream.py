"""The gate before upstreams whose certificates, headers and ways no client should have to bear."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from shutil import which

import pytest
from conftest import TOOLS
from gates import HostedGate, gating, hosting, post
from hostile_server import Script, Server, completion, endless, serving, whole
from samples import functions, many_tools, user

pytest.importorskip("uvicorn", reason="the extra 'gate' is not installed")

from edgeret.adapters.web.limits import Limits
from edgeret.cli.commands import main

WANTS = {"messages": [user("find my file")], "tools": functions([*many_tools(30), *TOOLS])}
OK = "HTTP/1.1 200 OK\r\n"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that nobody vouches for, its key beside it."""
    if which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    folder = tmp_path_factory.mktemp("tls")
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=here -addext subjectAltName=IP:127.0.0.1"
    subprocess.run([*command.split(), "-keyout", "key", "-out", "it"], cwd=folder, check=True, capture_output=True)
    return folder / "it"


@pytest.fixture
def safe(certificate: Path) -> Iterator[Server]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_name("key"))
    with serving(whole(completion()), context) as server:
        yield server


def said_by(gate: HostedGate) -> str:
    """What the gate says in place of an answer."""
    reply = gate.post(WANTS)
    assert reply.status_code == 502
    return str(reply.json()["error"]["message"])


def test_a_certificate_that_is_not_trusted_is_told_as_one(safe: Server, tiny_tools: Path) -> None:
    with hosting(safe.url, tiny_tools) as gate:
        said = said_by(gate)
    assert "certificate" in said
    assert "is not trusted: self-signed certificate" in said.replace("self signed", "self-signed")
    assert "--ca or SSL_CERT_FILE" in said
    assert "is it running" not in said
    assert not safe.visits


def test_a_certificate_for_another_name_is_told_as_one(safe: Server, certificate: Path, tiny_tools: Path) -> None:
    with hosting(safe.url.replace("127.0.0.1", "localhost"), tiny_tools, ca=str(certificate)) as gate:
        assert "is not trusted: Hostname mismatch" in said_by(gate)


def test_authorities_are_named_by_option_and_by_environment(
    safe: Server, certificate: Path, tiny_tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with gating(safe.url, tiny_tools, "--ca", str(certificate)) as running:
        assert running.post(WANTS).status_code == 200
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with hosting(safe.url, tiny_tools) as gate:
        assert gate.post(WANTS).status_code == 200
    monkeypatch.setenv("SSL_CERT_FILE", "")
    with hosting(safe.url, tiny_tools) as gate:
        assert "is not trusted" in said_by(gate)


@pytest.mark.parametrize("text", [None, "", "no certificate"])
def test_files_that_hold_no_certificates_are_refused(
    text: str | None,
    tiny_tools: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "ca.pem"
    if text is not None:
        file.write_text(text)
    command = ["gate", "--upstream", "https://127.0.0.1:9", "--base", str(tiny_tools)]
    assert main([*command, "--ca", str(file)]) == 2
    assert f"--ca {file}: no file of certificates" in capsys.readouterr().err
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    assert main([*command, "--ca", str(file)]) == 2
    assert "SSL_CERT_FILE" in capsys.readouterr().err


def test_who_speaks_no_tls_is_told(tiny_tools: Path) -> None:
    plain = serving(lambda visit: visit.send(b"HTTP/1.1 400 Bad Request\r\n\r\n"), reads=False)
    with plain as server, hosting(server.url.replace("http:", "https:"), tiny_tools) as gate:
        assert "does not speak TLS as it should; is it http://?" in said_by(gate)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        free = listener.getsockname()[1]
    with hosting(f"https://127.0.0.1:{free}", tiny_tools) as gate:
        assert "is it running?" in said_by(gate)


CHUNKED = "Transfer-Encoding: chunked\r\n"
SINS: dict[str, Script] = {
    "status 600": whole(b"x", "600 Odd"), "status 999": whole(b"x", "999 Odd"), "status 101": whole(b"", "101 Switch"),
    "thousands of cookies": whole(b"x", headers="Set-Cookie: a=b\r\n" * 4000),
    "thousands of lines": whole(b"x", headers="a:\r\n" * 20_000),
    "a header without end": endless(OK, b"a: b\r\n"),
    "early answers without end": endless("", b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100),
    "lengths that differ": whole(b"x", headers="Content-Length: 7\r\n"),
    "no number as status": whole(b"x", "OK OK"),
}  # fmt: skip


@pytest.mark.parametrize("script", SINS.values(), ids=SINS)
def test_an_answer_that_no_client_could_use_is_told_and_others_go_on(script: Script, tiny_tools: Path) -> None:
    scripts, limits = [script], Limits(silence_s=1)
    with serving(lambda visit: scripts[0](visit)) as server, hosting(server.url, tiny_tools, limits) as gate:
        reply = gate.post(WANTS)
        assert reply.status_code == (504 if script is SINS["early answers without end"] else 502)
        assert reply.json()["error"]["type"] == "edgeret_gate"
        scripts[0] = whole(completion())
        assert gate.post(WANTS).status_code == 200


@pytest.mark.parametrize(
    ("script", "content"),
    [(whole(b"away", "307 Temporary", "Location: http://evil.example/\r\n"), b"away"),
     (whole(b"x", headers="Set-Cookie: a=b; Domain=localhost\r\nSet-Cookie: c=d\r\n" * 100), b"x"),
     (lambda visit: visit.send(f"{OK}Content-Length: 1\r\n{CHUNKED}\r\n3\r\nabc\r\n0\r\n\r\n".encode()), b"abc"),
     (lambda visit: visit.send(f"{OK}\r\nuntil the end".encode()), b"until the end"),
     (lambda visit: visit.send(f"HTTP/1.1 100 C\r\n\r\nHTTP/1.1 103 E\r\nLink: x\r\n\r\n{OK}\r\nx".encode()), b"x"),
     (lambda visit: visit.send(b"HTTP/1.1 204 No\r\n\r\n"), b"")],
)  # fmt: skip
def test_what_is_odd_but_right_comes_as_it_is(script: Script, content: bytes, tiny_tools: Path) -> None:
    with serving(script) as server, hosting(server.url, tiny_tools) as gate:
        for _ in range(2):
            assert gate.post(WANTS).content == content
            assert "cookie" not in server.visits[-1].head.lower()  # no jar: nothing goes from one request to another


def test_a_redirect_that_leads_nowhere_is_the_clients_matter(tiny_tools: Path) -> None:
    script = whole(b"away", "302 Found", "Location: http://[::::]/\r\n")
    with serving(script) as server, hosting(server.url, tiny_tools) as gate:
        answer = gate.raw(b"GET /v1/models HTTP/1.0\r\nHost: localhost\r\n\r\n")
    assert b"302" in answer
    assert b"location: http://[::::]/" in answer


def test_a_very_long_answer_is_not_held(tiny_tools: Path) -> None:
    script = whole(b"x" * 30_000_000)
    with serving(script) as server, hosting(server.url, tiny_tools) as gate:
        assert len(gate.post(WANTS).content) == 30_000_000
        assert len(server.visits) == 1


def test_a_request_of_many_lines_costs_what_it_says(tiny_tools: Path) -> None:
    with serving(whole(completion())) as server, hosting(server.url, tiny_tools, Limits(head_lines=10_000)) as gate:
        lines = {f"x-{i}": "y" for i in range(1500)}
        assert post(f"{gate.url}/chat/completions", WANTS, headers=lines).status_code == 200
        assert server.visits[-1].head.count("\nx-") == 1500
        assert json.loads(server.visits[-1].body)["messages"] == WANTS["messages"]
