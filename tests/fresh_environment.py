"""Environments with the wheel of this checkout, away from the checkout, for tests marked `install`."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]


def make_environment(folder: Path, extra: str) -> Path:
    """The folder of commands of a fresh environment with the wheel and one extra."""
    pip = ("-m", "pip", "--disable-pip-version-check", "--quiet")
    wheel_command = [sys.executable, *pip, "wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(wheel_command, check=True, cwd=folder)
    (wheel,) = folder.glob("edgeret-*.whl")
    venv.create(folder / "env", with_pip=True)
    scripts = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
    subprocess.run([str(scripts / "python"), *pip, "install", f"{wheel}[{extra}]"], check=True, cwd=folder)
    return scripts
