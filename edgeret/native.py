"""Manners of native code in a process that it shares: idle threads sleep, and memory that is not needed is given back.

Importing this speaks to numpy's OpenBLAS, so it comes before numpy. By themselves its threads spin for 2^26 ticks of
the clock: 27 ms of a core at every start, and after every large product. Sleeping at once makes products of a few
hundred rows three times as long; from 2^16 ticks on none took longer.
"""

from __future__ import annotations

import ctypes
import os

os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "20")  # 2^20 ticks, half a millisecond

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""What glibc's malloc.h calls them."""
_KEPT = 1 << 30


def give_back() -> None:
    """Gives memory that was freed back to the system, where the C library has a call for that (glibc); half a
    millisecond. Loading frees some 10 MB that deciding has no use for."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        return


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
