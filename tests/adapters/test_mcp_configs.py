"""Configurations as people have them, by client: which servers are used, how, and why others are left out."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

from edgeret import InputError
from edgeret.adapters.mcp.config import read_config
from edgeret.adapters.mcp.server import Server
from edgeret.cli.commands import main

HOSTILE = Path(__file__).with_name("hostile_mcp.py")
RUN = f'"command": {json.dumps(sys.executable)}, "args": ["server.py", "plain"]'
"""The better part of an entry that can be started."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's folder with a server in it, and variables that files ask for."""
    for name in ("server.py", "stdio_srv.py"):
        shutil.copy(HOSTILE, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MY_TOKEN", "t0p-secret")
    monkeypatch.setenv("MODE", "plain")
    for name in ("UNSET", "XDG_CONFIG_HOME", "EDGERET_INPUT_API_KEY", "EDGERET_MCP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def read(text: str, name: str = "mcp.json") -> tuple[dict[str, Server], list[str]]:
    """The servers of such a file, and what was told."""
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    lines: list[str] = []
    return {server.name: server for server in read_config(path, lines.append)}, lines


CASES = {
    "null arguments": ("mcp.json", '{"mcpServers": {"w": {"command": "true", "args": null}}}', "", "w"),
    "no ASCII": ("mcp.json", '{"mcpServers": {"天气a": {RUN}, "日历a": {RUN}}}', "天气a 日历a", ""),
    "other clients' keys": (
        "mcp.json",
        '{"mcpServers": {"w": {RUN, "type": "stdio", "autoApprove": ["a"], "timeout": 60, "alwaysAllow": [], '
        '"disabledTools": ["add_event"], "trust": true, "icon": "x", "_comment": "y"}}}',
        "w",
        "",
    ),
    "enabled": ("mcp.json", '{"mcpServers": {"w": {RUN}, "off": {RUN, "enabled": false}}}', "w", ""),
    "numbers": ("mcp.json", '{"mcpServers": {"w": {RUN, "env": {"PORT": 8080, "DEBUG": true}}}}', "w", ""),
    "gemini": (
        ".gemini/settings.json",
        '{"theme": "x", "mcp": {"excluded": ["no"]}, "mcpServers": {"w": {RUN, "trust": true, "timeout": 9000}, '
        '"far": {"httpUrl": "http://127.0.0.1:1/mcp"}, "no": {RUN}}}',
        "w",
        "far",
    ),
    "comments": ("mcp.json", '{\n // my servers\n "mcpServers": {"w": {RUN}, /* the end */ },\n}', "w", ""),
    "itself": (
        "self.json",
        '{"mcpServers": {"tools": {"command": "edgeret", "args": ["mcp", "--config", "self.json"]}, "w": {RUN}}}',
        "w",
        "",
    ),
    "sse": (
        "mcp.json",
        '{"mcpServers": {"w": {RUN}, "old": {"type": "sse", "url": "http://127.0.0.1:1/sse"}}}',
        "w",
        "old",
    ),
    "defaults": (
        "mcp.json",
        '{"mcpServers": {"w": {"command": "PYTHON", "args": ["${SRVDIR:-.}/stdio_srv.py", "plain"]}}}',
        "w",
        "",
    ),
    "vs code": ("mcp.json", '{"servers": {"w": {RUN}}}', "w", ""),
    "vs code in a project": (
        ".vscode/mcp.json",
        '{"inputs": [{"type": "promptString", "id": "api-key", "password": true}], "servers": {'
        '"w": {"type": "stdio", "command": "PYTHON", "args": ["${workspaceFolder}${/}server.py", "${env:MODE}"], '
        '"envFile": "${workspaceFolder}/.env", "dev": {"watch": "**"}}, '
        '"asks": {RUN, "env": {"KEY": "${input:api-key}"}}}}',
        "w",
        "",
    ),
    "vs code settings": (".vscode/settings.json", '{"editor.tabSize": 2, "mcp": {"servers": {"w": {RUN}}}}', "w", ""),
    "vs code settings in a line": ("settings.json", '{"mcp.servers": {"w": {RUN, "url": "", "cwd": ""}}}', "w", ""),
    "dev container": (
        ".devcontainer/devcontainer.json",
        '{"image": "x", "customizations": {"vscode": {"mcp": {"servers": {"w": {RUN}}}}}}',
        "w",
        "",
    ),
    "claude code": (
        "home/.claude.json",
        '{"numStartups": 3, "mcpServers": {"w": {RUN, "type": "stdio"}}, '
        '"projects": {"HERE": {"mcpServers": {"p": {RUN}}, "disabledMcpServers": ["off"]}, "/else": {"mcpServers": '
        '{"e": {RUN}}}}}',
        "w p",
        "",
    ),
    "claude code in a project": (
        ".mcp.json",
        '{"mcpServers": {"w": {RUN, "env": {"T": "${MY_TOKEN}"}}, "needs": {RUN, "env": {"T": "${UNSET}"}}, '
        '"api": {"type": "http", "url": "${BASE:-http://127.0.0.1:1}/mcp", "headers": {"A": "Bearer ${MY_TOKEN}"}}}}',
        "w",
        "api",
    ),
    "cursor": (
        ".cursor/mcp.json",
        '\ufeff{"mcpServers": {"w": {"command": "${userHome}/../py", '
        '"args": ["${workspaceFolder}/server.py", "plain"]}, '
        '"far": {"url": "http://127.0.0.1:1/${workspaceFolderBasename}", "headers": {"K": "${env:MY_TOKEN}"}}}}',
        "w",
        "far",
    ),
    "windsurf": (
        "mcp_config.json",
        '{"mcpServers": {"w": {RUN, "disabled": false, "disabledTools": ["send_mail"]}, '
        '"off": {RUN, "disabled": true}, '
        '"far": {"serverUrl": "http://127.0.0.1:1/sse", "headers": {"Authorization": "Bearer ${env:MY_TOKEN}"}}}}',
        "w",
        "far",
    ),
    "cline": (
        "cline_mcp_settings.json",
        '{"mcpServers": {"w": {RUN, "autoApprove": [], "disabled": false, "timeout": 60, "transportType": "stdio"}, '
        '"far": {"type": "streamableHttp", "url": "http://127.0.0.1:1/mcp"}}}',
        "w",
        "far",
    ),
    "codex": (
        ".codex/config.toml",
        'model = "x"\n[mcp_servers.w]\ncommand = "PYTHON"\nargs = ["server.py", "plain"]\n'
        'enabled_tools = ["send_mail"]\n'
        'env_vars = ["MY_TOKEN"]\nstartup_timeout_sec = 20\n[mcp_servers.w.env]\nA = "b"\n'
        '[mcp_servers.far]\nurl = "http://127.0.0.1:1/mcp"\nbearer_token_env_var = "MY_TOKEN"\n'
        '[mcp_servers.off]\ncommand = "x"\nenabled = false\n',
        "w",
        "far",
    ),
    "zed": (
        ".zed/settings.json",
        '{"theme": "One", "context_servers": {"w": {"source": "custom", RUN, "env": {}}, '
        '"older": {"command": {"path": "PYTHON", "args": ["server.py", "plain"]}, "settings": {}}, '
        '"ext": {"source": "extension", "settings": {"k": 1}}}}',
        "w older",
        "",
    ),
    "opencode": (
        "opencode.json",
        '{"$schema": "x", "mcp": {"w": {"type": "local", "command": ["PYTHON", "server.py", "plain"], "enabled": true, '
        '"environment": {"T": "{env:MY_TOKEN}"}}, "off": {"type": "local", "command": ["x"], "enabled": false}, '
        '"far": {"type": "remote", "url": "http://127.0.0.1:1/mcp"}}}',
        "w",
        "far",
    ),
    "copilot": ("mcp-config.json", '{"mcpServers": {"w": {"type": "local", RUN, "tools": ["*"]}}}', "w", ""),
    "continue": (
        "config.json",
        '{"mcpServers": [{"name": "w", RUN}, {RUN}, {"name": "off", RUN, "disabled": true}]}',
        "w server-2",
        "",
    ),
    "warp": ("mcp.json", '{"w": {RUN, "working_directory": null, "start_on_launch": true}}', "w", ""),
    "a line as the command": ("mcp.json", '{"mcpServers": {"w": {"command": "PYTHON server.py plain"}}}', "w", ""),
    "a transport of its own": (
        "mcp.json",
        '{"mcpServers": {"w": {RUN}, "far": {"transport": {"type": "http", "url": "http://127.0.0.1:1/mcp"}}}}',
        "w",
        "far",
    ),
}
"""A file's name and text, the servers of it that are there when started, and those that are tried and are not."""


@pytest.mark.parametrize("case", CASES)
def test_the_check_ends_with_the_servers_that_can_be_used(
    case: str, here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    name, text, there, away = CASES[case]
    text = text.replace("RUN", RUN).replace('"PYTHON', f'"{sys.executable}').replace("HERE", str(here))
    (here / ".env").write_text("export KEY='a b'\n")
    (here / "py").symlink_to(sys.executable)
    (here / "home").mkdir()
    path = here / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    main(["mcp", "--config", name, "--check", "--json"])
    out, err = capfd.readouterr()
    found = {entry["server"]: entry["problem"] for entry in json.loads(out)["servers"]}
    assert {server for server, problem in found.items() if problem is None} == set(there.split())
    assert {server for server, problem in found.items() if problem} == set(away.split())
    assert "t0p-secret" not in out + err and "${" not in json.dumps(list(found))


def test_what_an_entry_says_is_what_is_started(here: Path) -> None:
    entry = {"command": "run", "args": ["-v", 8, True], "env": {"A": "b", "N": 1.0, "NO": None}, "cwd": "sub"}
    remote = {"type": "http", "url": "https://example.org/mcp", "headers": {"Authorization": "Bearer x", "N": 1}}
    one, two = read(json.dumps({"mcpServers": {"one": entry, "My server": remote}}))[0].values()
    assert (one.command, one.args, one.env, one.cwd) == (
        "run",
        ("-v", "8", "true"),
        {"A": "b", "N": "1"},
        str(here / "sub"),
    )
    assert (one.prefix, one.transport, two.transport) == ("one", "stdio", "http")
    assert two.url == "https://example.org/mcp" and two.headers == {"Authorization": "Bearer x", "N": "1"}


@pytest.mark.parametrize(
    ("entry", "transport"),
    [
        ({"url": "http://x/mcp"}, "http"),
        ({"url": "http://x/mcp", "type": "streamable-http"}, "http"),
        ({"url": "http://x/mcp", "transport": "streamable_http"}, "http"),
        ({"url": "http://x/mcp", "transportType": "StreamableHTTP"}, "http"),
        ({"url": "http://x/mcp", "type": "remote"}, "http"),
        ({"url": "http://x/mcp", "type": "SSE"}, "sse"),
        ({"url": "http://x/sse"}, "sse"),
        ({"url": "http://x/sse?key=1"}, "sse"),
        ({"url": "http://x/sse", "type": "http"}, "http"),
        ({"httpUrl": "http://x/sse"}, "http"),
        ({"serverUrl": "http://x/mcp"}, "http"),
        ({"baseUrl": "http://x/mcp", "isActive": True}, "http"),
        ({"command": "a", "type": "local"}, "stdio"),
        ({"command": "a", "url": "http://x", "type": "stdio"}, "stdio"),
        ({"command": "a", "url": "http://x", "type": "http"}, "http"),
    ],
)
def test_every_spelling_of_a_transport_is_known(entry: dict[str, Any], transport: str) -> None:
    assert read(json.dumps({"mcpServers": {"a": entry}}))[0]["a"].transport == transport


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("[]", "expected an object"),
        ("{}", 'give either "command"'),
        ('{"command": "x", "url": "http://y"}', 'give either "command"'),
        ('{"url": "ftp://t0p-secret"}', "must begin with http"),
        ('{"url": "ws://y", "type": "ws"}', 'transport "ws" is not spoken here'),
        ('{"command": "x", "args": "y"}', '"args" must be a list of texts'),
        ('{"command": "x", "args": [["t0p-secret"]]}', '"args" must be a list of texts'),
        ('{"command": "x", "env": {"A": ["t0p-secret"]}}', '"env" must be an object of texts; "A" is none'),
        ('{"command": "x", "environment": 1}', '"environment" must be an object of texts'),
        ('{"command": " "}', '"command" must be a text'),
        ('{"command": []}', '"command" must be a text'),
        ('{"command": "x\\u0000"}', "characters that no process can be given"),
        ('{"command": "x", "args": ["\\ud800"]}', "characters that no process can be given"),
        ('{"command": "x", "envFile": "not/there"}', "not/there"),
        ('{"command": "x", "args": ["${UNSET}"]}', 'the variable "UNSET" is not set'),
        ('{"command": "x", "args": ["a${env:UNSET}"]}', 'the variable "UNSET" is not set'),
        ('{"command": "x", "env": {"A": "{env:UNSET}"}}', 'the variable "UNSET" is not set'),
        ('{"command": "x", "env": {"A": "${input:api key}"}}', "set the variable EDGERET_INPUT_API_KEY"),
        ('{"command": "x", "env": {"A": "${config:a.b}"}}', "known to its client alone"),
        ('{"command": "x", "env": {"A": "${{ secrets.T }}"}}', "is not set"),
        ('{"url": "http://x", "headers": {"A": "Bearer ${UNSET}"}}', 'the variable "UNSET" is not set'),
        ('{"url": "http://x", "headers": {"A": "t0p-secret\\n"}}', '"A" is no header\'s name'),
        ('{"url": "http://x", "headers": {"A:": "t0p-secret"}}', '"A:" is no header\'s name'),
        ('{"url": "http://x", "bearer_token_env_var": "UNSET"}', 'the variable "UNSET" is not set'),
        ('{"command": "x", "disabled": true}', "it is disabled there"),
        ('{"command": "edgeret", "args": ["mcp", "--config", "mcp.json"]}', "this is the proxy itself"),
    ],
)
def test_an_entry_that_cannot_be_used_is_left_out_with_its_reason(
    entry: str, words: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, lines = read(f'{{"mcpServers": {{"a": {entry}, "good": {{"command": "true"}}}}}}')
    assert list(found) == ["good"] and len(lines) == 1
    assert 'server "a" left out: ' in lines[0] and words in lines[0] and "t0p-secret" not in lines[0]
    with pytest.raises(InputError, match=r"mcp\.json: no server in it can be used"):
        read(f'{{"mcpServers": {{"a": {entry}}}}}')
    assert main(["mcp", "--config", "mcp.json", "--check"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and words in err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"mcpServers": {}}', "no server in it"),
        ('{"servers": {}}', "no server in it"),
        ('{"mcpServers": []}', "no server in it"),
        ('{"other": {}}', 'no "mcpServers" in it'),
        ('{"repository": {"type": "git", "url": "https://x"}, "name": "package"}', 'no "mcpServers" in it'),
        ("[]", 'no "mcpServers" in it'),
        ("", "no JSON"),
        ("[" * 100_000, "nested too deep"),
        ('{"mcpServers": {"a": ', "no JSON"),
        ("\x00\xff", "no JSON"),
    ],
)
def test_a_file_that_is_no_configuration_is_refused_in_one_line(
    text: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError, match=r"mcp\.json") as caught:
        read(text)
    assert words in str(caught.value)
    assert main(["mcp", "--config", "mcp.json", "--check"]) == 2
    assert capsys.readouterr().out == ""


def test_other_encodings_and_other_languages_are_told_from_json(here: Path) -> None:
    text = '{"mcpServers": {"ä": {"command": "true"}}}'
    for codec in ("utf-8-sig", "utf-16"):
        (here / "mcp.json").write_bytes(text.encode(codec))
        assert [server.name for server in read_config("mcp.json", print)] == ["ä"]
    (here / "mcp.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match="no text in UTF-8"):
        read_config("mcp.json", print)
    with pytest.raises(InputError, match="YAML is not read"):
        read("extensions: {}", "config.yaml")
    with pytest.raises(InputError, match="no TOML"):
        read("= 1", "config.toml")
    with pytest.raises(InputError, match="cannot be read"):
        read_config("not-there.json", print)
    with pytest.raises(InputError, match="cannot be read"):
        read_config(here, print)


def test_keys_that_nobody_knows_are_told_once_and_twice_given_ones_too() -> None:
    text = '{"mcpServers": {"a": {"command": "x", "foo": 1}, "a": {"command": "y", "bar": 1}, '
    text += '"b": {"command": "z", "bar": 2}}}'
    found, lines = read(text)
    assert found["a"].command == "y"
    assert lines == [
        'mcp.json: passed over what edgeret does not know: "bar" of "a"',
        'mcp.json: "a" stands there twice; the last one counts',
    ]


def test_only_the_tools_that_an_entry_lets_through_are_taken() -> None:
    def takes(**keys: Any) -> str:
        server = read(json.dumps({"mcpServers": {"a": {"command": "x", **keys}}}))[0]["a"]
        return " ".join(tool for tool in ("one", "two", "three") if server.takes(tool))

    assert takes() == takes(tools=["*"]) == takes(disabledTools=[]) == "one two three"
    assert takes(includeTools=["one", "two"], excludeTools=["two"]) == "one"
    assert takes(enabled_tools=["three"]) == takes(tools=["three"]) == "three"
    assert takes(disabledTools=["one"]) == takes(disabled_tools=["one"]) == "two three"
    assert takes(disabledTools=["*"]) == takes(includeTools=[]) == ""


def test_what_cannot_be_started_is_named_without_what_is_secret(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    entries = {
        "gone": {"command": "no-such-program", "args": ["--api-key", "k3y", "--x=1", "TOKEN=k3y"]},
        "path": {"command": "${workspaceFolder}/no/such", "args": ["${MY_TOKEN}", "postgres://me:k3y@host/db?k3y"]},
        "folder": {"command": "true", "cwd": "no/folder"},
        "own": {"command": "no-such-program", "env": {"PATH": "/only/here"}},
        "text": {"command": str(here / ".env")},
    }
    (here / ".env").write_text("no program")
    (here / ".env").chmod(0o755)
    Path("mcp.json").write_text(json.dumps({"mcpServers": entries}))
    assert main(["mcp", "--config", "mcp.json", "--check", "--json"]) == 1
    out, err = capfd.readouterr()
    problem = {entry["server"]: entry["problem"] for entry in json.loads(out)["servers"]}
    assert 'no program "no-such-program" in PATH, "' in problem["gone"]
    assert "(tried: no-such-program --api-key … --x=1 TOKEN=…)" in problem["gone"]
    assert f"tried: {here}/no/such ${{MY_TOKEN}} postgres://…@host/db?…" in problem["path"]
    assert f'its folder "{here}/no/folder" is not there' in problem["folder"]
    assert 'in PATH, "/only/here"' in problem["own"]
    assert "cannot be started (Exec format error; tried: " in problem["text"]
    assert "k3y" not in out + err and "t0p-secret" not in out + err


def test_a_server_whose_name_holds_a_slash_is_accepted_whole_or_a_tool_of_it(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("mcp.json").write_text(f'{{"servers": {{"io.x": {{{RUN}}}, "io.x/notes": {{{RUN}}}}}}}')
    for named, tools in (("io.x/notes", ["write_note", "send_mail"]), ("io.x/send_mail", ["send_mail"])):
        assert main(["mcp", "--config", "mcp.json", "--pins", "pins.json", "--accept", named, "--json"]) == 0
        assert json.loads(capfd.readouterr().out)["accepted"] == tools
    assert main(["mcp", "--config", "mcp.json", "--pins", "pins.json", "--accept", "io.y/notes"]) == 2
    assert "no server io.y in the file; there are io.x, io.x/notes" in capfd.readouterr().err


def test_a_variable_of_an_input_is_taken_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    text = '{"inputs": [{"id": "model", "type": "pickString", "default": "small"}], "servers": {"a": {"command": "x", '
    text += '"args": ["${input:model}"], "env": {"KEY": "${input:api-key}"}}}}'
    monkeypatch.setenv("EDGERET_INPUT_API_KEY", "given")
    server = read(text)[0]["a"]
    assert (server.args, server.env) == (("small",), {"KEY": "given"})
    assert "given" not in server.reached


def test_the_folder_of_a_project_is_where_its_file_is_and_a_user_s_is_the_current_one(here: Path) -> None:
    text = '{"mcpServers": {"a": {"command": "x", "args": ["${workspaceFolder}"]}}}'
    (here / "home").mkdir()
    places = {
        "p/mcp.json": here / "p",
        "p/.vscode/mcp.json": here / "p",
        "p/.kiro/settings/mcp.json": here / "p",
        "home/.cursor/mcp.json": here,
        "home/.config/Code/User/mcp.json": here,
        "home/Library/Application Support/Claude/claude_desktop_config.json": here,
    }
    for name, folder in places.items():
        assert read(text, name)[0]["a"].args == (str(folder),), name
    assert read(text.replace("${workspaceFolder}", "~/x"))[0]["a"].args == (f"{os.environ['HOME']}/x",)
