"""The command line's contract: exit codes, one JSON object on stdout, one line on stderr."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

import edgeret
from edgeret.cli import commands as cli
from edgeret.cli.options import parse_history
from edgeret.errors import InputError
from edgeret_bench import cli as bench_cli
from edgeret_export import cli as export_cli

MAINS = {"edgeret": cli.main, "edgeret-export": export_cli.main, "edgeret-bench": bench_cli.main}


def ok(capsys: pytest.CaptureFixture[str], command: str, *arguments: object, code: int = 0) -> dict:
    assert MAINS[command]([*map(str, arguments), "--json"]) == code
    out, _ = capsys.readouterr()
    value = json.loads(out)
    assert isinstance(value, dict)
    return value


def refused(capsys: pytest.CaptureFixture[str], command: str, *arguments: object, code: int = 2) -> str:
    try:
        found = MAINS[command](list(map(str, arguments)))
    except SystemExit as stop:
        found = stop.code
    out, err = capsys.readouterr()
    assert found == code
    assert out == ""
    assert "Traceback" not in err
    assert len(err.strip().splitlines()) == 1
    return err


def test_select(capsys: pytest.CaptureFixture[str], tiny: Path) -> None:
    result = ok(capsys, "edgeret", "select", tiny, "find my file and send a mail")
    assert result["tool"] == "find_file"
    keys = {"tool", "probability", "source", "abstained", "reason", "candidates", "timings_ms", "stage", "alternatives"}
    assert set(result) == keys | {"confirm"} and result["alternatives"] == []
    assert result["candidates"][0] == {"tool": "find_file", "probability": result["probability"]}
    later = ok(capsys, "edgeret", "select", tiny, "find my file and send a mail", "--history", "find_file", "-k", 2)
    assert later["tool"] == "send_mail"
    assert len(later["candidates"]) == 2
    assert ok(capsys, "edgeret", "select", tiny, "open calendar day")["tool"] is None


def test_select_tells_arguments_if_asked(capsys: pytest.CaptureFixture[str], tiny: Path) -> None:
    result = ok(capsys, "edgeret", "select", tiny, "find my file and send a mail", "--arguments")
    assert (result["tool"], result["missing"]) == ("find_file", {})
    assert set(result["arguments"]) <= {"name"}
    for one in result["arguments"].values():
        assert set(one) == {"value", "source", "span", "confidence", "alternatives"}


def test_plan_search_inspect_doctor_verify(capsys: pytest.CaptureFixture[str], tiny: Path) -> None:
    assert ok(capsys, "edgeret", "plan", tiny, "find my file and send a mail")["tools"] == ["find_file", "send_mail"]
    assert ok(capsys, "edgeret", "search", tiny, "play music", "-k", 2)["hits"][0]["tool"] == "play_music"
    inspected = ok(capsys, "edgeret", "inspect", tiny)
    assert {f["licence"] for f in inspected["files"]} == {"MIT", "as its inputs"}
    assert inspected["counts"]["without_demonstration"] == ["phone_call"]
    assert ok(capsys, "edgeret", "verify", tiny)["content_hash"] == inspected["content_hash"]
    assert all(check["ok"] for check in ok(capsys, "edgeret", "doctor", tiny)["checks"])


@pytest.mark.parametrize("command", ["select", "plan", "search"])
def test_text_for_people(capsys: pytest.CaptureFixture[str], tiny: Path, command: str) -> None:
    assert cli.main([command, str(tiny), "find my file and send a mail"]) == 0
    assert "find_file" in capsys.readouterr().out


def test_verify_and_doctor_report_damage_with_exit_1(capsys: pytest.CaptureFixture[str], tiny: Path) -> None:
    (tiny / "stray.txt").write_text("hello")
    assert "stray.txt" in str(ok(capsys, "edgeret", "verify", tiny, code=1)["checks"])
    (tiny / "head.msgpack").write_bytes(b"")
    assert "head.msgpack: expected" in str(ok(capsys, "edgeret", "verify", tiny, code=1)["checks"])
    assert not ok(capsys, "edgeret", "doctor", tiny, code=1)["ok"]
    assert "head.msgpack" in refused(capsys, "edgeret", "select", tiny, "q")


def test_doctor_notices_a_device_that_computes_other_vectors(
    capsys: pytest.CaptureFixture[str], tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgeret.runtime.golden.golden_cosines", lambda components: [0.97, 1.0])
    result = ok(capsys, "edgeret", "doctor", tiny, code=1)
    (golden,) = (c for c in result["checks"] if c["name"] == "golden vectors")
    assert not golden["ok"]
    assert "0.97000" in golden["detail"]


def test_bad_usage(capsys: pytest.CaptureFixture[str], tiny: Path, tmp_path: Path) -> None:
    assert "empty" in refused(capsys, "edgeret", "select", tiny, "")
    assert "100000 characters" in refused(capsys, "edgeret", "select", tiny, "x" * 100_000)
    assert '"nobody"' in refused(capsys, "edgeret", "select", tiny, "q", "--history", "find_file,nobody")
    assert "no planner" in refused(capsys, "edgeret", "select", tiny, "q", "--policy", "planner")
    assert "not a bundle" in refused(capsys, "edgeret", "select", tmp_path, "q")
    assert "--help" in refused(capsys, "edgeret", "select", tiny)
    assert "at least 1" in refused(capsys, "edgeret", "select", tiny, "q", "-k", "0")
    assert "available: " in refused(capsys, "edgeret", "select", tiny, "q", "--provider", "cuda")
    assert "(--allow-fallback)" in refused(capsys, "edgeret", "select", tiny, "q", "--provider", "cuda")
    assert "unknown method 'x'" in refused(
        capsys, "edgeret-bench", "next-tool", tiny, "--demos", _demos(tmp_path), "--methods", "x"
    )


def test_what_was_mistyped_is_answered_with_what_was_meant(capsys: pytest.CaptureFixture[str], tiny: Path) -> None:
    assert 'did you mean "search"?' in refused(capsys, "edgeret", "serch", tiny, "q")
    assert 'did you mean "build"?' in refused(capsys, "edgeret-export", "biuld")
    assert 'did you mean "heads"?' in refused(capsys, "edgeret", "select", tiny, "q", "--policy", "haeds")
    history = refused(capsys, "edgeret", "select", tiny, "q", "--history", "find_fiel")
    assert 'history, item 1: unknown tool "find_fiel"; list the bundle' in history
    assert 'did you mean "find_file"?' in history


@pytest.mark.parametrize(
    ("command", "option", "value", "said"),
    [
        ("select", "--min-probability", "2", "must lie between 0 and 1, found 2"),
        ("select", "--min-probability", "nan", "must lie between 0 and 1, found nan"),
        ("select", "--coverage", "1", "must lie above 0 and below 1, found 1"),
        ("prompt", "--coverage", "-1", "must lie between 0 and 1, found -1"),
        ("select", "-k", "0", "must be at least 1, found 0"),
        ("search", "-k", "0", "must be at least 1, found 0"),
        ("search", "--threads", "0", "must be at least 1, found 0"),
        ("plan", "--max-steps", "0", "must be at least 1, found 0"),
    ],
)
def test_a_number_out_of_range_is_refused_by_the_name_of_its_option(
    capsys: pytest.CaptureFixture[str], tiny: Path, command: str, option: str, value: str, said: str
) -> None:
    assert f"argument {option}: {said}" in refused(capsys, "edgeret", command, tiny, "write a note", option, value)


def test_a_query_without_quotes_is_told_to_be_quoted(capsys: pytest.CaptureFixture[str], tiny: Path) -> None:
    for command in ("select", "search", "plan", "prompt"):
        err = refused(capsys, "edgeret", command, tiny, "mail", "the", "minutes")
        assert 'unrecognized arguments: the minutes; quote the query: "mail the minutes".' in err
    assert "quote" not in refused(capsys, "edgeret", "select", tiny, "q", "--kk", "3")
    assert "quote" not in refused(capsys, "edgeret", "verify", tiny, "q")


def test_an_option_that_is_misspelt_is_told_by_the_command_that_has_it(
    capsys: pytest.CaptureFixture[str], tiny: Path
) -> None:
    err = refused(capsys, "edgeret", "select", tiny, "q", "--polcy", "auto")
    assert err == (
        'edgeret select: unrecognized arguments: --polcy auto; did you mean "--policy"? See: edgeret select --help\n'
    )
    assert 'did you mean "--file"?' in refused(capsys, "edgeret", "mcp", "install", "cursor", "--flie=x")
    assert "did you mean" not in refused(capsys, "edgeret", "select", tiny, "q", "--walrus")
    assert "did you mean" not in refused(capsys, "edgeret", "select", tiny, "q", "-x")


@pytest.mark.parametrize("name", ["tools.jsonl", "catalogue"])
@pytest.mark.parametrize("command", ["select", "search", "plan", "prompt"])
def test_a_file_of_tools_is_taken_as_select_takes_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str, name: str
) -> None:
    tools = tmp_path / name
    tools.write_text('{"name": "play_music", "description": "Plays music."}\n', encoding="utf-8")
    for option in (["--tools", str(tools)], [f"--tools={tools}"], ["--tool", str(tools)]):
        assert cli.main([command, *option, "play music"]) == 0
        assert "play_music" in capsys.readouterr().out


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="no such files here")
def test_tools_come_from_another_program(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["select"], ["select", "--tools"], ["plan"]):
        read, write = os.pipe()
        os.write(write, b'{"name": "play_music", "description": "Plays music."}\n')
        os.close(write)
        assert cli.main([*words, f"/dev/fd/{read}", "play music"]) == 0
        assert "play_music" in capsys.readouterr().out
        os.close(read)


def test_a_tool_that_is_called_like_a_file_is_chosen_from_a_bundle(
    capsys: pytest.CaptureFixture[str], tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("play_music").write_text("")
    assert cli.main(["select", str(tiny), "--tools", "play_music", "play my song " * 99]) == 0
    assert "play_music" in capsys.readouterr().out


def test_what_was_left_out_is_named(capsys: pytest.CaptureFixture[str], tiny: Path) -> None:
    before = "name a bundle's folder or a file of tools before it"
    for command in ("select", "search", "plan", "prompt"):
        assert f"required: QUERY; {before}." in refused(capsys, "edgeret", command, "feed the cat")
        assert before not in refused(capsys, "edgeret", command, tiny)
    assert 'did you mean "--upstream"?' in refused(capsys, "edgeret", "gate", "--upstraem", "http://localhost:1")
    assert "did you mean" not in refused(capsys, "edgeret", "gate", "--listen", "127.0.0.1:1")
    assert "--port: must be at most 65535" in refused(capsys, "edgeret", "serve", tiny, "--port", "99999")


def test_a_fallback_is_told(capsys: pytest.CaptureFixture[str], tiny: Path) -> None:
    assert cli.main(["select", str(tiny), "write a note", "--provider", "cuda", "--allow-fallback", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["tool"] == "write_note"
    assert err == "warning: asked for cuda, running on cpu\n"
    device = ok(capsys, "edgeret", "doctor", tiny, "--provider", "cuda", "--allow-fallback")["device"]
    assert (device["providers_requested"], device["providers"]) == (["cuda"], ["cpu"])
    assert cli.main(["select", str(tiny), "write a note"]) == 0
    assert capsys.readouterr().err == ""


def _demos(tmp_path: Path) -> Path:
    path = tmp_path / "demos.jsonl"
    path.write_text('{"query": "write a note", "calls": [{"tool": "write_note"}]}\n')
    return path


@pytest.mark.parametrize(
    ("tools", "demos", "message"),
    [
        ('{"name": "a", "description": "A"}', '{"query": "q", "calls": [{"tool": "nobody"}]}', 'unknown tool "nobody"'),
        ('{"name": "a", "description": "A"}', "{broken", ":1: not JSON"),
        ('{"name": ""}', "{}", "is empty"),
        ('{"name": "a", "description": "A"}\n{"name": "a", "description": "B"}', "{}", "already taken"),
    ],
)
def test_build_refuses_bad_input_and_leaves_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, tools: str, demos: str, message: str
) -> None:
    (tmp_path / "t").write_text(tools)
    (tmp_path / "d").write_text(demos)
    assert message in refused(
        capsys, "edgeret-export", "build", "--tools", tmp_path / "t", "--demos", tmp_path / "d", "-o", tmp_path / "out"
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["d", "t"]


def test_build_refuses_cards_recipes_and_targets_by_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "t").write_text('{"name": "write_note", "description": "A"}')
    base = ("build", "--tools", tmp_path / "t", "--demos", _demos(tmp_path))
    assert "no model card 'x'" in refused(capsys, "edgeret-export", *base, "-o", tmp_path / "o", "--encoder", "x")
    assert "no model card 'smol'" in refused(capsys, "edgeret-export", *base, "-o", tmp_path / "o", "--planner", "smol")
    encoder = refused(capsys, "edgeret-export", *base, "-o", tmp_path / "o", "--planner", "all-minilm-l6-v2")
    assert "is an encoder, a planner is needed" in encoder
    gemma = refused(capsys, "edgeret-export", *base, "-o", tmp_path / "o", "--planner", "gemma3-270m")
    assert "--accept-licence 'Gemma'" in gemma
    (tmp_path / "r.toml").write_text("clusters = 3")
    assert 'unknown recipe key "clusters"' in refused(
        capsys, "edgeret-export", *base, "-o", tmp_path / "o", "--recipe", tmp_path / "r.toml"
    )
    (tmp_path / "taken").mkdir()
    assert "exists already" in refused(capsys, "edgeret-export", *base, "-o", tmp_path / "taken")
    assert "is a file)" in refused(capsys, "edgeret-export", *base, "-o", tmp_path / "t" / "such")


def test_build_takes_tools_of_several_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "one").write_text('{"name": "write_note", "description": "A"}')
    (tmp_path / "two").write_text('{"name": "read_note", "description": "B"}')
    (tmp_path / "demos").write_text('{"query": "q", "calls": [{"tool": "write_note"}, {"tool": "read_note"}]}')
    base = ("build", "--demos", tmp_path / "demos", "-o", tmp_path / "o", "--encoder", "x", "--tools", tmp_path / "one")
    # Both tools are known, so the next thing that is wrong is told.
    assert "no model card 'x'" in refused(capsys, "edgeret-export", *base, "--tools", tmp_path / "two")
    (tmp_path / "other").write_text('{"name": "write_note", "description": "C"}')
    clash = refused(capsys, "edgeret-export", *base, "--tools", tmp_path / "two", "--tools", tmp_path / "other")
    assert f"{tmp_path / 'other'}:1" in clash and f"{tmp_path / 'one'}:1" in clash


def test_build_warns_of_arguments_that_do_not_fit_and_refuses_them_when_strict(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t").write_text('{"name": "a", "description": "A", "parameters": {"properties": {"when": {}}}}')
    (tmp_path / "d").write_text('{"query": "q", "calls": [{"tool": "a", "arguments": {"whne": 1}}]}')
    told = "1 arguments of 1 demonstrations do not fit their tools' parameters (first: "
    base = ("build", "--tools", tmp_path / "t", "--demos", tmp_path / "d", "-o", tmp_path / "o")
    assert told in refused(capsys, "edgeret-export", *base, "--strict")
    built = SimpleNamespace(path=tmp_path, content_hash="0", report={})
    monkeypatch.setattr("edgeret_export.build.build_bundle", lambda *a, **k: built)
    monkeypatch.setattr("edgeret_export.cli.fetch_missing", lambda *a, **k: None)
    assert MAINS["edgeret-export"]([*map(str, base), "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["warnings"] == 1
    assert err.startswith(f"warning: {told}")
    assert 'did you mean "when"?' in err
    (tmp_path / "d").write_text('{"query": "q", "calls": [{"tool": "a", "arguments": {"when": 1}}]}')
    assert MAINS["edgeret-export"]([*map(str, base), "--json", "--strict"]) == 0
    out, err = capsys.readouterr()
    assert (json.loads(out)["warnings"], err) == (0, "")


def test_cards_are_listed_with_licence(capsys: pytest.CaptureFixture[str]) -> None:
    cards = {card["name"]: card for card in ok(capsys, "edgeret-export", "cards")["cards"] if card["kind"] == "encoder"}
    assert cards["all-minilm-l6-v2"]["licence"] == cards["all-minilm-l4-tools"]["licence"] == "Apache-2.0"


def test_next_tool_by_command(capsys: pytest.CaptureFixture[str], tiny: Path, tmp_path: Path) -> None:
    result = ok(capsys, "edgeret-bench", "next-tool", tiny, "--demos", _demos(tmp_path), "--methods", "fused,dr")
    assert result["n_steps"] == 2
    assert set(result["methods"]) == {"fused", "dr"}


@pytest.mark.parametrize(("text", "names"), [("", []), ("a, b", ["a", "b"]), ('["a,b", "c"]', ["a,b", "c"])])
def test_histories(text: str, names: list[str]) -> None:
    assert parse_history(text) == names


def test_broken_json_history_is_refused() -> None:
    with pytest.raises(InputError, match="not a JSON array"):
        parse_history("[a")


def test_a_copy_of_a_bundle_verifies(capsys: pytest.CaptureFixture[str], tiny: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(tiny, tmp_path / "copy")
    assert ok(capsys, "edgeret", "verify", copy)["ok"]


@pytest.mark.parametrize("command", ["verify", "doctor"])
def test_what_is_no_bundle_is_bad_input_and_no_finding(
    tmp_path: Path, tiny: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    for place in (tmp_path / "nowhere", tmp_path / "empty"):
        assert cli.main([command, str(place)]) == 2
        assert "bundle" in capsys.readouterr().err
    (tiny / "head.msgpack").write_bytes(b"changed")
    assert cli.main([command, str(tiny)]) == 1


def test_nothing_is_written_into_a_bundle(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (tiny / "manifest").read_bytes()
    assert cli.main(["inspect", str(tiny), "--html", str(tiny / "manifest")]) == 2
    assert "it would lie in a bundle" in capsys.readouterr().err
    assert (tiny / "manifest").read_bytes() == before


@pytest.mark.parametrize("wrong", ["", "abc", "zz", "0" * 63, "sha256:" + "0" * 64])
def test_what_can_be_no_content_hash_is_refused_as_such(
    tiny: Path, wrong: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["verify", str(tiny), "--content-hash", wrong]) == 2
    assert "64 hexadecimal digits" in capsys.readouterr().err
    right = edgeret.load(tiny).manifest.content_hash
    assert edgeret.load(tiny, content_hash=f" {right.upper()}\n").manifest.content_hash == right
