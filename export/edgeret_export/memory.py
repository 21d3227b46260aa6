"""Memory of a build's process."""

from __future__ import annotations

import ctypes

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""What glibc's malloc.h calls them."""
_KEPT = 1 << 30


def keep_memory() -> None:
    """Keeps what was freed for the next request of memory, where the C library has a call for that (glibc). For a
    process that copies a model of a hundred megabytes forty times and then ends: handed back and fetched again each
    time, its pages cost 4 s of a build. Any other process should not have it."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    for what in (_TRIM_THRESHOLD, _MMAP_THRESHOLD):
        mallopt(what, _KEPT)
