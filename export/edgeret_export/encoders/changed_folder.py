"""A model's folder changed once and kept in the cache, with the hashes of what changed. Knows nothing of the change."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from edgeret_export.sources.fetch import cache_folder, find_mismatch, sha256_of

RECORD = "merged.json"
"""In such a folder: the sha256 of each file that changed, by its name."""


def changed_folder(base: Path, name: str, change: Callable[[Path], list[str]]) -> Path:
    """A folder like `base`, in the cache by this name. `change` changes a copy and returns the names of the files that
    it changed; where the folder is there and has their hashes, it is not called."""
    folder = cache_folder() / "models" / name
    if folder.is_dir():
        try:
            hashes = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            hashes = {RECORD: ""}
        if find_mismatch(folder, hashes) is None:
            return folder
        shutil.rmtree(folder)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".change-") as temporary:
        made = Path(temporary) / "model"
        shutil.copytree(base, made)
        hashes = {file: sha256_of(made / file) for file in change(made)}
        (made / RECORD).write_text(json.dumps(hashes), encoding="utf-8")
        try:
            made.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another build was faster, and made the same
                raise
    return folder
