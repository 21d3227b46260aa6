"""What a request of several wishes leaves open, worked by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from test_prior import AXES, END, Evidence, reading, request, weights

from edgeret_export.reference.scoring.prior import PriorWeights, WishWeights
from edgeret_export.reference.scoring.wishes import DEPTH, KEPT, Wishes, WishScores


def two(first: int, second: int) -> Evidence:
    """A request for two of the three tools, one clause each."""
    asked = Wishes(np.array([0, 1]), np.zeros((2, 4), bool), ("one", "two"), ((0, 3), (4, 7)), [None, None])
    return replace(request(first, second), wishes=lambda: asked)


def by_cosine(**end: float) -> PriorWeights:
    """Wishes count by their clause's cosine alone."""
    return replace(weights(end=end, due=1.0, window=0.1), wish=WishWeights(0.3, 0.0, 0.0, 0.0))


def test_the_wish_that_no_call_is_for_is_due() -> None:
    found = reading(two(1, 0), by_cosine())
    assert [found.scores(calls)[:3].argmax() for calls in ((), (1,), (0,))] == [1, 0, 1]
    np.testing.assert_allclose(found.scores(())[:3] - found.scores(())[1], [-3, 0, -3 - KEPT], atol=1e-6)


def test_an_open_wish_speaks_against_the_end() -> None:
    found = reading(two(1, 0), by_cosine(open=-1.0, open_clear=-2.0, answered=4.0))
    clear = 1 / (1 + 2 * np.exp(-3) + np.exp(-5))  # `<end>` is as far as can be
    for calls in ((1,), (0,)):
        told = found.end_features(0.0, calls)
        assert (told["open"], told["answered"]) == (1, 0)
        assert told["open_clear"] == pytest.approx(clear, abs=1e-6)
        assert found.log_probabilities(calls).argmax() != END
    told = found.end_features(0.0, (0, 1))
    assert (told["open"], told["open_clear"], told["answered"]) == (0, 0, 1)
    assert found.log_probabilities((0, 1)).argmax() == END


def test_a_request_for_one_thing_is_read_as_before() -> None:
    told = reading(request(1, 0), by_cosine(open=-9.0)).end_features(0.0, (1,))
    assert (told["open"], told["open_clear"], told["answered"]) == (0, 0, 0)


def test_a_foreign_call_is_for_no_wish() -> None:
    found = reading(two(1, 0), by_cosine())
    np.testing.assert_allclose(found.scores((-1,))[:3].argmax(), 1)


def test_whoever_gives_to_what_a_wish_wants_is_for_it_too() -> None:
    given = WishScores(np.array([[5.0, 0, 0], [0, 9.0, 0]], np.float32), lambda tool: {0: [2]}.get(tool, []))
    np.testing.assert_allclose(given.behind, [[0, -5, 0], [-DEPTH, 0, -DEPTH]])
    assert given.open({2}) == [1]
    assert given.open({1}) == [0]
    assert given.open(set()) == [0, 1]


def test_opposites_count_for_each_wish_by_itself() -> None:
    opposed = np.zeros((2, 4), np.float32)
    opposed[0, 1] = 1
    asked = Wishes(np.array([0, 1]), np.zeros((2, 4), bool), ("one", "two"), ((0, 3), (4, 7)), [opposed, None])
    how = by_cosine()
    how = replace(how, tool=replace(how.tool, opposed=-10.0))
    found = reading(replace(request(1, 0), wishes=lambda: asked), how)
    assert found.scores(())[:3].argmax() != 1


def test_opposites_turn_a_whole_request() -> None:
    opposed = np.zeros((2, 4), np.float32)
    opposed[0, 0], opposed[1, 1] = 1, 2
    found = reading(replace(request(0), opposed=opposed), weights(opposed=-2.0, agrees=0.5))
    np.testing.assert_allclose(found.scores(())[:3], [-2, 1, 0])
    np.testing.assert_allclose(found.static[:3], [-2, 1, 0])
    assert AXES.shape == (4, 3)
