"""Bundles changed by somebody who makes all hashes right again."""

from __future__ import annotations

import hashlib
from pathlib import Path

from edgeret.bundle.codec import pack, unpack
from edgeret.bundle.reader import read_manifest
from edgeret_export.writer import BundleWriter


def rewrite(folder: Path, change: dict[str, bytes], info: dict | None = None, leave_out: str = "") -> None:
    """Replaces files, or leaves one out, and writes a manifest that matches: a forger's view of the format."""
    manifest = read_manifest(folder)
    entries = [
        (f.name, f.role, change.get(f.name, (folder / f.name).read_bytes()), f.licence, f.source)
        for f in manifest.files
        if f.name != leave_out
    ]
    for path in folder.iterdir():
        path.unlink()
    writer = BundleWriter(folder)
    for entry in entries:
        writer.add(*entry)
    writer.finish(info if info is not None else manifest.info)


def changed(folder: Path, name: str, **values: object) -> None:
    """Changes fields of one file and forges a manifest that matches, calibration included."""
    content = {**unpack((folder / name).read_bytes(), name), **values}
    data = pack(content)
    info = dict(read_manifest(folder).info)
    role = name.split(".")[0]
    if role in ("graph", "head", "memory", "familiarity"):
        info["calibration"] = {**info["calibration"], role: hashlib.sha256(data).hexdigest()}
    rewrite(folder, {name: data}, info)
