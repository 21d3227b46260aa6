"""The probes of words and lexicon, and the oracle's numbers beside them, for tests."""

from __future__ import annotations

import ctypes
import json
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from edgeret.types import Tool
from edgeret_export.reference.lexicon import Lexicon, ToolWords, tool_words

Library = Callable[..., ctypes.CDLL]
SOURCES = (
    *("unicode", "json", "distinct", "words", "lexicon", "overlap", "flow", "alike", "vectors", "cpu"),
    "probe_lexicon",
)


class Text(ctypes.Structure):
    _fields_ = (("at", ctypes.c_char_p), ("length", ctypes.c_size_t))


class Described(ctypes.Structure):
    _fields_ = (
        ("name", Text),
        ("description", Text),
        ("parameters", Text),
        ("examples", ctypes.POINTER(Text)),
        ("example_count", ctypes.c_uint32),
    )


class Arranged(ctypes.Structure):
    _fields_ = (
        ("words", ctypes.POINTER(Text)),
        ("forms", ctypes.POINTER(Text)),
        ("count", ctypes.c_uint32),
        ("starts", ctypes.c_void_p),
        ("numbers", ctypes.c_void_p),
    )


VECTOR_OF = ctypes.CFUNCTYPE(None, ctypes.c_void_p, Text, ctypes.POINTER(ctypes.c_float))


def text_of(text: str) -> Text:
    data = text.encode()
    return Text(data, len(data))


def library_of(core_library: Library) -> ctypes.CDLL:
    library = core_library(*SOURCES)
    library.probe_lexicon.restype = ctypes.c_void_p
    for name in ("probe_words", "probe_word", "probe_word_list"):
        getattr(library, name).restype = ctypes.c_int64
    return library


def at(array: np.ndarray) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)


def unpacked(data: bytes) -> list[str]:
    found, begin = [], 0
    while begin < len(data):
        (length,) = struct.unpack_from("<I", data, begin)
        found.append(data[begin + 4 : begin + 4 + length].decode())
        begin += 4 + length
    return found


def texts_of(call: Callable[..., int], *given: Any, room: int) -> list[str]:
    found = ctypes.create_string_buffer(room + 1)
    count = call(*given, found, ctypes.c_size_t(room))
    assert count >= 0
    return unpacked(found.raw[:count])


def words_of(library: ctypes.CDLL, text: str) -> list[tuple[str, str]]:
    data = text.encode()
    found = texts_of(library.probe_words, data, ctypes.c_size_t(len(data)), room=16 * len(data) + 16)
    return list(zip(found[::2], found[1::2], strict=True))


def stem_and_name(library: ctypes.CDLL, text: str) -> list[str]:
    data = text.encode()
    return texts_of(library.probe_word, data, ctypes.c_size_t(len(data)), room=4 * len(data) + 16)


class CoreLexicon:
    """A tool set in the core."""

    def __init__(
        self, library: ctypes.CDLL, tools: Sequence[Tool], names: int, arranged: Arranged | None = None
    ) -> None:
        self.library, self.n = library, len(tools)
        rows = (Described * max(1, len(tools)))()
        self._kept = []
        for row, tool in zip(rows, tools, strict=False):
            examples = (Text * max(1, len(tool.examples)))(*map(text_of, tool.examples))
            self._kept.append(examples)
            row.name, row.description = text_of(tool.name), text_of(tool.description)
            row.parameters = text_of(json.dumps(dict(tool.parameters), ensure_ascii=False))
            row.examples, row.example_count = examples, len(tool.examples)
        self._rows = rows
        self.at = library.probe_lexicon(rows, len(tools), names, ctypes.byref(arranged) if arranged else None)
        assert self.at
        self.at = ctypes.c_void_p(self.at)
        sizes = np.empty(5, np.uint32)
        library.probe_sizes(self.at, at(sizes))
        self.count, self.all, self.entries, *self.pairs = sizes.tolist()

    def __del__(self) -> None:
        if getattr(self, "at", None):
            self.library.probe_lexicon_free(self.at)

    def words(self) -> tuple[list[str], list[str], list[str]]:
        """Words, those further down alone, and forms."""
        found = texts_of(self.library.probe_word_list, self.at, room=1 << 24)
        return found[: self.count], found[self.count : self.all], found[self.all :]

    def sets(self) -> tuple[list[int], list[int], np.ndarray]:
        starts, places = np.empty(3 * self.n + 1, np.uint32), np.empty(self.entries + 1, np.uint32)
        rarities = np.empty(self.count + 1, np.float32)
        self.library.probe_sets(self.at, at(starts), at(places), at(rarities))
        return starts.tolist(), places[:-1].tolist(), rarities[:-1]

    def flow(self, keyed: bool) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        pairs, turned = (np.empty((self.pairs[keyed] + 1, 2), np.uint32) for _ in range(2))
        self.library.probe_flow(self.at, int(keyed), at(pairs), at(turned))
        return [tuple(pair) for pair in pairs[:-1].tolist()], [tuple(pair) for pair in turned[:-1].tolist()]

    def overlap(self, text: str, wish: str = "", called: Sequence[int] = ()) -> tuple[np.ndarray, list[int]]:
        shared, counts = np.empty((9, self.n), np.float32), np.empty(4, np.uint32)
        query, part, calls = text.encode(), wish.encode(), np.array([*called, 0], np.uint32)
        assert self.library.probe_overlap(
            self.at, query, ctypes.c_size_t(len(query)), part, ctypes.c_size_t(len(part)), at(calls), len(called),
            at(shared), at(counts),
        )  # fmt: skip
        return shared, counts.tolist()

    def alike(self, text: str, vector_of: Any) -> np.ndarray:
        found, data = np.empty((2, self.n), np.float32), text.encode()
        assert self.library.probe_alike(self.at, data, ctypes.c_size_t(len(data)), vector_of, at(found))
        return found


def expected(lexicon: Lexicon, said: Sequence[ToolWords], text: str, wish: str, called: Sequence[int]) -> np.ndarray:
    """The same as `CoreLexicon.overlap`, of Python."""
    n = len(said)
    overlaps = lexicon.overlaps(text)
    names = np.zeros(n, np.float32)
    names[list(overlaps.said)] = 1
    has, name, coverage = overlaps.hits().tables()
    words = len(has)
    has = has.reshape(words, n) if words else np.zeros((0, n), bool)
    spent = has[:, list(called)].any(axis=1) if words and called else np.zeros(words, bool)
    part = lexicon.said_in(text, [wish])[0][:words]
    zeros = np.zeros(n, np.float32)
    rows = [table[some].sum(axis=0) if words else zeros for some in (spent, part) for table in (name, coverage)]
    return np.stack((overlaps.name, overlaps.parameters, overlaps.coverage, overlaps.text, names, *rows))


def described(tools: Sequence[Tool]) -> list[ToolWords]:
    return [tool_words(tool) for tool in tools]
