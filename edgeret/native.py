"""Manners of native code in a process that it shares: idle threads sleep, and memory that is not needed is given back.

Importing this speaks to numpy's OpenBLAS, so it comes before numpy. By themselves its threads spin for 2^26 ticks of
the clock: 27 ms of a core at every start, and after every large product. Sleeping at once makes products of a few
hundred rows three times as long; from 2^16 ticks on none took longer.
"""

from __future__ import annotations

import ctypes
import os

os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "20")  # 2^20 ticks, half a millisecond


def give_back() -> None:
    """Gives memory that was freed back to the system, where the C library has a call for that (glibc); half a
    millisecond. Loading frees some 10 MB that deciding has no use for."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        return
