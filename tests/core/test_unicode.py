"""Code points, lower case, and what is made of what, against Python's own, of the version that the tables have."""

from __future__ import annotations

import ctypes
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

CORE = Path(__file__).parents[2] / "core"
_CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn"
CATEGORIES = _CATEGORIES.split(" ")
POINTS = 0x110000
UNICODE = re.search(r'ER_UNICODE "(.*)"', (CORE / "src" / "unicode_tables.h").read_text())[1]
pytestmark = pytest.mark.skipif(
    unicodedata.unidata_version != UNICODE, reason=f"this Python's Unicode is not {UNICODE}"
)
TEXTS = st.text(
    st.one_of(
        st.characters(codec="utf-8"),
        st.sampled_from("aAΣσς İıſ1.'゙́̀̈̓ᄀ가ᅡᆨé"),
    )
)


@pytest.fixture(scope="module")
def unicode(core_library: Callable[..., ctypes.CDLL]) -> ctypes.CDLL:
    return core_library("unicode", "probe_unicode")


def points_of(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def text_of(points: np.ndarray) -> str:
    return points.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


def lower(library: ctypes.CDLL, text: str) -> str:
    points = points_of(text)
    found = np.empty(2 * len(points) + 1, np.uint32)
    at = [part.ctypes.data_as(ctypes.c_void_p) for part in (points, found)]
    count = library.probe_lower(at[0], len(points), at[1])
    return text_of(found[:count])


def test_all_code_points(unicode: ctypes.CDLL) -> None:
    found = np.empty((POINTS, 8), np.uint32)
    unicode.probe_points(found.ctypes.data_as(ctypes.c_void_p))
    chars = [chr(point) for point in range(POINTS)]
    categories = [unicodedata.category(char) for char in chars]
    assert found[:, 0].tolist() == [CATEGORIES.index(category) for category in categories]
    assert found[:, 1].tolist() == [unicodedata.combining(char) for char in chars]
    assert found[:, 2].tolist() == [char.isalpha() for char in chars]
    assert found[:, 3].tolist() == [char.isalnum() for char in chars]
    assert found[:, 4].tolist() == [char.isspace() for char in chars]
    assert found[:, 5].tolist() == [ord(char.lower()[0]) for char in chars]
    assert found[:, 7].tolist() == [category[0] == "P" for category in categories]
    every = "".join(chars)
    decimal = found[:, 0] == CATEGORIES.index("Nd")
    for expression, said in ((r"\s", found[:, 4]), (r"[^\W_]", found[:, 3]), (r"\d", decimal)):
        assert [ord(char) for char in re.findall(expression, every)] == np.flatnonzero(said).tolist()


def test_what_ignores_case(unicode: ctypes.CDLL) -> None:
    found = np.empty((POINTS, 8), np.uint32)
    unicode.probe_points(found.ctypes.data_as(ctypes.c_void_p))
    every = "".join(map(chr, range(POINTS)))
    for point in map(ord, "iskEaåßµΣςẞﬅ_1"):
        same = [ord(char) for char in re.findall(re.escape(chr(point)), every, re.IGNORECASE)]
        assert same == np.flatnonzero(found[:, 6] == found[point, 6]).tolist(), hex(point)


@pytest.mark.parametrize("form", ["NFD", "NFKD"])
def test_what_every_code_point_is_made_of(unicode: ctypes.CDLL, form: str) -> None:
    every = [chr(point) for point in range(POINTS) if not 0xD800 <= point < 0xE000]
    found = np.empty(3 * POINTS, np.uint32)
    count = unicode.probe_decompose(form == "NFKD", found.ctypes.data_as(ctypes.c_void_p), len(found))
    assert text_of(found[:count]) == "".join(f"\n{unicodedata.normalize(form, char)}" for char in every)


def test_every_pair_is_put_together(unicode: ctypes.CDLL) -> None:
    parts = [unicodedata.decomposition(chr(point)).split(" ") for point in range(POINTS)]
    pairs = [chr(int(pair[0], 16)) + chr(int(pair[1], 16)) for pair in parts if len(pair) == 2 and pair[0][0] != "<"]
    for syllable in map(chr, range(0xAC00, 0xAC00 + 11172)):
        *first, last = unicodedata.normalize("NFD", syllable)
        pairs.append(unicodedata.normalize("NFC", "".join(first)) + last)
    assert len(pairs) > 12_000
    for pair in pairs:
        whole = unicodedata.normalize("NFC", pair)
        assert unicode.probe_compose(*map(ord, pair)) == (ord(whole) if len(whole) == 1 else 0), ascii(pair)


@given(TEXTS)
def test_texts(unicode: ctypes.CDLL, text: str) -> None:
    assert lower(unicode, text) == text.lower()
    points = points_of(text)
    assert unicode.probe_round_trip(points.ctypes.data_as(ctypes.c_void_p), len(points)) == 1
