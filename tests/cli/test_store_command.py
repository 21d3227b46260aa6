"""`edgeret store`: what it prints, and what it exits with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from permuted import permute_heads

from edgeret.cli.commands import main


def ran(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = main(["store", *map(str, words)])
    out = capsys.readouterr()
    return code, out.out, out.err


def told(capsys: pytest.CaptureFixture[str], *words: object) -> dict:
    code, out, _ = ran(capsys, *words, "--json")
    assert code == 0
    return json.loads(out)


def test_a_version_comes_is_tried_and_left(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, tiny_original: Path, tiny_many: Path, tiny: Path
) -> None:
    store = tmp_path / "store"
    added = told(capsys, "add", store, tiny_original, "--name", "v1", "--activate")
    assert added["active"] and added["switched"]["version"] == "v1"
    assert told(capsys, "add", store, tiny_many, "--name", "v2")["active"] is False
    assert told(capsys, "activate", store, "v2")["before"] == "v1"
    told(capsys, "add", store, permute_heads(tiny), "--name", "v3")
    code, out, err = ran(capsys, "activate", store, "v3")
    assert (code, out) == (1, "")
    assert "v3: refused, it failed 1 of 4 checks: golden decisions" in err
    assert told(capsys, "rollback", store, "--reason", "complaints")["version"] == "v1"
    listed = told(capsys, "list", store)
    assert listed["active"] == "v1"
    assert [version["name"] for version in listed["versions"] if version["active"]] == ["v1"]
    assert [(event["what"], event["version"]) for event in listed["events"]] == [
        *(("activated", "v1"), ("activated", "v2"), ("refused", "v3"), ("rolled back", "v1"))
    ]
    assert told(capsys, "remove", store, "v3")["removed"] == "v3"


def test_people_read_lines(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, tiny_original: Path, tiny_many: Path
) -> None:
    store = tmp_path / "store"
    _, text, _ = ran(capsys, "add", store, tiny_original, "--name", "v1")
    assert f"not active yet: edgeret store activate {store} v1" in text
    assert "no version is active yet" in ran(capsys, "list", store)[1]
    text = ran(capsys, "activate", store, "v1")[1]
    assert "ok     golden decisions: 16 of 16 as they were built" in text
    assert text.endswith("active: v1\n")
    text = ran(capsys, "add", store, tiny_many, "--name", "v2", "--activate")[1]
    assert text.endswith("active: v2; it was v1\n")
    assert "activated v2" in ran(capsys, "list", store)[1]
    assert ran(capsys, "remove", store, "v1")[1].startswith("removed v1")


def test_bad_use_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path, tiny_original: Path) -> None:
    store, requests = tmp_path / "store", tmp_path / "requests.jsonl"
    for words, expected in (
        (("list", store), "no store; make one by adding a bundle"),
        (("activate", store, "v1"), "no store"),
        (("add", store, tmp_path / "nowhere"), "no such bundle"),
        (("add", store, tmp_path), "manifest: missing"),
        (("add", store, tiny_original, "--name", "../x"), "a version's name has up to 64"),
        (("add", store, tiny_original, "--content-hash", "1" * 64), "another bundle than the one asked for"),
    ):
        code, out, err = ran(capsys, *words)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert expected in err
    told(capsys, "add", store, tiny_original, "--name", "v1")
    requests.write_text('{"query": "write a note"}\n')
    code, _, err = ran(capsys, "activate", store, "v1", "--must-decide", requests)
    assert code == 2 and 'requests.jsonl:1: "tool" must be' in err
    requests.write_text('{"query": "write a note", "tool": "send_mail"}\n')
    code, _, err = ran(capsys, "activate", store, "v1", "--must-decide", requests)
    assert code == 1 and "expected send_mail, found write_note" in err
    assert ran(capsys, "rollback", store)[0] == 2
