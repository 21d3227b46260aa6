"""Words, stems and names in words, against Python's."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import pytest
from core_lexicon import library_of, stem_and_name, words_of
from hypothesis import given
from hypothesis import strategies as st

from edgeret.inputs import words
from edgeret.inputs.tool_text import name_in_words

ROOT = Path(__file__).parents[2]
HOSTILE = (
    "", " ", "_", "a", "I", "İ", "xİyİ", "ΣΑΣ ΑΣ. aΣ' Σ", "ﬁ ﬀ ß ẞ", "x̂ ŷ", "éé éé", "aBcD1E2F", "XMLHttpRequest",
    "١٢٣ ½ ² Ⅷ", "don't ’tis", "播放音乐 play", "\x00a\x00b", "a\u200bb\u00adc", "𝔸𝔹 𐐀𐐨", "ss sss ees ies xies yes",
    "playing stopped calls pass address addresses parties happily ying", "aſſ KK ſs", "ny yy yyy yyyy",
)  # fmt: skip
WORDS = st.text(st.sampled_from("aesyildnguiESYΣσİ_. -'éß1٣播"), max_size=12)


@pytest.fixture(scope="module")
def core(core_library: Callable[..., ctypes.CDLL]) -> ctypes.CDLL:
    return library_of(core_library)


def check(core: ctypes.CDLL, text: str) -> None:
    found = words_of(core, text)
    assert [stem for stem, _ in found] == words.words(text), text
    forms: dict[str, str] = {}
    for stem, written in found:
        words.merge_form(forms, stem, written)
    assert forms == words.forms(text), text


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts(core: ctypes.CDLL, text: str) -> None:
    check(core, text)


def test_common_words_are_left_out(core: ctypes.CDLL) -> None:
    assert words_of(core, " ".join(words.COMMON)) == []
    every = [f"{word}x" for word in words.COMMON]
    assert [written for _, written in words_of(core, " ".join(every))] == every


def test_requests(core: ctypes.CDLL) -> None:
    for line in (ROOT / "examples/desktop/requests.jsonl").read_text().splitlines()[:400]:
        check(core, line)


@given(st.one_of(st.text(st.characters(codec="utf-8")), st.lists(WORDS).map(" ".join)))
def test_any_text(core: ctypes.CDLL, text: str) -> None:
    check(core, text)


@given(st.one_of(st.text(st.characters(codec="utf-8")), WORDS))
def test_names_and_stems(core: ctypes.CDLL, text: str) -> None:
    assert stem_and_name(core, text) == [words.stem(text) if text else "", name_in_words(text)]
