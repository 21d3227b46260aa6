"""What `edgeret gate` says to options that do not fit, each in one line that tells how to go on."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE_S

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
