"""llama.cpp's own quantising, called through its bindings. Knows nothing of where a model comes from."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edgeret.errors import InputError, PlannerError
from edgeret.host import available_cpus
from edgeret.planner.llama import import_llama, reason
from edgeret.quoting import suggestion

TYPES = (
    "Q8_0", "Q6_K", "Q5_K_M", "Q5_K_S", "Q5_1", "Q5_0", "Q4_K_M", "Q4_K_S", "Q4_1", "Q4_0", "IQ4_NL", "IQ4_XS",
    "Q3_K_L", "Q3_K_M", "Q3_K_S", "Q2_K", "F16", "BF16",
)  # fmt: skip
"""What a GGUF's weights can be turned into, by llama.cpp's names: those whose tensors a runtime lets through."""


def check_type(kind: str) -> str:
    """The type as llama.cpp writes its name. Raises InputError for one that there is not, or that no runtime loads."""
    if kind.upper() not in TYPES:
        raise InputError(
            f"no type {kind!r} to quantise to; expected one of {', '.join(TYPES)}{suggestion(kind, TYPES)}"
        )
    return kind.upper()


def quantise(source: Path, target: Path, kind: str, importance: Mapping[str, NDArray[np.float32]] | None) -> None:
    """Writes the GGUF `source` anew with tensors of a type.

    `importance` says by a tensor's name how much each of its columns counts (columns,). Raises PlannerError where
    llama.cpp refuses, MissingExtraError without it.
    """
    llama = import_llama()
    parameters = llama.llama_model_quantize_default_params()
    parameters.ftype = getattr(llama, f"LLAMA_FTYPE_MOSTLY_{check_type(kind)}")
    parameters.nthread = available_cpus()
    rows = (
        {} if importance is None else {name: np.ascontiguousarray(row, np.float32) for name, row in importance.items()}
    )
    # Ends with an entry that has no name.
    entries = (llama.llama_model_imatrix_data * (len(rows) + 1))()
    for entry, (name, row) in zip(entries, rows.items(), strict=False):
        entry.name, entry.size = name.encode(), len(row)
        entry.data = row.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
    if rows:
        parameters.imatrix = entries
    if llama.llama_model_quantize(str(source).encode(), str(target).encode(), ctypes.byref(parameters)):
        raise PlannerError(f"{source.name}: llama.cpp could not quantise it to {kind} ({reason()})")
