"""Writes src/languages_data.h: what the core knows of languages, from the reference's inputs/languages/*.json and what
sections 16.10 to 16.13 of docs/FORMAT.md list: words with what they are in, and expressions as programs for
src/pattern.c. And src/pieces_data.h, with what make_pieces.py has of arguments.

    PYTHONPATH=.:export python core/make_languages.py            writes the files
    PYTHONPATH=.:export python core/make_languages.py --check    fails where they are others

A device runs programs and reads no expression. A Python of another Unicode version than the tables' cannot make them.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import make_pieces
from arrays import array, structs
from books import book
from characters import FOLDED, letter_bytes
from expressions import FIRST_LIST, Programs

from edgeret_export.reference import opposites
from edgeret_export.reference.inputs import language, language_rules, units, values

VERSION = "14.0.0"
TARGET = Path(__file__).parent / "src" / "languages_data.h"
PIECES = TARGET.with_name("pieces_data.h")
LISTS = ("date", "time", "unit", "money", make_pieces.GLUED)
EXPRESSIONS = ("cut", "adds", "polite", "question", "knowledge", "value", "name", "state", "demand", "quoted")
WORD_LISTS = (
    *("openings", "fillers", "subordinate", "questions", "verbs", "final", "halves", "stating", "negations"),
    "telling",
)  # as in languages.h
KNOWN_TO_WORD = 1 << len(WORD_LISTS)  # a word that a language without spaces is cut into
MORE_LISTS = {"ahead": "next this"}  # words with which dates begin


def words_of(kind: str) -> list[str]:
    """The words of a list of values."""
    found = (units._GLUED if kind == make_pieces.GLUED else values.listed(kind)).split("|")
    if not all(re.fullmatch(r"\w+", word) for word in found):
        raise SystemExit(f"a word of {kind} is several")
    return found


def value_expressions() -> list[tuple[str, int]]:
    """An expression and its flags for each kind. Lists of words that end a word are looked up; and where a query is
    only asked whether it holds a kind, one of the signs before a unit says as much as all of them."""
    found = []
    for pattern in values._patterns():
        text = pattern.pattern
        for number, kind in enumerate(LISTS[:4]):
            # The \b, where a list's word always ends, keeps it apart from characters that are its alternatives.
            text = text.replace(rf"(?:{values.listed(kind)})\b", chr(FIRST_LIST + number) + r"\b")
        text = text.replace("半]+个?", "半]个?")
        if any(values.listed(kind) in text for kind in LISTS[:4]):
            raise SystemExit(f"a list stands in {text}")
        found.append((text, pattern.flags & re.IGNORECASE))
    return found


class Facts(NamedTuple):
    """What is known of a word: by language the lists that it is in, its side and its doubtful expression, each 1 more
    or 0; the lists of values; the kinds of values that a parameter of this name takes; and whether a tool tells (1) or
    changes (2) something, or speaks (4) by it."""

    lists: tuple[int, ...]
    sides: tuple[int, ...]
    doubts: tuple[int, ...]
    values: int
    takes: int
    tool: int


NOTHING = Facts((0,) * 5, (0,) * 5, (0,) * 5, 0, 0, 0)


class Words:
    """All words that are known, each once."""

    def __init__(self) -> None:
        self.marks: dict[str, int] = {}
        self.facts: dict[str, dict[str, Any]] = {}

    def mark(self, word: str, bit: int) -> None:
        self.marks[word] = self.marks.get(word, 0) | bit

    def at(self, word: str, field: str, number: int, value: int, join: bool = True) -> None:
        """Adds to one field of a word, `number` being the language's."""
        self.marks.setdefault(word, 0)
        facts = self.facts.setdefault(word, {})
        before = facts.setdefault(field, [0] * 5)
        before[number] = before[number] | value if join else value

    def of(self, word: str) -> Facts:
        told = self.facts.get(word, {})
        parts = [tuple(told.get(field, [0] * 5)) for field in ("lists", "sides", "doubts")]
        return Facts(*parts, *(told.get(field, [0])[0] for field in ("values", "takes", "tool")))


def hash_of(word: str) -> int:
    """As er_word_hash has it."""
    found = 2166136261
    for char in word:
        found = (found ^ ord(char)) * 16777619 & 0xFFFFFFFF
    return found


BUCKETS = 512
SHARED, SHORT = 7, 31  # most letters that a word may share with the one before, and most bytes that it may add
OFTEN = 192  # numbers of one byte


def bucket(word: str) -> int:
    """Words with the same first three letters are side by side."""
    found = hash_of(word[:3])
    return (found ^ found >> 15) & (BUCKETS - 1)


def collect(words: Words, programs: Programs) -> tuple[list[str], list[tuple[int, int, int]], list[str]]:
    """Reads every language: its rules in C, all programs, and the expressions of doubtful words in C."""
    rules_in_c, entries, doubts = [], [], []
    for number, name in enumerate(language_rules.LANGUAGES):
        rules = language_rules.rules_of(name)
        for word in language._markers(name) if name != "zh" else ():
            words.mark(word, 1 << number)
        lists = {key: getattr(rules, key) for key in WORD_LISTS}
        for bit, key_ in enumerate(WORD_LISTS):
            for word in lists[key_]:
                words.at(word, "lists", number, 1 << bit)
        if not rules.spaces:
            known = rules.openings.union(rules.sides, *(lists[key_] for key_ in WORD_LISTS if key_ != "telling"))
            for word in known:
                words.at(word, "lists", number, KNOWN_TO_WORD)
        for word, side in rules.sides.items():
            words.at(word, "sides", number, side + 1, join=False)
        for with_, told in ((1, rules.only_with), (0, rules.only_without)):
            for word, pattern in told.items():
                doubts.append(f"{{{len(entries)},{with_}}},")
                words.at(word, "doubts", number, len(doubts), join=False)
                entries.append(programs.add(pattern.pattern, pattern.flags))
        numbers = []
        for key_ in EXPRESSIONS:
            numbers.append(len(entries))
            pattern = getattr(rules, key_)
            entries.append(programs.add(pattern.pattern, pattern.flags))
        fields = ", ".join(f".{key_} = {n}" for key_, n in zip(EXPRESSIONS, numbers, strict=True))
        apostrophe = rules.spaces and "'" in rules.word.pattern
        longest = 0 if rules.spaces else max(map(len, known))
        rules_in_c.append(
            f"{{{fields}, .reach = {rules.reach}, .behind = {int(rules.behind)}, .spaces = {int(rules.spaces)}, "
            f".apostrophe = {int(apostrophe)}, .longest = {longest}, .final = {int(bool(rules.final))}}},"
        )
    return rules_in_c, entries, doubts


def add_others(words: Words) -> None:
    """Words of values, of parameters and of tools."""
    for bit, kind in enumerate(LISTS):
        for word in words_of(kind):
            words.at(word, "values", 0, 1 << bit)
    for bit, told in enumerate(MORE_LISTS.values(), len(LISTS)):
        for word in told.split():
            words.at(word, "values", 0, 1 << bit)
    for kind, told in enumerate(values.TAKEN.values()):
        for word in told.split():
            words.at(word, "takes", 0, 1 << kind)
    for word, changes in language_rules.verbs_of_tools().items():
        words.at(word, "tool", 0, 2 if changes else 1)
    for word in opposites._SPEAKS:
        words.at(word, "tool", 0, 4)


def word_tables(words: Words) -> str:
    """Words by bucket. Of each: how many letters it shares with the one before in the bucket (upper three bits) and how
    many bytes its others take, these, and a number, most frequent ones in one byte, for the languages that know it and
    its facts."""
    every = sorted(words.marks, key=lambda word: (bucket(word), word))
    facts = [NOTHING]
    kinds: Counter[int] = Counter()
    told: dict[str, int] = {}
    for word in every:
        here = words.of(word)
        if here.values and any(ord(char) != FOLDED[ord(char)] for char in word):
            raise SystemExit(f"{word} cannot be kept")
        if here not in facts:
            facts.append(here)
        told[word] = facts.index(here) << 4 | words.marks[word]
        kinds[told[word]] += 1
    numbers = {kind: number for number, (kind, _) in enumerate(kinds.most_common())}
    starts, data = [0] * (BUCKETS + 1), []
    before = ""
    for word in every:
        if not before or bucket(before) != bucket(word):
            before = ""
        same = 0
        while same < min(len(word), len(before), SHARED) and word[same] == before[same]:
            same += 1
        letters = [byte for char in word[same:] for byte in letter_bytes(ord(char))]
        if len(letters) > SHORT:
            raise SystemExit(f"{word} cannot be kept")
        number = numbers[told[word]]
        more = [number] if number < OFTEN else [OFTEN + (number - OFTEN >> 8), number - OFTEN & 255]
        data += [same << 5 | len(letters), *letters, *more]
        starts[bucket(word) + 1] = len(data)
        before = word
    for at in range(1, BUCKETS + 1):
        starts[at] = max(starts[at - 1], starts[at])
    if max(told.values()) >= 1 << 16 or len(data) >= 1 << 16:
        raise SystemExit("words are too many for their numbers")
    roles, uses = [(0, 0, 0)], [(0, 0, 0)]
    lines = []
    for f in facts:
        here, use = [*zip(f.lists, f.sides, f.doubts, strict=True)], (f.takes, f.values, f.tool)
        roles += sorted({*here} - {*roles})
        uses += [use] if use not in uses else []
        lines.append(f"{{{{{','.join(str(roles.index(one)) for one in here)}}},{uses.index(use)}}},")
    if max(len(roles), len(uses)) > 256:
        raise SystemExit("what words are is too many for a byte")
    return "\n".join(
        (
            f"enum {{ WORD_BUCKETS = {BUCKETS} }};",
            array("uint8_t", "words", data),
            array("uint16_t", "word_starts", starts),
            array("uint16_t", "words_told", numbers),
            structs("er_role", "word_roles", roles),
            structs("er_uses", "word_uses", uses),
            "static const er_facts word_facts[] = {",
            "\n".join(lines) + "\n};\n",
        )
    )


def endings() -> str:
    """Of each language but English and Chinese: endings, a zero behind each; and its letters."""
    told = []
    for name in language_rules.LANGUAGES[1:-1]:
        ends = [ord(char) for ending in language._endings(name) for char in ending + "\0"]
        signs = sorted(ord(char) for char in language._signs(name) if char.isalpha())
        told.append(array("uint16_t", f"endings_{name}", ends) + array("uint16_t", f"signs_{name}", [*signs, 0]))
    return "\n".join(told)


def tables() -> tuple[str, str]:
    """Both files whole."""
    lists = [words_of(kind) for kind in LISTS]
    words, programs = Words(), Programs(lists)
    rules, entries, doubts = collect(words, programs)
    value_programs = []
    for text, flags in value_expressions():
        value_programs.append(len(entries))
        entries.append(programs.add(text, flags))
    add_others(words)
    languages = "\n".join(
        (
            "/* Made by core/make_languages.py; not to be edited. */\n",
            book("language", programs, entries),
            "/* By language: numbers of programs, and how words and negations are read. */",
            "const er_rules er_language_rules[ER_LANGUAGES] = {",
            "\n".join(rules) + "\n};\n",
            "const er_doubt er_doubts[] = {\n" + "\n".join(doubts) + "\n};\n",
            array("uint16_t", "er_value_programs", value_programs, True),
            endings(),
            "/* Words. */",
            word_tables(words),
        )
    )
    return languages, make_pieces.tables(Programs(lists))


def main() -> int:
    """Writes, or checks."""
    if unicodedata.unidata_version != VERSION:
        print(f"this Python knows Unicode {unicodedata.unidata_version}; one with {VERSION} (3.11) makes the file")
        return 2
    for target, text in zip((TARGET, PIECES), tables(), strict=True):
        if "--check" not in sys.argv[1:]:
            target.write_text(text, encoding="utf-8")
        elif target.read_text(encoding="utf-8") != text:
            print(f"{target} is not what core/make_languages.py makes; run it")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
