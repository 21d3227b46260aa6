"""An endpoint against servers that do what no server should, each with a hard time limit. Nothing is mocked."""

from __future__ import annotations

import gzip
import json
import logging
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import pytest
from hostile_server import GOOD, Script, Server, Visit, completion, dripping, endless, serving, whole
from patience import PATIENCE_S

from edgeret.errors import InputError, PlannerError
from edgeret.planner.answers import Answer, Limits
from edgeret.planner.chat import Prompt, Turn
from edgeret.planner.endpoint import KEY_VARIABLE, Endpoint

pytest.importorskip("httpx", reason="the extra 'endpoint' is not installed")

SHAPE = {"searches": ["text"], "done": "flag"}
PROMPT = Prompt((Turn("system", "Answer in JSON."),), Turn("user", "Turn on the heating"))
LIMITS = Limits()
SECRET = "sk-never-to-be-seen-0123456789"
TIMEOUT = 0.6
SLACK = PATIENCE_S
"""Seconds that an answer may come late while other programs keep the cores busy."""


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No key from outside, and no thread that goes on behind a test."""
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    yield
    end = perf_counter() + PATIENCE_S
    while left := [thread for thread in threading.enumerate() if thread.name == "edgeret-endpoint"]:
        assert perf_counter() < end, left
        sleep(0.01)


def ask(
    server: Server | str,
    *,
    timeout: float = PATIENCE_S,
    prompt: Prompt = PROMPT,
    limits: Limits = LIMITS,
    **options: Any,
) -> Answer:
    """One answer, or the error that was raised; fails if it takes much longer than `timeout` seconds."""
    endpoint = Endpoint(
        server if isinstance(server, str) else server.url,
        **{"model": "m", "key": SECRET, "timeout": timeout, **options},
    )
    found: list[Answer | Exception] = []

    def work() -> None:
        try:
            found.append(endpoint.answer(prompt, SHAPE, limits))
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(timeout + SLACK)
    assert not thread.is_alive(), f"no answer after {timeout + SLACK} s"
    if isinstance(found[0], Exception):
        raise found[0]
    return found[0]


def packed(visit: Visit) -> None:
    """A script that packs its reply, which takes a second."""
    whole(gzip.compress(b" " * (1 << 27)), headers="Content-Encoding: gzip\r\n")(visit)


OK = "HTTP/1.1 200 OK\r\n"
SINS: dict[str, tuple[Script, str]] = {
    "says nothing": (lambda visit: visit.ended.wait() and None, "no answer within 0."),
    "drips its body": (dripping(OK + "Content-Length: 9000\r\n\r\n", b"[" * 90), "no answer within"),
    "drips its headers": (dripping(OK, b"X: y\r\n"), "no answer within"),
    "drips its chunks": (dripping(OK + "Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"), "no answer within"),
    "promises for ever to go on": (dripping("", b"HTTP/1.1 100 Continue\r\n\r\n"), "no answer within"),
    "closes at once": (lambda visit: None, "the connection broke off"),
    "closes in the middle": (lambda visit: visit.send(f"{OK}Content-Length: 99\r\n\r\n{{".encode()), "broke off"),
    "has a body without end": (endless(OK + "\r\n", b" " * 65536), "more than 1 MB"),
    "has a body of 2 MB": (whole(b" " * 2_000_000 + completion()), "more than 1 MB"),
    "has headers without end": (endless(OK, b"X-Y: " + b"z" * 1000 + b"\r\n"), "broke off"),
    "speaks another protocol": (lambda visit: visit.send(b"SSH-2.0-OpenSSH_9.6\r\n"), "broke off"),
    "lies about its length": (whole(b"", headers="Content-Length: -1\r\n"), "broke off"),
    "packs a gigabyte": (packed, "no JSON"),
    "says no JSON": (whole(b"<html>It works!</html>"), "the server's reply is no JSON"),
    "says nothing of content": (whole(b"", "204 No Content"), "no JSON"),
    "says what is no text": (whole(b"\xff\xfe\xfa" * 9), "no JSON"),
    "says a list": (whole(b"[]"), "no object"),
    "nests lists 100,000 deep": (whole(b"[" * 100_000), "no JSON"),
    "nests objects 100,000 deep": (whole(b'{"a":' * 100_000 + b"1" + b"}" * 90_000), "no JSON"),
    "says a number of 900,000 digits": (whole(b'{"choices":' + b"9" * 900_000 + b"}"), "no JSON"),
    "has no choices": (whole(b"{}"), "no text"),
    "has empty choices": (whole(b'{"choices": []}'), "no text"),
    "has choices of another type": (whole(b'{"choices": {"0": 1}}'), "no text"),
    "has a choice of another type": (whole(b'{"choices": ["x"]}'), "no text"),
    "has a message of another type": (whole(b'{"choices": [{"message": 7}]}'), "no text"),
    "has no content": (whole(b'{"choices": [{"message": {"content": null}}]}'), "no text"),
    "has content of another type": (whole(completion(["x"])), "no text"),
    "was cut off": (whole(completion().replace(b'"stop"', b'"length"')), "cut off after 40 characters"),
    "writes prose": (whole(completion("Sure!")), "no JSON"),
    "writes what is nested 100,000 deep": (whole(completion("[" * 100_000)), "no JSON"),
    "writes NaN": (whole(completion('{"searches": [NaN], "done": true}')), "no text of at most"),
    "writes another shape": (whole(completion('{"searches": []}')), "no object with searches, done"),
    "fails": (whole(b"oh", "500 Internal Server Error"), "status 500"),
    "fails with a reason": (whole(b'{"error": {"message": "no\\nmemory"}}', "503 Busy"), "status 503: no memory"),
    "fails with a reason of another type": (whole(b'{"error": [[]]}', "502 Bad Gateway"), "status 502"),
    "is busy": (whole(b"", "429 Too Many", "Retry-After: 30\r\n"), "status 429; it wants to be left alone for 30 s"),
    "is busy in words": (whole(b"", "429 Too Many", "Retry-After: \x1b[2J\r\n"), "status 429"),
    "invents a status": (whole(completion(), "999 Whatever"), "status 999"),
}


@pytest.mark.parametrize(("script", "problem"), SINS.values(), ids=SINS)
def test_what_a_server_does_wrong_is_a_problem_in_words_and_in_time(script: Script, problem: str) -> None:
    with serving(script) as server:
        started = perf_counter()
        # Only who is to be given up is given little time.
        answer = ask(server, timeout=TIMEOUT if problem.startswith("no answer") else PATIENCE_S)
        assert answer.value is None
        assert problem in (answer.problem or "")
        assert len(answer.problem or "") < 250
        assert (answer.problem or "").isprintable()
        assert 0 < answer.usage.ms <= (perf_counter() - started) * 1e3


def test_a_server_that_reads_nothing_is_a_problem_in_time() -> None:
    long = Prompt((), Turn("user", "x" * 30_000_000))
    with serving(lambda visit: visit.ended.wait() and None, reads=False) as server:
        assert "no answer within" in (ask(server, prompt=long, timeout=5).problem or "")


@pytest.mark.parametrize("sin", ["drips its body", "drips its headers", "promises for ever to go on"])
def test_a_server_that_drips_loses_its_connection_at_the_deadline(sin: str) -> None:
    with serving(SINS[sin][0]) as server:
        ask(server, timeout=TIMEOUT)
        assert server.closed_by_client.wait(SLACK)


def test_the_limits_deadline_counts_where_it_is_earlier_and_nothing_is_sent_behind_it() -> None:
    with serving(SINS["says nothing"][0]) as server:
        endpoint = Endpoint(server.url, "m", timeout=60)
        started = perf_counter()
        found = endpoint.answer(PROMPT, SHAPE, Limits(deadline=started + 2)).problem
        assert "no answer within" in (found or "") and "within 60." not in (found or "")
        assert endpoint.answer(PROMPT, SHAPE, Limits(deadline=started)).problem == "no time was left to ask"
        assert len(server.visits) == 1


def test_a_good_answer_is_its_value_with_what_it_cost() -> None:
    usage = {"prompt_tokens": 50, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 40}}
    with serving(whole(completion(usage=usage))) as server:
        answer = ask(server, limits=Limits(temperature=0.5, seed=7))
        assert (answer.value, answer.problem) == (GOOD, None)
        assert (answer.usage.variable_tokens, answer.usage.tokens_evaluated, answer.usage.tokens_reused) == (50, 19, 40)
        visit = server.visits[0]
        assert visit.head.startswith("POST /v1/chat/completions HTTP/1.1")
        assert f"authorization: bearer {SECRET}" in visit.head.lower()
        question = visit.question
        assert question["messages"] == PROMPT.messages
        assert [question[name] for name in ("model", "max_tokens", "temperature", "seed")] == ["m", 256, 0.5, 7]
        assert question["response_format"]["json_schema"]["strict"] is True


@pytest.mark.parametrize(
    "usage",
    [None, [], 7, {"prompt_tokens": "9"}, {"prompt_tokens": -1}, {"prompt_tokens": True}, {"prompt_tokens": 1e99},
     {"prompt_tokens": 10**99, "prompt_tokens_details": {"cached_tokens": 5}}, {"prompt_tokens_details": []}],
)  # fmt: skip
def test_costs_that_are_none_count_as_zero(usage: Any) -> None:
    with serving(whole(completion(usage=usage))) as server:
        answer = ask(server)
    assert answer.value == GOOD
    assert answer.usage.variable_tokens == answer.usage.tokens_evaluated == answer.usage.tokens_reused == 0


@pytest.mark.parametrize("status", ["400 Bad Request", "422 Unprocessable", "500 Internal Server Error"])
def test_a_server_that_does_not_know_strict_schemas_is_asked_once_more_and_remembered(status: str) -> None:
    def script(visit: Visit) -> None:
        strict = visit.question["response_format"]["type"] == "json_schema"
        visit.reply(b"{}", status) if strict else visit.reply(completion())

    with serving(script) as server, closing(Endpoint(server.url, "m")) as endpoint:
        assert [endpoint.answer(PROMPT, SHAPE, LIMITS).value for _ in range(3)] == [GOOD] * 3
        types = [visit.question["response_format"]["type"] for visit in server.visits]
        assert types == ["json_schema", "json_object", "json_object", "json_object"]


def test_a_server_that_refuses_every_way_is_asked_twice_and_its_first_reason_told() -> None:
    def script(visit: Visit) -> None:
        visit.reply(json.dumps({"error": f"refused {len(server.visits)}"}).encode(), "400 Bad Request")

    with serving(script) as server:
        assert ask(server).problem == "status 400: refused 1"
        assert len(server.visits) == 2


def test_without_a_model_the_first_that_the_server_lists_is_asked_for_once() -> None:
    def script(visit: Visit) -> None:
        listing = visit.head.startswith("GET /v1/models ")
        visit.reply(b'{"data": [{"id": "first"}, {"id": "second"}]}' if listing else completion())

    with serving(script) as server:
        endpoint = Endpoint(server.url)
        assert [endpoint.answer(PROMPT, SHAPE, LIMITS).value for _ in range(2)] == [GOOD] * 2
        assert [visit.question["model"] for visit in server.visits if visit.body] == ["first"] * 2
        assert len(server.visits) == 3


@pytest.mark.parametrize(
    "listing", [b"[]", b"{}", b'{"data": []}', b'{"data": {"id": 1}}', b'{"data": [{"id": ""}]}', b"x"]
)
def test_a_list_of_models_that_names_none_is_a_problem(listing: bytes) -> None:
    with serving(whole(listing)) as server:
        assert ask(server, model=None).problem


def refuses(code: str) -> Script:
    body = json.dumps({"error": {"message": f"bad key {SECRET}"}}).encode()
    return whole(body, code, "Location: http://x.invalid/\r\n")


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("401 Unauthorized", rf"refuses the key \(status 401\); set {KEY_VARIABLE}"),
        ("403 Forbidden", "status 403"),
        ("404 Not Found", r"a right URL is .* such as http://127\.0\.0\.1:8080/v1, and the model \"m\" must"),
        ("307 Temporary Redirect", "not here .status 307.; a right URL"),
    ],
)
def test_a_server_that_cannot_be_asked_is_an_error_that_tells_how_to_mend_it(code: str, says: str) -> None:
    with serving(refuses(code)) as server, pytest.raises(PlannerError, match=says) as caught:
        ask(server)
    assert SECRET not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_nobody_there_and_no_such_host_are_errors() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        free = listener.getsockname()[1]
    with pytest.raises(PlannerError, match=r"cannot be reached \(.*refused.*\); start the server"):
        ask(f"http://127.0.0.1:{free}/v1")
    with pytest.raises(PlannerError, match="cannot be reached"):
        ask("http://nobody.invalid/v1")


def test_a_redirect_is_not_followed_to_another_host() -> None:
    with serving(whole(completion())) as other:
        moved = whole(b"", "307 Temporary Redirect", f"Location: {other.url}/chat/completions\r\n")
        with serving(moved) as server, pytest.raises(PlannerError):
            ask(server)
        assert not other.visits


def test_proxies_and_passwords_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password netrc-secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    with serving(whole(completion())) as server, serving(whole(completion())) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        assert ask(server, key=None).value == GOOD
        assert not proxy.visits
        assert "authorization" not in server.visits[0].head.lower()


def test_the_key_is_in_no_error_no_log_and_no_representation(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv(KEY_VARIABLE, SECRET)
    with serving(refuses("400 Bad Request")) as server:
        endpoint = Endpoint(server.url, "m")
        answer = endpoint.answer(PROMPT, SHAPE, LIMITS)
        assert SECRET in server.visits[0].head
    assert answer.problem == "status 400: bad key …"
    assert SECRET not in repr(endpoint) + str(endpoint) + caplog.text
    for wrong in (f"{SECRET}\n", f"{SECRET} x", f"{SECRET}ü"):
        with pytest.raises(InputError, match="a space, a line break") as caught:
            Endpoint(server.url, key=wrong)
        assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    ["", "localhost:8080/v1", "ftp://host/v1", "http://", "http:///v1", "https://me:sesame@host/v1", "http://sesame@host",
     "http://host/v1?key=sesame", "http://host/v1#sesame", "http://ho st/", "http://hüst/", "http://host/\r\nX: y",
     "http://host:0/", "http://host:999999/", f"http://{'a' * 64}.example/v1", "http://a..b/", "//host/v1"],
)  # fmt: skip
def test_a_url_that_is_none_is_refused_with_a_right_one_and_without_passwords(url: str) -> None:
    with pytest.raises(InputError, match=r"a right one is http://127\.0\.0\.1:8080/v1") as caught:
        Endpoint(url)
    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://127.0.0.1:65536/v1", "http://[::::]/v1", "http://[1.2.3]:99999"])
def test_an_address_that_cannot_be_is_an_error(url: str) -> None:
    with pytest.raises(PlannerError, match="cannot be reached"):
        ask(url)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), 1e9])
def test_a_timeout_that_is_none_is_refused(timeout: float) -> None:
    with pytest.raises(InputError, match="timeout of"):
        Endpoint("http://127.0.0.1/v1", timeout=timeout)


def test_halves_of_characters_in_a_prompt_are_sent_as_question_marks() -> None:
    with serving(whole(completion())) as server:
        assert ask(server, prompt=Prompt((), Turn("user", "\ud83c ü"))).value == GOOD
        assert server.visits[0].question["messages"][0]["content"] == "? ü"


def test_threads_ask_side_by_side() -> None:
    together = threading.Barrier(8, timeout=PATIENCE_S)

    def script(visit: Visit) -> None:
        together.wait()  # no reply until all eight have asked
        visit.reply(completion())

    with serving(script) as server:
        endpoint = Endpoint(server.url, "m")
        found: list[Any] = []

        def work() -> None:
            found.append(endpoint.answer(PROMPT, SHAPE, LIMITS).value)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
        assert found == [GOOD] * 8


def test_closing_ends_what_is_being_asked_and_refuses_what_comes_later() -> None:
    asked = threading.Event()
    with serving(lambda visit: asked.set() or SINS["says nothing"][0](visit)) as server:
        endpoint = Endpoint(server.url, "m", timeout=600)
        closer = threading.Thread(target=lambda: asked.wait() and endpoint.close())
        closer.start()
        assert "no answer within" not in (endpoint.answer(PROMPT, SHAPE, LIMITS).problem or "no answer within")
        closer.join()
        with pytest.raises(PlannerError, match="was closed; make another one"):
            endpoint.answer(PROMPT, SHAPE, LIMITS)
        endpoint.close()


def test_httpx_is_loaded_with_the_first_question_and_missed_by_the_extras_name() -> None:
    code = (
        "import sys\n"
        "from edgeret.errors import MissingExtraError\n"
        "from edgeret.planner.answers import Limits\n"
        "from edgeret.planner.chat import Prompt, Turn\n"
        "from edgeret.planner.endpoint import Endpoint\n"
        "endpoint = Endpoint('http://127.0.0.1:9/v1', 'm')\n"
        "assert 'httpx' not in sys.modules\n"
        "sys.modules['httpx'] = None\n"
        "try: endpoint.answer(Prompt((), Turn('user', 'x')), 'text', Limits())\n"
        "except MissingExtraError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "Install it with: pip install 'edgeret[endpoint]'" in done.stdout, done.stderr
