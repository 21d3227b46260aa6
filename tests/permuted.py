"""A bundle that is whole, loads, and decides nonsense."""

from __future__ import annotations

import hashlib
from pathlib import Path

from rewritten import rewrite

from edgeret.bundle.codec import pack, unpack
from edgeret.bundle.reader import read_manifest


def permute_heads(folder: Path) -> Path:
    """Exchanges the tools that graphs and heads decide between, all but `<end>`, and makes all hashes right again."""
    info = dict(read_manifest(folder).info)
    change: dict[str, bytes] = {}
    for part in ("", "static"):
        if part and part not in info:
            continue
        told = info if not part else dict(info[part])
        owners = dict(told["calibration"])
        for role in ("graph", "head"):
            name = f"{part}-{role}.msgpack".lstrip("-")
            value = unpack((folder / name).read_bytes(), name)
            *tools, end = value["labels"]
            change[name] = pack({**value, "labels": [*tools[1:], tools[0], end]})
            owners[role] = hashlib.sha256(change[name]).hexdigest()
        told["calibration"] = owners
        if part:
            info[part] = told
    rewrite(folder, change, info)
    return folder
