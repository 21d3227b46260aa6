"""An encoder without a bundle, as the library runs it: a build fits heads on the vectors that devices will have. Knows
nothing of texts."""

from __future__ import annotations

import ctypes as c
from mmap import mmap

import numpy as np
from numpy.typing import NDArray

from edgeret.core.library import Library, Text, ask


class _Options(c.Structure):
    """`er_embedder_options`."""

    _fields_ = (
        *(("size", c.c_size_t), ("encoder", c.c_void_p), ("length", c.c_size_t), ("arrays", Text)),
        *(("dimension", c.c_uint32), ("max_tokens", c.c_uint32)),
    )


class Embedder:
    """A transformer in int8. Immutable and thread-safe."""

    def __init__(self, library: Library, encoder: bytes | mmap, arrays: bytes, dimension: int, max_tokens: int) -> None:
        """Of what will be a bundle's files `encoder`, which nobody changes meanwhile and which may be empty, and
        `encoder-arrays`. Raises BundleError for files that are no such encoder."""
        self._library, self._handle, self._dimension = library, c.c_void_p(), dimension
        self._encoder, self._arrays = np.frombuffer(encoder or b"\0", np.uint8), arrays  # read where they lie
        at = self._encoder.ctypes.data if encoder else None
        given = at, len(encoder), Text(arrays, len(arrays))
        options = _Options(c.sizeof(_Options), *given, dimension, max_tokens)
        ask(library.whole.er_embedder_open, c.byref(options), c.byref(self._handle))

    def __del__(self) -> None:
        self._library.quick.er_embedder_close(self._handle)

    def embed(self, ids: NDArray[np.int64], threads: int = 1) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The vector of a text by its tokens' ids (tokens,), contiguous, and those of the tokens: float32 (dimension,)
        and (tokens, dimension). Raises InputError and BundleError."""
        vector = np.empty(self._dimension, np.float32)
        tokens = np.empty((len(ids), self._dimension), np.float32)
        room = tokens.ctypes.data, vector.ctypes.data
        ask(self._library.whole.er_embed, self._handle, ids.ctypes.data, len(ids), threads, *room)
        return vector, tokens
