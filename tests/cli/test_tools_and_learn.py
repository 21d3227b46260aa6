"""`edgeret tools`, `edgeret learn`, and the overlay that every deciding command reads."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import TOOLS, tiny_bundle

import edgeret
from edgeret.bundle.overlay_file import overlay_path
from edgeret.cli.commands import main
from edgeret.inputs.demonstrations import read_demonstrations
from edgeret_export.reference import learning
from edgeret_export.reference.overlay_writer import Overlay

QUERY = "close it"
NAMES = [tool.name for tool in TOOLS]


@pytest.fixture
def edge(capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a command with `--json` and gives what it printed."""

    def run(*arguments: object, code: int = 0) -> dict[str, Any]:
        assert main([*map(str, arguments), "--json"]) == code
        value = json.loads(capsys.readouterr().out)
        assert isinstance(value, dict)
        return value

    return run


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a command that must end with one line on stderr and 2."""

    def run(*arguments: object) -> str:
        try:
            code: object = main([*map(str, arguments)])
        except SystemExit as stop:
            code = stop.code
        out, err = capsys.readouterr()
        assert (code, out) == (2, "")
        assert len(err.strip().splitlines()) == 1
        return err

    return run


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    """A file with one more tool."""
    path = tmp_path / "lock.json"
    path.write_text('[{"name": "lock_door", "description": "stop a pack"}]')
    return path


@pytest.fixture
def demos(tmp_path: Path) -> Path:
    """A file with two demonstrations of the bundle's tools."""
    path = tmp_path / "demos.jsonl"
    plans = ((QUERY, ["phone_call"]), ("share my calendar day", ["send_mail", "book_meeting"]))
    lines = [json.dumps({"query": q, "calls": [{"tool": tool} for tool in calls]}) for q, calls in plans]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def bare(tiny_tools: Path, tmp_path: Path) -> Path:
    """A bundle from tools alone, which one demonstration moves far."""
    return Path(shutil.copytree(tiny_tools, tmp_path / "bare"))


@pytest.fixture(scope="module")
def strange_overlay(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """An overlay of another encoder."""
    stranger = tiny_bundle(tmp_path_factory.mktemp("stranger") / "bundle", seed=1)
    runtime = edgeret.load(stranger, overlay=True)
    runtime.with_tools(remove=["play_music"], keep=True)
    runtime.close()
    return overlay_path(stranger).read_bytes()


@contextmanager
def writing(bundle: Path) -> Iterator[None]:
    """Another writer holds the overlay, in which a plan was learned."""
    runtime = edgeret.load(bundle, overlay=True)
    runtime.learn([edgeret.Demonstration("d", "zip it", (edgeret.Call("find_file"),))])
    runtime.close()
    with Overlay.open(overlay_path(bundle), runtime.manifest.fingerprint, runtime.manifest.content_hash):
        yield


def test_odd_tools_are_mended_and_told_in_a_line_a_kind(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = tmp_path / "odd.json"
    schema = {"type": "object", "properties": {"a": {"description": "Which\u200b"}}}
    odd.write_text(json.dumps([{"name": "lock_door"}, {"name": "open_gate", "parameters": schema}, {"name": "x_y"}]))
    assert main(["tools", "add", str(tiny), str(odd), "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["added"] == ["lock_door", "open_gate", "x_y"]
    assert err.splitlines() == [
        f"warning: {odd}: 3 of 3 tools mended, each has no description: its title or its name stands in: "
        "lock_door, open_gate, x_y",
        f"warning: {odd}: 1 of 3 tools mended, each held characters that nobody sees: they are dropped: open_gate",
    ]
    tools = edgeret.load(tiny, overlay=True).tools
    assert tools["lock_door"].description == "lock door"
    assert tools["open_gate"].parameters["properties"] == {"a": {"description": "Which"}}


def test_tools_come_and_go_beside_the_bundle(edge: Any, tiny: Path, lock: Path) -> None:
    before = {file.name: file.read_bytes() for file in tiny.iterdir()}
    added = edge("tools", "add", tiny, lock)
    assert (added["added"], added["replaced"], added["tools"]) == (["lock_door"], [], len(NAMES) + 1)
    assert added["overlay"] == str(overlay_path(tiny))
    assert added["overlay_bytes"] == overlay_path(tiny).stat().st_size
    assert edge("search", tiny, "stop a pack", "-k", 1)["hits"][0]["tool"] == "lock_door"
    removed = edge("tools", "remove", tiny, "find_file", "phone_call", "find_file")
    assert (removed["removed"], removed["tools"]) == (["find_file", "phone_call"], len(NAMES) - 1)
    lock.write_text('[{"name": "lock_door", "description": "open"}, {"name": "play_music", "description": "stop"}]')
    replaced = edge("tools", "add", tiny, lock, "--replace")
    assert (replaced["added"], replaced["replaced"]) == ([], ["lock_door", "play_music"])
    listed = edge("tools", "list", tiny)
    assert {tool["name"]: tool["source"] for tool in listed["tools"]} == {
        "send_mail": "bundle",
        "write_note": "bundle",
        "play_music": "replaced",
        "book_meeting": "bundle",
        "lock_door": "added",
    }
    assert listed["removed"] == ["find_file", "phone_call"]
    assert {file.name: file.read_bytes() for file in tiny.iterdir()} == before


def test_learning_moves_what_the_deciding_commands_say(edge: Any, bare: Path, demos: Path) -> None:
    def decided(*options: object) -> tuple[str | None, list[str]]:
        return edge("select", bare, QUERY, *options)["tool"], edge("plan", bare, QUERY, *options)["tools"]

    before = decided()
    report = edge("learn", bare, "--demos", demos, "--demos", demos)
    assert (report["learned"], report["stored"], report["used"]) == (4, 2, True)
    assert report["overlay"] == str(overlay_path(bare))
    assert report["overlay_bytes"] == overlay_path(bare).stat().st_size
    assert decided() == ("phone_call", ["phone_call"]) != before
    assert decided("--no-overlay") == before


def test_what_was_learned_is_listed_exported_and_forgotten(edge: Any, tiny: Path, demos: Path, tmp_path: Path) -> None:
    edge("learn", tiny, "--demos", demos)
    plans = edge("learn", tiny, "--list")["plans"]
    assert [(p["id"], p["query"], p["calls"], p["origin"]) for p in plans] == [
        (0, QUERY, ["phone_call"], "demonstration"),
        (1, "share my calendar day", ["send_mail", "book_meeting"], "demonstration"),
    ]
    told = edge("learn", tiny, "--export", tmp_path / "out.jsonl")
    assert (told["exported"], told["without_words"]) == (2, 0)
    exported = read_demonstrations(tmp_path / "out.jsonl", NAMES)
    assert [(d.query, len(d.calls)) for d in exported] == [(QUERY, 1), ("share my calendar day", 2)]
    assert edge("learn", tiny, "--forget", "Close  IT")["forgotten"] == 1
    assert edge("learn", tiny, "--forget", QUERY)["forgotten"] == 0
    assert QUERY.encode() not in overlay_path(tiny).read_bytes()
    assert edge("learn", tiny, "--forget-id", 1)["forgotten"] == 1
    edge("learn", tiny, "--demos", demos)
    assert edge("learn", tiny, "--forget-tool", "send_mail")["forgotten"] == 1
    told = edge("learn", tiny, "--forget-all")
    assert (told["forgotten"], told["stored"]) == (1, 0)


def test_no_words_are_kept_where_none_are_wanted(edge: Any, tiny: Path, demos: Path, tmp_path: Path) -> None:
    edge("learn", tiny, "--demos", demos, "--no-words")
    assert b"calendar" not in overlay_path(tiny).read_bytes()
    assert [p["query"] for p in edge("learn", tiny, "--list")["plans"]] == [None, None]
    told = edge("learn", tiny, "--export", tmp_path / "out.jsonl")
    assert (told["exported"], told["without_words"]) == (0, 2)
    assert edge("inspect", tiny)["overlay"]["plans_without_words"] == 2


def test_reading_and_forgetting_of_nothing_write_nothing(edge: Any, tiny: Path) -> None:
    assert edge("learn", tiny, "--list")["plans"] == []
    assert edge("learn", tiny, "--forget-all")["forgotten"] == 0
    assert edge("tools", "list", tiny)["removed"] == []
    assert edge("inspect", tiny)["overlay"] is None
    assert not overlay_path(tiny).exists()


def test_another_file_is_an_overlay_of_its_own(edge: Any, bare: Path, lock: Path, demos: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.overlay"
    edge("tools", "add", bare, lock, "--overlay", other)
    edge("learn", bare, "--demos", demos, "--demos", demos, "--overlay", other)
    assert not overlay_path(bare).exists()
    assert len(edge("tools", "list", bare)["tools"]) == len(NAMES)
    assert len(edge("tools", "list", bare, "--overlay", other)["tools"]) == len(NAMES) + 1
    assert edge("select", bare, QUERY, "--overlay", other)["tool"] == "phone_call"
    assert edge("select", bare, QUERY)["tool"] != "phone_call"


def test_select_chooses_among_the_tools_given(edge: Any, tiny: Path) -> None:
    result = edge("select", tiny, "write a note", "--tools", "play_music, send_mail")
    assert {c["tool"] for c in result["candidates"]} == {"play_music", "send_mail", edgeret.END}
    assert edge("select", tiny, "write a note", "--tools", '["write_note"]')["tool"] == "write_note"


def test_inspect_and_doctor_tell_of_the_overlay(
    edge: Any, tiny: Path, lock: Path, demos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edge("tools", "add", tiny, lock)
    edge("learn", tiny, "--demos", demos)
    path = overlay_path(tiny)
    assert edge("inspect", tiny)["overlay"] == {
        "path": str(path),
        "size_bytes": path.stat().st_size,
        "plans": 2,
        "plans_without_words": 0,
        "tools": {"added": ["lock_door"], "removed": [], "replaced": []},
        "recovered": "",
    }
    assert edge("inspect", tiny, "--no-overlay")["overlay"] is None
    with path.open("ab") as stream:
        stream.write(b"torn")
    assert main(["inspect", str(tiny)]) == 0
    said = capsys.readouterr().out
    assert f"overlay  {path}, " in said
    assert "2 plans learned; tools: 1 added, 0 removed, 0 replaced; left out 4 bytes" in said
    (check,) = (c for c in edge("doctor", tiny)["checks"] if c["name"] == "overlay")
    assert check["ok"]
    assert "2 plans stored" in check["detail"]


def test_text_for_people(tiny: Path, lock: Path, demos: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command, *rest in (["tools", "add", lock], ["learn", "--demos", demos], ["tools", "remove", "find_file"]):
        words = [command, rest.pop(0), tiny, *rest] if command == "tools" else [command, tiny, *rest]
        assert main([*map(str, words)]) == 0
    out = capsys.readouterr().out
    assert "added: lock_door\n7 tools now; kept in" in out
    assert "learned 2 plans\nactive, 2 plans stored" in out
    assert "(used in decisions)" in out
    assert main(["learn", str(tiny), "--list"]) == 0
    assert "close it" in capsys.readouterr().out
    assert main(["tools", "list", str(tiny)]) == 0
    assert "removed: find_file" in capsys.readouterr().out


def test_what_cannot_be_done_is_one_line(refused: Any, tiny: Path, lock: Path, demos: Path, tmp_path: Path) -> None:
    assert 'unknown tool "find_fiel"' in refused("tools", "remove", tiny, "find_fiel")
    assert "no tool would be left" in refused("tools", "remove", tiny, *NAMES)
    assert "--help" in refused("tools", "remove", tiny)
    assert "--help" in refused("tools")
    empty = tmp_path / "empty"
    empty.write_text("")
    assert "no tools in it" in refused("tools", "add", tiny, empty)
    assert "no demonstrations in it" in refused("learn", tiny, "--demos", empty)
    lock.write_text('[{"name": "find_file", "description": "x"}, {"name": "lock_door", "description": "y"}]')
    assert "1 of 2 tools are there already and differ, the first is find_file; replace" in refused(
        "tools", "add", tiny, lock
    )
    strange = tmp_path / "strange"
    strange.write_text('{"query": "q", "calls": [{"tool": "nobody"}]}')
    assert 'unknown tool "nobody"' in refused("learn", tiny, "--demos", demos, "--demos", strange)
    assert "one of the arguments" in refused("learn", tiny)
    assert "not allowed with" in refused("learn", tiny, "--list", "--forget-all")
    assert "--no-words goes with --demos" in refused("learn", tiny, "--list", "--no-words")
    assert "cannot be written" in refused("learn", tiny, "--export", tiny / "manifest")
    assert "tools is empty" in refused("select", tiny, "q", "--tools", "")
    assert 'unknown tool "nobody" in tools' in refused("select", tiny, "q", "--tools", "nobody")
    assert "--tools: not a JSON array" in refused("select", tiny, "q", "--tools", "[a")
    assert "no such overlay" in refused("select", tiny, "q", "--overlay", tmp_path / "none")
    assert "no such overlay" in refused("learn", tiny, "--forget-all", "--overlay", tmp_path / "none")
    assert "not allowed with" in refused("select", tiny, "q", "--overlay", tmp_path / "none", "--no-overlay")
    assert not overlay_path(tiny).exists()


@pytest.mark.parametrize("command", ["select", "plan", "search", "prompt", "inspect", "list", "remove", "learn"])
@pytest.mark.parametrize("harm", ["foreign", "damaged", "no overlay"])
def test_an_overlay_that_cannot_be_used_is_one_line_for_every_command(
    refused: Any, edge: Any, tiny: Path, demos: Path, strange_overlay: bytes, command: str, harm: str
) -> None:
    path, said = (
        overlay_path(tiny),
        {"foreign": "another encoder", "damaged": "damaged", "no overlay": "not an edgeret"},
    )
    edge("learn", tiny, "--demos", demos)
    data = path.read_bytes()
    harmed = {"foreign": strange_overlay, "damaged": data[:200] + b"?" + data[201:], "no overlay": b"hello"}
    path.write_bytes(harmed[harm])
    words = {
        "list": ("tools", "list", tiny),
        "remove": ("tools", "remove", tiny, "play_music"),
        "learn": ("learn", tiny, "--demos", demos),
        "inspect": ("inspect", tiny),
    }.get(command, (command, tiny, "write a note"))
    before = path.read_bytes()
    assert said[harm] in refused(*words)
    assert path.read_bytes() == before
    if command not in ("list", "remove", "learn"):
        edge(*words, "--no-overlay")
        assert not edge("doctor", tiny, code=1)["ok"]


def test_two_writers_at_once_are_one_line_and_readers_go_on(
    refused: Any, edge: Any, tiny: Path, lock: Path, demos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learning, "WAIT_S", 0.01)
    with writing(tiny):
        assert "another one is writing to it" in refused("learn", tiny, "--demos", demos)
        assert "another one is writing to it" in refused("learn", tiny, "--forget-all")
        assert "another one is writing to it" in refused("tools", "add", tiny, lock)
        assert len(edge("learn", tiny, "--list")["plans"]) == 1
        assert edge("select", tiny, "zip it")["timings_ms"]["learned"] > 0
    assert edge("learn", tiny, "--demos", demos)["stored"] == 3


def test_a_key_binds_what_is_learned_and_every_command_asks_for_it(
    tiny: Path, edge: Any, refused: Any, tmp_path: Path
) -> None:
    key, short, demos = tmp_path / "key", tmp_path / "short", tmp_path / "demos.jsonl"
    key.write_bytes(b"this device alone")
    short.write_bytes(b"short")
    demos.write_text(json.dumps({"query": QUERY, "calls": [{"tool": NAMES[0]}]}))
    bound = ("--overlay", tmp_path / "kept.overlay", "--overlay-key", key)
    assert edge("learn", tiny, "--demos", demos, *bound)["stored"] == 1
    for command in (("inspect", tiny), ("tools", "list", tiny), ("select", tiny, QUERY)):
        assert edge(*command, *bound)
        assert "bound to a device by a key" in refused(*command, *bound[:2])
    assert edge("doctor", tiny, *bound)["ok"]
    assert not edge("doctor", tiny, *bound[:2], code=1)["ok"]
    assert "16 to 1024 bytes" in refused("inspect", tiny, *bound[:3], short)
    assert "cannot be read" in refused("inspect", tiny, *bound[:3], tmp_path / "none")
