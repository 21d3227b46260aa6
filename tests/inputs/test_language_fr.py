"""Requests in French: wishes, questions, negation, opposites."""

from __future__ import annotations

import pytest
from spoken import asked, on_sides

from edgeret_export.reference.inputs.asking import asks_for_knowledge, asks_question, is_bare
from edgeret_export.reference.inputs.opposites import told


@pytest.mark.parametrize(
    ("query", "wishes"),
    [
        ("Éteins la lumière et mets du jazz", ["Éteins la lumière", "mets du jazz"]),
        ("peux-tu fermer les volets puis appeler maman ?", ["peux-tu fermer les volets", "appeler maman ?"]),
        (
            "s'il te plaît, écris à Paul. Règle aussi le réveil à sept heures",
            ["écris à Paul.", "Règle aussi le réveil à sept heures"],
        ),
        ("quelle heure est-il, et où est le chat", ["quelle heure est-il", "où est le chat"]),
        (
            "il n'y a plus de lait. Ensuite rappelle-moi le dentiste",
            ["il n'y a plus de lait.", "rappelle-moi le dentiste"],
        ),
    ],
)
def test_wishes_are_found(query: str, wishes: list[str]) -> None:
    assert asked(query) == wishes


@pytest.mark.parametrize(
    "query",
    [
        "allume la lumière dans la cuisine et le couloir",
        "rappelle-moi le lait, les œufs et un peu de pain",
        "dis à Anne que je suis en retard et que je l'aime",
        "s'il pleut, ferme les fenêtres",
        "je m'ennuie. Tu pourrais trouver un jeu pour deux ?",
    ],
)
def test_what_only_tells_more_of_a_wish_is_none(query: str) -> None:
    assert asked(query) == []


def test_how_it_is_put() -> None:
    assert asks_question("Quelle heure est-il à Tokyo ?")
    assert asks_question("qu'est-ce qu'une hypothèque")
    assert not asks_question("mets le réveil, comme toujours")
    assert asks_for_knowledge("dis-moi pourquoi le ciel est bleu")
    assert asks_for_knowledge("qu'est-ce que c'est, une hypothèque ?")
    assert not asks_for_knowledge("combien de lampes sont allumées")
    assert is_bare("écris un poème sur l'automne")
    assert not is_bare("appelle Élodie ce soir")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("allume la lampe de la cuisine", ["on"]),
        ("n'allume pas la lampe de la cuisine", ["off"]),
        ("ne ferme pas les volets", ["open"]),
        ("mets la musique plus fort", ["up"]),
        ("baisse le volume s'il te plaît", ["down"]),
        ("je ne veux plus de café pour le moment", []),
        ("déverrouille la porte d'entrée", ["unlock"]),
    ],
)
def test_a_request_is_on_a_side(query: str, words: list[str]) -> None:
    assert on_sides(query, *words)


def test_words_for_somebody_else_are_no_wish() -> None:
    found = told("dis à ma sœur de déverrouiller la porte")
    assert not found.sides
    assert "port" in found.quoted
