"""What was learned comes back bit for bit, and nothing else comes in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from edgeret.bundle.codec import pack, unpack
from edgeret.errors import OverlayError
from edgeret_export.reference.scoring.increments import MAX_ROWS
from edgeret_export.reference.scoring.learned_state import pack_learner, packed_bytes, restore_learner
from edgeret_export.reference.scoring.learner import Learner

D = 16
N = 40
POSITIONS = np.arange(N)
WHERE = "tool.overlay"


def plan(seed: int) -> tuple[NDArray[np.float32], list[int], NDArray[np.float32]]:
    rng = np.random.default_rng(seed)
    vector = rng.normal(size=D).astype(np.float32) + np.eye(D, dtype=np.float32)[seed % 4] * 6
    calls = [1 + (seed % 4 + i) % (N - 1) for i in range(seed % 5)]
    return vector / np.linalg.norm(vector), calls, np.log(rng.dirichlet(np.ones(N), len(calls) + 1)).astype(np.float32)


def blank() -> Learner:
    return Learner(D, capacity_steps=200)


def learned(plans: int = 60) -> Learner:
    made = blank()
    for i in range(1, N):
        made.label(f"tool{i}")
    for seed in range(plans):
        vector, calls, base = plan(seed)
        made.learn(vector, calls, base, POSITIONS)
    made.forget([3])
    return made


def predictions(made: Learner) -> list[bytes]:
    given = []
    for seed in range(200, 220):
        vector, calls, base = plan(seed)
        query = made.query(vector, POSITIONS, N)
        given += [made.predict(base[k], query, calls[:k]).tobytes() for k in range(len(base))]
    return given


@pytest.mark.parametrize("plans", [0, 1, 60])
def test_what_comes_back_predicts_and_goes_on_learning_bit_for_bit_the_same(plans: int) -> None:
    made, back = learned(plans), blank()
    restore_learner(back, unpack(pack(pack_learner(made)), WHERE), WHERE)
    assert back.names == made.names and back.label("tool7") == 7 and back.status == made.status
    assert predictions(back) == predictions(made)
    for learner in (made, back):
        for seed in range(60, 130):  # beyond the memory's capacity
            vector, calls, base = plan(seed)
            learner.learn(vector, calls, base, POSITIONS)
    assert predictions(back) == predictions(made)
    assert pack(pack_learner(back)) == pack(pack_learner(made))


def test_a_state_does_not_change_with_the_learner_it_came_from() -> None:
    made = learned()
    state = pack_learner(made)
    before = pack(state)
    vector, calls, base = plan(99)
    made.learn(vector, calls, base, POSITIONS)
    assert pack(state) == before


def altered(array: NDArray[Any], value: float) -> NDArray[Any]:
    copy = array.copy()
    copy.flat[0] = value
    return copy


STATE = pack_learner(learned())
ARRAYS = [key for key, value in STATE.items() if isinstance(value, np.ndarray)]
FLOATS = [key for key in ARRAYS if STATE[key].dtype.kind == "f"]


def refused(state: dict[str, Any], key: str) -> None:
    made = learned(5)
    before = pack(pack_learner(made))
    with pytest.raises(OverlayError, match=rf'^{WHERE}: "{key}" must hold .* found .*; forget everything') as error:
        restore_learner(made, state, WHERE)
    assert "\n" not in str(error.value)
    assert pack(pack_learner(made)) == before


def test_a_packed_array_of_another_type_or_with_nan_is_refused() -> None:
    made = STATE
    for bad in (made["vectors"].astype(np.float32), altered(made["vectors"], np.nan), made["vectors"][:-1]):
        refused(unpack(pack({**made, "vectors": bad}), WHERE), "vectors")


@pytest.mark.parametrize("key", list(STATE))
def test_a_missing_field_is_refused(key: str) -> None:
    refused({name: value for name, value in STATE.items() if name != key}, key)


@pytest.mark.parametrize("key", ARRAYS)
def test_an_array_of_another_type_or_number_of_dimensions_is_refused(key: str) -> None:
    refused({**STATE, key: STATE[key].astype(np.float64)}, key)
    refused({**STATE, key: STATE[key][None]}, key)


@pytest.mark.parametrize("key", [key for key in ARRAYS if key not in ("lengths", "row_labels")])
def test_an_array_of_another_size_is_refused(key: str) -> None:
    refused({**STATE, key: np.concatenate((STATE[key], STATE[key]))}, key)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("key", FLOATS)
def test_numbers_that_are_not_finite_are_refused(key: str, value: float) -> None:
    refused({**STATE, key: altered(STATE[key], value)}, key)


CHANGES: list[tuple[str, Callable[[Any], Any]]] = [
    ("dimension", lambda _: D + 1),
    ("names", lambda names: names[1:]),
    ("names", lambda names: [*names, names[1]]),
    ("names", lambda names: [*names, 3]),
    ("learned", lambda _: -1),
    ("learned", lambda _: True),
    ("clock", lambda _: 2**60),
    ("vectors", lambda a: altered(a, 1.0)),
    ("lengths", lambda a: altered(a, 256)),
    ("lengths", lambda a: np.full_like(a, 200)),
    ("calls", lambda a: altered(a, 0)),
    ("calls", lambda a: altered(a, N)),
    ("ids", lambda a: altered(a, a[1])),
    ("ids", lambda a: altered(a, 10**6)),
    ("times", lambda a: altered(a, 10**6)),
    ("weights", lambda a: altered(a, 0)),
    ("weights", lambda a: altered(a, 1000)),
    ("shown", lambda a: altered(a, 0)),
    ("redundant", lambda a: altered(a, 2)),
    ("offset_labels", lambda a: altered(a, N)),
    ("offset_log_p", lambda a: altered(a, 5)),
    ("row_labels", lambda a: altered(a, a[1])),
    ("row_labels", lambda _: np.zeros(MAX_ROWS + 1, np.int64)),
    ("row_weights", lambda a: altered(a, 1e6)),
    ("row_squares", lambda a: altered(a, 0)),
    ("mixture_weights", lambda a: altered(a, -0.1)),
    ("mixture_squares", lambda a: altered(a, 0)),
    ("guard", lambda g: g[:3]),
    ("guard", lambda g: [*g[:3], 2.0]),
    ("guard", lambda g: [float("nan"), *g[1:]]),
    ("guard", lambda g: [-1.0, *g[1:]]),
]


@pytest.mark.parametrize(("key", "change"), CHANGES)
def test_what_lies_out_of_range_is_refused(key: str, change: Callable[[Any], Any]) -> None:
    refused({**STATE, key: change(STATE[key])}, key)


@pytest.mark.parametrize("plans", [0, 1, 60])
def test_its_size_is_told_without_packing_it(plans: int) -> None:
    made = learned(plans)
    packed = pack_learner(made).values()
    assert packed_bytes(made) == sum(value.nbytes for value in packed if isinstance(value, np.ndarray))
