"""Where the C library lies, and whether it was made of the sources that are here. Knows nothing of what it does."""

from __future__ import annotations

import ctypes
import hashlib
import sys
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
SUFFIX = ".dll" if sys.platform == "win32" else ".so"
CORE = FOLDER / f"_core{SUFFIX}"
"""The library of edgeret.h, where building the package puts it."""


def made_of(default: str, *folders: Path) -> str:
    """The hash of the sources in these folders, where they are: in a checkout. A wheel has none, and a library made of
    its own."""
    files = [file for folder in folders for file in sorted(folder.glob("*.[ch]"))]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest() if files else default


def is_core_of_here(found: ctypes.CDLL) -> bool:
    """Whether a library of edgeret.h was made of the sources that are here; where none are, it was."""
    try:
        told = (ctypes.c_char * 65).in_dll(found, "edgeret_sources").value.decode()
    except ValueError:
        return False
    core = FOLDER.parents[1] / "core"
    return told == made_of(told, core / "include", core / "src")


@cache
def widest_set() -> str:
    """The set of instructions that the library encodes with here, "generic" where there is no library."""
    try:
        ask = ctypes.CDLL(str(CORE)).er_instruction_set
    except (OSError, AttributeError):
        return "generic"
    ask.restype = ctypes.c_char_p
    return str(ask().decode())
