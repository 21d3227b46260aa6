"""A request's units and the values in it, and the runs of words that may be one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeret_export.reference.inputs.chunks import chunks
from edgeret_export.reference.inputs.units import PATTERNS, read


def found(text: str, kind: str) -> list[str]:
    reading = read(text)
    return [reading.words(match.first, match.last) for match in reading.matches.get(kind, ())]


def test_words_numbers_possessives_and_marks_are_units() -> None:
    assert [unit.text for unit in read("Emil's plan (Linz), 1,200 don't").units] == [
        *("Emil", "'s", "plan", "(", "Linz", ")", ",", "1,200", "don't")
    ]


@pytest.mark.parametrize(
    ("text", "kind", "values"),
    [
        ("Mail ana.b@example.co.uk now.", "email", ["ana.b@example.co.uk"]),
        ("open https://a.example/b?c=1.", "url", ["https://a.example/b?c=1"]),
        ("read config/limits.yaml and notes.txt", "path", ["config/limits.yaml", "notes.txt"]),
        ("call +43 1 234 56 78", "phone", ["+43 1 234 56 78"]),
        ("from 2 August to next Thursday afternoon", "date", ["2 August", "next Thursday afternoon"]),
        ("at nine, 9:30 am or noon", "time", ["nine", "9:30 am", "noon"]),
        ("Tuesday at ten", "moment", ["Tuesday at ten"]),
        ("for half an hour, then twelve weeks", "duration", ["half an hour", "twelve weeks"]),
        ("30 % or twelve per cent of 5 percent", "percent", ["30 %", "5 percent"]),
        ("$5 and 2,000 euros", "money", ["$5", "2,000 euros"]),
        ("two hundred and ten, 3.5 and the one there", "number", ["two hundred and ten", "3.5"]),
        ("5 million", "number", ["5 million"]),
        ("patient ID 12345, order AB 1234", "number", ["12345"]),
        ("patient ID 12345, order AB 1234", "code", ["AB 1234"]),
        ("ran 3 km with half a litre", "measure", ["3 km", "half a litre"]),
        ("40g of flour, 1.5oz of gin, at 180C or 70 °F", "measure", ["40g", "1.5oz", "180C", "70 °F"]),
        ("7d3g and A-40g", "code", ["7d3g", "A-40g"]),
        ('say "on my way" to “Mum”', "quoted", ["on my way", "Mum"]),
        ("ask Miller & Sons of the Isle of Man", "name", ["Miller & Sons", "Isle of Man"]),
        ("flight KX402 in row 14C", "code", ["KX402", "14C"]),
    ],
)
def test_each_kind_of_value(text: str, kind: str, values: list[str]) -> None:
    assert found(text, kind) == values


def test_the_first_word_of_a_sentence_is_no_name() -> None:
    assert found("Send it. Then call Ana", "name") == ["Ana"]


@pytest.mark.parametrize(
    ("text", "value", "void"),
    [
        ("not Friday, Saturday", "Friday", True),
        ("not Friday, Saturday", "Saturday", False),
        ("to Ana, no, to Jonas", "Ana", True),
        ("to Ana, no, to Jonas", "Jonas", False),
        ("on Friday, sorry, Saturday", "Friday", True),
        ("59 instead of 69", "69", True),
        ("there are 37, not 40", "40", True),
        ("there are 37, not 40", "37", False),
        ("text Greta. no need to call", "Greta", False),
    ],
)
def test_what_is_negated_or_taken_back_is_void(text: str, value: str, void: bool) -> None:
    read_chunks = chunks(text)
    said = [one for one in read_chunks.chunks if read_chunks.reading.words(one.first, one.last) == value]
    assert said
    assert {one.void for one in said} == {void}


@given(st.text(max_size=300))
def test_every_match_and_chunk_is_a_run_of_units(text: str) -> None:
    read_chunks = chunks(text)
    units = read_chunks.reading.units
    assert all(text[unit.start : unit.end] == unit.text for unit in units)
    assert set(read_chunks.reading.matches) <= {*PATTERNS, "serial"}
    for one in read_chunks.chunks:
        assert 0 <= one.first < one.last <= len(units)


@pytest.mark.parametrize(
    "text",
    [
        "a" * 20_000,
        "10" * 3_000,
        "12-" * 5_000,
        "1111 " * 4_000,
        "run " + "a " * 5_000,
        "1 " * 10_000,
        '"' * 20_000,
        "a-" * 10_000,
        "no, " * 5_000,
        "monday at one " * 1_500,
    ],
)
def test_long_texts_come_to_an_end(text: str) -> None:
    assert chunks(text) is not None  # a pattern that goes back and forth would take hours


@pytest.mark.parametrize(
    "said",
    ["DE89 3704 0044 0532 0130 00", "4111 1111 1111 1111", "302-1234567-7654321", "AB 1234 5678", "LH 1234"],
)
def test_a_number_with_spaces_is_one_code_and_no_part_of_it_another(said: str) -> None:
    reading = read(f"it is about {said} of ours")
    assert [reading.words(m.first, m.last) for m in reading.matches["code"]] == [said]
    assert not reading.matches.keys() & {"number", "phone", "name"}


def test_what_a_day_is_made_of_is_no_number_and_no_code() -> None:
    matches = read("party on 2026-12-31 at 22:00, and lunch at 3pm").matches
    assert not matches.keys() & {"number", "code"}


def test_a_time_with_its_part_of_the_day() -> None:
    reading = read("wake me at seven in the morning")
    assert [reading.words(m.first, m.last) for m in reading.matches["time"]] == ["seven in the morning"]
