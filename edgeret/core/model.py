"""A bundle as the library has it, and one request of it, step by step. Handles end with their objects."""

from __future__ import annotations

import ctypes as c
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from edgeret.core.filled import Reader
from edgeret.core.library import (
    DECISION,
    NEXT_OPTIONS,
    SECONDS,
    SIZE,
    Answer,
    BeginOptions,
    Change,
    Encoding,
    Failure,
    Given,
    LearnOptions,
    Library,
    LoadOptions,
    Summary,
    Text,
    ask,
    change_of,
    failed,
)
from edgeret.core.outside import Outside
from edgeret.core.step import Step
from edgeret.types import Arguments, Call, IndexKind

if TYPE_CHECKING:
    from edgeret.core.explained import Explained

MOST_ASIDE = 3
_INDEX: Sequence[IndexKind] = ("auto", "exact", "hnsw")
"""As `er_index_kind` counts them."""
_SHARED = 1e-9
"""The least accuracy that may be lost, where none may: the library takes 0 for its own usual share."""


class Model:
    """A loaded bundle. Immutable and thread-safe."""

    def __init__(self, library: Library, handle: c.c_void_p, tiny: bool, outside: Outside | None = None) -> None:
        """Use `load_model`. Takes the handle over."""
        self.library, self._handle, self._tiny, self._outside = library, handle, tiny, outside
        self._free = library.quick.er_free
        told = Summary(c.sizeof(Summary))
        ask(library.whole.er_describe, handle, c.byref(told))
        self.content_hash, self.tools, self.dimension = str(told.content_hash), told.tools, told.dimension
        self.stages, self.encodes, self.demonstrated = told.stages, bool(told.encodes), bool(told.labels)
        self._usual: tuple[int | None, BeginOptions] = None, BeginOptions(c.sizeof(BeginOptions), clock=library.clock)
        self.room = c.c_char * (_BESIDE + SECONDS.size + 4 * (self.tools + 1))
        """Where a task's steps are written."""
        self.empty = bytearray(c.sizeof(self.room))
        """What is in there at first: the sizes of what is written."""
        SIZE.pack_into(self.empty, _DECISION, DECISION.size)
        SIZE.pack_into(self.empty, _BESIDE, SECONDS.size)

    def with_tools(
        self,
        add: Collection[str],
        remove: Collection[str],
        replace: Collection[str],
        vectors: tuple[NDArray[np.float32], NDArray[np.float32]] | None = None,
        alone: bool = False,
    ) -> Model:
        """The same with other tools: definitions as JSON, and names of those that go. `vectors` are those of what is
        added and replaced, float32 (tools, dimension), and of their examples, (examples, dimension); None has them
        encoded. `alone` leaves behind what was demonstrated. Raises InputError and BundleError."""
        made, change = c.c_void_p(), change_of(add, remove, replace)
        change.tools_alone = int(alone)
        if vectors is not None:
            rows, shown = (np.ascontiguousarray(each, np.float32) for each in vectors)
            change.vectors, change.examples = rows.ctypes.data, shown.ctypes.data
        ask(self.library.whole.er_with_tools, self._handle, c.byref(change), c.byref(made))
        return Model(self.library, made, self._tiny, self._outside)

    @property
    def handle(self) -> c.c_void_p:
        """For the library's functions, as long as this is kept."""
        return self._handle

    def held(self, handle: int) -> Model:
        """A model of this one's that somebody else holds, held once more."""
        made, nothing = c.c_void_p(), Change(c.sizeof(Change))
        ask(self.library.quick.er_with_tools, handle, c.byref(nothing), c.byref(made))
        return Model(self.library, made, self._tiny, self._outside)

    def vectors_of(self, tools: Collection[int]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The unit vectors of tools, float32 (tools, dimension), and those of their examples, (examples, dimension)."""
        found = [np.empty((0, self.dimension), np.float32), *map(self._vectors_of, tools)]
        return np.concatenate([rows[:1] for rows in found]), np.concatenate([rows[1:] for rows in found])

    def _vectors_of(self, tool: int) -> NDArray[np.float32]:
        count, rows = c.c_size_t(), np.empty((0, self.dimension), np.float32)
        for _ in range(2):  # how many there are, and then those
            ask(self.library.quick.er_tool_vectors, self._handle, tool, rows.ctypes.data, c.byref(count))
            if len(rows) < count.value:
                rows = np.empty((count.value, self.dimension), np.float32)
        return rows

    def encode(self, text: str) -> NDArray[np.float32]:
        """A text's vector as a query, float32 (dimension,)."""
        vector = np.empty(self.dimension, np.float32)
        ask(self.library.whole.er_encode, self._handle, Text.of(text), vector.ctypes.data, len(vector))
        return vector

    def __del__(self) -> None:
        self._free(self._handle)

    def names(self) -> list[str]:
        """The tools' names, by number."""
        name, handle = self.library.quick.er_tool_name, self._handle
        return [str(name(handle, number)) for number in range(self.tools)]

    def definition(self, tool: int) -> bytes:
        """A tool's JSON object."""
        return bytes(self.library.quick.er_tool_definition(self._handle, tool))

    def takes(self, tool: int) -> int:
        """The kinds of values that a tool takes by its parameters, as bits."""
        return int(self.library.quick.er_tool_takes(self._handle, tool))

    def begin(
        self,
        query: str,
        allowed: NDArray[np.uint32] | None,
        learner: int | None = None,
        earlier: tuple[Sequence[str], int] | None = None,
    ) -> Task:
        """Reads a query, for the tools with these numbers, None for all, to decide by what was learned, too.
        `earlier` are the tools that earlier turns called, and how many of them the latest did; None where the words
        stand alone. Raises InputError and BundleError."""
        known, options = self._usual  # which nobody writes, since threads share it
        if learner != known or allowed is not None or earlier is not None:
            options = BeginOptions(options.size, learner=learner, clock=options.clock)
            if allowed is None and earlier is None:
                self._usual = learner, options
        if earlier is not None:
            told = (Text * len(earlier[0]))(*map(Text.of, earlier[0]))
            options.earlier, options.earlier_count, options.last_count = c.addressof(told), len(told), earlier[1]
        if allowed is not None:
            options.allowed, options.allowed_count = allowed.ctypes.data, len(allowed)
        # A table takes microseconds, and a transformer other threads' time.
        quick = self._tiny or (self.stages > 1 and allowed is None and earlier is None)
        made, calls = Task(self), self.library.quick if quick else self.library.whole
        if calls.er_begin(self._handle, Text.of(query), c.byref(options), made.handle_at, made.failure_at):
            made.tell(1)
        return made


def load_model(
    library: Library,
    folder: str,
    content_hash: str,
    loss: float | None,
    tiny: bool,
    threads: int,
    outside: Outside | None = None,
    index: IndexKind = "auto",
) -> Model:
    """The bundle in a folder. `loss` is the accuracy that the first stage may cost, None where it is not asked; `tiny`
    reads the table of token vectors alone, which may be all that there is; `outside` encodes in the place of the
    bundle's own encoder. Raises InputError and BundleError, and what `outside` raises."""
    handle = c.c_void_p()
    most = -1.0 if loss is None else max(loss, _SHARED)
    options = LoadOptions(c.sizeof(LoadOptions), Text.of(content_hash), most, int(tiny), threads)
    options.index = _INDEX.index(index)
    if outside is not None:
        options.encoder = c.addressof(outside.encoder)
    ask(library.whole.er_load, os.fsencode(folder), c.byref(options), c.byref(handle))
    return Model(library, handle, tiny, outside)


@lru_cache(1024)
def _name(tool: str) -> Text:
    return Text.of(tool)


_made = tuple.__new__
_OPTIONS = c.sizeof(Failure) + -c.sizeof(Failure) % 8
_DECISION = _OPTIONS + NEXT_OPTIONS.size
_BESIDE = _DECISION + DECISION.size
"""Where a task's room has what: a failure, options, and what a step gives: the decision, times, and probabilities."""


class Task:
    """One request. Threads take turns: a decision may be asked for its arguments in any of them. Raises InputError
    where `er_call` and its like refuse."""

    __slots__ = (
        *("__weakref__", "_asked", "_at", "_end", "_handed", "_handle", "_lock", "_quick", "_reader", "_room"),
        "model",
    )

    def __init__(self, model: Model) -> None:
        """Use `Model.begin`."""
        self.model, self._handle, self._quick, self._lock = model, c.c_void_p(), model.library.quick, Lock()
        self._end, self._room = self._quick.er_end, model.room.from_buffer_copy(model.empty)
        self._at = c.addressof(self._room)
        self._asked: tuple[int, float, float, bool, bool] | None = None
        self._reader: Reader | None = None
        self._handed = model.stages == 1  # whether no other encoder is going to be asked

    def __del__(self) -> None:
        self._end(self._handle)

    @property
    def handle_at(self) -> Any:
        """Where the library is to write the handle."""
        return c.byref(self._handle)

    @property
    def failure_at(self) -> int:
        """And where a failure."""
        return self._at

    def next(self, policy: int, min_probability: float, risk: float, own: bool = False, timed: bool = True) -> Step:
        """What comes next: policy 0 may abstain and 1 does not; 0 for the bundle's own floor, below 0 for none. `own`
        leaves the small encoder in front aside, from now on. What is not `timed` leaves the time that passed to the
        next one."""
        at, asked = self._at, (policy, min_probability, risk, own, timed)
        with self._lock:
            if asked != self._asked:
                self._ask(asked)
            calls = self._quick if self._handed else self.model.library.whole
            if calls.er_next(self._handle, at + _OPTIONS, at + _DECISION, at):
                self.tell(1)
            told: bytes = self._room[_DECISION:]
        step: Step = _made(Step, (*DECISION.unpack_from(told)[1:], told))  # faster than `_make`, which counts them
        if step.stage == 1:
            self._handed = True
        return step

    def _ask(self, asked: tuple[int, float, float, bool, bool]) -> None:
        times, room = self._at + _BESIDE, self._room
        to = times + SECONDS.size, self.model.tools + 1, times if asked[-1] else 0
        NEXT_OPTIONS.pack_into(room, _OPTIONS, NEXT_OPTIONS.size, *asked[:-1], *to)
        self._asked = asked

    @contextmanager
    def held(self) -> Iterator[c.c_void_p]:
        """The handle, while no other thread uses it."""
        with self._lock:
            yield self._handle

    def explain(self, tools: Sequence[int], names: Sequence[str]) -> Explained:
        """Why the last step came out as it did, of 1 to 3 candidates, by their numbers and -1 for the end, which have
        these names. Raises InputError for those that could not be chosen."""
        from edgeret.core.explained import Told, explained

        told, compared = Told(c.sizeof(Told)), (c.c_int32 * len(tools))(*tools)
        with self._lock:
            call = self.model.library.whole.er_explain
            self.tell(call(self._handle, compared, len(tools), c.byref(told), self.failure_at))
            return explained(told, names)

    def conformal(self, coverage: float) -> int:
        """How many of the step's candidates, the best ones, are needed to hold what is right that often."""
        count = c.c_size_t()
        with self._lock:
            self.tell(self._quick.er_conformal(self._handle, coverage, None, c.byref(count), self.failure_at))
        return count.value

    def answer_with(self, tool: int, min_probability: float, risk: float) -> tuple[float, bool]:
        """How probable an answer with this tool, by number, must be; and whether the request names it."""
        told, options = (
            Answer(c.sizeof(Answer)),
            NEXT_OPTIONS.pack(NEXT_OPTIONS.size, 0, min_probability, risk, 0, 0, 0, 0),
        )
        with self._lock:
            self.tell(self._quick.er_answer_with(self._handle, tool, options, c.byref(told), self.failure_at))
        return told.floor, told.named == 1

    def call(self, tool: str) -> None:
        """It was called."""
        with self._lock:
            self.tell(self._quick.er_call(self._handle, _name(tool), self.failure_at))

    def fail(self, tool: str) -> None:
        """It did not work."""
        with self._lock:
            self.tell(self._quick.er_fail(self._handle, _name(tool), self.failure_at))

    def retry(self, tool: str) -> None:
        """It may be chosen again."""
        with self._lock:
            self.tell(self._quick.er_retry(self._handle, _name(tool), self.failure_at))

    def undo(self) -> None:
        """Takes back what happened last."""
        with self._lock:
            self.tell(self._quick.er_undo(self._handle, self.failure_at))

    def learn(self, options: LearnOptions) -> None:
        """Has its learner learn that its calls solve the request. Raises OverlayError where that cannot be kept."""
        with self._lock:
            call = self.model.library.whole.er_learn
            self.tell(call(self._handle, c.byref(options), None, self.failure_at))
            self._handed = True

    def left_aside(self) -> tuple[str, ...]:
        """The user's words for wishes that no call is for."""
        room, count = (Given * MOST_ASIDE)(), c.c_size_t(MOST_ASIDE)
        with self._lock:
            self.tell(self._quick.er_left_aside(self._handle, room, c.byref(count), self.failure_at))
            return tuple(str(text) for text in room[: count.value])

    def fork(self) -> Task:
        """Another one that goes on from here."""
        other = Task(self.model)
        with self._lock:
            self.tell(self._quick.er_fork(self._handle, other.handle_at, self.failure_at))
        other._handed = self._handed
        return other

    def encoding(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.intp]]:
        """What the bundle's own encoder makes of the query: its vector (dimension,), those of its tokens (tokens,
        dimension), both float32, and the characters of the prefix and the query that each stands for, (tokens, 2);
        copies."""
        told = Encoding(c.sizeof(Encoding))
        with self._lock:
            self.tell(self.model.library.whole.er_task_encoding(self._handle, c.byref(told), self.failure_at))
            n, d = told.count, told.dimension
            tokens = np.empty((n, d), np.float32)
            vector, spans = np.empty(d, np.float32), np.empty((n, 2), np.intp)
            c.memmove(vector.ctypes.data, told.vector, vector.nbytes)
            if n:
                c.memmove(tokens.ctypes.data, told.tokens, tokens.nbytes)
                for place, at in enumerate((told.begins, told.ends)):
                    spans[:, place] = np.frombuffer((c.c_uint32 * n).from_address(at), np.uint32)
        return vector, tokens, spans

    def arguments(
        self, tool: str, calls: Sequence[Call], now: datetime | None = None, rules_alone: bool = False
    ) -> Arguments:
        """The arguments of a call of `tool` behind these `calls`. `now` is what "tomorrow" is counted from;
        `rules_alone` leaves aside what the bundle has for arguments. Raises InputError and BundleError."""
        with self._lock:
            reader = self._reader
            if reader is None:
                reader = self._reader = Reader()
            found = None
            while found is None:
                reader.ready(calls, now, rules_alone)
                if self.model.library.whole.er_arguments(self._handle, _name(tool), *reader.rooms, self._at):
                    self.tell(1)
                found = reader.read()
            return found

    def tell(self, status: int) -> None:
        """Raises what a call of the library failed with."""
        if status:
            raise failed(Failure.from_address(self.failure_at))
