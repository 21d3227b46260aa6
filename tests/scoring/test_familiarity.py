"""How far a request is from what was demonstrated, worked by hand in two dimensions."""

from __future__ import annotations

from math import exp, inf, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeret_export.reference.scoring.familiarity import KINDS, NEAREST, STEEP, Familiarity, Means

UP, DOWN, RIGHT = (np.array(v, np.float32) for v in ((0, 1), (0, -1), (1, 0)))
NONE = np.empty(0, np.intp)


def means(*shown: tuple[np.ndarray, int], weights: list[float] | None = None) -> Means:
    vectors = np.array([vector for vector, _ in shown], np.float32).reshape(-1, 2)
    weight = np.ones(len(shown)) if weights is None else np.array(weights)
    return Means.of(vectors, np.array([tool for _, tool in shown], np.intp), weight.astype(np.float32))


def test_means_are_not_made_unit_vectors_again() -> None:
    found = means((UP, 4), (RIGHT, 4), (DOWN, 1), (UP, -1))
    assert found.tools.tolist() == [1, 4] and found.counts.tolist() == [1, 2] and found.no_tool == 1
    np.testing.assert_allclose(found.vectors, [DOWN, (0.5, 0.5)])


def test_both_together_are_as_shown_at_once() -> None:
    shown = [(UP, 4), (RIGHT, 4), (DOWN, 1), (UP, -1), (RIGHT, 2), (UP, 1)]
    both, at_once = means(*shown[:3]).beside(means(*shown[3:])), means(*shown)
    assert both.tools.tolist() == at_once.tools.tolist() == [1, 2, 4] and both.no_tool == at_once.no_tool == 1
    np.testing.assert_allclose(both.vectors, at_once.vectors)
    np.testing.assert_allclose(both.counts, at_once.counts)


def test_the_distance_is_to_the_nearest_mean_and_with_it_to_the_nearest_demonstration() -> None:
    known = Familiarity(means((UP, 0), (RIGHT, 0), (DOWN, 1)), 1.0)
    to_mean = sqrt(0.5)  # from (0, 1) to (.5, .5); (0, -1) is 2 away
    assert known.distance(UP, 1.0) == pytest.approx(to_mean)
    assert known.distance(UP, 0.5) == pytest.approx(to_mean + NEAREST)  # unit vectors with that cosine are 1 apart
    assert known.distance(UP, None) == pytest.approx((1 + NEAREST) * to_mean)
    only_down = np.array([False, True])
    assert known.distance(UP, None, only_down) == pytest.approx((1 + NEAREST) * 2)
    assert known.distance(UP, None, np.array([False, False])) == inf


def test_odds_fall_with_the_distance_and_are_even_at_the_edge() -> None:
    known = Familiarity(means((UP, 0), (DOWN, 1), (DOWN, 1)), 1.2)
    assert known.fits(1.2) == pytest.approx(1)
    assert known.fits(1.08) == pytest.approx(exp(0.1 * STEEP))
    assert known.fits(inf) == 0


def test_words_count_for_less_with_every_demonstration_a_tool() -> None:
    known = Familiarity(means((UP, 0), (DOWN, 1), (DOWN, 1)), 1.2)
    assert known.strange(3) == pytest.approx(1 / 3) and known.strange(300) == pytest.approx(1, abs=1e-3)
    assert known.without_demonstrations().strange(3) == 1


def test_where_nothing_was_demonstrated_it_says_nothing() -> None:
    none = Familiarity(means((UP, 0)), 1.1).without_demonstrations()
    assert none.edge == 1.1 and none.distance(UP, 0.9) == inf
    learned = none.beside(means((UP, 7)))
    assert learned.means.tools.tolist() == [7] and learned.edge == 1.1


def test_demonstrated_requests_that_no_tool_fits_leave_less_unknown() -> None:
    shown = means((UP, 0), *[(DOWN, -1)] * int(KINDS))
    assert Familiarity(means((UP, 0)), 1.0).unknown == 1 and Familiarity(shown, 1.0).unknown == 0.5


@given(st.lists(st.tuples(st.integers(-1, 3), st.floats(0, 6.28), st.floats(0.1, 3)), max_size=12), st.integers(0, 12))
def test_the_order_and_the_parts_make_no_difference(shown: list[tuple[int, float, float]], cut: int) -> None:
    vectors = np.array([(np.cos(a), np.sin(a)) for _, a, _ in shown], np.float32).reshape(-1, 2)
    tools, weights = np.array([t for t, _, _ in shown], np.intp), np.array([w for _, _, w in shown], np.float32)
    whole = Means.of(vectors, tools, weights)
    parts = Means.of(vectors[:cut], tools[:cut], weights[:cut]).beside(
        Means.of(vectors[cut:], tools[cut:], weights[cut:])
    )
    backwards = Means.of(vectors[::-1], tools[::-1], weights[::-1])
    for other in (parts, backwards):
        assert other.tools.tolist() == whole.tools.tolist()
        np.testing.assert_allclose(other.vectors, whole.vectors, atol=1e-5)
        np.testing.assert_allclose(other.counts, whole.counts, rtol=1e-5)
        assert other.no_tool == pytest.approx(whole.no_tool, abs=1e-4)
