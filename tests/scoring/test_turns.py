"""The mixture of a conversation's later turns: shares, what may not be chosen, and weights that make no sense."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeret.errors import BundleError
from edgeret_export.reference.scoring.turns import (
    SHAPES,
    WEIGHTS_FILE,
    TurnStep,
    TurnWeights,
    next_probabilities,
    shipped_weights,
    turn_evidence,
)

N = 6


def step(seed: int = 0, **changed: object) -> TurnStep:
    """A step among five tools and `<end>`, which stands last."""
    alone, onward = np.random.default_rng(seed).dirichlet(np.full(N, 0.3), 2).astype(np.float32)
    made = TurnStep(alone, onward, np.ones(N, bool), N - 1, 3, (0, 1), (0, 1), ())
    return replace(made, **changed)  # type: ignore[arg-type]


@given(
    st.integers(0, 1000),
    st.lists(st.integers(-1, N - 2), max_size=4),
    st.lists(st.integers(-1, N - 2), max_size=3),
    st.integers(0, 100_000),
    st.booleans(),
)
def test_probabilities_are_shares_of_what_may_be_chosen(
    seed: int, last: list[int], made: list[int], words: int, demonstrated: bool
) -> None:
    allowed = np.random.default_rng(seed + 1).random(N) < 0.6
    given_step = step(seed, last=last, earlier=last, made=made, words=words, allowed=allowed)
    found = next_probabilities(given_step, shipped_weights(demonstrated))
    assert found.dtype == np.float32
    assert float(found.sum()) == pytest.approx(1, abs=1e-5)
    assert (found[: N - 1][~allowed[: N - 1]] == 0).all()


def test_a_first_step_is_declined_only_from_its_threshold_on() -> None:
    weights = replace(shipped_weights(True), nothing=0.5)
    some = [next_probabilities(step(seed), weights) for seed in range(200)]
    ends = [row[-1] for row in some if row.argmax() == N - 1]
    assert ends
    assert min(ends) >= 0.5
    after = [next_probabilities(step(seed, made=(0,)), weights) for seed in range(200)]
    assert any(row.argmax() == N - 1 and row[-1] < 0.5 for row in after)


def test_where_no_tool_may_be_chosen_the_turn_is_over() -> None:
    found = next_probabilities(step(allowed=np.zeros(N, bool)), shipped_weights(True))
    assert found.tolist() == [0, 0, 0, 0, 0, 1]


def test_certainty_gives_numbers() -> None:
    sure = np.eye(N, dtype=np.float32)
    for row in sure:
        found = next_probabilities(step(alone=row, onward=row), shipped_weights(False))
        assert np.isfinite(found).all()


@pytest.mark.parametrize("demonstrated", [False, True])
def test_tools_of_the_last_plan_gain_and_its_next_call_most(demonstrated: bool) -> None:
    even = np.full(N, 1 / N, np.float32)
    weights = shipped_weights(demonstrated)
    before = next_probabilities(step(alone=even, onward=even), weights)
    assert before[:2].min() > before[2:5].max()
    after = next_probabilities(step(alone=even, onward=even, made=(0,)), weights)
    assert after[:5].argmax() == 1


def test_evidence_has_the_shapes_that_weights_have() -> None:
    seen = turn_evidence(step())
    assert [rows.shape for rows in seen.features] == [(N, *SHAPES[name]) for name in ("whole", "last", "earlier")]
    assert (seen.gates.shape, seen.end.shape) == (SHAPES["gates"], SHAPES["end"])


def test_weights_come_back_as_they_were_and_others_are_refused() -> None:
    weights = shipped_weights(True)
    value = json.loads(json.dumps(weights.to_dict()))
    assert TurnWeights.from_dict(value, "here") == weights
    for key, wrong in (
        ("whole", [1.0]),
        ("gates", [[1.0], [2.0]]),
        ("end", [float("nan")] * 17),
        ("last", "x"),
        ("nothing", 2.0),
    ):
        with pytest.raises(BundleError, match="here"):
            TurnWeights.from_dict({**value, key: wrong}, "here")


def test_the_shipped_weights_say_what_they_were_worth_on_held_out_conversations() -> None:
    held_out = json.loads(WEIGHTS_FILE.read_text(encoding="utf-8"))["held_out"]
    assert {name: set(row) for name, row in held_out.items()} == {
        name: {"steps", "top1", "ece"} for name in ("tools", "demonstrated")
    }
