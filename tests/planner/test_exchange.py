"""Requests over TLS: whose certificate counts, and that the deadline holds inside an encrypted connection too."""

from __future__ import annotations

import ssl
import subprocess
import threading
from pathlib import Path
from shutil import which
from time import perf_counter, sleep

import pytest
from hostile_server import Script, completion, dripping, serving, whole
from patience import PATIENCE_S

from edgeret.errors import PlannerError
from edgeret.planner.answers import Limits
from edgeret.planner.chat import Prompt, Turn
from edgeret.planner.endpoint import Endpoint
from edgeret.planner.exchange import Exchange, ServerFault

pytest.importorskip("httpx", reason="the extra 'endpoint' is not installed")
if which("openssl") is None:
    pytest.skip("no openssl to make a certificate with", allow_module_level=True)

OK = "HTTP/1.1 200 OK\r\n"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that nobody vouches for, its key beside it."""
    folder = tmp_path_factory.mktemp("tls")
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=here -addext subjectAltName=IP:127.0.0.1"
    subprocess.run([*command.split(), "-keyout", "key", "-out", "it"], cwd=folder, check=True, capture_output=True)
    return folder / "it"


def server_side(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_name("key"))
    return context


def test_a_certificate_that_nobody_vouches_for_is_an_error(certificate: Path) -> None:
    prompt = Prompt((), Turn("user", "Turn on the heating"))
    with (
        serving(whole(completion()), server_side(certificate)) as server,
        pytest.raises(PlannerError, match="CERTIFICATE_VERIFY_FAILED"),
    ):
        Endpoint(server.url, "m", timeout=PATIENCE_S).answer(prompt, "text", Limits())
    assert not server.visits


def test_a_certificate_that_counts_lets_the_reply_through(certificate: Path) -> None:
    with serving(whole(b"here"), server_side(certificate)) as server:
        exchange = Exchange("GET", server.url, {}, None, ssl.create_default_context(cafile=certificate))
        assert exchange.run(perf_counter() + PATIENCE_S).body == b"here"


@pytest.mark.parametrize("script", [dripping(OK, b"X: y\r\n"), dripping(OK + "\r\n", b" ")], ids=["headers", "body"])
def test_a_server_that_drips_into_tls_loses_its_connection_at_the_deadline(certificate: Path, script: Script) -> None:
    with serving(script, server_side(certificate)) as server:
        exchange = Exchange("GET", server.url, {}, None, ssl.create_default_context(cafile=certificate))
        with pytest.raises(ServerFault, match="no answer within"):
            exchange.run(perf_counter() + 0.8)
        assert server.closed_by_client.wait(PATIENCE_S)
        wait_for_threads()


def test_a_server_that_never_shakes_hands_is_left_at_the_deadline() -> None:
    with serving(lambda visit: visit.ended.wait() and None, reads=False) as server:
        exchange = Exchange("GET", server.url.replace("http:", "https:"), {}, None, ssl.create_default_context())
        with pytest.raises(ServerFault, match="no answer within"):
            exchange.run(perf_counter() + 0.5)
        wait_for_threads()


def wait_for_threads() -> None:
    end = perf_counter() + PATIENCE_S
    while any(thread.name == "edgeret-endpoint" for thread in threading.enumerate()):
        assert perf_counter() < end
        sleep(0.01)
