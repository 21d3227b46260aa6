"""Environments with wheels of this checkout, away from the checkout, for tests marked `install`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from shared import once

ROOT = Path(__file__).parents[1]
FOLDERS = {"edgeret": ROOT, "edgeret-export": ROOT / "export", "edgeret-bench": ROOT / "bench"}
"""The distributions, each with its pyproject's folder."""
PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet")


def make_wheel(source: Path, folder: Path) -> Path:
    """The wheel of a pyproject's folder, written to another one."""
    before = set(folder.glob("*.whl"))
    command = [sys.executable, *PIP, "wheel", "--no-build-isolation", "--no-deps"]
    command += ["--wheel-dir", str(folder), str(source)]
    subprocess.run(command, check=True, cwd=folder)
    (wheel,) = set(folder.glob("*.whl")) - before
    return wheel


def wheel_of(name: str) -> Path:
    """The wheel of a distribution, made once a run: the compiler takes longer than most tests."""

    def make(folder: Path) -> None:
        folder.mkdir()
        make_wheel(FOLDERS[name], folder)

    (wheel,) = once(f"wheel-of-{name}", make).glob("*.whl")
    return wheel


def make_environment(
    factory: pytest.TempPathFactory, *wanted: str, wheel: Path | None = None, name: str = "fresh"
) -> Path:
    """The folder of commands of a fresh environment with distributions as pip names them, `edgeret[cpu]`; `wheel` is
    edgeret's, if it is not to be the one of this checkout for this machine."""
    folder, requirements = factory.mktemp(name), []
    for one in wanted:
        distribution = one.partition("[")[0]
        given = wheel if wheel is not None and distribution == "edgeret" else wheel_of(distribution)
        requirements.append(f"{given}{one.removeprefix(distribution)}")
    scripts = bare(folder)
    install(scripts, *requirements)
    return scripts


def bare(folder: Path) -> Path:
    """The folder of commands of an environment without anything."""
    venv.create(folder / "env", with_pip=False)
    return folder / "env" / ("Scripts" if os.name == "nt" else "bin")


def install(scripts: Path, *requirements: str) -> None:
    """Installs by this environment's pip, which is quicker than a fresh one. What is not run needs no bytecode."""
    own = [sys.executable, "-m", "pip", "--python", str(scripts / "python"), *PIP[2:]]
    subprocess.run([*own, "install", "--no-compile", *requirements], check=True, cwd=scripts)


def installed(scripts: Path) -> list[str]:
    """The names of the distributions there."""
    own = [sys.executable, "-m", "pip", "--python", str(scripts / "python"), "--disable-pip-version-check"]
    listed = subprocess.run([*own, "list", "--format=json"], check=True, capture_output=True, cwd=scripts)
    return [one["name"] for one in json.loads(listed.stdout)]
