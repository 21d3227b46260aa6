"""The files of languages: both readers of the specification find the same in them, and a bad one is told by name."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from format_asking import only_asks as second_only_asks
from format_language import TOLD, language
from format_language import rules_in as second_rules
from format_wishes import FILLERS, OPENINGS, QUESTIONS, SUBORDINATE, VERBS
from format_wishes import PAIRS as FORMAT_PAIRS
from format_words import stem

from edgeret.errors import BundleError
from edgeret_export.reference.inputs import clauses
from edgeret_export.reference.inputs.asking import asks_for_knowledge, asks_question, is_bare, only_asks
from edgeret_export.reference.inputs.language import rules_in
from edgeret_export.reference.inputs.language_rules import FOLDER, LANGUAGES, content, pairs, read_rules, rules_of
from edgeret_export.reference.inputs.opposites import told

SAID = [
    "mach das Licht in Bad und Flur an, danach ruf bitte Oma an; spiel aber keine Musik",
    "bitte, bitte, bitte, und danke",
    "Erinnere mich daran, dass ich die Tür nicht öffnen soll",
    "s'il vous plaît, n'éteignez pas la lampe. Qu'est-ce que c'est, puis montez le son plus fort",
    "dis à Luc de ne pas fermer les volets et ensuite mets de la musique",
    "¿qué es eso? no abras la puerta, pero enciende la luz y avísale a Ana que llego",
    "para la música y después baja las persianas, por favor",
    "请不要关灯，然后把音量调大一点，再提醒我明天3点开会",
    "告诉妈妈别锁门。TV继续播放《新闻》，另外几点了？",
    "turn off the lamp and don't lock the door, then tell Mia to call",
    "schalte das Licht aus and play some music",
    "enciende la luz and then call mum please",
    "ISTANBUL'da ışıkları kapat, sonra İstanbul hava durumu",
    "tafi al-nour wa shaghghil al-musiqa",
    "batti band karo aur gaana chalao phir darwaza kholo",
    "ライトを消して、音楽をかけて",
    "steht das Garagentor auf? Sind alle Fenster zu?",
    "¿Hay gas en la cocina? Apágalo.",
    "any windows open upstairs",
    "书房的灯开着吗？",
    "",
    "，，，。。再再再然后",
]


@pytest.mark.parametrize("query", SAID)
def test_a_second_reader_reads_the_same(query: str) -> None:
    rules, second = rules_in(query), second_rules(query, stem)
    assert rules.language == second.code == language(query)
    spans = clauses.clause_spans(query, clauses.SHORT, rules)
    expected = [(i, j) for i, j in second.pieces(query) if second.count(query[i:j]) >= 2] or [(0, len(query))]
    assert spans == expected
    asked = [number for number, asks in enumerate(clauses.wishes(query, spans, rules)) if asks]
    assert (asked if len(spans) > 1 and 2 <= len(asked) <= 3 else []) == second.asking(query, spans)
    form = second.form(query)
    assert form == {"question": asks_question(query), "explains": asks_for_knowledge(query), "bare": is_bare(query)}
    assert only_asks(query) == second_only_asks(query, second)
    found = told(query)
    assert (found.sides, found.negated, found.quoted) == second.told(query, stem)


def test_english_is_what_the_specification_spells_out() -> None:
    english = rules_of("en")
    assert [" | ".join(pair) for pair in pairs()] == [" | ".join(pair) for pair in FORMAT_PAIRS]
    assert (english.openings, english.fillers, english.subordinate) == (OPENINGS, FILLERS, SUBORDINATE)
    assert (english.questions, english.verbs) == (QUESTIONS, VERBS)


@pytest.mark.parametrize("code", LANGUAGES)
def test_lists_do_not_contradict_each_other(code: str) -> None:
    rules = rules_of(code)
    assert rules.language == code == language_of_file(code)
    sides = [(word, side) for pair in named_pairs(code) for side in pair for word in set(side.split())]
    assert len({word for word, _ in sides}) == len(sides)
    assert rules.doubtful <= rules.sides.keys()
    if code != "en":
        assert not rules.questions & rules.subordinate
        assert not rules.verbs & rules.fillers


def named_pairs(code: str) -> list[list[str]]:
    told = TOLD[code]["opposites"]["pairs"]
    return list(told.values()) if isinstance(told, dict) else told


def language_of_file(code: str) -> str:
    return str(content(code)["language"])


def bad(change: str) -> dict[str, Any]:
    found: dict[str, Any] = copy.deepcopy(dict(content("de")))
    if change == "missing":
        del found["clauses"]
    elif change == "no list":
        found["wishes"]["verbs"] = "mach"
    elif change == "no text":
        found["wishes"]["verbs"] = [7]
    elif change == "expression":
        found["clauses"]["cut"] = ["("]
    elif change == "pair":
        found["opposites"]["pairs"]["frobnicate"] = ["a", "b"]
    elif change == "side":
        found["opposites"]["pairs"]["on"] = ["a"]
    return found


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("missing", 'here: "clauses" must be dict'),
        ("no list", 'here: "verbs" must be list'),
        ("no text", 'here: "verbs" must be a list of texts'),
        ("expression", 'here: "cut" is no expression'),
        ("pair", 'here: "pairs" has "frobnicate", which begins no English pair'),
        ("side", 'here: "pairs" must give two texts for each'),
    ],
)
def test_a_bad_file_is_told_by_name(change: str, words: str) -> None:
    with pytest.raises(BundleError, match=words):
        read_rules(bad(change), "here")


def test_a_missing_file_is_told_by_name() -> None:
    with pytest.raises(BundleError, match=r"tlh\.json: cannot be read .* install edgeret again"):
        content("tlh")
    assert all(json.loads((FOLDER / f"{code}.json").read_text("utf-8"))["language"] == code for code in LANGUAGES)


@pytest.mark.parametrize(
    "query", ["und " * 5000, " " * 20_000 + "licht aus", "，" * 20_000, "ñ" * 20_000, "n'" * 10_000]
)
@pytest.mark.parametrize("code", LANGUAGES)
def test_long_and_odd_requests_end(query: str, code: str) -> None:
    rules = rules_of(code)
    assert clauses.parts(query, rules).least in (clauses.SHORT, clauses.MIN_WORDS)
    told(query, rules)
    assert isinstance(asks_question(query, rules) or asks_for_knowledge(query, rules) or is_bare(query, rules), bool)
