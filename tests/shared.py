"""What the processes of a run make once and have in common. Knows nothing of what is made."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

PLACE = "EDGERET_TESTS_SHARED"
"""The variable that names the run's folder to its processes and to those that they start."""


def place() -> Path:
    """The folder. The process that asks first makes it, and removes it when it ends."""
    if PLACE not in os.environ:
        os.environ[PLACE] = tempfile.mkdtemp(prefix="edgeret-shared-")
        atexit.register(_remove, os.environ[PLACE], os.getpid())
    return Path(os.environ[PLACE])


def _remove(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # and not a fork of it
        shutil.rmtree(folder, ignore_errors=True)


def once(name: str, make: Callable[[Path], object]) -> Path:
    """A path of this name that `make` made, in whichever process asked first: not to be changed."""
    kept, begun = place() / name, place() / f"{name}.begun"
    with FileLock(place() / f"{name}.lock"):
        if not kept.exists():
            shutil.rmtree(begun, ignore_errors=True)  # whoever began it failed
            make(begun)
            begun.rename(kept)
    return kept
