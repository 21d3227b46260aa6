"""What the Makefile installs can be installed: extras agree with each other and with the versions pinned here."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RULE = re.compile(
    r"^\$\(VENV\)/\.(\w+):(?:.*\n\t)+?\$\(PIP\) install --constraint constraints\.txt (.+)$", re.MULTILINE
)
SETS = {name: shlex.split(given) for name, given in RULE.findall((ROOT / "Makefile").read_text(encoding="utf-8"))}

INSTALLED = {"export", "dev", "ray", "gguf"}
"""What `make test` and `make test-full` install themselves, by the same lines."""


def test_the_makefile_installs_distributions_together() -> None:
    # pip would look on the index for one that it takes of another and that is not named beside it.
    assert set(SETS) == {*INSTALLED, "bench"}
    for given in SETS.values():
        assert {"./export"} <= {one.partition("[")[0] for one in given} > {"."}
    assert any("peers" in one for one in SETS["bench"])


@pytest.mark.install
@pytest.mark.full
@pytest.mark.parametrize("name", sorted(set(SETS) - INSTALLED))
def test_pip_finds_versions_that_agree(name: str) -> None:
    # Nothing is installed, and what lies in this environment already is not fetched again.
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--disable-pip-version-check"]
    command += ["--constraint", "constraints.txt", *(one for one in SETS[name] if one != "--editable")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.install
def test_a_source_build_without_a_compiler_ends_and_says_how_to_get_one(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--quiet"]
    command += ["--wheel-dir", str(tmp_path), str(ROOT)]
    environment = {**os.environ, "CC": "no-such-compiler", "EDGERET_TARGET": ""}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode != 0 and not list(tmp_path.iterdir())
    for told in ("no C compiler (no-such-compiler)", "apt-get install gcc", "EDGERET_TARGET=here"):
        assert told in done.stderr
