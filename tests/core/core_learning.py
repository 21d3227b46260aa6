"""What edgeret.h does about learning, from Python, and what both sides learned, to be compared."""

from __future__ import annotations

import ctypes as c
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from binding import Change, Core, Model, Task, Text

import edgeret
from edgeret.core.explained import Told
from edgeret_export.reference.runtime import request_of

ACCEPTED, CORRECTED, DEMONSTRATION = range(3)


class ReportRaw(c.Structure):
    _fields_ = (
        ("size", c.c_size_t), ("stored", c.c_uint32), ("used", c.c_int32), ("gain", c.c_double), ("bytes", c.c_uint64),
        ("id", c.c_int64),
    )  # fmt: skip


class OpenOptions(c.Structure):
    _fields_ = (
        ("size", c.c_size_t), ("wait_s", c.c_double), ("key", Text), ("fold_after", c.c_uint32), ("bytes", c.c_char_p),
        ("byte_count", c.c_size_t),
    )  # fmt: skip


class LearnOptions(c.Structure):
    _fields_ = (("size", c.c_size_t), ("source", c.c_int), ("without_words", c.c_int32))


class ForgetOptions(c.Structure):
    _fields_ = (
        ("size", c.c_size_t), ("query", Text), ("tool", Text), ("ids", c.POINTER(c.c_int64)), ("id_count", c.c_size_t),
        ("everything", c.c_int32),
    )  # fmt: skip


class PlanRaw(c.Structure):
    _fields_ = (
        ("id", c.c_int64), ("query", Text), ("calls", c.POINTER(Text)), ("call_count", c.c_uint32), ("source", c.c_int),
        ("learned_at", c.c_double),
    )  # fmt: skip


class Stored(NamedTuple):
    id: int
    query: str
    calls: tuple[str, ...]
    source: int
    learned_at: float


_TELL = c.CFUNCTYPE(None, c.c_void_p, c.POINTER(PlanRaw))


_TELL_BYTES = c.CFUNCTYPE(None, c.c_void_p, c.c_void_p, c.c_size_t)


def explained(task: Task) -> None:
    """Has the library explain a task's last step."""
    told, best = Told(c.sizeof(Told)), (c.c_int32 * 1)(-1)
    task.core("er_explain", task.handle, best, c.c_size_t(1), c.byref(told))


class Learner:
    """A learner, and tasks that decide with it."""

    def __init__(
        self,
        model: Model,
        overlay: Path | str | None = None,
        wait_s: float = 60.0,
        key: bytes | None = None,
        kept: bytes | None = None,
    ) -> None:
        self.core: Core = model.core
        self.handle = c.c_void_p()
        self.core.library.er_learner_model.restype = c.c_void_p
        options = OpenOptions(c.sizeof(OpenOptions), wait_s)
        if key is not None:
            options.key = Text.of(key)
        if kept is not None:
            options.bytes, options.byte_count = kept, len(kept)
        path = None if overlay is None else str(overlay).encode()
        self.core("er_learner_open", model.handle, path, c.byref(options), c.byref(self.handle))
        self.model = Model(self.core, c.c_void_p(self.core.library.er_learner_model(self.handle)))

    def task(self, query: str, python: edgeret.Runtime | None = None, tools: Sequence[str] | None = None) -> Task:
        """Where the core has no encoder, Python's vectors are given."""
        encoding = None
        if python is not None and not self.model.encodes:
            encoded = request_of(python.task(query)).encoded
            encoding = encoded.vector, encoded.tokens, np.asarray(encoded.spans)
        return self.model.task(query, tools, encoding, learner=self.handle)

    def learn_from(self, task: Task, source: int = ACCEPTED, words: bool = True) -> ReportRaw:
        report, options = ReportRaw(c.sizeof(ReportRaw)), LearnOptions(c.sizeof(LearnOptions), source, not words)
        self.core("er_learn", task.handle, c.byref(options), c.byref(report))
        return report

    def learn(
        self,
        query: str,
        calls: Sequence[str],
        python: edgeret.Runtime | None = None,
        source: int = DEMONSTRATION,
        words: bool = True,
    ) -> ReportRaw:
        with self.task(query, python) as task:
            for name in calls:
                task.call(name)
            return self.learn_from(task, source, words)

    def forget(self, **chosen: Any) -> int:
        options, count = ForgetOptions(c.sizeof(ForgetOptions)), c.c_uint32()
        for name, value in chosen.items():
            made = Text.of(value) if isinstance(value, str) else value
            if name in ("id", "ids"):
                ids = value if name == "ids" else [value]
                name, made, options.id_count = "ids", (c.c_int64 * len(ids))(*ids), len(ids)
            setattr(options, name, made)
        self.core("er_forget", self.handle, c.byref(options), c.byref(count))
        return count.value

    @property
    def report(self) -> ReportRaw:
        report = ReportRaw(c.sizeof(ReportRaw))
        self.core("er_learned", self.handle, c.byref(report))
        return report

    @property
    def plans(self) -> list[Stored]:
        found: list[Stored] = []

        def tell(_: Any, plan: Any) -> None:
            one = plan.contents
            calls = tuple(str(one.calls[i]) for i in range(one.call_count))
            found.append(Stored(one.id, str(one.query), calls, one.source, one.learned_at))

        self.core("er_learned_plans", self.handle, _TELL(tell), None)
        return sorted(found)

    def keep(self, before: Model, after: Model, add: Sequence[str] = (), remove: Sequence[str] = ()) -> None:
        """Keeps the change of tools that made one model of the other."""
        texts = [(Text * max(len(given), 1))(*map(Text.of, given)) for given in (add, remove)]
        change = Change(
            c.sizeof(Change), c.addressof(texts[0]), len(add), c.addressof(texts[1]), len(remove), None, 0, None, None
        )
        self.core("er_learner_keep", self.handle, before.handle, c.byref(change), after.handle)

    def copy(self) -> Learner:
        other = object.__new__(Learner)
        other.core, other.handle, other.model = self.core, c.c_void_p(), self.model
        self.core("er_learner_copy", self.handle, c.byref(other.handle))
        return other

    @property
    def bytes(self) -> bytes:
        found: list[bytes] = []
        tell = _TELL_BYTES(lambda _, at, length: found.append(c.string_at(at, length)))
        self.core("er_learner_bytes", self.handle, tell, None)
        return found[0]

    def close(self) -> None:
        self.core.library.er_learner_close(self.handle)
