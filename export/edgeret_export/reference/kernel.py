"""The compiled library of small arithmetic (edgeret/kernel/*.c), where it was built, and how it is given numbers.

Everything works without; numpy then does the same, and takes longer. Knows nothing of what is computed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from struct import Struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.kernel import FOLDER, SUFFIX, made_of

FILE = FOLDER / f"_kernel{SUFFIX}"
"""Where an installation in a checkout puts the library. No wheel has it."""
INSTRUCTION_SETS = ("generic", "avx2", "avx_vnni", "avx512", "avx512_vnni", "arm64_dotprod")
"""As cpu.h numbers them."""
POINTER, COUNT = ctypes.c_void_p, ctypes.c_int64
FLOAT, DOUBLE = ctypes.c_float, ctypes.c_double
_CALLS: dict[str, tuple[tuple[Any, ...], Any]] = {  # what each takes and gives, as in the sources
    "step": ((POINTER, POINTER, POINTER, DOUBLE, DOUBLE, DOUBLE, POINTER), None),
    "walk": ((POINTER,) * 5, None),
    "add_rows": ((POINTER, POINTER, POINTER, COUNT, POINTER), None),
    "judge": (
        (POINTER, POINTER, COUNT, *(POINTER,) * 4, COUNT, DOUBLE, DOUBLE, DOUBLE, DOUBLE, POINTER, POINTER, POINTER),
        None,
    ),
    "teach": ((POINTER,) * 4, None),
    "keep": ((POINTER, POINTER, COUNT, COUNT, COUNT, POINTER, COUNT, POINTER, COUNT, FLOAT, *(POINTER,) * 3), None),
    "look_up": ((POINTER, POINTER, POINTER, COUNT, COUNT, COUNT, POINTER, POINTER), None),
    "spans": ((POINTER, COUNT, POINTER, POINTER, COUNT, POINTER), None),
    "passages": ((ctypes.c_char_p, COUNT, COUNT, POINTER, POINTER, COUNT, COUNT, POINTER, POINTER), None),
    "overlaps": ((POINTER, POINTER, COUNT, POINTER), FLOAT),
    "static": ((POINTER, POINTER, COUNT, POINTER, COUNT, POINTER, COUNT, POINTER, POINTER, POINTER), None),
    "locate": ((POINTER, POINTER, POINTER, COUNT, POINTER, POINTER, POINTER, POINTER), FLOAT),
    "query_logits": ((POINTER, POINTER, POINTER, POINTER, COUNT, POINTER, POINTER, COUNT, POINTER), None),
    "spell": ((ctypes.c_char_p, COUNT, COUNT, POINTER, POINTER), COUNT),
    "products": ((POINTER, COUNT, POINTER, COUNT, COUNT, POINTER), None),
    "exponentials": ((POINTER, COUNT, POINTER), COUNT),
    "log_shares": ((POINTER, COUNT), FLOAT),
    "unseen": ((POINTER, COUNT, COUNT, POINTER, FLOAT, FLOAT, FLOAT, POINTER), FLOAT),
    "fuse": ((POINTER, POINTER, COUNT, FLOAT, FLOAT), None),
    "keep_strings": ((POINTER,), COUNT),
    "read_stems": ((POINTER, ctypes.c_char_p, COUNT, POINTER, POINTER), COUNT),
    "read_words": ((POINTER, ctypes.c_char_p, COUNT, POINTER, POINTER), COUNT),
    "nearest": ((POINTER, POINTER, COUNT, POINTER, POINTER), COUNT),
    "few": ((POINTER, COUNT, COUNT, POINTER, POINTER), None),
    "rows": ((POINTER, COUNT, POINTER, COUNT, POINTER), None),
    "union": ((COUNT, POINTER, COUNT, POINTER), COUNT),
    "covering": ((POINTER, POINTER, COUNT, COUNT, POINTER, POINTER), COUNT),
    "shared": ((POINTER, POINTER, COUNT, POINTER, COUNT, FLOAT, POINTER, POINTER), COUNT),
    "panel": ((COUNT,), COUNT),
    "pack": ((POINTER, COUNT, COUNT, COUNT, POINTER, POINTER), COUNT),
    "point": ((POINTER, POINTER, COUNT, POINTER, POINTER), COUNT),
    "room": ((POINTER, COUNT, COUNT, COUNT), COUNT),
    "left": ((POINTER, COUNT), COUNT),
    "transform": ((POINTER, COUNT, POINTER, POINTER, *(COUNT,) * 4, POINTER, POINTER, POINTER), COUNT),
}
_IN_SETS = frozenset(
    (
        *("look_up", "spans", "passages", "overlaps", "static", "locate"),
        *("query_logits", "spell", "products", "exponentials", "log_shares", "unseen", "fuse"),
    )
)  # compiled once for every set of instructions: first.c
_LONG = frozenset(
    ("keep", "teach", "keep_strings", "nearest", "few", "covering", "shared", "pack", "left", "transform")
)
"""Those that may take milliseconds. Other threads run meanwhile; a short call that let them would wait for its turn
afterwards, up to 5 ms while another thread computes in Python, as one does that loads a planner."""


def layout(*fields: tuple[str, Any]) -> Struct:
    """Packs a C struct of these fields, in a sixth of the time that a `ctypes.Structure` takes to be made."""
    codes = {POINTER: "P", COUNT: "q", FLOAT: "f", DOUBLE: "d"}
    return Struct("@" + "".join(codes[kind] for _, kind in fields) + "0q")


_NO_BYTES: Any = ctypes.c_char * 0  # mypy does not know arrays for buffers
_no_bytes, _address = _NO_BYTES.from_buffer, ctypes.addressof  # a decision asks some thirty times


def address(numbers: NDArray[Any]) -> int:
    """Where a contiguous array begins; `numbers.ctypes.data` takes four times as long, but reads what is not to be
    written, too."""
    try:
        return _address(_no_bytes(numbers))
    except TypeError:
        return int(numbers.ctypes.data)


class Kept:
    """Arrays that the library reads again and again, as it wants them: contiguous, of one type, never moved."""

    __slots__ = ("arrays", "at")

    def __init__(self, *given: tuple[Any, Any]) -> None:
        """Each array with its dtype; `at` are their addresses."""
        self.arrays = [np.ascontiguousarray(numbers, dtype) for numbers, dtype in given]
        self.at = tuple(numbers.ctypes.data for numbers in self.arrays)


class KeptStrings:
    """Different texts in ASCII, whose numbers the library finds. It keeps them, so that they stay in their place."""

    FIELDS = (("mask", COUNT), ("count", COUNT), ("characters", POINTER), ("starts", POINTER), ("places", POINTER))
    """As in strings.h."""

    __slots__ = ("_kept", "packed")

    def __init__(self, library: ctypes.CDLL, texts: Sequence[str]) -> None:
        """`packed` is what stands for FIELDS. Raises ValueError for texts that were made to take long."""
        lengths = np.fromiter(map(len, texts), np.int32, len(texts))
        self._kept = Kept(
            (np.frombuffer("".join(texts).encode() or b" ", np.uint8), np.uint8),
            (np.concatenate(([0], np.cumsum(lengths))), np.int32),
            (np.zeros(1 << (2 * len(texts)).bit_length(), np.int32), np.int32),
        )
        self.packed = (len(self._kept.arrays[2]) - 1, len(texts), *self._kept.at)
        if not library.edgeret_keep_strings(layout(*self.FIELDS).pack(*self.packed)):
            raise ValueError("most of these texts would have the same place")


def load(wide: bool = True) -> ctypes.CDLL | None:
    """The library, or None where it was not built or cannot be loaded here; with `wide` false as on an older CPU."""
    try:
        found, alone = ctypes.CDLL(str(FILE)), ctypes.PyDLL(str(FILE))
        sources = (ctypes.c_char * 65).in_dll(found, "edgeret_sources").value.decode()
        here = "avx2" if wide and found.edgeret_has_avx2() else "generic"
        for name, (takes, gives) in _CALLS.items():
            source = found if name in _LONG else alone
            call = getattr(source, f"edgeret_{name}_{here}" if name in _IN_SETS else f"edgeret_{name}")
            setattr(found, f"edgeret_{name}", call)
            call.argtypes, call.restype = takes, gives
    except (OSError, AttributeError, ValueError):
        return None
    return found if sources == made_of(sources, FILE.parent) else None


LIBRARY = load()
"""None if all is numpy's."""
