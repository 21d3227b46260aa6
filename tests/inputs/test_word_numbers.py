"""Which words of a list a text says: those that `words` finds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeret.inputs.words import COMMON, words
from edgeret_export.reference.inputs.word_numbers import WordNumbers

PARTS = ["mail", "sendMail", "stopped", "addresses", "press", "cities", "city", "call", "using", "bees", "oxen"]
PARTS += ["HTTPServer", "ies", "ing", "ss", "aaa", "yyy", "15", "b2B", "größe", "漢字", "_", "-", "'s"]
PARTS += [*sorted(COMMON)[:8], " ", " ", "\t", "\x1c", "e", "es", "ed", "S", "Y"]
TEXTS = st.lists(st.sampled_from(PARTS), max_size=30).map("".join)


@given(st.lists(TEXTS | st.text(max_size=20), max_size=6), TEXTS | st.text(max_size=80))
def test_a_text_says_what_its_words_say(told: list[str], text: str) -> None:
    listed = sorted({word for one in told for word in words(one)})
    expected = list(dict.fromkeys(words(text)))
    known, others = WordNumbers(listed)(text)
    assert [listed[number] for number in known.tolist()] == [word for word in expected if word in listed]
    assert others == any(word not in listed for word in expected)


@pytest.mark.parametrize("letters", [255, 256, 5_000])
def test_a_long_word_is_known_however_long_it_is(letters: int) -> None:
    word = "xyz" * (letters // 3) + "q" * (letters % 3)
    assert len(word) == letters
    listed = [words(word)[0]]
    for known, others in (WordNumbers(listed)(f"a {word}"), WordNumbers([])(f"a {word}")):
        assert (known.tolist(), others) in (([0], False), ([], True))
    assert WordNumbers(listed)(f"{word} {word}").known.tolist() == [0]
