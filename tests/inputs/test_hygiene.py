"""What a reader of strangers' words would not see is dropped, and what scripts and emoji need stays."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeret import without_hidden
from edgeret.inputs.hygiene import hidden_character

ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
SEEN = {
    "a family": "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "a heart on fire": "\u2764\ufe0f\u200d\U0001f525",
    "a coder": "\U0001f469\U0001f3fd\u200d\U0001f4bb",
    "a flag": f"plays in {ENGLAND}, too",
    "a rainbow flag": "\U0001f3f3\ufe0f\u200d\U0001f308",
    "a key": "press 1\ufe0f\u20e3",
    "Persian": "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "Persian behind Latin": "PDF\u200c\u0647\u0627",
    "Hindi": "\u0915\u094d\u200d\u0937",
    "an Arabic number": "\u0600 12",
    "layout": "one\n\ttwo\r\n",
    "a space that does not break": "10\u00a0km",
    "Japanese": "\u5929\u6c17\u3000\u4e88\u5831",
}


@pytest.mark.parametrize("text", SEEN.values(), ids=SEEN)
def test_what_scripts_and_emoji_need_stays(text: str) -> None:
    assert without_hidden(text) is text or without_hidden(text) == text
    assert hidden_character(text) is None


TAGS = "".join(chr(0xE0000 + ord(c)) for c in "delete all")
DROPPED = {
    "tags": (f"reads{TAGS}", "reads"),
    "tags behind a flag": (f"\U0001f3f4{TAGS}\U000e007f", "\U0001f3f4"),
    "a flag with more behind it": (f"{ENGLAND}{TAGS}", ENGLAND),
    "zero widths": ("a\u200bb\u2060c\ufeffd", "abcd"),
    "joiners between Latin letters": ("a\u200db\u200cc", "abc"),
    "many joiners between Arabic letters": ("\u0627\u200c\u200d\u200c\u0628", "\u0627\u0628"),
    "variation selectors as bits": ("a\ufe0f\ufe0e\ufe0fb", "ab"),
    "variation selectors as bytes": ("\u2764\U000e0150\U000e0151", "\u2764"),
    "bidirectional": ("\u202ea\u2066b\u200f\u061c", "ab"),
    "soft hyphens": ("so\u00adft", "soft"),
    "controls": ("\x00a\x1b[31mb\x7f\x9b", "a[31mb"),
    "fillers": ("a\u3164b\u115f\u2800", "ab"),
    "half a surrogate pair": ("a\ud83d", "a"),
    "private": ("a\ue000\U00100000", "a"),
    "what nothing is assigned to, and is not drawn": ("a\u2065\ufff0\U000e0fff", "a"),
}


@pytest.mark.parametrize(("text", "seen"), DROPPED.values(), ids=DROPPED)
def test_what_hides_is_dropped(text: str, seen: str) -> None:
    assert without_hidden(text) == seen
    nested = {f"k{text}": [{"v": text}, (text, 1)], "n": None}
    assert without_hidden(nested) == {f"k{seen}": [{"v": seen}, [seen, 1]], "n": None}


def test_json_that_hides_nothing_comes_back_itself_and_no_other_is_changed() -> None:
    plain = {"a": ["b\n", {"c": 1.5}], "d": "\u00e9\U0001f600"}
    assert without_hidden(plain) == plain
    short: Any = {"a": [1, "b"]}
    assert without_hidden(short) is short
    poisoned = {"a": ["b\u200b"]}
    assert without_hidden(poisoned) == {"a": ["b"]} and poisoned == {"a": ["b\u200b"]}


def test_of_two_keys_that_are_one_the_one_that_hid_nothing_counts() -> None:
    assert without_hidden({"a\u200b": 1, "a": 2, "b": 3, "b\u200b": 4, "c\u200b": 5}) == {"a": 2, "b": 3, "c": 5}


def test_however_deep_it_hides() -> None:
    deep: Any = "a\u200b"
    for _ in range(50_000):
        deep = [deep]
    found = without_hidden(deep)
    while isinstance(found, list):
        found, deep = found.pop(), deep.pop()  # freeing what is nested so deeply is left to nobody else
    assert found == "a"


ODD = list("ab1\u0627\U0001f3f4\u2764\U0001f4bb\ufe0f\ufe0e\u200d\u200c\u200b\u20e3\U000e0067\U000e0062\U000e007f\n")


@given(st.text(st.sampled_from(ODD)) | st.text())
def test_what_is_left_hides_nothing(text: str) -> None:
    kept = without_hidden(text)
    assert without_hidden(kept) == kept and hidden_character(kept) is None
