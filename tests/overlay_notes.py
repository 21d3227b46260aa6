"""Overlays of short notes, for tests: opened, and read as another process would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edgeret.bundle.overlay_file import Overlay, read_overlay

ENCODER, BUNDLE = "ab" * 32, "cd" * 32


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
