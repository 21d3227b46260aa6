"""Requests in Spanish: wishes, questions, negation, opposites."""

from __future__ import annotations

import pytest
from spoken import asked, on_sides

from edgeret_export.reference.inputs.asking import asks_for_knowledge, asks_question, is_bare
from edgeret_export.reference.inputs.opposites import told


@pytest.mark.parametrize(
    ("query", "wishes"),
    [
        ("Apaga la luz y pon algo de jazz", ["Apaga la luz", "pon algo de jazz"]),
        ("¿puedes cerrar la puerta y luego llamar a mamá?", ["¿puedes cerrar la puerta", "llamar a mamá?"]),
        ("¿qué hora es, y dónde está el gato?", ["¿qué hora es", "dónde está el gato?"]),
        ("falta leche. También recuérdame la cita del dentista", ["falta leche.", "recuérdame la cita del dentista"]),
    ],
)
def test_wishes_are_found(query: str, wishes: list[str]) -> None:
    assert asked(query) == wishes


@pytest.mark.parametrize(
    "query",
    [
        "enciende la luz de la cocina y del pasillo",
        "recuérdame comprar leche, huevos y algo de pan",
        "dile a Ana que llego tarde y que la quiero",
        "si llueve, cierra las ventanas",
        "me aburro. ¿Podrías encontrar un juego para dos?",
    ],
)
def test_what_only_tells_more_of_a_wish_is_none(query: str) -> None:
    assert asked(query) == []


def test_how_it_is_put() -> None:
    assert asks_question("¿Cuántas luces hay encendidas?")
    assert not asks_question("pon la alarma como siempre")
    assert asks_for_knowledge("dime por qué el cielo es azul")
    assert asks_for_knowledge("¿qué es una hipoteca?")
    assert not asks_for_knowledge("¿cuántas lámparas están encendidas?")
    assert is_bare("escribe un poema sobre el otoño")
    assert not is_bare("llama a Íñigo esta tarde")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("enciende la lámpara de la cocina", ["on"]),
        ("no enciendas la luz del salón", ["off"]),
        ("no apague la luz de la cocina", ["on"]),
        ("sube el volumen de la música", ["up"]),
        ("baja las persianas del salón", ["down"]),
        ("pon una alarma para las siete de la mañana", []),
        ("desbloquea la puerta principal", ["unlock"]),
    ],
)
def test_a_request_is_on_a_side(query: str, words: list[str]) -> None:
    assert on_sides(query, *words)


def test_words_for_somebody_else_are_no_wish() -> None:
    found = told("dile a mi hermana que abra la puerta")
    assert not found.sides
    assert "puerta" in found.quoted
