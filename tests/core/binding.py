"""edgeret.h from Python, as an integrator would: the functions of the header and nothing behind it."""

from __future__ import annotations

import ctypes as c
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret import Arguments, Call
from edgeret.core.filled import Reader

END = -1


class Text(c.Structure):
    _fields_ = (("at", c.POINTER(c.c_char)), ("length", c.c_size_t))

    @staticmethod
    def of(text: str | bytes) -> Text:
        raw = text.encode() if isinstance(text, str) else text
        return Text(c.cast(c.c_char_p(raw), c.POINTER(c.c_char)), len(raw))

    def __str__(self) -> str:
        return c.string_at(self.at, self.length).decode() if self.length else ""


class Failure(c.Structure):
    _fields_ = (("status", c.c_int), ("text", c.c_char * 512))


class LoadOptions(c.Structure):
    _fields_ = (
        ("size", c.c_size_t), ("content_hash", Text), ("most_loss", c.c_double), ("first_stage_alone", c.c_int32),
        ("threads", c.c_int32), ("trust", Text), ("signatures", Text), ("now", c.c_int64), ("encoder", c.c_void_p),
        ("index", c.c_int),
    )  # fmt: skip


class Window(c.Structure):
    _fields_ = (
        ("size", c.c_size_t), ("ids", c.POINTER(c.c_int64)), ("count", c.c_uint32), ("dimension", c.c_uint32),
        ("vector", c.c_void_p), ("tokens", c.c_void_p),
    )  # fmt: skip


Run = c.CFUNCTYPE(c.c_int, c.c_void_p, c.POINTER(Window), c.POINTER(Failure))


class Encoder(c.Structure):
    _fields_ = (("size", c.c_size_t), ("run", Run), ("context", c.c_void_p), ("max_tokens", c.c_uint32))


class Answer(c.Structure):
    _fields_ = (("size", c.c_size_t), ("floor", c.c_double), ("confirm", c.c_int32), ("named", c.c_int32))


class Summary(c.Structure):
    _fields_ = (
        ("size", c.c_size_t), ("content_hash", Text), ("tools", c.c_uint32), ("labels", c.c_uint32),
        ("dimension", c.c_uint32), ("stages", c.c_int32), ("encodes", c.c_int32), ("bytes", c.c_size_t),
    )  # fmt: skip


class BeginOptions(c.Structure):
    _fields_ = (
        ("size", c.c_size_t), ("allowed", c.POINTER(c.c_uint32)), ("allowed_count", c.c_size_t),
        ("earlier", c.POINTER(Text)), ("earlier_count", c.c_size_t), ("last_count", c.c_size_t),
        ("learner", c.c_void_p), ("clock", c.c_void_p), ("clock_context", c.c_void_p),
    )  # fmt: skip


Clock = c.CFUNCTYPE(c.c_double, c.c_void_p)
STAGES = ("tokenize", "encode", "search", "graph", "head", "fuse", "learned", "decide")


class Seconds(c.Structure):
    _fields_ = (("size", c.c_size_t), *((name, c.c_double) for name in STAGES))


class Change(c.Structure):
    _fields_ = (
        ("size", c.c_size_t), ("add", c.c_void_p), ("add_count", c.c_size_t), ("remove", c.c_void_p),
        ("remove_count", c.c_size_t), ("replace", c.c_void_p), ("replace_count", c.c_size_t), ("vectors", c.c_void_p),
        ("examples", c.c_void_p), ("tools_alone", c.c_int32),
    )  # fmt: skip


class Encoding(c.Structure):
    _fields_ = (
        ("size", c.c_size_t), ("vector", c.c_void_p), ("tokens", c.c_void_p), ("begins", c.c_void_p),
        ("ends", c.c_void_p), ("count", c.c_uint32), ("dimension", c.c_uint32),
    )  # fmt: skip


class NextOptions(c.Structure):
    _fields_ = (
        ("size", c.c_size_t), ("policy", c.c_int), ("min_probability", c.c_double), ("risk", c.c_double),
        ("own", c.c_int32),
    )  # fmt: skip


class DecisionRaw(c.Structure):
    _fields_ = (
        ("size", c.c_size_t), ("tool_number", c.c_int32), ("tool", Text), ("probability", c.c_double),
        ("reason", c.c_int), ("abstained", c.c_int32), ("confirm", c.c_int32), ("named", c.c_int32),
        ("stage", c.c_int32), ("demonstrated", c.c_int32), ("floor", c.c_double), ("best", Text),
        ("best_number", c.c_int32), ("parts", c.c_uint32),
    )  # fmt: skip


class CandidateRaw(c.Structure):
    _fields_ = (("tool_number", c.c_int32), ("tool", Text), ("probability", c.c_double))


class HitRaw(c.Structure):
    _fields_ = (
        ("tool_number", c.c_uint32), ("tool", Text), ("score", c.c_double), ("share", c.c_double),
        ("cosine", c.c_double),
    )  # fmt: skip


class SearchOptions(c.Structure):
    _fields_ = (
        ("size", c.c_size_t), ("strategy", c.c_int), ("learner", c.c_void_p), ("tell", c.c_void_p),
        ("tell_context", c.c_void_p), ("task", c.c_void_p),
    )  # fmt: skip


AUTO, HYBRID, DESCRIPTION = range(3)


class CoreError(Exception):
    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text}")
        self.status, self.text = status, text


@dataclass(frozen=True)
class Decided:
    tool: str | None
    probability: float
    abstained: bool
    stage: int
    best: str
    reason: int
    named: bool
    confirm: bool
    best_number: int
    parts: int


class Core:
    """The library."""

    def __init__(self, library: c.CDLL | Path | str) -> None:
        self.library = library if isinstance(library, c.CDLL) else c.CDLL(str(library))
        self.library.er_version.restype = c.c_char_p
        self.library.er_tool_name.restype = self.library.er_tool_definition.restype = Text
        self.library.er_tool_find.restype = c.c_int64

    def __call__(self, name: str, *arguments: Any) -> None:
        failure = Failure()
        if getattr(self.library, name)(*arguments, c.byref(failure)):
            raise CoreError(failure.status, failure.text.decode("utf-8", "replace"))

    def load(self, folder: Path | str, **options: Any) -> Model:
        told = LoadOptions(c.sizeof(LoadOptions), **options)
        model = c.c_void_p()
        self("er_load", str(folder).encode(), c.byref(told), c.byref(model))
        return Model(self, model)


class Model:
    def __init__(self, core: Core, handle: c.c_void_p) -> None:
        self.core, self.handle = core, handle
        summary = Summary(c.sizeof(Summary))
        core("er_describe", handle, c.byref(summary))
        self.tools, self.labels, self.dimension = summary.tools, summary.labels, summary.dimension
        self.stages, self.encodes, self.bytes = summary.stages, bool(summary.encodes), summary.bytes
        self.content_hash = str(summary.content_hash)
        self.names = [str(core.library.er_tool_name(handle, c.c_uint32(i))) for i in range(summary.tools)]

    def task(
        self,
        query: str | bytes,
        tools: Sequence[str] | None = None,
        encoding: tuple[Any, ...] | None = None,
        learner: c.c_void_p | None = None,
        clock: Any = None,
        earlier: tuple[Sequence[str], int] | None = None,
    ) -> Task:
        task, options = c.c_void_p(), None
        if any(given is not None for given in (tools, learner, clock, earlier)):
            told = BeginOptions(c.sizeof(BeginOptions), learner=learner, clock=c.cast(clock, c.c_void_p))
            if tools is not None:
                told.allowed = (c.c_uint32 * len(tools))(*(self.names.index(name) for name in tools))
                told.allowed_count = len(tools)
            if earlier is not None:
                calls = (Text * max(len(earlier[0]), 1))(*(Text.of(name) for name in earlier[0]))
                told.earlier, told.earlier_count, told.last_count = calls, len(earlier[0]), earlier[1]
            options = c.byref(told)
        text = query.encode() if isinstance(query, str) else query
        if encoding is None:
            self.core("er_begin", self.handle, Text.of(text), options, c.byref(task))
        else:
            vector, tokens, spans = encoding
            arrays = [np.ascontiguousarray(vector, np.float32), np.ascontiguousarray(tokens, np.float32)]
            arrays += [np.ascontiguousarray(spans[:, i], np.uint32) for i in range(2)]
            given = Encoding(c.sizeof(Encoding), *(a.ctypes.data for a in arrays), len(tokens), tokens.shape[1])
            self.core("er_begin_with", self.handle, Text.of(text), c.byref(given), options, c.byref(task))
        return Task(self, task)

    def search(
        self,
        query: str | bytes,
        k: int = 10,
        strategy: int = HYBRID,
        learner: c.c_void_p | None = None,
        task: Task | None = None,
    ) -> list[tuple[str, float, float]]:
        room, count = (HitRaw * max(k, 1))(), c.c_size_t(k)
        options = SearchOptions(c.sizeof(SearchOptions), strategy, learner)
        options.task = None if task is None else task.handle
        self.core("er_search", self.handle, Text.of(query), c.byref(options), room, c.byref(count))
        return [(str(hit.tool), hit.score, hit.share) for hit in room[: min(k, count.value)]]

    def encode(self, query: str) -> NDArray[np.float32]:
        vector = np.empty(self.dimension, np.float32)
        self.core("er_encode", self.handle, Text.of(query), c.c_void_p(vector.ctypes.data), c.c_size_t(len(vector)))
        return vector

    def tokens(self, query: str) -> list[tuple[int, int, int]]:
        count = c.c_size_t(4 * len(query) + 64)
        arrays = [(c.c_uint32 * count.value)() for _ in range(3)]
        self.core("er_tokens", self.handle, Text.of(query), *arrays, c.byref(count))
        return list(zip(*(array[: count.value] for array in arrays), strict=True))

    def with_tools(
        self,
        add: Sequence[str | bytes] = (),
        remove: Sequence[str | bytes] = (),
        replace: Sequence[str | bytes] = (),
        vectors: tuple[NDArray[np.float32], NDArray[np.float32]] | None = None,
        alone: bool = False,
    ) -> Model:
        """Definitions are JSON; `vectors` are those of tools and of their examples, where no encoder runs here. `alone`
        leaves behind what was demonstrated."""
        made, texts = (
            c.c_void_p(),
            [(Text * max(len(given), 1))(*map(Text.of, given)) for given in (add, remove, replace)],
        )
        lists = [
            part
            for array, given in zip(texts, (add, remove, replace), strict=True)
            for part in (c.addressof(array), len(given))
        ]
        arrays = [np.ascontiguousarray(array, np.float32) for array in vectors or ()]
        change = Change(c.sizeof(Change), *lists, *(array.ctypes.data for array in arrays), tools_alone=int(alone))
        self.core("er_with_tools", self.handle, c.byref(change), c.byref(made))
        return Model(self.core, made)

    def vectors(self, tool: int, room: int) -> tuple[NDArray[np.float32], int]:
        """So many of a tool's vectors and of its examples', and how many there are."""
        rows, count = np.zeros((room, self.dimension), np.float32), c.c_size_t(room)
        self.core("er_tool_vectors", self.handle, c.c_uint32(tool), c.c_void_p(rows.ctypes.data), c.byref(count))
        return rows, count.value

    def close(self) -> None:
        self.core.library.er_free(self.handle)


class Task:
    def __init__(self, model: Model, handle: c.c_void_p) -> None:
        self.model, self.core, self.handle = model, model.core, handle

    def next(self, policy: int = 0, min_probability: float = 0.0, risk: float = 0.0, own: int = 0) -> Decided:
        found, options = (
            DecisionRaw(c.sizeof(DecisionRaw)),
            NextOptions(c.sizeof(NextOptions), policy, min_probability, risk, own),
        )
        self.core("er_next", self.handle, c.byref(options), c.byref(found))
        tool = str(found.tool) if found.tool_number != END else None
        return Decided(
            tool, found.probability, bool(found.abstained), found.stage, str(found.best), found.reason,
            bool(found.named), bool(found.confirm), found.best_number, found.parts,
        )  # fmt: skip

    def conformal(self, coverage: float, k: int = 50) -> tuple[list[tuple[str, float]], int]:
        """At most k of the set, and how many there are."""
        room, count = (CandidateRaw * max(k, 1))(), c.c_size_t(k)
        self.core("er_conformal", self.handle, c.c_double(coverage), room, c.byref(count))
        return [(str(one.tool), one.probability) for one in room[: min(k, count.value)]], count.value

    def answer_with(self, tool: int, risk: float = 0.0) -> Answer:
        found, options = Answer(c.sizeof(Answer)), NextOptions(c.sizeof(NextOptions), risk=risk)
        self.core("er_answer_with", self.handle, c.c_int32(tool), c.byref(options), c.byref(found))
        return found

    def candidates(self, k: int = 10) -> list[tuple[str, float]]:
        room, count = (CandidateRaw * max(k, 1))(), c.c_size_t(k)
        self.core("er_candidates", self.handle, room, c.byref(count))
        return [(str(one.tool), one.probability) for one in room[: min(k, count.value)]]

    def probabilities(self, most: int | None = None) -> NDArray[np.float32]:
        """(tools + 1): by the tools' numbers, then the end's; or the first so many of them."""
        size = self.model.tools + 1 if most is None else most
        room, count = np.full(size, np.nan, np.float32), c.c_size_t(size)
        self.core("er_probabilities", self.handle, c.c_void_p(room.ctypes.data), c.byref(count))
        assert count.value == self.model.tools + 1
        return room

    def left_aside(self) -> tuple[str, ...]:
        """The words for wishes that no call is for."""
        room, count = (Text * 3)(), c.c_size_t(3)
        self.core("er_left_aside", self.handle, room, c.byref(count))
        return tuple(str(text) for text in room[: count.value])

    def encoding(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.uint32]]:
        """The query's vector (dimension,), its tokens' (tokens, dimension), where these stand (tokens, 2); copies."""
        found = Encoding(c.sizeof(Encoding))
        self.core("er_task_encoding", self.handle, c.byref(found))
        n, d = found.count, found.dimension

        def copied(at: int, dtype: Any, count: int) -> Any:
            return np.frombuffer(c.string_at(at, 4 * count), dtype)

        spans = np.stack([copied(at, np.uint32, n) for at in (found.begins, found.ends)], axis=1)
        return copied(found.vector, np.float32, d), copied(found.tokens, np.float32, n * d).reshape(n, d), spans

    def arguments(self, tool: str, calls: Sequence[Call] = ()) -> Arguments:
        """What `er_arguments` reads for a tool behind these calls."""
        reader, found = Reader(), None
        while found is None:
            reader.ready(calls, None, False)
            self.core("er_arguments", self.handle, Text.of(tool), *map(c.c_void_p, reader.rooms))
            found = reader.read()
        return found

    def times(self) -> dict[str, float]:
        """Seconds by stage."""
        found = Seconds(c.sizeof(Seconds))
        self.core("er_times", self.handle, c.byref(found))
        return {name: getattr(found, name) for name in STAGES}

    def call(self, tool: str) -> None:
        self.core("er_call", self.handle, Text.of(tool))

    def failed(self, tool: str) -> None:
        self.core("er_fail", self.handle, Text.of(tool))

    def retry(self, tool: str) -> None:
        self.core("er_retry", self.handle, Text.of(tool))

    def undo(self) -> None:
        self.core("er_undo", self.handle)

    def fork(self) -> Task:
        other = c.c_void_p()
        self.core("er_fork", self.handle, c.byref(other))
        return Task(self.model, other)

    def end(self) -> None:
        self.core.library.er_end(self.handle)

    def __enter__(self) -> Task:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


def plans(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Queries with the tools that they call, from demonstrations."""
    import json

    for line in path.read_text(encoding="utf-8").splitlines():
        value = json.loads(line)
        yield value["query"], [call["tool"] for call in value["calls"]]
