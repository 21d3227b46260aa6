"""Requests in German: wishes, questions, negation, opposites."""

from __future__ import annotations

import pytest
from spoken import asked, on_sides

from edgeret_export.reference.inputs.asking import asks_for_knowledge, asks_question, is_bare
from edgeret_export.reference.inputs.opposites import told


@pytest.mark.parametrize(
    ("query", "wishes"),
    [
        ("Mach das Licht aus und spiel etwas Jazz", ["Mach das Licht aus", "spiel etwas Jazz"]),
        ("Kannst du die Heizung einschalten und Mama anrufen?", ["Kannst du die Heizung einschalten", "Mama anrufen?"]),
        (
            "schreib Ben eine Nachricht, dann stell den Wecker auf sieben",
            ["schreib Ben eine Nachricht", "stell den Wecker auf sieben"],
        ),
        ("Licht im Flur aus und Heizung an", ["Licht im Flur aus", "Heizung an"]),
        ("wie warm ist es draußen, und wo ist die Katze", ["wie warm ist es draußen", "wo ist die Katze"]),
        (
            "Wir brauchen Milch. Außerdem erinnere mich an den Zahnarzt",
            ["Wir brauchen Milch.", "erinnere mich an den Zahnarzt"],
        ),
    ],
)
def test_wishes_are_found(query: str, wishes: list[str]) -> None:
    assert asked(query) == wishes


@pytest.mark.parametrize(
    "query",
    [
        "mach das Licht in der Küche und im Flur an",
        "schalte die Lampen in Bad und Keller aus",
        "erinnere mich an Milch, Eier und etwas Brot",
        "sag Anna, dass ich spät komme und dass ich sie liebe",
        "wenn es regnet, schließ die Fenster",
        "mir ist langweilig. Kannst du ein Spiel für zwei finden?",
        "das Licht ist an, und mir ist kalt",
    ],
)
def test_what_only_tells_more_of_a_wish_is_none(query: str) -> None:
    assert asked(query) == []


def test_how_it_is_put() -> None:
    assert asks_question("Wie spät ist es in Tokio?")
    assert not asks_question("Mach das Licht an, wie immer")
    assert asks_for_knowledge("warum ist der Himmel blau")
    assert asks_for_knowledge("erklär mir, was eine Hypothek ist")
    assert not asks_for_knowledge("wie viele Lampen sind an")
    assert is_bare("schreib ein Gedicht über den Herbst")  # nouns have capitals and are no names
    assert not is_bare("stell den Wecker auf 7 Uhr")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("mach das Licht in der Küche an", ["on"]),
        ("Licht aus bitte", ["off"]),
        ("mach das Licht nicht aus", ["on"]),
        ("schalte die Heizung bitte nicht ein", ["off"]),
        ("öffne die Garage nicht, ich bin noch drin", ["close"]),
        ("spiel heute keine Musik", ["stop"]),
        ("mach die Musik leiser", ["down"]),
        ("schick die Datei an Bob aus dem Büro", []),
        ("lies mir vor, was auf dem Zettel für Mama steht", []),
    ],
)
def test_a_request_is_on_a_side(query: str, words: list[str]) -> None:
    assert on_sides(query, *words)


def test_words_for_somebody_else_are_no_wish() -> None:
    found = told("sag meiner Schwester, dass sie die Tür aufschließen soll")
    assert not found.sides
    assert "aufschließen" in found.quoted
