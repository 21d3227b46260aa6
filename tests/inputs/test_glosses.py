"""Requests of other languages with their numbers, days, times and small words in English."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeret.errors import BundleError
from edgeret_export.reference.inputs import glosses
from edgeret_export.reference.inputs.glosses import GLOSSED, glossary
from edgeret_export.reference.inputs.units import read


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("Stell den Timer auf fünfundvierzig Minuten", "set the Timer to 45 minutes"),
        ("Bitte den Timer auf zweihundertfünfzig Sekunden", "please the Timer to 250 seconds"),
        ("ein Timer für eine halbe Stunde bitte", "a Timer for half an hour please"),
        ("der Termin ist am Montag um 8 Uhr abends", "the appointment is on monday at 8:00 pm"),
        ("der Wecker soll um halb neun klingeln", "the alarm soll at half past 8 klingeln"),
        ("der Zug am 4. Dezember 2027 nach Graz", "the Zug on 4 december 2027 to Graz"),
        ("règle un minuteur de vingt-cinq minutes", "set a minuteur of 25 minutes"),
        ("je pèse quatre-vingt-dix-sept kilos", "i pèse 97 kilograms"),
        ("mets le chauffage à soixante et onze degrés", "set the chauffage to 71 degrees"),
        ("le train demain à 9h30 pour Paris", "the train tomorrow at 9:30 for Paris"),
        ("pon un temporizador de cuarenta y cinco minutos", "set a temporizador of 45 minutes"),
        ("hoy peso ciento dos kilos", "today peso 102 kilograms"),
        ("la cita es a las 7 de la tarde", "the cita is at 7:00 pm"),
        ("el tren del 3 de mayo de 2027", "the tren of 3 may 2027"),
    ],
)
def test_a_request_in_english(text: str, english: str) -> None:
    assert read(text).english == english


@pytest.mark.parametrize(
    ("text", "kind", "said", "english"),
    [
        ("设一个二十五分钟的计时器", "duration", "二十五分钟", "25 minutes"),
        ("设一个两个半小时的计时器", "duration", "两个半小时", "2 hours and a half"),
        ("明天早上7点半叫我起床", "time", "早上7点半", "7:30 am"),
        ("请设一个下午三点的闹钟", "time", "下午三点", "3:00 pm"),
        ("后天开会", "date", "后天", "day after tomorrow"),
        ("我要9月3日的火车票", "date", "9月3日", "3 september"),
        ("今天体重是72公斤", "measure", "72公斤", "72 kg"),
        ("告诉他“我晚点到”", "quoted", "我晚点到", "我晚点到"),
    ],
)
def test_chinese_values_and_where_they_stand(text: str, kind: str, said: str, english: str) -> None:
    reading = read(text)
    (match,) = [m for m in reading.matches[kind] if reading.words(m.first, m.last) == said]
    assert reading.glossed(match.first, match.last) == english


def test_two_numbers_in_a_row_are_two() -> None:
    assert read("die Zahlen sind zwei und drei und sieben bitte").english.startswith("the Zahlen are 2 and 3 and 7")
    assert read("der Wert ist zwei drei vier").english == "the Wert is 2 3 4"


def test_an_hour_that_may_be_of_the_morning_or_the_evening_stays_open() -> None:
    assert read("stell den Wecker auf 8 Uhr").english.endswith("8 uhr")
    assert read("despiértame mañana a las 8 por favor").english.endswith("8 o'clock please")


def test_english_stays_as_it_is() -> None:
    text = "Set a timer for ten minutes, please"
    reading = read(text)
    assert reading.english is text
    assert [unit.lower for unit in reading.units] == [unit.text.lower() for unit in reading.units]


@pytest.mark.parametrize("language", GLOSSED)
def test_every_file_says_what_its_readers_need(language: str) -> None:
    told = glossary(language)
    assert told.phrases
    assert {"am", "pm"} <= told.parts.keys()
    assert told.hour


def test_a_damaged_file_says_which_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "xx.json").write_text("{}", "utf-8")
    monkeypatch.setattr(glosses, "FOLDER", tmp_path)
    with pytest.raises(BundleError, match=r"xx\.json: cannot be read"):
        glossary("xx")


SAID = "ein eine zwei und zwanzig Uhr um halb Minuten un une vingt et heures à demain y las media mil la de mañana"
SIGNS = ("分钟", "二十", "点", "半", "明天", "7", "-", "'")


@given(st.lists(st.sampled_from([*SAID.split(), *SIGNS]), max_size=12), st.sampled_from([" ", ""]))
def test_units_keep_their_places(words: list[str], between: str) -> None:
    text = between.join(words)
    reading = read(text)
    assert all(text[unit.start : unit.end] == unit.text for unit in reading.units)
    assert len(reading.places) == len(reading.units)
    ends = [0, *(end for _, end in reading.places)]
    assert all(a <= start <= end for a, (start, end) in zip(ends, reading.places, strict=False))


@pytest.mark.parametrize(
    "text", ["二十" * 3000, "deux et " * 2000, "einundzwanzig" * 800, "a las 8 y media " * 900, "十点半" * 2000]
)
def test_long_texts_come_to_an_end(text: str) -> None:
    assert read(text) is not None  # a pattern that goes back and forth would take hours
