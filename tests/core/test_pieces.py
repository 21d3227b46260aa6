"""What may be a value in a request, as the core reads it, against Python's own reading."""

from __future__ import annotations

import ctypes
import json
import random
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from core_pieces import CorePieces, difference

from edgeret.inputs import numerals
from edgeret_export.reference.inputs import glosses, measures
from edgeret_export.reference.inputs.amounts import amount_of
from edgeret_export.reference.inputs.dates import day_of, half_of, time_of

ROOT = Path(__file__).parents[2]
SAID = (
    *("Find my lease contract, turn it into a PDF and mail it to Gideon at 5 pm tomorrow for 20 euros",),
    *(
        'mail a@b.co, no wait, c@d.co about https://x.org/y and "the big one", not the Isle of Man',
        "text jonas that im late",
    ),
    *(
        "run ls -la /tmp in the terminal please",
        "remind me tomorrow at nine to buy 2.5 kg of flour",
        "14C or 40g of AB 123-45",
    ),
    *(
        "weck mich morgen um halb acht und sag Jonas dass ich später komme",
        "zweihundertfünfzig Gramm um 12 Uhr mittags",
    ),
    *("rappelle-moi demain à 8 h 30 d'appeler l'école", "recuérdame a las cinco y media de la tarde comprar pan"),
    *("明天下午三点提醒我开会，买3公斤苹果", "二十一个人，百分之五，5月12日", "İ ſ ⅷ Ⓐ ǅ ２３ 🙂 مرحبا \u202e \x00 ’s"),
)
MARKS = (
    *" \n\t.,;:!?-–—_/'’\"“”«»「」‘`@+&#$€%°~\\|<>=*İΣςſKⅷⒶ🙂\u202e٣²ßǅ\x00\u3000〇半点",
    *("مرحبا", "１２", "https://", "www.", "a@b.co", "10:30", "2026-11-27", "3/4", "1,200", "12th", "$5", "14C", "40g"),
    *(
        "AB12",
        "#12",
        "GB12 ABCD 1234 5678",
        "AA 123",
        "123-45-67",
        "+49 30 1234567",
        "FOO_BAR",
        "~/a/b.txt",
        "no, wait",
    ),
    *(
        "instead of",
        "run",
        "ls -la",
        "in the terminal",
        "tell",
        "Jonas",
        "Isle of Man",
        "U.S.A.",
        "remind me",
        "at night",
    ),
)
AMOUNTS = [
    *measures.UNITS,
    *numerals.NUMERALS,
    "thousand",
    "million",
    "hundred",
    "half",
    "a",
    "an",
    "and",
    "-",
    "of",
    "per",
]
AMOUNTS += [
    "cent",
    "minus ",
    "°",
    "1",
    "2.5",
    "1,200",
    "1.200.000",
    "3,5",
    "1,2,3",
    "12,345.67",
    "1.234,5",
    "٣",
    "and a half",
]
DAYS = (
    "today tonight tomorrow yesterday the on monday sunday last this next in a an one three twelve days weeks week may "
    "2026-11-27 2026-02-30 3/14/2026 14/3/2026 3/4/2026 12.3. 12.03.2027 1.12026 march Sept sept. december 5th of 29th "
    "29 feb february 2028 morning evening 5 12 31st . , ٣ 400"
)
TIMES = (
    "at am pm a.m. 12:30 7.05 23:59:59 25:00 uhr h o'clock o’clock nine nineam noon midnight half quarter past to "
    "twenty minutes twelve tonight from"
)
PHRASES = ("day after tomorrow", "in the morning", "at night", "this evening", "feb 29, 2028", "\n")
WHENS = (*DAYS.split(" "), *TIMES.split(" "), *PHRASES)


@pytest.fixture(scope="module")
def core(core_library: Callable[..., ctypes.CDLL]) -> CorePieces:
    return CorePieces(core_library)


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str) and value:
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from texts_in(inner)


def written_down(folder: str) -> list[str]:
    """All texts of all examples, of a fixed few of the files that are large."""
    found = set[str]()
    for path in sorted(ROOT.joinpath(folder).rglob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines()[:400]:
            found.update(texts_in(json.loads(line)))
    return sorted(found)


def mixtures(seed: int, count: int) -> Iterator[str]:
    """Words of every language among marks and each other's values."""
    chance = random.Random(seed)
    known = [glosses.glossary(language) for language in glosses.GLOSSED]
    lists = [[*one.words, *one.numbers, *one.scales, *one.months] for one in known]
    english = [
        *measures.UNITS,
        *numerals.NUMERALS,
        "thousand",
        "million",
        "half",
        "a",
        "an",
        "tomorrow",
        "monday",
        "at 5",
        "I",
        "May",
    ]
    for number in range(count):
        own, said = chance.choice(lists), []
        for _ in range(chance.randint(1, 700 if number % 50 == 0 else 40)):
            word = chance.choice(chance.choice((MARKS, own, english)))
            word = chance.choice((word, word, word, word, word.upper(), word.capitalize()))
            said.append(word + chance.choice(("", " ", " ", " ")))
        yield "".join(said)


@pytest.mark.parametrize("text", SAID)
def test_what_is_said_is_read_as_in_python(core: CorePieces, text: str) -> None:
    assert difference(core, text) is None


@pytest.mark.parametrize(
    "text",
    ["el jueves", "übermorgen", "am Samstag", "le 3 juin", "at 5 am", "am 5", "montag und dienstag", "once", "a las 7"],
)
def test_answers_of_a_few_words_are_read_as_in_python(core: CorePieces, text: str) -> None:
    assert difference(core, text) is None


@pytest.mark.parametrize("folder", ["examples/calls", "examples/desktop"])
def test_examples_are_read_as_in_python(core: CorePieces, folder: str) -> None:
    every = written_down(folder)
    assert len(every) > 100
    assert [found for text in random.Random(1).sample(every, 100) if (found := difference(core, text))] == []


def test_mixtures_of_languages_and_marks_are_read_as_in_python(core: CorePieces) -> None:
    assert [found for text in mixtures(1, 300) if (found := difference(core, text))] == []


@pytest.mark.full
def test_all_examples_and_very_many_mixtures_are_read_as_in_python(core: CorePieces) -> None:
    for text in (*written_down("examples"), *written_down("conformance"), *mixtures(2, 6000)):
        assert difference(core, text) is None


@pytest.mark.parametrize(
    "unit", ["a-", "一", "1 ", "@a", "a/b ", '"a', "not ", "und zwei ", "a las cinco ", "GB12 ABCD ", "A ", "🙂"]
)
def test_twenty_thousand_characters_are_read_up_to_four_thousand(core: CorePieces, unit: str) -> None:
    text = (unit * 20000)[:20000]
    assert difference(core, text) is None
    whole, first = core.read(text), core.read(text[:4000])
    assert whole == first


def test_what_is_no_utf8_is_refused(core: CorePieces) -> None:
    assert core.read("mail it to \ud800") is None


def test_amounts_are_those_of_python(core: CorePieces) -> None:
    chance = random.Random(1)
    told = 0
    for _ in range(4000):
        said = "".join(chance.choice(AMOUNTS) + chance.choice(("", " ", " ")) for _ in range(chance.randint(1, 6)))
        assert (said, core.amount(said)) == (said, amount_of(said))
        told += core.amount(said) is not None
    assert told > 400


def test_an_amount_of_more_than_eighteen_digits_is_none(core: CorePieces) -> None:
    assert core.amount("999999999999 weeks") == (Decimal(999999999999) * 604800, "s")
    assert core.amount("99999999999999999 weeks") is None
    assert core.amount("9" * 19) is None


def test_days_and_times_are_those_of_python(core: CorePieces) -> None:
    chance = random.Random(1)
    days = times = 0
    for _ in range(6000):
        said = "".join(chance.choice(WHENS) + chance.choice(("", " ", " ", " ")) for _ in range(chance.randint(1, 4)))
        now = chance.choice(
            (
                None,
                datetime(2024, 2, 29),
                datetime(2000 + chance.randint(0, 99), chance.randint(1, 12), chance.randint(1, 28)),
            )
        )
        past = chance.random() < 0.3
        assert (said, now, past, core.day(said, now, past)) == (said, now, past, day_of(said, now, past))
        day = chance.choice(
            ("", "tomorrow", "friday morning", "this afternoon", "sunday evening.", "the night", "Tonight")
        )
        assert (said, day, core.time(said, day)) == (said, day, time_of(said, half_of(day)))
        days, times = days + (core.day(said, now, past) is not None), times + (core.time(said) is not None)
    assert min(days, times) > 100


def test_a_time_may_be_as_long_as_what_is_looked_at(core: CorePieces) -> None:
    for length in (94, 95, 96, 97):
        said = "7" * length
        assert core.time(said, "tomorrow evening") == time_of(said, "pm") is None
    assert core.time("seven", "tomorrow evening") == time_of("seven", "pm")


def test_no_day_lies_outside_of_the_calendar(core: CorePieces) -> None:
    assert core.day("in 999 weeks", datetime(9999, 12, 1), False) is None
    assert core.day("yesterday", datetime(1, 1, 1), False) is None
