"""The proxy put into clients' own files and taken out again: nothing of a user's is lost, whatever stands there."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp_client import hostile
from patience import PATIENCE_S

pytest.importorskip("mcp", reason="needs the extra mcp")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgeret.adapters.mcp.clients import CLIENTS
from edgeret.adapters.mcp.jsonc import parse
from edgeret.cli.commands import main

Run = Callable[..., dict[str, Any]]
PLAIN = (
    '{\n  "mcpServers": {\n    "git": {"command": "mcp-server-git"},\n    "wiki": {"url": "https://w/mcp"}\n  }\n}\n'
)
COMMENTED = """{
    // everything of mine
    "servers": {
        /* local */
        "git": { "command": "mcp-server-git", "args": ["-v",], }, // the best
        "api": { "type": "http", "url": "https://a", "headers": {"K": "${input:api-key}"} },
    },
    "inputs": [
        {"id": "api-key", "type": "promptString", "password": true} // asked for
    ],
    "other": true, // stays
}
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder, the current one too, with a bundle."""
    (tmp_path / "edgeret-base").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "EDGERET_MCP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `edgeret mcp …`, and returns what it printed as JSON."""

    def ran(*words: str) -> dict[str, Any]:
        capsys.readouterr()
        assert main(["mcp", *words, "--json"]) == 0, capsys.readouterr().err
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    return ran


def refused(*words: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Runs what is to be refused, in one line, which is returned."""
    capsys.readouterr()
    assert main(["mcp", *words]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    return err


@pytest.mark.parametrize("client", CLIENTS)
def test_the_user_s_file_of_every_client_gets_the_proxy_and_gets_its_own_back(
    client: str, home: Path, run: Run
) -> None:
    file = CLIENTS[client].file()
    assert file.is_relative_to(home)
    file.parent.mkdir(parents=True, exist_ok=True)
    before = COMMENTED if client == "vscode" else PLAIN
    file.write_text(before)
    file.chmod(0o640)
    done = run("install", client)
    ours, copy = Path(done["config"]), Path(done["copy"])
    assert done["changed"] and done["servers"] == list(parse(before)[CLIENTS[client].key])
    after = parse(file.read_text())
    [(name, entry)] = after[CLIENTS[client].key].items()
    assert name == "edgeret" and entry["command"] == sys.executable
    assert entry["args"] == ["-m", "edgeret", "mcp", "--config", str(ours)]
    assert entry.get("type") == ("stdio" if client in ("vscode", "claude-code") else None)
    assert copy.read_text() == before
    key = CLIENTS[client].key
    assert parse(ours.read_text())[key] == parse(before)[key]
    for path in (file, ours, copy):
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
    again = run("install", client)
    assert not again["changed"] and again["entry"] == "edgeret"
    gone = run("uninstall", client)
    assert gone["changed"] and gone["servers"] == done["servers"] and gone["copy"] is None
    assert file.read_text() == before
    assert sorted(path.name for path in file.parent.iterdir() if path.is_file()) == [file.name]
    assert not run("uninstall", client)["changed"] and file.read_text() == before


def test_a_client_that_asks_its_user_hands_on_what_was_given(home: Path, run: Run) -> None:
    Path("mcp.json").write_text(COMMENTED)
    done = run("install", "vscode", "--file", "mcp.json")
    text = Path("mcp.json").read_text()
    entry = parse(text)["servers"]["edgeret"]
    assert entry["env"] == {"EDGERET_INPUT_API_KEY": "${input:api-key}"}
    assert "// everything of mine" in text and "// asked for" in text and '"other": true, // stays' in text
    ours = Path(done["config"]).read_text()
    assert "/* local */" in ours and "// the best" in ours and parse(ours)["inputs"][0]["id"] == "api-key"


def test_what_was_changed_meanwhile_stays_on_both_sides(home: Path, run: Run) -> None:
    file = Path("mcp.json")
    file.write_text(COMMENTED)
    ours = Path(run("install", "vscode", "--file", "mcp.json")["config"])
    text = (
        file.read_text()
        .replace('"other": true', '"other": false')
        .replace('"edgeret": {', '"new": {"url": "http://n"}, "edgeret": {')
    )
    file.write_text(text)
    ours.write_text(ours.read_text().replace('"-v"', '"-q"'))
    done = run("uninstall", "vscode", "--file", "mcp.json")
    text = file.read_text()
    after = parse(text)
    assert list(after["servers"]) == ["git", "api", "new"] == done["servers"]
    assert after["servers"]["git"]["args"] == ["-q"] and after["other"] is False
    assert "/* local */" in text and "// the best" in text and "// stays" in text
    assert not ours.exists() and Path(done["copy"]).read_text() == COMMENTED  # it is no more what is there: kept
    second = run("install", "vscode", "--file", "mcp.json")
    assert second["copy"] != done["copy"] and Path(done["copy"]).read_text() == COMMENTED
    assert run("uninstall", "vscode", "--file", "mcp.json")["changed"] and file.read_text() == text


def test_a_client_that_writes_its_file_anew_gets_its_servers_back_all_the_same(home: Path, run: Run) -> None:
    file = Path(".claude.json")
    file.write_text(json.dumps({"numStartups": 1, **json.loads(PLAIN)}))
    run("install", "claude-code")
    written = json.loads(file.read_text()) | {"numStartups": 2}
    file.write_text(json.dumps(written, indent=2))
    run("uninstall", "claude-code")
    assert json.loads(file.read_text()) == {"numStartups": 2, **json.loads(PLAIN)}


def test_a_server_of_the_same_name_is_the_later_one(home: Path, run: Run) -> None:
    file = Path("mcp.json")
    file.write_text(PLAIN)
    run("install", "cursor", "--file", "mcp.json")
    whole = json.loads(file.read_text())
    whole["mcpServers"]["git"] = {"command": "newer"}
    file.write_text(json.dumps(whole))
    run("uninstall", "cursor", "--file", "mcp.json")
    assert json.loads(file.read_text())["mcpServers"] == {
        "git": {"command": "newer"},
        "wiki": {"url": "https://w/mcp"},
    }


def test_a_configuration_that_is_named_is_served_beside_what_is_there(home: Path, run: Run) -> None:
    Path("mine.json").write_text(json.dumps({"mcpServers": {"one": {"command": "true"}}}))
    for before in (PLAIN, COMMENTED, "{}", "", '{"a": 1}', '{"mcpServers":{}}\r\n', None):
        file = Path("there/mcp.json")
        file.parent.mkdir(exist_ok=True)
        file.unlink(missing_ok=True)
        if before is not None:
            file.write_bytes(before.encode())
        options = ("--file", str(file), "--config", "mine.json", "--mode", "trim", "-k", "9", "--pins", "pins.json")
        done = run("install", "cursor", *options)
        after = parse(file.read_text())
        key = "servers" if before == COMMENTED else "mcpServers"
        args = after[key]["edgeret"]["args"]
        assert args[args.index("--config") + 1] == str(home / "mine.json") and args[-6:] == [
            "--pins",
            str(home / "pins.json"),
            "--mode",
            "trim",
            "-k",
            "9",
        ]
        assert done["servers"] == [] and list(after[key])[-1] == "edgeret"
        run("uninstall", "cursor", "--file", str(file))
        assert (file.read_bytes().decode() if file.exists() else None) == before
        assert Path("mine.json").exists()


def test_a_link_stays_a_link_and_its_target_is_what_changes(home: Path, run: Run) -> None:
    (home / "dotfiles").mkdir()
    (home / ".cursor").mkdir()
    target, link = home / "dotfiles" / "mcp.json", home / ".cursor" / "mcp.json"
    target.write_text(PLAIN)
    link.symlink_to(target)
    done = run("install", "cursor")
    assert link.is_symlink() and "edgeret" in parse(target.read_text())["mcpServers"]
    assert Path(done["config"]).parent == link.parent and os.listdir(home / "dotfiles") == ["mcp.json"]  # noqa: PTH208
    run("uninstall", "cursor")
    assert link.is_symlink() and target.read_text() == PLAIN


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16"])
def test_marks_and_line_ends_stay(codec: str, home: Path, run: Run) -> None:
    before = PLAIN.replace("\n", "\r\n").replace("wiki", "wíkí").encode(codec)
    Path("mcp.json").write_bytes(before)
    run("install", "cursor", "--file", "mcp.json")
    text = Path("mcp.json").read_bytes().decode(codec)
    assert text.count("\n") == text.count("\r\n") > 5
    run("uninstall", "cursor", "--file", "mcp.json")
    assert Path("mcp.json").read_bytes() == before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"mcpServers": {"a": {"command": "x"}', "no JSON"),
        ("[]", "no JSON object"),
        ("\x00", "no JSON"),
        ("[" * 100_000, "nested too deep"),
        ('{"mcpServers": []}', "is no object there"),
        ('{"mcpServers": {}}', "no servers in it"),
        ("{}", "no servers in it"),
        (None, "no such file, so Cursor has no servers there"),
    ],
)
def test_a_file_that_cannot_be_changed_is_refused_untouched(
    text: str | None, words: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if text is not None:
        Path("mcp.json").write_text(text)
    assert words in refused("install", "cursor", "--file", "mcp.json", capsys=capsys)
    if text is not None and "no servers in it" not in words:
        assert words in refused("uninstall", "cursor", "--file", "mcp.json", capsys=capsys)
    assert (Path("mcp.json").read_text() if text is not None else None) == text
    assert {path.name for path in home.iterdir()} <= {"mcp.json", "edgeret-base"}


def test_what_is_asked_for_wrongly_is_refused_untouched(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mcp.json").write_text(PLAIN)
    assert "no such bundle" in refused("install", "cursor", "--file", "mcp.json", "--base", "none", capsys=capsys)
    assert "write options behind" in refused("--config", "x", "install", "cursor", capsys=capsys)
    assert "--config FILE names the servers" in refused(capsys=capsys)
    options = ("--file", "mcp.json", "--config", "mcp.json")
    Path("mcp.json").write_text('{"mcpServers": {"edgeret": {"command": "x"}}}')
    assert 'named "edgeret" already' in refused("install", "cursor", *options, capsys=capsys)
    Path("mcp.json").write_text(PLAIN)
    Path("mcp.edgeret.json").write_text("mine")
    assert "is there from an earlier time" in refused("install", "cursor", "--file", "mcp.json", capsys=capsys)
    assert Path("mcp.json").read_text() == PLAIN and Path("mcp.edgeret.json").read_text() == "mine"
    with pytest.raises(SystemExit):
        main(["mcp", "install", "cursr"])
    assert 'did you mean "cursor"?' in capsys.readouterr().err


def test_servers_come_back_from_the_copy_where_our_file_is_gone(
    home: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("mcp.json").write_text(PLAIN)
    done = run("install", "cursor", "--file", "mcp.json")
    Path(done["config"]).unlink()
    run("uninstall", "cursor", "--file", "mcp.json")
    assert Path("mcp.json").read_text() == PLAIN
    done = run("install", "cursor", "--file", "mcp.json")
    installed = Path("mcp.json").read_text()
    Path(done["config"]).unlink()
    Path(done["copy"]).unlink()
    assert "cannot be put back" in refused("uninstall", "cursor", "--file", "mcp.json", capsys=capsys)
    assert Path("mcp.json").read_text() == installed


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs permissions that bind")
def test_a_file_that_may_not_be_written_stays(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mcp.json").write_text(PLAIN)
    Path("mcp.json").chmod(0o444)
    assert "cannot be written" in refused("install", "cursor", "--file", "mcp.json", capsys=capsys)
    assert Path("mcp.json").read_text() == PLAIN


def test_the_entry_that_was_written_starts_a_proxy_of_the_servers(tiny: Path, home: Path, run: Run) -> None:
    Path("mcp.json").write_text(json.dumps({"mcpServers": {"one": hostile("plain")}}))
    run("install", "cursor", "--file", "mcp.json", "--base", str(tiny))
    entry = json.loads(Path("mcp.json").read_text())["mcpServers"]["edgeret"]
    greeting = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    told: list[Mapping[str, Any]] = [
        {"id": 1, "method": "initialize", "params": greeting},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "one__write_note", "arguments": {}}},
    ]
    with subprocess.Popen(
        [entry["command"], *entry["args"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/", text=True
    ) as proxy:
        assert proxy.stdin is not None and proxy.stdout is not None
        proxy.stdin.write("".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in told))
        proxy.stdin.flush()
        answers = [json.loads(proxy.stdout.readline()) for _ in range(2)]
        assert "write_note" in answers[1]["result"]["content"][0]["text"]
        proxy.stdin.close()
        assert proxy.wait(PATIENCE_S) == 0


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
_SERVERS = st.dictionaries(
    st.text(max_size=4), st.fixed_dictionaries({"command": st.text(min_size=1, max_size=4)}), min_size=1
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rest=st.dictionaries(st.text(max_size=4), _JSON, max_size=3),
    servers=_SERVERS,
    indent=st.sampled_from([None, 1, 2, "\t"]),
    first=st.booleans(),
)
def test_any_file_comes_back_as_it_was(
    rest: dict[str, Any], servers: dict[str, Any], indent: Any, first: bool, home: Path, run: Run
) -> None:
    whole = {"mcpServers": servers, **rest} if first else {**rest, "mcpServers": servers}
    before = json.dumps(whole, indent=indent)
    Path("mcp.json").write_text(before)
    done = run("install", "cursor", "--file", "mcp.json")
    after = json.loads(Path("mcp.json").read_text())
    assert list(after.pop("mcpServers")) == ["edgeret"]
    assert {**after, "mcpServers": servers} == whole
    assert json.loads(Path(done["config"]).read_text())["mcpServers"] == servers
    run("uninstall", "cursor", "--file", "mcp.json")
    assert Path("mcp.json").read_text() == before


def test_a_folder_that_was_renamed_or_written_otherwise_is_the_same(home: Path, run: Run) -> None:
    (home / "one" / "sub").mkdir(parents=True)
    Path("one/mcp.json").write_text(PLAIN)
    run("install", "cursor", "--file", "one/sub/../mcp.json")
    run("uninstall", "cursor", "--file", "one/mcp.json")
    assert Path("one/mcp.json").read_text() == PLAIN
    run("install", "cursor", "--file", "one/mcp.json")
    Path("one").rename("two")
    assert run("uninstall", "cursor", "--file", "two/mcp.json")["servers"] == ["git", "wiki"]
    assert Path("two/mcp.json").read_text() == PLAIN and len(list(Path("two").iterdir())) == 2
