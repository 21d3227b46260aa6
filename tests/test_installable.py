"""What the Makefile installs can be installed: its extras agree with each other and with the versions pinned here."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SETS = sorted(set(re.findall(r"'\.\[([a-z,-]+)\]'", (ROOT / "Makefile").read_text(encoding="utf-8"))))

INSTALLED = {"cpu,dev", "cpu,export", "ray", "gguf"}
"""What `make test` and `make test-full` install themselves, by the same lines."""


def test_the_makefile_installs_sets_of_extras() -> None:
    assert set(SETS) >= INSTALLED
    assert any("peers" in extras for extras in SETS)


@pytest.mark.install
@pytest.mark.parametrize("extras", sorted(set(SETS) - INSTALLED))
def test_pip_finds_versions_that_agree(extras: str) -> None:
    # Nothing is installed, and what lies in this environment already is not fetched again.
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--disable-pip-version-check"]
    command += ["--constraint", "constraints.txt", f".[{extras}]"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
