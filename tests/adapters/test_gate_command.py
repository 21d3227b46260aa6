"""What `edgeret gate` says to options that do not fit, each in one line that tells how to go on."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE_S
from signers import Signer

import edgeret
from edgeret.cli.commands import main

pytest.importorskip("uvicorn", reason="the extra 'gate' is not installed")

UP = "http://127.0.0.1:9/v1"


def refused(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """The line that the command ends with."""
    assert main(["gate", *options]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    return said.err


def test_a_base_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    said = refused(capsys, "--upstream", UP, "--base", str(tmp_path / "none"))
    assert "no such bundle; without --base the one that comes with edgeret is used" in said


@pytest.mark.parametrize(
    ("options", "says"),
    [(["--upstream", "localhost:8080"], "no http or https URL; a right one is http://127.0.0.1:8080/v1"),
     (["--upstream", "http://me:sesame@host/v1"], "no password"), (["--upstream", "http://host/?a=1"], "query"),
     (["--upstream", "http://"], "no http or https URL"), (["--upstream", "http://[::::]/"], "no URL"),
     (["--listen", "8089"], "is no HOST:PORT; a right one is 127.0.0.1:8089"), (["--listen", "a:99999"], "HOST:PORT"),
     (["--listen", "0.0.0.0:0"], "set a token with --token-file FILE or EDGERET_GATE_TOKEN"),
     (["--listen", "[::]:0"], "set a token"), (["--token-file", "nowhere"], "nowhere: cannot be read"),
     (["--listen", "127.0.0.1.evil.example:0"], "set a token")],
)  # fmt: skip
def test_options_that_do_not_fit_are_refused(
    capsys: pytest.CaptureFixture[str], tiny_tools: Path, options: list[str], says: str
) -> None:
    said = refused(capsys, "--base", str(tiny_tools), "--upstream", UP, *options)
    assert says in said
    assert "sesame" not in said


@pytest.mark.parametrize("token", ["short", "a token with spaces in it", "a-token-with-an-ümlaut"])
def test_a_token_that_is_none_is_refused_and_not_repeated(
    capsys: pytest.CaptureFixture[str], tiny_tools: Path, monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    monkeypatch.setenv("EDGERET_GATE_TOKEN", token)
    said = refused(capsys, "--base", str(tiny_tools), "--upstream", UP)
    assert "at least 16 visible ASCII characters" in said
    assert token not in said


def test_a_port_in_use_is_said(tiny_tools: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        listen = f"127.0.0.1:{held.getsockname()[1]}"
        command = [sys.executable, "-m", "edgeret", "gate", "--upstream", UP, "--base", str(tiny_tools)]
        done = subprocess.run(
            [*command, "--listen", listen], capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
    assert done.returncode == 2
    assert f"cannot listen on {listen}; is it in use?" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_missing_extra_is_named(tiny_tools: Path) -> None:
    code = (
        "import sys; sys.modules['uvicorn'] = None\nfrom edgeret.cli.commands import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "gate", "--upstream", UP, "--base", str(tiny_tools)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "Install it with: pip install 'edgeret[gate]'" in done.stderr
    assert done.returncode == 2


def test_k_and_coverage_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["gate", "--upstream", UP, "-k", "3", "--coverage", "0.9"])
    assert "not allowed with" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["gate", "--upstream", UP], ["mcp"]])
def test_a_base_that_nobody_trusted_signed_is_refused(
    capsys: pytest.CaptureFixture[str], tiny_tools: Path, tmp_path: Path, command: list[str]
) -> None:
    key, config = tmp_path / "key.pub", tmp_path / "mcp.json"
    key.write_bytes(Signer("somebody").public)
    config.write_text('{"mcpServers": {"a": {"command": "true"}}}')
    more = ["--config", str(config)] if command == ["mcp"] else []
    assert main([*command, *more, "--base", str(tiny_tools), "--trust", str(key)]) == 2
    assert "bundle.sig" in capsys.readouterr().err


def test_what_is_learned_over_a_base_is_bound_to_a_key(
    capsys: pytest.CaptureFixture[str], tiny_tools: Path, tmp_path: Path
) -> None:
    key, learned = tmp_path / "key", tmp_path / "gate.overlay"
    key.write_bytes(b"this device alone")
    runtime = edgeret.load(tiny_tools, overlay=learned)
    runtime.learn([edgeret.Demonstration("d", "a word", (edgeret.Call(next(iter(runtime.tools))),))])
    runtime.close()
    options = ("--upstream", UP, "--base", str(tiny_tools), "--learned", str(learned), "--overlay-key", str(key))
    assert "not bound to this device's key" in refused(capsys, *options)
