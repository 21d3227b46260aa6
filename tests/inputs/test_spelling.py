"""How texts are spelt: by hand, whatever the case and spaces, and near for slips of the keyboard."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from edgeret.types import SPELLING_BUCKETS
from edgeret_export.reference.inputs.spelling import spelling


def dense(text: str) -> np.ndarray:
    found = np.zeros(SPELLING_BUCKETS)
    buckets, values = spelling(text)
    found[buckets] = values
    return found


def test_a_letter_is_one_piece_of_three_bytes() -> None:
    hashed = int.from_bytes(b" a ", "little") * 2654435761 % 2**32
    buckets, values = spelling("A")
    assert (buckets.tolist(), values.tolist()) == ([hashed >> 22], [1.0 if hashed >> 21 & 1 else -1.0])


@given(st.text(max_size=60))
def test_a_spelling_is_a_unit_vector_or_nothing_and_adds_up_its_pieces(text: str) -> None:
    buckets, values = spelling(text)
    assert (np.diff(buckets) > 0).all()
    assert values.dtype == np.float32
    assert len(buckets) == 0 or abs(float(values @ values) - 1) < 1e-5
    read = f" {' '.join(text.lower().split())} ".encode()
    expected = np.zeros(SPELLING_BUCKETS)
    for length in (3, 4):
        for start in range(len(read) - length + 1):
            hashed = int.from_bytes(read[start : start + length], "little") * 2654435761 % 2**32
            expected[hashed >> 22] += 1 if hashed >> 21 & 1 else -1
    np.testing.assert_allclose(dense(text), expected / max(1, np.sqrt((expected**2).sum())), atol=1e-6)


def test_case_and_spaces_do_not_count() -> None:
    np.testing.assert_array_equal(dense("  Play\tsome  JAZZ \n"), dense("play some jazz"))


def test_a_slip_of_the_keyboard_stays_near_and_another_word_does_not() -> None:
    right = dense("speakers 85%")
    assert right @ dense("spekaers 85%") > 0.4
    assert abs(right @ dense("dim the lights")) < 0.2
