"""A proxy that finds itself among its servers, in whatever words, and proxies under proxies."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from mcp_client import hostile

pytest.importorskip("mcp", reason="needs the extra mcp")

from edgeret import InputError
from edgeret.adapters.mcp.config import read_config
from edgeret.adapters.mcp.itself import MARKER, proxied_file
from edgeret.cli.commands import main


@pytest.mark.parametrize(
    "line",
    [
        "edgeret mcp --config FILE",
        "/usr/local/bin/edgeret mcp --config FILE --learn",
        "edgeret.exe mcp --config=FILE",
        "C:\\Scripts\\edgeret.EXE mcp --config FILE",
        "edgeret mcp --mode trim --conf FILE -k 3",
        "python -m edgeret mcp --config FILE",
        "python3.12 -X dev -I -m edgeret mcp --config FILE",
        "py -3 -m edgeret mcp --config FILE",
        "/venv/bin/python /venv/bin/edgeret mcp --config FILE",
        "/venv/bin/python /src/edgeret/__main__.py mcp --config FILE",
        "uvx edgeret mcp --config FILE",
        "uvx edgeret[mcp]@latest mcp --config FILE",
        "uvx --from edgeret[mcp]==1.0 edgeret mcp --config FILE",
        "uv run --directory /src edgeret mcp --config FILE",
        "uv tool run edgeret mcp --config FILE",
        "pipx run edgeret mcp --config FILE",
        "poetry run edgeret mcp --config FILE",
        "env X=1 edgeret mcp --config FILE",
        "/usr/bin/env -i edgeret mcp --config FILE",
        "cmd /c edgeret mcp --config FILE",
        "cmd.exe /d /s /c edgeret.cmd mcp --config FILE",
        "nice -n 5 edgeret mcp --config FILE",
        ["bash", "-c", "edgeret mcp --config FILE"],
        ["bash", "-lc", "cd /tmp && X=1 exec edgeret mcp --config 'FILE' 2>/dev/null"],
        ["sh", "-c", "sleep 1; (python3 -m edgeret mcp --config FILE)"],
        ["wsl", "bash", "-c", "uvx edgeret mcp --config FILE"],
        ["cmd", "/c", "edgeret mcp --config FILE"],
        ["powershell", "-Command", "edgeret mcp --config FILE"],
    ],
)
def test_its_own_command_is_known_in_other_words(line: str | list[str], tmp_path: Path) -> None:
    words = line.split(" ") if isinstance(line, str) else line
    assert proxied_file(words) == "FILE"
    config = tmp_path / "mcp.json"
    own = [word.replace("FILE", str(config)) for word in words]
    good = {"command": "true"}
    config.write_text(json.dumps({"mcpServers": {"me": {"command": own[0], "args": own[1:]}, "good": good}}))
    lines: list[str] = []
    assert [server.name for server in read_config(config, lines.append)] == ["good"]
    assert lines == [f'{config}: server "me" left out: this is the proxy itself']
    config.with_name("other.json").write_text("{}")
    nested = [word.replace("FILE", str(config.with_name("other.json"))) for word in words]
    config.write_text(json.dumps({"mcpServers": {"inner": {"command": nested[0], "args": nested[1:]}}}))
    assert [server.name for server in read_config(config, lines.append)] == ["inner"]


@pytest.mark.parametrize(
    "line",
    [
        "edgeret-bench lab mcp --config FILE",
        "edgeret gate --config FILE",
        "npx -y server-filesystem /home/me/edgeret mcp --config FILE",
        "mcp-server-git --repository edgeret",
        "docker run edgeret mcp",
        "python server.py --name edgeret",
        "bash -c echo",
        "",
    ],
)
def test_other_programs_are_not_taken_for_it(line: str) -> None:
    assert proxied_file(line.split(" ")) is None
    assert proxied_file([]) is None


def test_a_link_to_it_under_another_name_is_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "edgeret"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "tools").symlink_to(program)
    assert proxied_file([str(tmp_path / "tools"), "mcp", "--config", "x"]) == "x"


def test_its_configuration_is_known_by_relative_paths_and_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, link = tmp_path / "mcp.json", tmp_path / "link.json"
    link.symlink_to(config)
    (tmp_path / "sub").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path / "sub")
    for named, cwd in (
        ("../mcp.json", None),
        ("mcp.json", None),
        ("x/../mcp.json", str(tmp_path)),
        ("~/link.json", None),
    ):
        entry = {"command": "edgeret", "args": ["mcp", "--config", named], **({"cwd": cwd} if cwd else {})}
        config.write_text(json.dumps({"mcpServers": {"me": entry, "good": {"command": "true"}}}))
        for path in (config, link):
            assert [server.name for server in read_config(path, lambda _: None)] == ["good"], named


def test_a_proxy_under_another_one_works_and_a_circle_of_two_ends(
    tiny: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, wrapper = tmp_path / "one.json", tmp_path / "two.json", tmp_path / "wrapped"
    # A program of another name, so that only the variable can tell that it is the proxy.
    wrapper.write_text(f'#!/bin/sh\necho started >> {tmp_path}/counted\nexec {sys.executable} -m edgeret "$@"\n')
    wrapper.chmod(0o755)
    env = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}

    def proxy(config: Path) -> dict[str, object]:
        return {"command": str(wrapper), "args": ["mcp", "--config", str(config), "--base", str(tiny)], "env": env}

    one.write_text(json.dumps({"mcpServers": {"inner": proxy(two)}}))
    two.write_text(json.dumps({"mcpServers": {"leaf": hostile("plain"), "outer": proxy(one)}}))
    assert main(["mcp", "--config", str(two), "--check", "--json"]) == 0
    found = {entry["server"]: entry["tools"] for entry in json.loads(capfd.readouterr().out)["servers"]}
    assert found == {"leaf": 2, "outer": 2}  # a proxy's two tools
    began = (tmp_path / "counted").read_text().count("started")
    assert began in (1, 2)  # the outer one, and the inner one if it came so far; that one ends at once
    monkeypatch.setenv(MARKER, str(two))
    assert main(["mcp", "--config", str(two), "--base", str(tiny)]) == 2
    assert "a proxy above this one serves it already" in capfd.readouterr().err


def test_one_that_runs_under_its_own_configuration_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"one": {"command": "true"}}}))
    server = read_config(config, print)[0]
    assert server.child_env == {MARKER: str(config)}
    monkeypatch.setenv(MARKER, os.pathsep.join([str(tmp_path / "other.json"), str(config)]))
    with pytest.raises(InputError, match="this is the proxy itself"):
        read_config(config, print)
    monkeypatch.setenv(MARKER, str(tmp_path / "other.json"))
    assert read_config(config, print)[0].child_env == {
        MARKER: os.pathsep.join([str(tmp_path / "other.json"), str(config)])
    }


def test_a_path_that_holds_what_parts_paths_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / f"a{os.pathsep}b.json"
    config.write_text(json.dumps({"mcpServers": {"one": {"command": "true"}}}))
    marker = read_config(config, print)[0].child_env[MARKER]
    for above in (marker, f"/x{os.pathsep}{marker}", f"{marker}{os.pathsep}/x"):
        monkeypatch.setenv(MARKER, above)
        with pytest.raises(InputError, match="this is the proxy itself"):
            read_config(config, print)
    monkeypatch.setenv(MARKER, f"{marker}x")
    assert read_config(config, print)
