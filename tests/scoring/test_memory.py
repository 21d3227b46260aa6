"""Stored plans vote by query and history, within bounds."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest
from numpy.typing import NDArray

from edgeret.errors import InputError
from edgeret_export.reference.scoring.memory import END, MAX_CALLS, MAX_WEIGHT, Memory
from edgeret_export.reference.scoring.offsets import KEPT, Offsets

D = 16


def unit(seed: int) -> NDArray[np.float32]:
    vector = np.random.default_rng(seed).normal(size=D).astype(np.float32)
    return vector / np.linalg.norm(vector)


def offsets(calls: list[int]) -> Offsets:
    shape = (len(calls) + 1, KEPT)
    return Offsets(np.full(shape, -1, np.int32), np.zeros(shape, np.float16))


def add(memory: Memory, seed: int, calls: list[int]) -> int:
    return memory.add(unit(seed), calls, offsets(calls))


def votes(memory: Memory, seed: int, history: list[int]) -> dict[int, float]:
    labels, weights = memory.votes(memory.near(unit(seed)), history)
    return dict(zip(labels.tolist(), weights.tolist(), strict=True))


def test_the_weight_of_every_step_is_that_of_the_formula() -> None:
    memory = Memory(D)
    plans = [(0, [3, 4, 3, 5]), (1, [4]), (2, [])]
    query = unit(0) + 0.3 * unit(1) + 0.25 * unit(2)
    query /= np.linalg.norm(query)
    for seed, calls in plans:
        add(memory, seed, calls)
    for history in ([], [3], [3, 4], [4, 3, 9]):
        expected: dict[int, float] = {}
        for row, (seed, calls) in enumerate(plans):
            cosine = float(unit(seed).astype(np.float16).astype(np.float32) @ query)
            if cosine < 0.4:
                continue
            age = (row + 1 - memory.clock) / 1000
            for k, target in enumerate([*calls, END]):
                a, b = set(calls[:k]), set(history)
                jaccard = len(a & b) / len(a | b) if a | b else 1.0
                same_last = calls[:k][-1:] == history[-1:]
                exponent = (cosine - 1) / 0.05 + 1.5 * (same_last - 1) + 1.5 * (jaccard - 1) - abs(k - len(history))
                expected[target] = expected.get(target, 0.0) + exp(exponent) * 0.5**-age
        labels, weights = memory.votes(memory.near(query), history)
        assert dict(zip(labels.tolist(), weights.tolist(), strict=True)) == pytest.approx(expected, rel=1e-2)


def test_an_empty_memory_has_no_votes() -> None:
    assert votes(Memory(D), 0, []) == {}
    assert votes(Memory(D), 0, [1]) == {}


def test_far_plans_do_not_vote() -> None:
    memory = Memory(D)
    memory.add(-unit(0), [1], offsets([1]))
    assert votes(memory, 0, []) == {}


def test_the_same_plan_is_stored_once_and_its_weight_is_bounded() -> None:
    memory = Memory(D)
    ids = {add(memory, 0, [1, 2]) for _ in range(1000)}
    assert len(ids) == 1 and memory.plans == 1 and memory.steps == 3
    assert memory.weights[0] == MAX_WEIGHT


def test_other_calls_for_the_same_query_win_at_once_over_a_plan_shown_before() -> None:
    memory = Memory(D)
    add(memory, 0, [1])
    add(memory, 0, [2])
    first = votes(memory, 0, [])
    assert first[2] > 1.9 * first[1]


def test_a_plan_contradicted_a_thousand_times_stays_finite_and_small() -> None:
    memory = Memory(D)
    for i in range(1000):
        add(memory, 0, [1 + i % 50])
    assert memory.plans == 50
    assert memory.weights[:50].min() > 0 and memory.weights[:50].max() <= MAX_WEIGHT
    assert np.isfinite(list(votes(memory, 0, []).values())).all()


def test_it_never_holds_more_steps_than_its_capacity() -> None:
    memory = Memory(D, capacity_steps=30)
    for seed in range(100):
        add(memory, seed, [1, 2, 3][: seed % 4])
        assert memory.steps <= 30
        assert (
            memory.steps
            == int(memory.lengths[: memory.plans].sum()) + memory.plans
            == sum(len(o.labels) for o in memory.offsets)
        )


def test_what_a_newer_neighbour_repeats_goes_before_what_is_older_and_alone() -> None:
    memory = Memory(D, capacity_steps=8)
    alone = add(memory, 0, [1])
    near = unit(1) + 0.3 * unit(2)
    repeated = add(memory, 1, [2])
    newer = memory.add(near / np.linalg.norm(near), [2], offsets([2]))
    add(memory, 3, [4])
    last = add(memory, 5, [5])
    assert repeated not in memory.ids[: memory.plans]
    assert {alone, newer, last} <= set(memory.ids[: memory.plans].tolist())


def test_the_oldest_goes_if_nothing_is_repeated() -> None:
    memory = Memory(D, capacity_steps=6)
    first = add(memory, 0, [1])
    for seed in (1, 2, 3):
        add(memory, seed, [1 + seed])
    assert first not in memory.ids[: memory.plans] and memory.plans == 3


def test_a_removed_plan_votes_no_more_and_the_others_as_before() -> None:
    memory, without = Memory(D), Memory(D)
    gone = add(memory, 0, [1, 2])
    for seed in (1, 2):
        add(memory, seed, [3, seed])
        add(without, seed, [3, seed])
    assert memory.remove(gone) and not memory.remove(gone)
    assert memory.steps == without.steps
    assert votes(memory, 0, []) == pytest.approx(votes(without, 0, []))
    assert votes(memory, 1, [3]) == pytest.approx(votes(without, 1, [3]), rel=1e-2)


def test_rows_grow_with_the_longest_plan() -> None:
    memory = Memory(D)
    calls = [1 + i % 7 for i in range(MAX_CALLS)]
    add(memory, 0, [1])
    add(memory, 1, calls)
    assert memory.calls_of(1) == calls and memory.calls_of(0) == [1]
    assert votes(memory, 1, calls)[END] > 0.9


def test_a_plan_with_too_many_calls_is_refused() -> None:
    with pytest.raises(InputError, match="may have 255 calls, found 256"):
        add(Memory(D), 0, [1] * 256)
    with pytest.raises(InputError, match="may have 4 calls, found 5"):
        add(Memory(D, capacity_steps=5), 0, [1] * 5)
