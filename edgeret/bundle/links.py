"""Links among a bundle's files: those of two layouts that share files are followed, step by step, and no others.

A Kubernetes volume links `file -> ..data/file` and `..data -> ..2026_01_31/`, all inside the folder. The cache of the
Hugging Face hub links `snapshots/REVISION/file -> ../../blobs/HASH`. No step is left to the system: each one is opened
relative to the folder before it, and a link put there meanwhile is refused. Knows nothing of what the files are.
"""

from __future__ import annotations

import errno
import os
import re
from contextlib import ExitStack
from pathlib import Path

_MOST_LINKS = 8
_BLOB = re.compile(r"((?:\.\./){2,8})blobs/([0-9a-f]{40,64})")


def open_linked(folder: int, name: str, flags: int) -> int:
    """Opens, with `flags` (O_NOFOLLOW among them), the file that the link `name` in an open folder leads to.

    Raises OSError: if that is not inside the folder, or in the `blobs` beside the `snapshots` that the folder lies in,
    and if there is no such file.
    """
    with ExitStack() as opened:
        here, ahead, links = folder, [name], 0
        while True:
            part = ahead.pop(0)
            target = link_text(part, here)
            if target is None and not ahead:
                return os.open(part, flags, dir_fd=here)
            if target is None:
                here = _enter(opened, part, here)
                continue
            if here == folder and not ahead and (blob := _BLOB.fullmatch(target)):
                return os.open(blob[2], flags, dir_fd=_blobs(opened, folder, blob[1].count("/")))
            steps = target.split("/")
            links += 1
            if links > _MOST_LINKS or not {"", ".", ".."}.isdisjoint(steps):
                raise _outside()
            ahead = steps + ahead


def link_text(name: str | Path, folder: int | None = None) -> str | None:
    """What a link says, or None for anything else and for what is not there."""
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError:
        return None


def stations(folder: Path, name: str) -> set[str]:
    """Names in the folder that the link `name` leads through, none if it is no link."""
    found: set[str] = set()
    while len(found) < _MOST_LINKS and (target := link_text(folder / name)) is not None:
        name = target.split("/")[0]
        found.add(name)
    return found


def _enter(opened: ExitStack, name: str, folder: int) -> int:
    descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    opened.callback(os.close, descriptor)
    return descriptor


def _blobs(opened: ExitStack, folder: int, levels: int) -> int:
    """The folder `blobs` so many levels above, if the way up there comes out of `snapshots` at last."""
    below, above = folder, folder
    for _ in range(levels):
        below, above = above, _enter(opened, "..", above)
    try:
        snapshots = _enter(opened, "snapshots", above)
    except OSError:
        raise _outside() from None
    if not os.path.samestat(os.fstat(below), os.fstat(snapshots)):
        raise _outside()
    return _enter(opened, "blobs", above)


def _outside() -> OSError:
    return OSError(errno.ELOOP, "a symbolic link of a kind that is not followed")
