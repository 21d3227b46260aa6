"""What was learned as arrays and plain data, and back, checked. Knows nothing of files.

Both ways everything is exact: what is read back predicts the same, bit for bit. Vectors are float16 here and float32 in
use, where they are rounded to float16 already.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle.codec import get_array
from edgeret.errors import BundleError, OverlayError
from edgeret_export.reference.scoring.increments import COUNTS, MAX_NORM, MAX_ROWS, Increments
from edgeret_export.reference.scoring.learner import END_NAME, Learner
from edgeret_export.reference.scoring.memory import END, LEAST_WEIGHT, MAX_CALLS, MAX_WEIGHT, NONE, Memory
from edgeret_export.reference.scoring.mixture import MAX_WEIGHT as MAX_MIXTURE_WEIGHT
from edgeret_export.reference.scoring.mixture import Guard
from edgeret_export.reference.scoring.offsets import KEPT, Offsets

MEND = "forget everything that was learned, or restore the file from a copy"
"""How every message ends."""
MAX_NUMBER = 1e9
"""Magnitude that no stored number exceeds."""
MAX_ID = 2**53
"""Ids, times and counts stay below."""

_PLAN_BYTES = 4 + 8 + 8 + 4 + 4 + 4
"""Of a plan's length, id, time, weight, how often it was shown, and whether it is redundant."""


def pack_learner(learner: Learner) -> dict[str, Any]:
    """All that a learner has learned: float32, float16, int32 and int64 arrays, numbers, strings and lists of them."""
    memory, increments, mixture, guard = learner.memory, learner.increments, learner.mixture, learner.guard
    plans, rows = memory.plans, increments.rows
    lengths = memory.lengths[:plans]
    none = np.zeros((0, KEPT))
    return {
        "dimension": learner.dimension,
        "names": list(learner.names),
        "learned": learner.learned,
        "clock": memory.clock,
        "next_id": memory.next_id,
        "vectors": memory.vectors[:plans].astype(np.float16),
        "lengths": lengths.copy(),
        "calls": memory.calls[:plans][np.arange(memory.calls.shape[1]) < lengths[:, None]],
        "ids": memory.ids[:plans].copy(),
        "times": memory.times[:plans].copy(),
        "weights": memory.weights[:plans].copy(),
        "shown": memory.shown[:plans].copy(),
        "redundant": memory.redundant[:plans].astype(np.int32),
        "offset_labels": np.concatenate([none, *(o.labels for o in memory.offsets)]).astype(np.int32),
        "offset_log_p": np.concatenate([none, *(o.log_p for o in memory.offsets)]).astype(np.float16),
        "row_labels": increments.labels[:rows].copy(),
        "row_weights": increments.weights[:rows].copy(),
        "row_bias": increments.bias[:rows].copy(),
        "row_squares": increments.squares[:rows].copy(),
        "row_history": increments.history[: COUNTS + 2 * rows, :rows].copy(),
        "mixture_weights": mixture.weights.copy(),
        "mixture_squares": mixture.squares.copy(),
        "guard": [guard.plans, guard.total, guard.squares, float(guard.muted)],
    }


def without_idle_names(state: Mapping[str, Any], kept: Collection[str]) -> dict[str, Any]:
    """What `pack_learner` gave, without the names that no plan, no row of the increments and none of `kept` refers to.
    The others keep their order and are numbered anew."""
    labels = ("calls", "offset_labels", "row_labels")
    used = np.array([not label or name in kept for label, name in enumerate(state["names"])], np.bool_)
    for key in labels:
        used[state[key][state[key] >= 0]] = True
    numbers = np.append(np.cumsum(used) - 1, NONE)  # the last is for none, which is -1
    names = [name for name, stays in zip(state["names"], used.tolist(), strict=True) if stays]
    return {**state, "names": names, **{key: numbers[state[key]].astype(state[key].dtype) for key in labels}}


def packed_bytes(learner: Learner) -> int:
    """Bytes of the arrays that `pack_learner` would give, without making them."""
    memory, rows = learner.memory, learner.increments.rows
    plan = 2 * memory.dimension + _PLAN_BYTES
    calls = 4 * (memory.steps - memory.plans)
    row = 4 * learner.increments.dimension + 16 + 4 * (COUNTS + 2 * rows)
    mixture: int = learner.mixture.weights.nbytes + learner.mixture.squares.nbytes
    return memory.plans * plan + calls + memory.steps * KEPT * 6 + rows * row + mixture


def restore_learner(learner: Learner, state: Mapping[str, Any], where: str) -> None:
    """Puts what `pack_learner` gave, or what the codec made of that, into a learner that was made like the one it came
    from and has learned nothing.

    Raises OverlayError, naming `where`, for anything missing, of another type, shape or range; the learner is then as
    it was.
    """
    reader = _Reader(state, where)
    reader.whole("dimension", learner.dimension, learner.dimension)
    names = reader.names()
    fresh = learner.empty_copy()
    _restore_memory(fresh.memory, reader, len(names))
    _restore_increments(fresh.increments, reader, len(names))
    experts = len(fresh.mixture.weights)
    fresh.mixture.weights = reader.array("mixture_weights", np.float32, (experts,), 0, MAX_MIXTURE_WEIGHT)
    fresh.mixture.squares = reader.array("mixture_squares", np.float32, (experts,), 1, MAX_NUMBER)
    plans, total, squares, muted = reader.numbers("guard", 4)
    if plans < 0 or squares < 0 or muted not in (0.0, 1.0):
        raise reader.error("guard", "sums of judged plans and a 0 or 1", [plans, total, squares, muted])
    fresh.guard = Guard(plans, total, squares, bool(muted))
    fresh.learned = reader.whole("learned", 0, MAX_ID)
    fresh.set_names(names)
    learner.take_over(fresh)


def _restore_memory(memory: Memory, reader: _Reader, names: int) -> None:
    lengths = reader.array("lengths", np.int32, (None,), 0, MAX_CALLS)
    plans, steps = len(lengths), int(lengths.sum()) + len(lengths)
    if steps > memory.capacity_steps:
        raise reader.error("lengths", f"at most {memory.capacity_steps} steps in all", steps)
    memory.clock = reader.whole("clock", 0, MAX_ID)
    memory.next_id = reader.whole("next_id", 0, MAX_ID)
    calls = reader.array("calls", np.int32, (steps - plans,), END + 1, names - 1)
    vectors = reader.array("vectors", np.float16, (plans, memory.dimension), -1.01, 1.01).astype(np.float32)
    norms = np.einsum("ij,ij->i", vectors, vectors)
    if (np.abs(norms - 1) > 0.02).any():
        raise reader.error("vectors", "unit vectors", norms[np.abs(norms - 1).argmax()])
    ids = reader.array("ids", np.int64, (plans,), 0, memory.next_id - 1)
    if len(np.unique(ids)) != plans:
        raise reader.error("ids", "an id of its own for every plan", "one twice")
    times = reader.array("times", np.int64, (plans,), 0, memory.clock)
    weights = reader.array("weights", np.float32, (plans,), LEAST_WEIGHT, MAX_WEIGHT)
    shown = reader.array("shown", np.int32, (plans,), 1, MAX_WEIGHT)
    redundant = reader.array("redundant", np.int32, (plans,), 0, 1)
    labels = reader.array("offset_labels", np.int32, (steps, KEPT), NONE, names - 1)
    log_p = reader.array("offset_log_p", np.float16, (steps, KEPT), -100, 0.1)
    first = 0
    for row, length in enumerate(lengths.tolist()):
        own = slice(first + row, first + row + length + 1)
        offsets = Offsets.of(labels[own], log_p[own])
        memory.restore(vectors[row], calls[first : first + length].tolist(), offsets, int(ids[row]))
        first += length
    for name, column in (("times", times), ("weights", weights), ("shown", shown), ("redundant", redundant)):
        getattr(memory, name)[:plans] = column


def _restore_increments(increments: Increments, reader: _Reader, names: int) -> None:
    labels = reader.array("row_labels", np.int64, (None,), 0, names - 1)
    rows = len(labels)
    if rows > MAX_ROWS or len(np.unique(labels)) != rows:
        raise reader.error("row_labels", f"at most {MAX_ROWS} labels, each once", rows)
    for label in labels.tolist():
        increments.allocate(label, 0, called=True)
    bound = MAX_NORM * 1.001
    increments.weights[:rows] = reader.array("row_weights", np.float32, (rows, increments.dimension), -bound, bound)
    increments.bias[:rows] = reader.array("row_bias", np.float32, (rows,), -bound, bound)
    increments.squares[:rows] = reader.array("row_squares", np.float32, (rows,), 1, MAX_NUMBER)
    shape = (COUNTS + 2 * rows, rows)
    increments.history[: shape[0], :rows] = reader.array("row_history", np.float32, shape, -bound, bound)


class _Reader:
    """Fields of a state, checked."""

    def __init__(self, state: Mapping[str, Any], where: str) -> None:
        self._state = state
        self._where = where

    def error(self, key: str, expected: str, found: object) -> OverlayError:
        """What to raise for a field that is not as expected."""
        return OverlayError(f'{self._where}: "{key}" must hold {expected}, found {str(found)[:60]}; {MEND}')

    def array(self, key: str, dtype: type[Any], shape: tuple[int | None, ...], low: float, high: float) -> NDArray[Any]:
        """A copy of an array, as it is or as the codec packs it: this type and shape (None: any size), all numbers in
        [low, high]."""
        found, kind = self._state.get(key), np.dtype(dtype)
        if isinstance(found, dict):
            try:
                found = get_array(self._state, key, kind.str, shape, self._where)
            except BundleError as error:
                raise self.error(key, f"finite {kind} of shape {shape}", "another array") from error
        if not isinstance(found, np.ndarray) or found.dtype != kind or found.ndim != len(shape):
            raise self.error(key, f"{kind} in {len(shape)} dimensions", getattr(found, "dtype", type(found).__name__))
        if any(size not in (None, there) for size, there in zip(shape, found.shape, strict=True)):
            raise self.error(key, f"the shape {shape}", found.shape)
        # NaN compares as false, so this refuses it too.
        if found.size and not (float(found.min()) >= low and float(found.max()) <= high):
            raise self.error(key, f"numbers from {low:g} to {high:g}", f"{found.min()} to {found.max()}")
        return found.copy()

    def whole(self, key: str, low: int, high: int) -> int:
        """A whole number in [low, high]."""
        found = self._state.get(key)
        if not isinstance(found, int) or isinstance(found, bool) or not low <= found <= high:
            raise self.error(key, f"a whole number from {low} to {high}", found)
        return found

    def numbers(self, key: str, size: int) -> list[float]:
        """A list of so many finite numbers."""
        found = self._state.get(key)
        if not isinstance(found, list) or len(found) != size:
            raise self.error(key, f"{size} numbers", found)
        if not all(isinstance(number, float) and abs(number) < MAX_NUMBER for number in found):
            raise self.error(key, f"{size} finite numbers", found)
        return found

    def names(self) -> list[str]:
        """The table of names: distinct strings, the end first."""
        found = self._state.get("names")
        if not isinstance(found, list) or not found or not all(isinstance(name, str) for name in found):
            raise self.error("names", "a list of strings", type(found).__name__)
        if found[0] != END_NAME or len(set(found)) != len(found):
            raise self.error("names", f"{END_NAME} first and every name once", found[0])
        return list(found)
