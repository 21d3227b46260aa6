"""The commands `trajectories` and `teach` as a person types them: a teacher behind an endpoint, and what goes wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hostile_server import Visit, completion, serving

from edgeret_export import cli

TOOLS = [
    {"name": "send_mail", "description": "Sends an e-mail to a contact"},
    {"name": "find_file", "description": "Looks for a document on the disk"},
    {"name": "play_song", "description": "Plays music"},
]
QUERIES = [
    {"id": "a", "query": "give Ana the report", "tools": ["find_file", "send_mail"]},
    {"id": "b", "query": "something to dance to", "tools": ["play_song"]},
]
PLAN = {"plan": "do all of it", "goal_1": "look for the document", "goal_2": "pass it on"}


@pytest.fixture
def inputs(tmp_path: Path) -> list[str]:
    for name, lines in (("tools", TOOLS), ("queries", QUERIES)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return [
        "lab",
        "trajectories",
        "--tools",
        str(tmp_path / "tools.jsonl"),
        "--queries",
        str(tmp_path / "queries.jsonl"),
    ]


def say(visit: Visit) -> None:
    """A teacher that answers in the shape that it is asked for."""
    asked: Any = visit.question["response_format"]["json_schema"]["schema"]["properties"]
    words = {**PLAN, "query": "an e-mail, a document or music"}
    visit.reply(completion(json.dumps({key: words[key] for key in asked})))


@pytest.mark.real
def test_trajectories_are_made_by_a_model_behind_an_endpoint_and_not_made_twice(
    inputs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "t.jsonl"
    with serving(say) as server:
        command = [*inputs, "--endpoint", server.url, "--model", "m", "-o", str(file), "--json"]
        assert cli.main(command) == 0
        made = json.loads(capsys.readouterr().out)
        before = file.read_bytes()
        assert cli.main([*inputs, "--endpoint", server.url, "--model", "m", "-o", str(file)]) == 0
        assert "2 requests" in capsys.readouterr().out
        assert file.read_bytes() == before
        assert cli.main([*command, "--seed", "1"]) == 2
        assert "holds trajectories of other requests, tools or options" in capsys.readouterr().err
    assert made["requests"] == 2 and made["usable"] + sum(made["problems"].values()) == 2
    assert [json.loads(line)["id"] for line in before.decode().splitlines()] == ["a", "b"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([], "one of the arguments --planner --endpoint is required"),
        (["--planner", "a", "--endpoint", "b"], "not allowed with argument"),
        (["--planner", "smollm2-135m-instruct", "--model", "m"], "--model names a model of an endpoint"),
        (["--planner", "smolm2-135m-instruct"], "smollm2-135m-instruct"),
        (["--endpoint", "ftp://x"], "the endpoint's URL has neither http:// nor https://"),
        (["--endpoint", "http://x/v1", "--candidates", "0"], "must be at least 1"),
    ],
)
def test_what_is_wrong_with_trajectories_is_said_in_one_line(
    inputs: list[str], more: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = cli.main([*inputs, *more, "-o", str(tmp_path / "t.jsonl")])
    except SystemExit as stop:
        code = int(str(stop.code))
    error = capsys.readouterr().err
    assert code == 2 and message in error and error.count("\n") == 1


def test_queries_of_other_tools_and_a_place_that_is_none_are_refused(
    inputs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    teacher = ["--endpoint", "http://127.0.0.1:9/v1"]
    assert cli.main([*inputs, *teacher, "-o", str(tmp_path)]) == 2
    assert "it is no file's name" in capsys.readouterr().err
    (tmp_path / "queries.jsonl").write_text('{"query": "x", "tools": ["send_mial"]}', encoding="utf-8")
    assert cli.main([*inputs, *teacher, "-o", str(tmp_path / "t.jsonl")]) == 2
    assert "queries.jsonl:1: unknown tool 'send_mial'" in capsys.readouterr().err.replace('"send_mial"', "'send_mial'")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--trajectories", "no.jsonl"], "no.jsonl: no such file; expected trajectories as JSONL"),
        (["--trajectories", "tools.jsonl"], 'tools.jsonl:1: "id" must be text'),
        (["--trajectories", "empty.jsonl"], "empty.jsonl: no trajectories in it; make some with"),
        (["--trajectories", "empty.jsonl", "--epochs", "-1"], "--epochs: expected a positive number"),
    ],
)
def test_what_is_wrong_with_teaching_is_said_in_one_line(
    options: list[str],
    message: str,
    inputs: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.jsonl").write_text("", encoding="utf-8")
    assert cli.main(["lab", "teach", "sft", "--model", "model", "-o", "taught", *options]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
