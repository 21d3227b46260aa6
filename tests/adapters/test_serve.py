"""What `edgeret serve` answers: the objects of the command line, refusals that name the field, sessions, tools."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from serves import Served, hosted

from edgeret.cli.commands import main

pytest.importorskip("uvicorn", reason="the extra 'serve' is not installed")

QUERY = "find my file and send a mail"
NEW = {"name": "water_plants", "description": "Waters the plants"}


@pytest.fixture(scope="module")
def served(tiny_original: Path) -> Iterator[Served]:
    with hosted(tiny_original) as served:
        yield served


@pytest.fixture
def teachable(tiny: Path) -> Iterator[Served]:
    with hosted(tiny, overlay=tiny.with_name("kept.overlay"), learns=True) as served:
        yield served


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    """What the command line says to the same."""
    capsys.readouterr()
    assert main([*map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def untimed(value: Any) -> Any:
    """Without what differs from run to run."""
    if isinstance(value, dict):
        return {key: untimed(one) for key, one in value.items() if key != "timings_ms"}
    if isinstance(value, list):
        return [untimed(one) for one in value]
    return round(value, 5) if isinstance(value, float) else value


@pytest.mark.parametrize(
    ("path", "body", "arguments"),
    [
        ("/v1/decide", {"query": QUERY}, ["select", QUERY]),
        ("/v1/decide", {"query": QUERY, "calls": ["find_file"], "arguments": True, "k": 2, "explain": True},
         ["select", QUERY, "--history", "find_file", "--arguments", "-k", 2, "--explain"]),
        ("/v1/decide", {"query": QUERY, "allowed": ["write_note", "play_music"], "policy": "heads"},
         ["select", QUERY, "--tools", "write_note,play_music", "--policy", "heads"]),
        ("/v1/search", {"query": QUERY, "k": 3, "needed": True}, ["search", QUERY, "-k", 3, "--needed"]),
        ("/v1/search", {"queries": [QUERY, "write a note"], "strategy": "clauses"},
         ["search", QUERY, "write a note", "--strategy", "clauses"]),
        ("/v1/plan", {"query": QUERY, "max_steps": 3}, ["plan", QUERY, "--max-steps", 3]),
    ],
)  # fmt: skip
def test_answers_are_the_command_lines_objects(
    served: Served, tiny_original: Path, capsys: pytest.CaptureFixture[str], path: str, body: Any, arguments: list[Any]
) -> None:
    answer = served.ask(path, body)
    assert answer.status_code == 200, answer.text
    assert untimed(answer.json()) == untimed(printed(capsys, arguments[0], tiny_original, *arguments[1:]))


def test_every_answer_fits_the_openapi_document_and_every_example_is_answered(teachable: Served) -> None:
    document = teachable.get("/openapi.json").json()
    assert document["openapi"] == "3.1.0"
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if path == "/metrics":
                continue
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
            target = path.replace("{name}", "phone_call")
            answer = teachable.ask(target, body, method.upper())
            assert answer.status_code == 200, (path, answer.text)
            schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
            jsonschema.validate(answer.json(), schema, jsonschema.Draft202012Validator)
            if body is not None:
                asked = operation["requestBody"]["content"]["application/json"]["schema"]
                jsonschema.validate(body, asked, jsonschema.Draft202012Validator)


@pytest.mark.parametrize(
    ("body", "says", "path"),
    [
        ({"qery": "x"}, 'qery: no such field; did you mean "query"?', "qery"),
        ({}, "query: is missing; it is the user's words", "query"),
        ({"query": 3}, "query: expected text, found a number", "query"),
        ({"query": None}, "query: expected text, found null", "query"),
        ({"query": "x" * 20_001}, "query: 20001 characters, at most 20000", "query"),
        ({"query": " "}, "query: empty", None), ({"query": "\ud800"}, "half a surrogate pair", None),
        ({"query": "x", "calls": "find_file"}, "calls: expected a list, found text", "calls"),
        ({"query": "x", "calls": ["find_file", 3]}, "calls[1]: expected text or an object", "calls[1]"),
        ({"query": "x", "calls": [{"tol": "x"}]}, 'did you mean "tool"?', "calls[0].tol"),
        ({"query": "x", "calls": [{"tool": "find_file", "arguments": []}]}, "expected an object", "calls[0].arguments"),
        ({"query": "x", "calls": ["find_fil"]}, 'did you mean "find_file"?', "calls[0]"),
        ({"query": "x", "calls": ["find_file"] * 257}, "at most 256", "calls"),
        ({"query": "x", "allowed": []}, "at least 1", "allowed"),
        ({"query": "x", "allowed": ["no"]}, "ask for tools", "allowed[0]"),
        ({"query": "x", "failed": [{"tool": "find_file", "reason": 1}]}, "expected text", "failed[0].reason"),
        ({"query": "x", "failed": [{"tool": "no"}]}, "ask for tools", "failed[0].tool"),
        ({"query": "x", "policy": "head"}, 'did you mean "heads"?', "policy"),
        ({"query": "x", "risk": 2}, "between 0.005 and 0.5, found 2", "risk"),
        ({"query": "x", "risk": True}, "expected a number, found true or false", "risk"),
        ({"query": "x", "k": 1.5}, "expected a whole number", "k"), ({"query": "x", "k": 10**400}, "between 1", "k"),
        ({"query": "x", "now": "noon"}, "expected a day and a time as 2026", "now"),
        ({"query": "x", "now": 5}, "now: expected text, found a number", "now"),
        ({"session": "unknown"}, 'session "unknown" has no turn yet; give a query', None),
        ({"query": "x", "policy": "planner"}, "planner", None),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named_by_its_path(served: Served, body: Any, says: str, path: str | None) -> None:
    content = json.dumps(body).encode()
    answer = served.post(content, "/v1/decide")
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["type"]) == (400, 400, "edgeret_serve")
    assert says in error["message"]
    assert error.get("path") == path


@pytest.mark.parametrize(
    ("content", "status", "says"),
    [
        (b"", 400, "not JSON"), (b"{", 400, "at line 1, column 2"), (b"[]", 400, "found a list"),
        (b'"x"', 400, "found text"), (b'{"query": NaN}', 400, "NaN is no number"), (b"\xff{}", 400, "not UTF-8"),
        (b'{"query": "a", "query": "b"}', 400, '"query" comes twice'), (b"[" * 500_000, 400, "nested too deeply"),
        (b'{"query": 1' + b"0" * 5000 + b"}", 400, "not JSON"), (b" " * (1 << 20) + b"{}", 413, "more than 1 MB"),
        (b'{"query": "' + b"x" * 1_000_000 + b'"}', 400, "1000000 characters, at most 20000"),
    ],
)  # fmt: skip
def test_a_body_that_is_no_request_is_told_so(served: Served, content: bytes, status: int, says: str) -> None:
    answer = served.post(content, "/v1/decide")
    assert answer.status_code == status
    assert says in answer.json()["error"]["message"]
    assert served.get("/health").json()["ok"]


def test_paths_and_methods_that_are_not_there_are_told_with_those_that_are(served: Served) -> None:
    answer = served.get("/v1/decid")
    assert (answer.status_code, 'did you mean "/v1/decide"?' in answer.text.replace("\\", "")) == (404, True)
    answer = served.get("/v1/decide")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert served.ask("/v1/tools", None, "PATCH").headers["allow"] == "GET, POST, HEAD"
    assert served.ask("/health", None, "HEAD").content == b""
    packed = served.post(b"{}", "/v1/decide", headers={"content-encoding": "gzip"})
    assert (packed.status_code, "without content-encoding" in packed.text) == (415, True)


def test_web_pages_and_foreign_names_are_refused(served: Served) -> None:
    for headers in ({"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}, {"host": "evil.example"}):
        assert served.ask("/v1/decide", {"query": QUERY}, headers=headers).status_code == 403
    assert served.post(b"{}", "/v1/decide", headers={"content-type": "text/plain"}).status_code == 415


def test_a_token_is_asked_for(tiny_original: Path) -> None:
    with hosted(tiny_original, token="a-token-of-some-length") as served:
        for path in ("/health", "/", "/metrics"):
            assert served.get(path).status_code == 403
        assert served.get("/health", headers={"x-edgeret-token": "a-token-of-some-length"}).json()["ok"]


def test_the_page_runs_its_own_script_and_loads_nothing(served: Served) -> None:
    page = served.get("/")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "http" not in page.text.replace("httpEquiv", "")
    assert all(path in page.text for path in ("/v1/decide", "/v1/search", "/v1/plan", "/v1/learn", "/v1/tools"))


def test_failed_tools_are_left_out(served: Served) -> None:
    first = served.ask("/v1/decide", {"query": QUERY}).json()["tool"]
    for failed in (first, {"tool": first, "reason": "no such file"}):
        again = served.ask("/v1/decide", {"query": QUERY, "failed": [failed]}).json()
        assert first not in [candidate["tool"] for candidate in again["candidates"]]


def test_a_session_goes_on_and_a_new_saying_is_its_next_turn(served: Served) -> None:
    def ask(**fields: Any) -> Any:
        return served.ask("/v1/decide", {"session": "ana", **fields}).json()

    first = ask(query="find my file")
    assert "beside earlier turns" not in first["reason"]
    step = ask(query="find my file", calls=["find_file"])
    assert untimed(ask()) == untimed(step)
    assert untimed(ask(calls=["find_file"])) == untimed(step)
    alone = served.ask("/v1/decide", {"query": "mail it to me"}).json()
    turn = ask(query="mail it to me")
    assert "beside earlier turns" in turn["reason"]
    assert untimed(turn) != untimed(alone)
    ask(query="mail it to me", calls=["send_mail"])
    assert "this turn has made send_mail" in ask(calls=["find_file"])["error"]["message"]
    assert ask(query="mail it to me", allowed=["write_note"])["candidates"][0]["tool"] != "send_mail"


WATER = {"name": "water_plants", "description": "Waters the plants on a day", "parameters": {
    "type": "object", "properties": {"day": {"type": "string", "format": "date"}}}}  # fmt: skip


def test_tomorrow_is_counted_from_the_time_that_is_told_or_from_the_clock(
    tiny_original: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def day(given: Any) -> str:
        told = given["steps"][0] if "steps" in given else given
        value = told["arguments"]["day"]
        return str(value["value"] if isinstance(value, dict) else value)

    words, noon = "water the plants tomorrow", "2026-11-29T12:00:00+01:00"
    body = {"query": words, "arguments": True, "allowed": ["water_plants"], "policy": "heads"}
    with hosted(tiny_original) as served:
        served.ask("/v1/tools", {"add": [WATER]})
        told = [
            served.ask("/v1/decide", {**body, **more}).json() for more in ({"now": noon}, {"now": noon, "session": "s"})
        ]
        assert [day(one) for one in told] == ["2026-11-30", "2026-11-30"]
        before = date.today()
        by_clock = day(served.ask("/v1/decide", body).json())
    assert by_clock in {str(one + timedelta(days=1)) for one in (before, date.today())}
    tools = tmp_path / "tools.jsonl"
    tools.write_text(json.dumps(WATER))
    assert day(printed(capsys, "select", "--tools", tools, words, "--arguments", "--now", noon)) == "2026-11-30"
    assert day(printed(capsys, "plan", tools, words, "--policy", "heads", "--now", noon)) == "2026-11-30"


def test_a_session_whose_tool_went_ends_and_says_so(tiny_original: Path) -> None:
    with hosted(tiny_original) as served:
        turn = {"session": "s", "query": "write a note", "calls": ["write_note"]}
        served.ask("/v1/decide", turn)
        served.ask("/v1/tools/write_note", None, "DELETE")
        answer = served.ask("/v1/decide", {"session": "s", "query": "play my song"})
        assert "it was ended, begin another" in answer.json()["error"]["message"]
        assert served.ask("/v1/decide", {"session": "s", "query": "play my song"}).status_code == 200


def test_sessions_are_bounded(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    from edgeret.adapters.serve import sessions

    monkeypatch.setattr(sessions, "MOST_SESSIONS", 2)
    monkeypatch.setattr(sessions, "MOST_TURNS", 1)
    for name in ("a", "b", "c"):
        served.ask("/v1/decide", {"session": name, "query": QUERY})
    assert "no turn yet" in served.ask("/v1/decide", {"session": "a"}).text
    assert "tool" in served.ask("/v1/decide", {"session": "c"}).json()
    assert "1 turns; begin another" in served.ask("/v1/decide", {"session": "c", "query": "play"}).text


def test_tools_come_go_and_are_kept_as_the_command_line_keeps_them(
    tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    overlay = tiny.with_name("kept.overlay")
    with hosted(tiny, overlay=overlay) as served:
        added = served.ask(
            "/v1/tools", {"add": [{"type": "function", "function": NEW}], "remove": ["phone_call"]}
        ).json()
        assert (added["added"], added["removed"], added["tools"]) == (["water_plants"], ["phone_call"], 6)
        assert added["overlay_bytes"] == overlay.stat().st_size
        again = served.ask("/v1/tools", {"add": [NEW]}).json()
        assert (again["added"], again["overlay_bytes"]) == ([], added["overlay_bytes"])
        other = served.ask("/v1/tools", {"add": [{**NEW, "description": "another"}]})
        assert (other.status_code, "are there already and differ" in other.text) == (400, True)
        changed = {"name": "find_file", "description": "finds any file"}
        assert served.ask("/v1/tools", {"add": [changed], "replace": True}).json()["replaced"] == ["find_file"]
        assert served.ask("/v1/decide", {"query": "water the plants"}).json()["candidates"]
        listed = served.get("/v1/tools").json()
    assert listed == printed(capsys, "tools", "list", tiny, "--overlay", overlay)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "add: is missing, and so is remove"), ({"add": []}, "is missing"), ({"add": [3]}, "add[0]: expected an"),
        ({"add": [{"description": "x"}]}, "add[0]"), ({"remove": ["nope"]}, "nope"),
        ({"add": [NEW, NEW]}, "water_plants"),
        ({"remove": ["find_file", "send_mail", "write_note", "play_music", "book_meeting", "phone_call"]}, "no tool"),
    ],
)  # fmt: skip
def test_changes_that_cannot_be_are_refused_whole(served: Served, body: Any, says: str) -> None:
    before = served.get("/v1/tools").json()
    answer = served.ask("/v1/tools", body)
    assert (answer.status_code, says in answer.json()["error"]["message"]) == (400, True), answer.text
    assert served.get("/v1/tools").json() == before


def test_learning_and_changes_are_off_where_they_are(tiny_original: Path) -> None:
    with hosted(tiny_original, changes=False) as served:
        answer = served.ask("/v1/learn", {"query": QUERY, "calls": []})
        assert (answer.status_code, "start it with --learn" in answer.text) == (403, True)
        for answer in (served.ask("/v1/tools", {"add": [NEW]}), served.ask("/v1/tools/find_file", None, "DELETE")):
            assert (answer.status_code, "without --read-only" in answer.text) == (403, True)
        health = served.get("/health").json()
        assert (health["learning"], health["changing"]) == (False, False)


def test_what_is_learned_decides_and_is_kept(teachable: Served, tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    learned = teachable.ask("/v1/learn", {"query": "zip the day", "calls": ["phone_call"]}).json()
    assert (learned["learned"], learned["stored"]) == (1, 1)
    assert teachable.ask("/v1/decide", {"query": "zip the day"}).json()["tool"] == "phone_call"
    kept = printed(capsys, "learn", tiny, "--overlay", learned["overlay"], "--list")
    assert [plan["query"] for plan in kept["plans"]] == ["zip the day"]
    assert teachable.ask("/v1/learn", {"query": "x", "calls": ["nope"]}).status_code == 400


def test_metrics_count_what_was_done(tiny_original: Path) -> None:
    with hosted(tiny_original) as served:
        served.ask("/v1/decide", {"query": QUERY})
        served.ask("/v1/decide", {})
        for number in range(5):
            served.get(f"/nowhere/{number}")
        answer = served.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    samples = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert samples['edgeret_requests_total{path="/v1/decide",code="200"}'] == "1"
    assert samples['edgeret_requests_total{path="/v1/decide",code="400"}'] == "1"
    assert samples['edgeret_requests_total{path="other",code="404"}'] == "5"
    assert samples['edgeret_decisions_total{outcome="call",stage="full"}'] == "1"
    assert samples["edgeret_decision_seconds_count"] == samples['edgeret_decision_seconds_bucket{le="+Inf"}'] == "1"
    assert samples["edgeret_tools"] == "6"
    named = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    assert {name.split("{")[0].removesuffix("_count") for name in samples if "_count" in name} <= named
