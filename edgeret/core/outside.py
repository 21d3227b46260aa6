"""An encoder of Python's, as the library calls it: vectors of tokens for tokens' ids. Knows nothing of texts."""

from __future__ import annotations

import ctypes as c
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from edgeret.core.library import RUN, Encoder, Window, refuse
from edgeret.errors import BundleError

Run = Callable[[NDArray[np.int64]], tuple[NDArray[np.float32], NDArray[np.float32]]]
"""From ids (tokens,), the special ones among them, to the unit vector of the whole (dimension,) and the vectors of the
tokens (tokens, dimension). Called by whichever thread decides; what it raises is what deciding raises."""


class Outside:
    """What the library asks in the place of a bundle's encoder. To be kept as long as a model, or one made of it."""

    def __init__(self, run: Run, most: int) -> None:
        """`most`: how many ids are read at a time."""

        def answer(_: int, place: int, failure: int) -> int:
            try:
                window = Window.from_address(place)
                n, d = window.count, window.dimension
                found = run(np.array((c.c_int64 * n).from_address(window.ids), np.int64))
                for name, at, shape, part in zip(
                    ("sentence", "tokens"), (window.vector, window.tokens), ((d,), (n, d)), found, strict=True
                ):
                    if part.shape != shape:
                        raise BundleError(f"encoder: expected {name} of shape {shape}, found {part.shape}")
                    part = np.ascontiguousarray(part, np.float32)
                    c.memmove(at, part.ctypes.data, part.nbytes)
            except BaseException as error:  # C knows no exceptions; `failed` raises it behind the library's call
                return refuse(failure, error)
            return 0

        self.encoder = Encoder(c.sizeof(Encoder), RUN(answer), None, most)
