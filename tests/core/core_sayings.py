"""What a query says, as the core reads it and as Python does, and what tools do; in one form."""

from __future__ import annotations

import ctypes
import json
import random
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.inputs.tool_text import name_in_words
from edgeret.inputs.words import words
from edgeret.types import Tool
from edgeret_export.reference.inputs import asking, clauses, language, opposites, values
from edgeret_export.reference.inputs.changing import changes
from edgeret_export.reference.inputs.language_rules import LANGUAGES, content, rules_of
from edgeret_export.reference.opposites import Opposites
from edgeret_export.reference.values import ToolValues
from edgeret_export.reference.word_table import ToolWords

SOURCES = ("unicode", "pattern", "languages", "said", "language", "clauses", "wishes", "asking", "sayings", "stems")
SOURCES += ("opposites", "values", "habits", "words", "json", "distinct", "probe_sayings", "probe_habits")
MOST_CLAUSES = 24
WEIGHTS = [0.3, 1.1, 0.7, 0.2, 2.5, 1.3, 0.9, 0.4, 1.9, 0.6, 0.8, 1.7, 0.5]


def library_of(core_library: Callable[..., ctypes.CDLL]) -> ctypes.CDLL:
    library = core_library(*SOURCES)
    library.probe_say.restype = ctypes.c_int64
    library.probe_habits.restype = ctypes.c_void_p
    library.probe_habits_say.restype = ctypes.c_bool
    return library


def said(library: ctypes.CDLL, text: str) -> dict[str, Any]:
    """What er_say reads."""
    raw, numbers, size = text.encode(), (ctypes.c_uint32 * 400)(), ctypes.c_size_t()
    stems = ctypes.create_string_buffer(16 * len(raw) + 4096)
    count = library.probe_say(raw, ctypes.c_size_t(len(raw)), numbers, stems, ctypes.byref(size))
    assert count >= 0
    told = iter(numbers[:count])
    sets = iter([frozenset(part.split("\n")[:-1]) for part in ctypes.string_at(stems, size.value).decode().split("\r")])
    found: dict[str, Any] = {"language": LANGUAGES[next(told)], "words": next(told), "values": next(told)}
    form = next(told)
    found |= {key: bool(form >> bit & 1) for bit, key in enumerate(("question", "explains", "bare", "only_asks"))}
    found["sides"] = next(told) | next(told) << 32, next(sets), next(sets)
    found["clauses"] = [(next(told), next(told)) for _ in range(next(told))]
    found["wishes"] = [
        ((next(told), next(told)), (next(told) | next(told) << 32, next(sets), next(sets))) for _ in range(next(told))
    ]
    return found


def expected(text: str) -> dict[str, Any]:
    """The same of Python's own."""
    rules = language.rules_in(text)
    cut = clauses.parts(text, rules)
    return {
        "language": rules.language,
        "words": rules.count(text),
        "values": _bits(values.values_in(text)),
        "question": asking.asks_question(text, rules),
        "explains": asking.asks_for_knowledge(text, rules),
        "bare": asking.is_bare(text, rules),
        "only_asks": asking.only_asks(text, rules),
        "sides": _sides(opposites.told(text, rules)),
        "clauses": [tuple(span) for span in clauses.clause_spans(text, cut.least, rules)[:MOST_CLAUSES]],
        "wishes": [
            (tuple(cut.spans[i]), _sides(opposites.told(text[slice(*cut.spans[i])], rules))) for i in cut.wishes
        ],
    }


def _sides(told: opposites.Told) -> tuple[int, frozenset[str], frozenset[str]]:
    return _bits(told.sides), told.negated, told.quoted


def _bits(numbers: Iterable[int]) -> int:
    return sum(1 << number for number in numbers)


class CoreHabits:
    """What the core finds of tools."""

    def __init__(self, library: ctypes.CDLL, tools: Sequence[Tool]) -> None:
        parts = [part for tool in tools for part in (tool.name, tool.description, json.dumps(tool.parameters))]
        raw = [part.encode() for part in parts]
        lengths = (ctypes.c_size_t * len(raw))(*map(len, raw))
        self._library, self._n = library, len(tools)
        self._at = ctypes.c_void_p(library.probe_habits(b"".join(raw), lengths, len(tools)))
        assert self._at

    def __del__(self) -> None:
        self._library.probe_habits_free(self._at)

    def read(self) -> list[list[int]]:
        """For each tool: what it does and takes, its kinds, whether it changes something, ends or speaks."""
        found = np.zeros((self._n, 6), np.uint64)
        self._library.probe_habits_read(self._at, found.ctypes.data_as(ctypes.c_void_p))
        return found.tolist()

    def say(self, query: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """`opposed` and `agrees` (2, tools), and the values' (tools,), among as many names."""
        raw, found = query.encode(), np.full((3, self._n), np.nan, np.float32)
        weights = (ctypes.c_double * len(WEIGHTS))(*WEIGHTS)
        at = [row.ctypes.data_as(ctypes.c_void_p) for row in found]
        assert self._library.probe_habits_say(self._at, raw, ctypes.c_size_t(len(raw)), self._n, weights, *at)
        return found[:2], found[2]


class PythonHabits:
    """The same of Python's own."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = [_words_of(tool) for tool in tools]
        self._opposites = Opposites(self._tools)
        self._values = ToolValues([tool.takes for tool in self._tools])

    def read(self) -> list[list[int]]:
        o = self._opposites
        found = []
        for i, tool in enumerate(self._tools):
            sides = [_bits(np.flatnonzero(told[:, i]).tolist()) for told in (o._does, o._takes)]
            found.append([*sides, _bits(tool.takes), int(tool.changes), int(o._ends[i]), int(o._speaks[i])])
        return found

    def say(self, query: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        none = np.zeros((2, len(self._tools)), np.float32)
        found, values_ = self._opposites(query), self._values(query)
        weighed = none[0] if values_ is None else np.float32(WEIGHTS)[list(values_.kinds)] @ values_.takes
        return none if found is None else found, weighed


def _words_of(tool: Tool) -> ToolWords:
    name = frozenset(words(name_in_words(tool.name)))
    told = opposites.tool_sides(tool)
    return ToolWords(name, name, name, (), (), told, frozenset(), values.values_taken(tool), changes(tool))


_SHAPES = (
    "5|12:30|3pm|3 p.m.|o'clock|1/2|2024-01-02|5.3.|next week|this month|a@b.de|#x|/etc/x|~/a|*.py|a.txt|www.x|"
    "http://a|DE44 1234 5678 9012|$5|5€|5 %|50%|(030) 123-4567|+49 30 1234567|'abc def'|“ab|«ab|「ab」|今天|三点|"
    "两个小时|周一|3月|12.5|-5|7-8|x:3|１２|٣|½|²|Ⅷ|jan. 3|3. mai|at 5|5h|10uhr|aminute"
)
SHAPES = _SHAPES.split("|")
MARKS = (
    [" "] * 30
    + [", "] * 6
    + [". "] * 4
    + ["? ", "! ", "; ", ": ", " - ", "\n", "\t", "  ", " , ", ",", ";", "，", "。"]
)
MARKS += [
    "？",
    "！",
    "；",
    "'",
    "’",
    "-",
    "_",
    "(",
    ")",
    '"',
    "\xa0",
    "\u3000",
    "\x1c",
    "\x85",
    "\u200b",
    "/",
    "?",
    ".",
]
ODD = "İıſKßẞΣςσΑÅÀéÉœŒñÑ¿¡ÿÞµ𝐀𝟎😀́̇ǅªʰ한あア漢〇ⅧⒶ①٣१_'’0aZ"
_JOINTS = (
    "and then also or but while plus und dann aber et puis ensuite y luego además 然后 再 并且 please bitte stp "
    "por favor 请 on off an aus auf zu nicht don't not no ne pas 不要 tell to that sag dass dis que 告诉 if wenn si "
    "如果 what how why is ?"
)
JOINTS = _JOINTS.split(" ")


def vocabulary() -> list[list[str]]:
    """By language words of its lists and expressions."""
    found = []
    for name in LANGUAGES:
        rules = rules_of(name)
        told = {*rules.openings, *rules.fillers, *rules.subordinate, *rules.questions, *rules.verbs, *rules.final}
        told |= {*rules.halves, *rules.stating, *rules.negations, *rules.telling, *rules.doubtful, *rules.sides}
        told |= set(" ".join(content(name)["known"]).split())
        for key in ("cut", "adds", "question", "knowledge", "state", "demand", "quoted"):
            told |= set(re.findall(r"[^\W\d_]{2,}", getattr(rules, key).pattern))
        found.append(sorted(told))
    return found


def mixture(pick: random.Random, spoken: Sequence[Sequence[str]]) -> str:
    """A text of such words, signs, values and odd letters."""
    main = pick.choice(spoken)
    chinese, parts = main is spoken[-1], []
    if pick.random() < 0.15:
        main = [word for words_ in spoken for word in pick.sample(words_, 20)]
    for _ in range(pick.choice((1, 2, 3, 4, 5, 6, 8, 10, 14, 20, 40))):
        kind = pick.random()
        word = pick.choice(main)
        if kind > 0.97:
            at = pick.randrange(len(word) + 1)
            word = word[:at] + pick.choice(ODD) + word[at:]
        elif kind > 0.93:
            word = "".join(pick.choice(ODD) for _ in range(pick.randint(1, 4)))
        elif kind > 0.85:
            word = pick.choice(SHAPES)
        elif kind > 0.62:
            word = pick.choice(JOINTS)
        case = pick.random()
        parts.append(word.upper() if case < 0.07 else word.capitalize() if case < 0.15 else word)
        parts.append(
            pick.choice(("", "", "", "，", "。", "？")) if chinese and pick.random() < 0.8 else pick.choice(MARKS)
        )
    return "".join(parts)
