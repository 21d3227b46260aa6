"""Answers of a few words, whose language nothing but what they say tells."""

from __future__ import annotations

import pytest

from edgeret_export.reference.inputs.answers import read_request


@pytest.mark.parametrize(
    ("said", "english"),
    [
        ("el jueves", "the thursday"),
        ("para el martes", "for the tuesday"),
        ("übermorgen", "day after tomorrow"),
        ("am Samstag", "on saturday"),
        ("mercredi", "wednesday"),
        ("le 3 juin", "the 3 june"),
        ("den 7. Juli", "the 7 july"),
    ],
)
def test_a_day_alone_tells_its_language(said: str, english: str) -> None:
    assert read_request(said).english.lower() == english


@pytest.mark.parametrize(
    "said",
    ["at 5 am", "friday", "may 3", "tomorrow at noon", "once", "am 5", "die", "son", "call Ana on monday", "", "am"],
)
def test_english_stays_english(said: str) -> None:
    assert read_request(said).english == said


def test_more_than_an_answer_is_in_the_language_that_it_seems_to_be_in() -> None:
    said = "Lena Freitag called me about Montag and Dienstag"
    assert read_request(said).english == said
