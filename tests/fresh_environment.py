"""Environments with wheels of this checkout, away from the checkout, for tests marked `install`."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = {"edgeret": ROOT, "edgeret-export": ROOT / "export", "edgeret-bench": ROOT / "bench"}
"""The distributions, each with its pyproject's folder."""
PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet")


def make_wheel(source: Path, folder: Path) -> Path:
    """The wheel of a pyproject's folder, written to another one."""
    before = set(folder.glob("*.whl"))
    command = [sys.executable, *PIP, "wheel", "--no-deps", "--wheel-dir", str(folder), str(source)]
    subprocess.run(command, check=True, cwd=folder)
    (wheel,) = set(folder.glob("*.whl")) - before
    return wheel


def make_environment(folder: Path, *wanted: str, wheel: Path | None = None) -> Path:
    """The folder of commands of a fresh environment with distributions as pip names them, `edgeret[cpu]`. Their wheels
    are made here; `wheel` is edgeret's, if it is there already."""
    requirements = []
    for one in wanted:
        name = one.partition("[")[0]
        made = wheel if wheel is not None and name == "edgeret" else make_wheel(FOLDERS[name], folder)
        requirements.append(f"{made}{one.removeprefix(name)}")
    venv.create(folder / "env", with_pip=True)
    scripts = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
    subprocess.run([str(scripts / "python"), *PIP, "install", *requirements], check=True, cwd=folder)
    return scripts
