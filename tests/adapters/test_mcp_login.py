"""A server that asks for a login gets one from a person once, and later from what was kept. The server is the SDK's."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

from mcp_client import write_config
from patience import PATIENCE_S
from test_mcp_http import free_port

from edgeret.cli.commands import main


@pytest.fixture
def there() -> Iterator[int]:
    """The port of a server that asks for a login."""
    port = free_port()
    script = Path(__file__).with_name("login_mcp.py")
    with subprocess.Popen([sys.executable, str(script), str(port)]) as server:
        try:
            for _ in range(int(20 * PATIENCE_S)):
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/mcp", timeout=PATIENCE_S)
                except urllib.error.HTTPError:
                    break
                except OSError:
                    time.sleep(0.05)
            yield port
        finally:
            server.kill()


def logs_in(config: str, name: str) -> bytes:
    """The page that somebody sees who opens the address that is told on standard error, as soon as it is.

    The command is a process of its own: what is read of `capfd` while something writes to it can lose a line.
    """
    command = [sys.executable, "-m", "edgeret", "mcp", "--config", config, "--login", name]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as login:
        assert login.stderr is not None
        told = next(line for line in login.stderr if "open this address" in line)
        page: bytes = urllib.request.urlopen(told.split("machine: ")[1].split()[0], timeout=PATIENCE_S).read()
        assert login.wait(PATIENCE_S) == 0, login.stderr.read()
    return page


def test_a_person_logs_in_once(
    there: int, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for screen in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(screen, raising=False)
    config = str(write_config(tmp_path, far={"url": f"http://127.0.0.1:{there}/mcp"}))
    assert main(["mcp", "--config", config, "--check"]) == 1
    assert "asks for a login (401); run edgeret mcp --login NAME" in capfd.readouterr().out
    assert b"You can close this page" in logs_in(config, "far")
    kept = tmp_path / ".edgeret" / "logins.json"
    if sys.platform != "win32":
        assert kept.stat().st_mode & 0o777 == 0o600 and kept.parent.stat().st_mode & 0o777 == 0o700
    capfd.readouterr()
    before = json.loads(kept.read_text())
    next(iter(before["servers"].values()))["until"] = 1.0  # it ended long ago, and is renewed by nobody
    kept.write_text(json.dumps(before))
    assert main(["mcp", "--config", config, "--check"]) == 0
    assert json.loads(kept.read_text()) != before
    capfd.readouterr()
    assert main(["mcp", "--config", config, "--check", "--json"]) == 0
    assert json.loads(capfd.readouterr().out.splitlines()[-1])["servers"][0]["tools"] == 1
    assert main(["mcp", "--config", config, "--login", "other"]) == 2
    # One that the server knows no more is told, and asked for anew.
    spoiled = json.loads(kept.read_text())
    login = next(iter(spoiled["servers"].values()))
    login["tokens"] |= {"access_token": "x", "refresh_token": "y"}
    kept.write_text(json.dumps(spoiled))
    capfd.readouterr()
    assert main(["mcp", "--config", config, "--check"]) == 1
    assert "wants another login; run edgeret mcp --login NAME" in capfd.readouterr().out


def test_a_proxy_uses_what_was_kept_and_headers_come_first(
    there: int, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    entry = {"url": f"http://127.0.0.1:{there}/mcp", "headers": {"authorization": "Bearer mine"}}
    config = str(write_config(tmp_path, far=entry))
    assert main(["mcp", "--config", config, "--check"]) == 1
    assert 'does not take the authorization that its "headers" hold (401)' in capfd.readouterr().out
    assert main(["mcp", "--config", config, "--login", "far"]) == 2
    assert "nothing was kept" in capfd.readouterr().err and not (tmp_path / ".edgeret").exists()
