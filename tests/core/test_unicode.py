"""Code points, lower case and normal forms, against Python's own of the Unicode version that the tables are of."""

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
FORMS = ("NFD", "NFC", "NFKD", "NFKC")
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
    library = core_library("unicode", "probe_unicode")
    library.probe_normalize.restype = ctypes.c_int64
    return library


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


def normalized(library: ctypes.CDLL, form: str, text: str) -> tuple[str, list[int]]:
    points = points_of(text)
    found = np.empty((2, 18 * len(points) + 1), np.uint32)
    at = [part.ctypes.data_as(ctypes.c_void_p) for part in (points, found[0], found[1])]
    count = library.probe_normalize(FORMS.index(form), at[0], len(points), at[1], at[2], found.shape[1])
    assert count >= 0
    return text_of(found[0, :count]), found[1, :count].tolist()


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


def test_every_normal_form(unicode: ctypes.CDLL) -> None:
    every = [chr(point) for point in range(POINTS) if not 0xD800 <= point < 0xE000]
    for form in FORMS:
        wanted = [unicodedata.normalize(form, char) for char in every]
        assert normalized(unicode, form, "\n".join(every))[0] == "\n".join(wanted)  # a line end keeps neighbours apart


@given(TEXTS)
def test_texts(unicode: ctypes.CDLL, text: str) -> None:
    assert lower(unicode, text) == text.lower()
    for form in FORMS:
        found, origins = normalized(unicode, form, text)
        assert found == unicodedata.normalize(form, text)
        assert len(origins) == len(found) and all(0 <= origin < len(text) for origin in origins)
    points = points_of(text)
    assert unicode.probe_round_trip(points.ctypes.data_as(ctypes.c_void_p), len(points)) == 1


def test_many_marks_take_no_long_time(unicode: ctypes.CDLL) -> None:
    low, high, n = "\u0316", "\u0301", 50_000  # Python takes a minute
    assert normalized(unicode, "NFD", "a" + (high + low) * n)[0] == "a" + low * n + high * n
    assert normalized(unicode, "NFC", "a" + (high + low) * n)[0] == "á" + low * n + high * (n - 1)
