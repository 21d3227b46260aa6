"""Overlays as what learns in Python opens them. Knows nothing of what is in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from edgeret.bundle import roles
from edgeret.bundle.layout import Manifest
from edgeret.bundle.overlay import scan
from edgeret_export.reference.overlay_writer import Overlay


def of_bytes(data: bytes, fingerprint: str) -> Overlay:
    """One that is in memory alone, to be read. Raises OverlayError."""
    where = "what was learned"
    return Overlay(Path(where), None, scan(data, fingerprint, where), "")


def opening(path: Path, manifest: Manifest, key: bytes | None) -> Callable[[float | None], Overlay]:
    """What opens a bundle's overlay, for `Learned`."""
    fingerprint, content_hash = str(manifest.info[roles.INFO_ENCODER]["fingerprint"]), manifest.content_hash

    def opened(wait_s: float | None) -> Overlay:
        if wait_s is None:
            return Overlay.open(path, fingerprint, content_hash, read_only=True, key=key)
        return Overlay.open(path, fingerprint, content_hash, wait_seconds=wait_s, key=key)

    return opened
