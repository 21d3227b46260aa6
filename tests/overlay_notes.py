"""Overlays of short notes, for tests: opened, and read as another process would.

A test file takes the fixtures under the names by which its tests ask for them: `path, locks = fresh_path, both_locks`.
(A conftest.py in tests/bundle would stand in the way of `from conftest import …`.)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from edgeret.bundle import locked_file
from edgeret.bundle.overlay_file import read_overlay
from edgeret_export.reference.overlay_writer import Overlay

ENCODER, BUNDLE = "ab" * 32, "cd" * 32


@pytest.fixture
def fresh_path(tmp_path: Path) -> Path:
    """Where the overlay is."""
    return tmp_path / "b.overlay"


@pytest.fixture(params=["itself", "beside"])
def both_locks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Locks on the file, and on one beside it, as Windows needs."""
    monkeypatch.setattr(locked_file, "LOCKED_BESIDE", request.param == "beside")
    return str(request.param)


def opened(path: Path, **options: Any) -> Overlay:
    """The overlay at `path`, for the encoder of these tests."""
    return Overlay.open(path, ENCODER, BUNDLE, **options)


def texts(path: Path) -> list[str]:
    """The records of the file, as a reader finds them."""
    return [record.value["text"] for record in read_overlay(path, ENCODER)]


def noted(*words: str) -> list[tuple[str, dict[str, Any]]]:
    """A batch with a record for each word."""
    return [("note", {"text": word}) for word in words]


def beside(path: Path) -> list[str]:
    """What else is in the folder, but for the lock."""
    return [file.name for file in path.parent.iterdir() if file.name not in (path.name, f"{path.name}.lock")]
