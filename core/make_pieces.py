"""What src/pieces_data.h holds: words by the lists that reading arguments has of them, units of measures, and what is
known of other languages in English; and the expressions of all that, in a book of their own. make_languages.py calls
this."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from books import book
from expressions import FIRST_LIST, Programs

from edgeret.inputs import numerals, words
from edgeret_export.reference.inputs import (
    amounts,
    chunks,
    dates,
    glosses,
    measures,
    streets,
    units,
    values,
    when_patterns,
)
from edgeret_export.reference.inputs.numerals import SCALES

GLUED = "glued"  # what may stand right behind a number, as a list of words beside those of values
LANGUAGES = ("en", "de", "fr", "es", "zh")
DIMENSIONS = ("", "s", "mo", "m", "mi", "g", "lb", "ml", "%", "C", "F", "eur", "usd", "gbp")  # as in pieces.h
CHUNKS = ("addressee", "command", "chunk", "head", "tail", "joined", "rest", "told", "clause", "sentence")
ALL = r"(?![\w\W])"  # the very end
LOOKED_AT = ("date", "time", "duration", "NOT_VALUES")  # by three characters first: few words begin what is long
LISTS: Mapping[str, Iterable[str]] = {
    "COMMON": words.COMMON,
    "BREAK": chunks._BREAKS,
    "PREPOSITION": chunks._PREPOSITIONS,
    "NEGATION": chunks._NEGATIONS,
    "SPEAKS": chunks._SPEAKS,
    "BEFORE_VERB": chunks._BEFORE_VERBS,
    "JOIN": chunks._JOINS,
    "TELLS": chunks._TELLS,
    "BEFORE_NAME": chunks._BEFORE_NAMES,
    "BEFORE_TOLD": chunks._BEFORE_TOLD,
    "SOMEBODY": chunks._SOMEBODY,
    "RUNS": chunks._RUNS,
    "BEFORE_COMMAND": chunks._BEFORE_COMMANDS,
    "BEFORE_WHEN": chunks._BEFORE_WHEN,
    "BEFORE_TO_DO": chunks._BEFORE_TO_DO,
    "AND": chunks._ANDS,
    "AT_END": chunks._AT_END,
    "BEFORE_VALUE": chunks._BEFORE_VALUES,
    "BEFORE_REST": chunks._BEFORE_REST,
    "MINUS": chunks._MINUS,
    "POINT": chunks._POINTS,
    "MEASURE": measures.UNITS,
    "JOINT": units._JOINTS,
    "INSIDE": units._INSIDE,
    "OPENER": units._OPENERS,
    "NUMERAL": numerals.NUMERALS,
    "SCALE": SCALES,
    "ARTICLE": ("a", "an"),
    "THE": ("the", "a"),
    "IDLE_CAPITAL": ("may", "us"),
    "ME": ("me", "us"),
    "OTHER": ("rather", "other"),
    "IDLE": amounts._IDLE,
    "STREET_END": when_patterns.STREET_ENDS,
    "STREET": when_patterns.STREETS,
    "STREET_OF": streets._OF,
    "STREET_BREAK": streets._BREAKS,
}
EXPRESSIONS = (
    ("NOT_VALUES", chunks._NOT_VALUES),
    ("CORRECTION", chunks._CORRECTION),
    ("CODE", chunks._CODE),
    ("BEHIND_COMMAND", chunks._BEHIND_COMMAND),
    ("NOON", glosses._NOON),
)


WHOLE = (
    *(("ISO", dates._ISO), ("SLASHED", dates._SLASHED), ("DOTTED", dates._DOTTED), ("MONTH_DAY", dates._MONTH_DAY)),
    *(("DAY_MONTH", dates._DAY_MONTH), ("ORDINAL", dates._ORDINAL), ("AHEAD", dates._AHEAD), ("OF_DAY", dates._OF_DAY)),
    *(("BEHIND", dates._BEHIND), ("SPOKEN", dates._SPOKEN), ("CLOCK", dates._CLOCK), ("SUBJECT", chunks._SUBJECT)),
)  # matched as a whole


def number_of(programs: Programs, entries: list[tuple[int, ...]], text: str, flags: int, looked: bool = False) -> int:
    """Adds one more program, and says its number."""
    entries.append(programs.add(text, flags & re.IGNORECASE, looked))
    return len(entries) - 1


def with_lists(text: str) -> str:
    """An expression with lists of words looked up, wherever a word must end behind them."""
    for number, kind in enumerate(("date", "time", "unit", "money")):
        listed = values.listed(kind)
        listed = f"(?:{listed})" if kind == "unit" else listed
        text = text.replace(listed, chr(FIRST_LIST + number))
    return text


def cutters() -> Sequence[tuple[str, int]]:
    """What cuts a text into units, by language."""
    glued = f"(?i:{units._GLUED})"
    found = [units._UNITS_OF.get(language, units._UNIT) for language in LANGUAGES]
    assert all(glued in one.pattern for one in found[:-1])
    return [(one.pattern.replace(glued, chr(FIRST_LIST + 4)), one.flags) for one in found]


class Pool:
    """Texts, each once, with a zero behind it."""

    def __init__(self) -> None:
        self.bytes = b""
        self.places: dict[str, int] = {}

    def at(self, text: str) -> int:
        if text not in self.places:
            self.places[text] = len(self.bytes)
            self.bytes += text.encode() + b"\0"
        return self.places[text]


def rows(kind: str, name: str, told: Iterable[Sequence[int]]) -> str:
    """One array of structs or of numbers, as it is in C."""
    lines, line = [], ""
    for one in told:
        word = f"{{{','.join(map(str, one))}}}," if len(one) > 1 else f"{one[0]},"
        if len(line) + len(word) > 118:
            lines.append(line)
            line = ""
        line += word
    return f"static const {kind} {name}[] = {{\n" + "\n".join([*lines, line]) + "\n};\n"


def by_bytes(listed: Iterable[str]) -> list[str]:
    return sorted(listed, key=lambda word: word.encode())


def list_tables(pool: Pool) -> list[str]:
    """Words with the lists that each is in."""
    every = by_bytes({word for listed in LISTS.values() for word in listed})
    sets = [sum(1 << bit for bit, listed in enumerate(LISTS.values()) if word in listed) for word in every]
    kinds = [*dict.fromkeys(sets)]
    bound = [
        (pool.at(word), DIMENSIONS.index(dimension), *factor_of(factor))
        for word in by_bytes(measures.UNITS)
        for dimension, factor in [measures.UNITS[word]]
    ]
    return [
        rows(
            "er_listed_word", "listed_words", [(pool.at(w), kinds.index(s)) for w, s in zip(every, sets, strict=True)]
        ),
        rows("uint64_t", "listed_sets", [(f"UINT64_C({one:#x})",) for one in kinds]),
        rows("er_known_unit", "known_units", bound),
        rows(
            "er_number_word", "numerals", [(pool.at(w), numerals.NUMERALS[w], 0) for w in by_bytes(numerals.NUMERALS)]
        ),
    ]


def factor_of(factor: float) -> tuple[int, int]:
    """A number and how many of its digits stand behind the point."""
    digits = Decimal(str(factor)).normalize()
    scale = max(0, -int(digits.as_tuple().exponent))
    return int(digits.scaleb(scale)), scale


def gloss_tables(pool: Pool, programs: Programs, entries: list[tuple[int, ...]]) -> list[str]:
    """What is known of each language in English."""
    found, glossaries = [], []
    for language in LANGUAGES:
        if language not in glosses.GLOSSED:
            glossaries.append("{0},")
            continue
        known = glosses.glossary(language)
        for depth in (1, 0):
            programs.share(known.number[depth], re.IGNORECASE, depth)
        counted = {word: (value, 0) for word, value in known.numbers.items()}
        counted |= {word: (value, 1) for word, value in known.scales.items()}
        phrases = [
            (number_of(programs, entries, pattern.pattern, pattern.flags), pool.at(told))
            for told, pattern in known.phrases
        ]
        part = 0 if known.part is None else number_of(programs, entries, known.part.pattern + ALL, 0)
        halves = [number_of(programs, entries, known.parts[name].pattern, 0) for name in ("am", "pm")]
        assert [*known.parts] == ["am", "pm"]
        found += [
            rows(
                "er_gloss_word",
                f"words_{language}",
                [(pool.at(w), pool.at(known.words[w])) for w in by_bytes(known.words)],
            )
            if known.words
            else "",
            rows("er_number_word", f"numbers_{language}", [(pool.at(w), *counted[w]) for w in by_bytes(counted)]),
            rows("er_phrase", f"phrases_{language}", phrases),
            rows("uint16_t", f"months_{language}", [(pool.at(month),) for month in known.months])
            if known.months
            else "",
        ]
        named = f"words_{language}" if known.words else "NULL"
        months = f"months_{language}" if known.months else "NULL"
        glossaries.append(
            f"{{{named}, numbers_{language}, phrases_{language}, {months}, {len(known.words)}, {len(counted)}, "
            f"{len(phrases)}, {pool.at(known.joined)}, {pool.at(known.hour)}, {part}, {halves[0]}, {halves[1]}}},"
        )
    return [*found, "const er_glossary er_glossaries[ER_LANGUAGES] = {\n" + "\n".join(glossaries) + "\n};\n"]


def tables(programs: Programs) -> str:
    """The whole file, with a book of its own."""
    pool, entries = Pool(), list[tuple[int, ...]]()
    pool.at("")
    pool.at("clock")
    pool.at("date")
    numbers = []
    for language, (text, flags) in zip(LANGUAGES, cutters(), strict=True):
        numbers.append((f"ER_P_CUTS_{language.upper()}", number_of(programs, entries, text, flags)))
    kinds = (*units.PATTERNS, *CHUNKS, "serial")
    matched = []
    programs.share(when_patterns.number_pattern(), re.IGNORECASE, 0)
    for kind, pattern in units._patterns():
        number = number_of(programs, entries, with_lists(pattern.pattern), pattern.flags, kind in LOOKED_AT)
        matched.append((number, kinds.index(kind), programs.first_number(programs.needed)))
    for name, pattern in EXPRESSIONS:
        number = number_of(programs, entries, pattern.pattern, pattern.flags, name in LOOKED_AT)
        numbers.append((f"ER_P_{name}", number))
    for name, pattern in WHOLE:
        numbers.append((f"ER_P_{name}", number_of(programs, entries, f"(?:{pattern.pattern}){ALL}", pattern.flags)))
    body = [
        *list_tables(pool),
        rows("er_value_pattern", "value_patterns", matched),
        *gloss_tables(pool, programs, entries),
        rows("uint16_t", "weekday_names", [(pool.at(day),) for day in dates._DAY_NAMES]),
        rows("uint16_t", "month_names", [(pool.at(month),) for month in glosses._MONTHS]),
    ]
    return "\n".join(
        (
            "/* Made by core/make_languages.py; not to be edited. */\n",
            "#if !defined(ER_WITH_PIECES_DATA)\n",
            "/* Bits of lists, and numbers of programs. */",
            f"enum {{ {lists()} }};",
            "enum { " + ", ".join(f"{name} = {number}" for name, number in numbers) + " };\n",
            "#else\n",
            rows("uint8_t", "piece_pool", [(byte,) for byte in pool.bytes]),
            *body,
            book("piece", programs, entries),
            "#endif\n",
        )
    )


def lists() -> str:
    """The bits of lists, in C."""
    return ", ".join(f"ER_W_{name} = {bit}" for bit, name in enumerate(LISTS))
