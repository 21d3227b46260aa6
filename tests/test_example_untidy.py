"""The careless typing of the desktop example: what it changes, what it must leave alone, and how often."""

from __future__ import annotations

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "desktop"))

from composition import MARK
from untidy import GERMAN, KEY_ROWS, SHORT_FORMS, keys_beside, mistype, plain, run_together, untidy

REQUEST = f"tell {MARK}Jürgen Weiß{MARK} about the meeting, please don't forward {MARK}report_v2.docx{MARK} to them"


def test_the_same_dice_give_the_same_text() -> None:
    once, again = (untidy(REQUEST, random.Random(3), 1) for _ in range(2))
    assert once == again


def test_a_value_is_spelt_as_it_was_whatever_happens_around_it() -> None:
    for seed in range(500):
        text = untidy(REQUEST, random.Random(seed), 1)
        assert " Jürgen Weiß " in text
        assert " report_v2.docx " in text


def test_no_slip_is_made_where_none_is_asked_for() -> None:
    words = {word.lower() for word in plain(REQUEST).replace(",", "").replace("'", "").split()}
    for seed in range(200):
        text = untidy(REQUEST, random.Random(seed), 0).lower().replace(",", "").replace("'", "")
        assert set(text.split()) == words


def test_about_the_asked_share_has_slips() -> None:
    short = f"volume {MARK}40{MARK} percent"
    tidy = {"volume40percent", "volume40percent?"}
    dice = random.Random(5)
    texts = [untidy(short, dice, 1 / 3) for _ in range(3000)]
    spelt = sum(text.replace(" ", "").startswith("volume40percent") for text in texts)
    assert tidy & {text.replace(" ", "") for text in texts}
    assert 0.6 < spelt / len(texts) < 0.72


def test_neighbours_are_the_keys_that_a_thumb_hits() -> None:
    assert sorted(keys_beside("g")) == sorted("fhtyvb")
    assert sorted(keys_beside("q")) == ["a", "w"]
    assert sorted(keys_beside("m")) == sorted("njk")
    assert all(one in keys_beside(other) for row in KEY_ROWS for one in row for other in keys_beside(one))


def test_a_misspelt_word_keeps_its_first_letter() -> None:
    dice = random.Random(1)
    for _ in range(300):
        assert mistype(["calendar"], 1, dice)[0].startswith("c")


def test_a_space_is_left_out_between_words_only() -> None:
    assert run_together(["mail ", " the link"], 1, random.Random(0)) == ["mail ", " thelink"]


def test_short_spellings_are_many_and_differ_from_the_words() -> None:
    assert len(SHORT_FORMS) >= 60
    assert not [word for word, forms in SHORT_FORMS.items() if word in forms or not all(forms)]
    assert not [word for word, german in GERMAN.items() if word == german]
