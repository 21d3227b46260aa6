"""Every expression that the core knows as a program, against Python's own matches."""

from __future__ import annotations

import ctypes
import random
import re
from collections.abc import Callable

import pytest

from edgeret_export.reference.inputs import values
from edgeret_export.reference.inputs.language_rules import LANGUAGES, rules_of

SOURCES = ("unicode", "utf8", "pattern", "languages", "said", "language", "clauses", "wishes", "asking", "sayings")
SOURCES += ("stems", "opposites", "values", "probe_sayings")
BEGINS = ("question", "state", "quoted")
"""Matched at a text's begin alone."""
MOST_STEPS = 1 << 22
"""A quarter of what pattern.c lets a search take."""
EXPRESSIONS = ("cut", "adds", "polite", "question", "knowledge", "value", "name", "state", "demand", "quoted")
# What makes expressions go back: their own beginnings over and over, and what they repeat.
UNITS = (
    *(
        "turn ",
        "please ",
        "tell a ",
        "tell ",
        "a",
        "1",
        "_",
        "-",
        "a.",
        "a-",
        "a/",
        "ab.cd",
        "@a",
        "'",
        "“",
        "  ",
        " ,",
    ),
    *(
        ", ",
        "，",
        "再",
        "请",
        "告诉我",
        "半",
        "3",
        "1:",
        "+1",
        "(",
        "DE12 ABCD ",
        "at ",
        "aminute",
        "nicht ",
        "nie a ",
        "İ",
    ),
    *(
        "plus ",
        "what ",
        "? ",
        "www.",
        "~/",
        "€5",
        "sag bitte ",
        "dis moi ",
        "di ",
        "can you ",
        "and then",
        "so ",
        "por ",
    ),
)


@pytest.fixture(scope="module")
def core(core_library: Callable[..., ctypes.CDLL]) -> ctypes.CDLL:
    library = core_library(*SOURCES)
    library.probe_steps.restype = ctypes.c_uint64
    return library


def expressions() -> list[tuple[re.Pattern[str], bool]]:
    """All of them in the order of their programs, and whether each is only asked at a text's begin."""
    found: list[tuple[re.Pattern[str], bool]] = []
    for name in LANGUAGES:
        rules = rules_of(name)
        found += [(each, False) for told in (rules.only_with, rules.only_without) for each in told.values()]
        found += [(getattr(rules, key), key in BEGINS) for key in EXPRESSIONS]
    return [*found, *((each, False) for each in values._patterns())]


def words_of(pattern: re.Pattern[str]) -> list[str]:
    """Letters that stand in an expression, and signs that it may turn on."""
    return [
        *re.findall(r"[^\W\d_]+", re.sub(r"\\[a-z]", " ", pattern.pattern)),
        *"abz09_.,;:!?'/@#-$€%。，再 \n\t\xa0İſK",
    ]


def test_programs_find_what_expressions_find(core: ctypes.CDLL) -> None:
    pick = random.Random(60)
    span = (ctypes.c_uint32 * 2)()
    found = 0
    for number, (pattern, _) in enumerate(expressions()):
        words, exists = words_of(pattern), pattern in values._patterns()
        for _ in range(60):
            text = "".join(
                pick.choice(words) + pick.choice(("", " ", " ", "  ", "")) for _ in range(pick.randint(1, 9))
            )
            text = text.upper() if pick.random() < 0.1 else text
            raw, start = text.encode(), 0 if pick.random() < 0.7 else pick.randint(0, len(text))
            match = pattern.search(text, start)
            told = core.probe_find(raw, ctypes.c_size_t(len(raw)), number, start, span)
            assert bool(told) == (match is not None), (pattern.pattern, text, start)
            if match is not None and not exists:  # where a kind begins is nobody's question
                assert (span[0], span[1]) == match.span(), (pattern.pattern, text, start)
            found += bool(told)
    assert found > 1000


@pytest.mark.parametrize("unit", UNITS)
def test_no_text_takes_an_expression_long(core: ctypes.CDLL, unit: str) -> None:
    raw = (unit * 20_000)[:20_000].encode()
    for number, (pattern, begins) in enumerate(expressions()):
        cut = raw[:4000] if pattern in values._patterns() else raw
        cut = cut.decode(errors="ignore").encode()
        steps = core.probe_steps(cut, ctypes.c_size_t(len(cut)), number, begins)
        assert steps < MOST_STEPS, pattern.pattern
