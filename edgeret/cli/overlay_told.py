"""What an overlay holds, as data and as lines for people. Knows no command, and changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from edgeret.bundle import roles
from edgeret.bundle.layout import Manifest
from edgeret.bundle.overlay_file import read_contents
from edgeret.fields import get
from edgeret.runtime.kept import plans_kept, summed


def told(path: Path | None, manifest: Manifest, key: bytes | None = None) -> dict[str, Any] | None:
    """Path, bytes, plans and changed tools of a bundle's overlay; None if there is none. Raises OverlayError."""
    if path is None or not path.exists():
        return None
    where = str(path)
    spec = get(get(manifest.info, roles.INFO_ENCODER, dict, where), "spec", dict, where)
    dimension = get(spec, "dimension", int, where)
    contents, recovered = read_contents(path, manifest.fingerprint, key)
    plans = plans_kept(contents.records, dimension, where)
    return {
        "path": where,
        "size_bytes": contents.size_bytes,
        "plans": len(plans),
        "plans_without_words": sum(plan.query is None for plan in plans),
        "tools": asdict(summed(contents.records)),
        "recovered": recovered,
    }


def line(overlay: Mapping[str, Any] | None) -> str:
    """The same in one line."""
    if overlay is None:
        return "none"
    changed = ", ".join(f"{len(names)} {kind}" for kind, names in overlay["tools"].items())
    text = f"{overlay['path']}, {overlay['size_bytes']} bytes: {overlay['plans']} plans learned; tools: {changed}"
    return f"{text}; {overlay['recovered']}" if overlay["recovered"] else text
