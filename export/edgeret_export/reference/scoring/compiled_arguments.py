"""The head for arguments in one compiled call (kernel/arguments_body.h), where there is a library and a CPU that
multiplies bytes quickly. Its activations become bytes, as an int8 encoder's do; else it is `argument_head`'s
arithmetic. Knows nothing of text."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.host import instruction_set
from edgeret_export.reference.kernel import COUNT, DOUBLE, INSTRUCTION_SETS, LIBRARY, POINTER, address, layout
from edgeret_export.reference.scoring.argument_shape import LAYERS, LONGEST

Rows = NDArray[Any]
_PRODUCT = layout(  # these as in transformer.h
    *(("packed", POINTER), ("scales", POINTER), ("bias", POINTER), ("shrink", POINTER), ("sums", POINTER)),
    *(("rows", COUNT), ("columns", COUNT)),
)
_NORM = layout(("gain", POINTER), ("bias", POINTER), ("epsilon", DOUBLE))
_CALL = layout(  # as in arguments.h
    *(("vectors", POINTER), ("features", POINTER), ("relations", POINTER), ("chunks", POINTER), ("rows", POINTER)),
    *(("counts", POINTER), ("boolean", POINTER), ("own", POINTER), ("by", POINTER), ("told", POINTER)),
    *(("units", COUNT), ("parameters", COUNT), ("options", COUNT), ("chunk_count", COUNT), ("levels", COUNT)),
)
_SHARES = layout(("spans", POINTER), ("options", POINTER), ("absent", POINTER))
_SEVEN_BITS = frozenset(("avx2", "avx512"))
"""Sets that add two products in 16 bits: their activations have 127 levels and not 255."""
_SIXTEEN, _PANEL = 16, 64


class CompiledHead:
    """A head's weights as the library reads them. It keeps them, so that all of them stay in their place."""

    def __init__(self, library: ctypes.CDLL, stored: Mapping[str, Any], name: str) -> None:
        """`stored` as `ArgumentHead` takes it, in bytes; `name` is a set of instructions."""
        self._library, self._set = library, INSTRUCTION_SETS.index(name)
        self._panel = library.edgeret_panel(self._set)
        self._levels = 127 if name in _SEVEN_BITS else 255
        self._kept: list[Rows] = []
        layers = b"".join(part for i in range(LAYERS) for part in self._layer(stored, i))
        products = (self._product(stored, name) for name in ("word", "unit", "beside", "ask", "answer", "small"))
        parts = [*products, self._norm(stored, "unit_norm"), self._norm(stored, "norm")]
        ends = (np.frombuffer(layers, np.uint8), _float(stored, "near"), _float(stored, "said"))
        self._head = b"".join(parts) + np.array([self._at(one) for one in ends], np.uintp).tobytes()

    def _layer(self, stored: Mapping[str, Any], i: int) -> list[bytes]:
        products = [self._product(stored, f"{name}{i}") for name in ("together", "attended", "wide", "narrow")]
        return [*products, self._norm(stored, f"norm_a{i}"), self._norm(stored, f"norm_b{i}")]

    def _norm(self, stored: Mapping[str, Any], name: str) -> bytes:
        return _NORM.pack(
            *(self._at(np.asarray(stored[f"{name}.{end}"], np.float32)) for end in ("weight", "bias")), 1e-5
        )

    def _product(self, stored: Mapping[str, Any], name: str) -> bytes:
        numbers, scales = stored[f"{name}.weight"]
        columns, rows = numbers.shape
        rows, columns = -(-rows // _SIXTEEN) * _SIXTEEN, -(-columns // _PANEL) * _PANEL
        weights = np.zeros((rows, columns), np.int8)
        weights[: numbers.shape[1], : numbers.shape[0]] = np.maximum(numbers, -127).T
        floats = np.zeros((2, columns), np.float32)
        floats[0, : len(scales)], floats[1, : len(scales)] = scales, stored[f"{name}.bias"]
        packed, sums = np.empty(rows * columns, np.int8), np.empty(columns, np.int32)
        self._library.edgeret_pack(
            weights.ctypes.data, rows, columns, self._panel, packed.ctypes.data, sums.ctypes.data
        )
        held = (packed, floats[0], floats[1], np.ones(rows, np.float32), sums)
        return _PRODUCT.pack(*map(self._at, held), rows, columns)

    def _at(self, numbers: Rows) -> int:
        self._kept.append(np.ascontiguousarray(numbers))
        return int(self._kept[-1].ctypes.data)

    def log_shares(
        self,
        vectors: Rows,
        units: Rows,
        relations: Rows,
        chunks: Rows,
        asked: Any,
        told: Rows,
    ) -> tuple[Rows, Rows, Rows]:
        """As `ArgumentHead.log_shares`: of spans, of all options, and that nobody said it. All float32, contiguous."""
        n, length = len(relations), len(vectors)
        spans = np.empty((n, length, LONGEST), np.float32)
        options, absent = np.empty(len(asked.own), np.float32), np.empty(n, np.float32)
        given = (vectors, units, relations, chunks, asked.rows, asked.counts, asked.boolean, asked.own, asked.by, told)
        call = _CALL.pack(*map(address, given), length, n, len(asked.own), len(chunks), self._levels)
        shares = _SHARES.pack(address(spans), address(options), address(absent))
        point = self._library.edgeret_point
        room = np.empty(point(self._head, call, self._set, None, None), np.float32)
        point(self._head, call, self._set, address(room), shares)
        return spans, options, absent


def _float(stored: Mapping[str, Any], name: str) -> Rows:
    found = stored[f"{name}.weight"]
    numbers, scales = found
    return np.asarray(numbers * scales[:, None], np.float32)


def compiled_head(stored: Mapping[str, Any]) -> CompiledHead | None:
    """The head in compiled form; None where there is no library, no quick set of instructions, and for weights that
    are no bytes or vectors whose size no set takes."""
    name = instruction_set()
    word = stored["word.weight"]
    if LIBRARY is None or name not in INSTRUCTION_SETS[1:] or not isinstance(word, tuple):
        return None
    if word[0].shape[1] % _SIXTEEN or not LIBRARY.edgeret_panel(INSTRUCTION_SETS.index(name)):
        return None
    return CompiledHead(LIBRARY, stored, name)
