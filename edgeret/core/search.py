"""Tool search by the library. Knows nothing of strategies that ask a planner."""

from __future__ import annotations

import ctypes as c
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from edgeret.core.learner import Learner
from edgeret.core.library import HANDLE, Given, Text, ask
from edgeret.core.model import Model, Task

AUTO, HYBRID, DESCRIPTION = range(3)
"""`er_search_strategy`."""
_HIT = Struct("@IPNddd")
"""`er_hit`: tool_number, tool, score, share, cosine."""
_TELL = c.CFUNCTYPE(c.c_int32, c.c_void_p, Given, c.c_void_p, c.c_uint32)
Tell = Callable[[str, NDArray[np.float32], int], bool]
"""Is told of words that demonstrations speak of, of the tools' probabilities for them, float32 (tools,), and how many
clauses are left; whether to read these."""


class _Options(c.Structure):
    """`er_search_options`."""

    _fields_ = (
        *(("size", c.c_size_t), ("strategy", c.c_int), ("learner", HANDLE), ("tell", _TELL)),
        *(("tell_context", c.c_void_p), ("task", HANDLE)),
    )


def search(
    model: Model,
    text: str,
    strategy: int,
    k: int,
    tell: Tell | None = None,
    learner: Learner | None = None,
    task: Task | None = None,
) -> Sequence[tuple[int, int, int, float, float, float]]:
    """The `k` best tools, best first, each as `_HIT` has them: its number, two that say nothing, its score, its share
    and its cosine. The text of a `task`, which must be this one, is not encoded again where the bundle's own encoder
    read it. Raises InputError and BundleError."""
    most = min(k, model.tools)
    room, count = c.create_string_buffer(most * _HIT.size), c.c_size_t(most)
    options, problems = (
        _Options(c.sizeof(_Options), strategy, None if learner is None else learner.handle),
        list[BaseException](),
    )

    def told(_: object, words: Given, at: int, left: int) -> int:
        try:
            assert tell is not None
            return not tell(str(words), np.frombuffer(c.string_at(at, 4 * model.tools), np.float32), left)
        except BaseException as problem:  # which must not be thrown through C
            problems.append(problem)
            return 1

    if tell is not None:
        options.tell = _TELL(told)
    with nullcontext(None) if task is None else task.held() as options.task:
        ask(model.library.whole.er_search, model.handle, Text.of(text), c.byref(options), room, c.byref(count))
    if problems:
        raise problems[0]
    found: Sequence[tuple[int, int, int, float, float, float]] = list(_HIT.iter_unpack(room))
    return found[: count.value]
