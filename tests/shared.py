"""What the processes of a run make once and have in common. Knows nothing of what is made."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A path of this name that `make` made, in whichever process asked first: not to be changed."""
    root = factory.getbasetemp()
    root = (root.parent if "PYTEST_XDIST_WORKER" in os.environ else root) / "shared"
    root.mkdir(exist_ok=True)
    kept, begun = root / name, root / f"{name}.begun"
    with FileLock(root / f"{name}.lock"):
        if not kept.exists():
            shutil.rmtree(begun, ignore_errors=True)  # whoever began it failed
            make(begun)
            begun.rename(kept)
    return kept
