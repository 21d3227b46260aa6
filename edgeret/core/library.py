"""What edgeret.h declares, read once: the one file that knows C. Knows nothing of what is decided."""

from __future__ import annotations

import ctypes as c
import threading
from collections.abc import Collection
from pathlib import Path
from struct import Struct
from typing import Any

from edgeret.core.built import CORE, is_core_of_here
from edgeret.errors import BundleError, EdgeretError, InputError, OverlayError

HANDLE, INT = c.c_void_p, c.c_int32
MESSAGE = 512
"""Bytes of a failure's line."""
DECISION = Struct("@NiPNdiiiiiidPNiI")
"""`er_decision`: its size, tool_number, tool, probability, reason, abstained, confirm, named, stage, demonstrated,
floor, best, best_number, parts."""
PROBABLE, NOTHING_FITS, UNSURE, ALL_FAILED, DONE = range(5)
"""`er_reason`."""
TOOLS, HEAD, GRAPH, MEMORY, LEARNED, TURNS = (1 << i for i in range(6))
"""ER_BY_TOOLS and the like, bits of a decision's `parts`."""
STAGES = ("tokenize", "encode", "search", "graph", "head", "fuse", "learned", "decide")
"""As they stand in `er_seconds`."""


class Text(c.Structure):
    """UTF-8 with its length."""

    _fields_ = (("at", c.c_char_p), ("length", c.c_size_t))

    @staticmethod
    def of(text: str) -> Text:
        """A text to hand over. It holds its bytes."""
        told = text.encode()
        return Text(told, len(told))


class Given(c.Structure):
    """A text that the library hands out, which need not end with a zero byte."""

    _fields_ = (("at", c.c_void_p), ("length", c.c_size_t))

    def __bytes__(self) -> bytes:
        return c.string_at(self.at, self.length) if self.length else b""

    def __str__(self) -> str:
        return bytes(self).decode()


class Failure(c.Structure):
    """`er_error`."""

    _fields_ = (("status", c.c_int), ("text", c.c_char * MESSAGE))


class LoadOptions(c.Structure):
    """`er_load_options`."""

    _fields_ = (
        *(("size", c.c_size_t), ("content_hash", Text), ("most_loss", c.c_double), ("first_stage_alone", INT)),
        *(("threads", INT), ("trust", Text), ("signatures", Text), ("now", c.c_int64), ("encoder", c.c_void_p)),
        *(("index", c.c_int),),
    )


RUN = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_void_p, c.c_void_p)
"""`er_encoder.run`."""


class Window(c.Structure):
    """`er_window`."""

    _fields_ = (
        *(("size", c.c_size_t), ("ids", c.c_void_p), ("count", c.c_uint32), ("dimension", c.c_uint32)),
        *(("vector", c.c_void_p), ("tokens", c.c_void_p)),
    )


class Encoder(c.Structure):
    """`er_encoder`."""

    _fields_ = (("size", c.c_size_t), ("run", RUN), ("context", c.c_void_p), ("max_tokens", c.c_uint32))


class Summary(c.Structure):
    """`er_summary`."""

    _fields_ = (
        *(("size", c.c_size_t), ("content_hash", Given), ("tools", c.c_uint32), ("labels", c.c_uint32)),
        *(("dimension", c.c_uint32), ("stages", INT), ("encodes", INT), ("bytes", c.c_size_t)),
    )


class BeginOptions(c.Structure):
    """`er_begin_options`."""

    _fields_ = (
        *(("size", c.c_size_t), ("allowed", c.c_void_p), ("allowed_count", c.c_size_t)),
        *(("earlier", c.c_void_p), ("earlier_count", c.c_size_t), ("last_count", c.c_size_t)),
        *(("learner", HANDLE), ("clock", c.c_void_p), ("clock_context", c.c_void_p)),
    )


class Answer(c.Structure):
    """`er_answer`."""

    _fields_ = (("size", c.c_size_t), ("floor", c.c_double), ("confirm", INT), ("named", INT))


class Change(c.Structure):
    """`er_change`."""

    held: Any
    """What its addresses lead to."""
    _fields_ = (
        *(("size", c.c_size_t), ("add", c.c_void_p), ("add_count", c.c_size_t), ("remove", c.c_void_p)),
        *(
            ("remove_count", c.c_size_t),
            ("replace", c.c_void_p),
            ("replace_count", c.c_size_t),
            ("vectors", c.c_void_p),
        ),
        *(("examples", c.c_void_p), ("tools_alone", INT)),
    )


class Encoding(c.Structure):
    """`er_encoding`."""

    _fields_ = (
        *(("size", c.c_size_t), ("vector", c.c_void_p), ("tokens", c.c_void_p), ("begins", c.c_void_p)),
        *(("ends", c.c_void_p), ("count", c.c_uint32), ("dimension", c.c_uint32)),
    )


class LearnerOptions(c.Structure):
    """`er_learner_options`."""

    _fields_ = (("size", c.c_size_t), ("wait_s", c.c_double), ("key", Text), ("fold_after", c.c_uint32))


class LearnOptions(c.Structure):
    """`er_learn_options`."""

    _fields_ = (("size", c.c_size_t), ("source", c.c_int), ("without_words", INT))


class ForgetOptions(c.Structure):
    """`er_forget_options`."""

    _fields_ = (
        *(("size", c.c_size_t), ("query", Text), ("tool", Text), ("ids", c.c_void_p), ("id_count", c.c_size_t)),
        *(("everything", INT),),
    )


class Report(c.Structure):
    """`er_report`."""

    stored: int
    used: int
    gain: float
    bytes: int

    _fields_ = (
        *(("size", c.c_size_t), ("stored", c.c_uint32), ("used", INT), ("gain", c.c_double)),
        *(("bytes", c.c_uint64), ("id", c.c_int64)),
    )


class PlanTold(c.Structure):
    """`er_plan_told`."""

    _fields_ = (
        *(("id", c.c_int64), ("query", Given), ("calls", c.POINTER(Given)), ("call_count", c.c_uint32)),
        *(("source", c.c_int), ("learned_at", c.c_double)),
    )


Tell = c.PYFUNCTYPE(None, c.c_void_p, c.POINTER(PlanTold))
TellBytes = c.PYFUNCTYPE(None, c.c_void_p, c.c_void_p, c.c_size_t)
"""Who is told of plans, and of bytes, by functions of `Library.quick`."""

SIZE = Struct("@N")
"""What structs begin with."""
SECONDS = Struct(f"@N{len(STAGES)}d")
"""`er_seconds`: its size, and STAGES."""
NEXT_OPTIONS = Struct("@NiddiPNP")
"""`er_next_options`: its size, policy, min_probability, risk, own, and where probabilities, so many, and times go."""


_TAKES: dict[str, tuple[Any, ...]] = {
    "load": (c.c_char_p, c.c_void_p, c.c_void_p, c.c_void_p),
    "list": (c.c_char_p, c.c_size_t, INT, c.c_void_p, c.c_void_p, c.c_void_p),
    "describe": (HANDLE, c.c_void_p, c.c_void_p),
    "with_tools": (HANDLE, c.c_void_p, c.c_void_p, c.c_void_p),
    "tool_vectors": (HANDLE, c.c_uint32, c.c_void_p, c.c_void_p, c.c_void_p),
    "encode": (HANDLE, Text, c.c_void_p, c.c_size_t, c.c_void_p),
    "embedder_open": (c.c_void_p, c.c_void_p, c.c_void_p),
    "embed": (HANDLE, c.c_void_p, c.c_size_t, INT, c.c_void_p, c.c_void_p, c.c_void_p),
    "begin": (HANDLE, Text, c.c_void_p, c.c_void_p, c.c_void_p),
    "next": (HANDLE, c.c_void_p, c.c_void_p, c.c_void_p),
    "conformal": (HANDLE, c.c_double, c.c_void_p, c.c_void_p, c.c_void_p),
    "answer_with": (HANDLE, INT, c.c_void_p, c.c_void_p, c.c_void_p),
    "probabilities": (HANDLE, c.c_void_p, c.c_void_p, c.c_void_p),
    "call": (HANDLE, Text, c.c_void_p),
    "fail": (HANDLE, Text, c.c_void_p),
    "retry": (HANDLE, Text, c.c_void_p),
    "undo": (HANDLE, c.c_void_p),
    "fork": (HANDLE, c.c_void_p, c.c_void_p),
    "explain": (HANDLE, c.c_void_p, c.c_size_t, c.c_void_p, c.c_void_p),
    "task_encoding": (HANDLE, c.c_void_p, c.c_void_p),
    "arguments": (HANDLE, Text, c.c_void_p, c.c_void_p, c.c_void_p, c.c_void_p, c.c_void_p, c.c_void_p),
    "left_aside": (HANDLE, c.c_void_p, c.c_void_p, c.c_void_p),
    "understand": (Text, c.c_void_p, c.c_void_p),
    "times": (HANDLE, c.c_void_p, c.c_void_p),
    "search": (HANDLE, Text, c.c_void_p, c.c_void_p, c.c_void_p, c.c_void_p),
    "learner_open": (HANDLE, c.c_char_p, c.c_void_p, c.c_void_p, c.c_void_p),
    "learned": (HANDLE, c.c_void_p, c.c_void_p),
    "learn": (HANDLE, c.c_void_p, c.c_void_p, c.c_void_p),
    "learned_plans": (HANDLE, Tell, c.c_void_p, c.c_void_p),
    "forget": (HANDLE, c.c_void_p, c.c_void_p, c.c_void_p),
    "learner_keep": (HANDLE, HANDLE, c.c_void_p, HANDLE, c.c_void_p),
    "learner_copy": (HANDLE, c.c_void_p, c.c_void_p),
    "learner_bytes": (HANDLE, TellBytes, c.c_void_p, c.c_void_p),
}
_STATUS: dict[int, type[Exception]] = {1: InputError, 2: BundleError, 3: BundleError, 4: MemoryError, 6: InputError} | {
    7: OverlayError,
    8: OverlayError,
}


class Library:
    """The functions by their names without `er_`. Those that begin a task, load, or ask an encoder let other threads
    run meanwhile; `quick` has those that take microseconds, where letting them would take longer."""

    def __init__(self, path: Path = CORE) -> None:
        """Raises OSError where there is no such library, and AttributeError for another version's."""
        whole, quick = c.CDLL(str(path)), c.PyDLL(str(path))
        for name, takes in _TAKES.items():
            for library in (whole, quick):
                call = getattr(library, f"er_{name}")
                call.argtypes, call.restype = takes, c.c_int
        self.clock = c.cast(quick.er_clock, c.c_void_p).value
        for name in ("tool_name", "tool_definition"):
            call = getattr(quick, f"er_{name}")
            call.argtypes, call.restype = (HANDLE, c.c_uint32), Given
        for name in ("free", "end", "learner_close", "embedder_close"):
            call = getattr(quick, f"er_{name}")
            call.argtypes, call.restype = (HANDLE,), None
        quick.er_ed25519_is_key.argtypes, quick.er_ed25519_is_key.restype = (c.c_char_p,), INT
        quick.er_ed25519_verify.argtypes = (c.c_char_p, Text, c.c_char_p)
        quick.er_ed25519_verify.restype = INT
        quick.er_tool_takes.argtypes, quick.er_tool_takes.restype = (HANDLE, c.c_uint32), c.c_uint32
        quick.er_learner_model.argtypes, quick.er_learner_model.restype = (HANDLE,), c.c_void_p
        self.whole, self.quick = whole, quick


_RAISED = threading.local()
NO_ENCODER = 5


def refuse(failure: int, error: BaseException) -> int:
    """Tells the library, which asked Python for vectors, of what was raised there, in its `er_error`. Gives
    what to return; `failed` raises it again."""
    text = (str(error) or type(error).__name__).encode("utf-8", "replace")[: MESSAGE - 1].partition(b"\0")[0]
    Failure.from_address(failure).text = text
    _RAISED.error = error, text
    return NO_ENCODER


def failed(failure: Failure) -> BaseException:
    """What to raise for a failure."""
    error, text = vars(_RAISED).pop("error", (None, b""))
    if error is not None and (failure.status, failure.text) == (NO_ENCODER, text):
        raised: BaseException = error
        return raised
    return _STATUS.get(failure.status, EdgeretError)(failure.text.decode("utf-8", "replace"))


def ask(call: Any, *given: Any) -> None:
    """Calls a function of the library, with room for a failure behind what is `given`, and raises that."""
    failure = Failure()
    if call(*given, c.byref(failure)):
        raise failed(failure)


def change_of(add: Collection[str], remove: Collection[str], replace: Collection[str]) -> Change:
    """A change of tools. It holds its texts."""
    lists = [(Text * len(given))(*map(Text.of, given)) for given in (add, remove, replace)]
    change = Change(c.sizeof(Change), *(part for each in lists for part in (c.addressof(each), len(each))))
    change.held = lists
    return change


def load_library() -> Library | None:
    """The library, or None where it was not built or is another version's."""
    try:
        found = Library()
    except (OSError, AttributeError):
        return None
    return found if is_core_of_here(found.whole) else None


LIBRARY = load_library()


def the_library() -> Library:
    """What decides. Raises EdgeretError where it is not there."""
    if LIBRARY is None:
        raise EdgeretError(
            "the library that decides is not built, or is another version's; take a wheel of this platform, or install "
            "from source with a C compiler, or with EDGERET_TARGET=here, which fetches one"
        )
    return LIBRARY
