"""The programs of docs/howto/languages.md that can run here: Node's against a server and as a parent, Rust's as one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE_S
from serves import hosted

pytest.importorskip("uvicorn", reason="the extra 'serve' is not installed")

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "howto" / "languages.md").read_text(encoding="utf-8")


def programs(language: str) -> list[str]:
    """The page's programs in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.M | re.S)


def needs(command: str) -> pytest.MarkDecorator:
    """Skips where there is no such command."""
    return pytest.mark.skipif(shutil.which(command) is None, reason=f"there is no {command}")


@pytest.fixture
def folder(tiny: Path) -> Path:
    """With a bundle, and a command `edgeret` on the path."""
    command = tiny.with_name("bin") / "edgeret"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m edgeret "$@"\n')
    command.chmod(0o700)
    return tiny.parent


def output(folder: Path, *command: str) -> str:
    """What a program prints."""
    environment = os.environ | {"PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs("node")
def test_node_asks_a_server(folder: Path) -> None:
    with hosted(folder / "bundle") as served:
        (folder / "ask.mjs").write_text(programs("js")[0].replace("http://127.0.0.1:8090", served.url))
        assert output(folder, "node", "ask.mjs").startswith("send_mail 0.")


@needs("node")
def test_node_asks_a_child(folder: Path) -> None:
    (folder / "ask.mjs").write_text(programs("js")[1])
    assert output(folder, "node", "ask.mjs") == "find_file\n"


@needs("rustc")
def test_rust_asks_a_child(folder: Path) -> None:
    (folder / "ask.rs").write_text(programs("rust")[0])
    output(folder, "rustc", "ask.rs")
    assert '"tool":"find_file"' in output(folder, "./ask")
