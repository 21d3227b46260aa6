"""Learning one plan at a time: gains, forgets, mutes what does harm, and stays bounded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from edgeret.errors import InputError
from edgeret_export.reference.scoring.increments import Lesson
from edgeret_export.reference.scoring.learner import Learner
from edgeret_export.reference.scoring.memory import MAX_WEIGHT
from edgeret_export.reference.scoring.offsets import LEAST_LOG, Offsets

D = 32
TOOLS = 10
KINDS = 6


class World:
    """Requests of a few kinds, each with its own plan; the base knows nothing (or, `knowing`, everything)."""

    def __init__(self, seed: int = 0, knowing: float = 0.0) -> None:
        self.rng = np.random.default_rng(seed)
        self.centres = self.rng.normal(size=(KINDS, D))
        self.plans = [self.rng.integers(1, TOOLS + 1, 1 + kind % 3).tolist() for kind in range(KINDS)]
        self.knowing = knowing

    def request(self) -> tuple[NDArray[np.float32], list[int]]:
        kind = int(self.rng.integers(KINDS))
        vector = (self.centres[kind] + 0.4 * self.rng.normal(size=D)).astype(np.float32)
        return vector / np.linalg.norm(vector), self.plans[kind]

    def base(self, calls: Sequence[int]) -> NDArray[np.float32]:
        """Candidate i is tool i + 1; the last is the end."""
        p = np.full((len(calls) + 1, TOOLS + 1), (1 - self.knowing) / (TOOLS + 1))
        p[np.arange(len(calls) + 1), [*(call - 1 for call in calls), TOOLS]] += self.knowing
        return np.log(p).astype(np.float32)


POSITIONS = np.array([TOOLS, *range(TOOLS)])


def learner(demonstrations: dict[str, int] | None = None, capacity_steps: int = 10_000) -> Learner:
    made = Learner(D, demonstrations, capacity_steps)
    for tool in range(TOOLS):
        assert made.label(f"tool{tool}") == tool + 1
    return made


def teach(made: Learner, world: World, plans: int) -> list[int]:
    ids = []
    for _ in range(plans):
        vector, calls = world.request()
        ids.append(made.learn(vector, calls, world.base(calls), POSITIONS))
    return ids


def accuracy(made: Learner, world: World, requests: int = 60) -> float:
    right = []
    for _ in range(requests):
        vector, calls = world.request()
        query, base = made.query(vector, POSITIONS, TOOLS + 1), world.base(calls)
        for k, target in enumerate([*calls, 0]):
            log_p = made.predict(base[k], query, calls[:k])
            assert np.isfinite(log_p).all()
            right.append(log_p.argmax() == POSITIONS[target])
    return float(np.mean(right))


def test_before_anything_is_learned_it_ranks_as_the_base_does() -> None:
    world = World()
    base = np.log(world.rng.dirichlet(np.ones(TOOLS + 1))).astype(np.float32)
    made = learner()
    log_p = made.predict(base, made.query(world.request()[0], POSITIONS, TOOLS + 1), [])
    assert (log_p.argsort() == base.argsort()).all()


def test_a_few_plans_are_enough_for_habits_that_the_base_does_not_know() -> None:
    made, world = learner(), World()
    teach(made, world, 60)
    assert accuracy(made, world) > 0.95
    assert made.status.startswith("active, 60 plans stored: better than the base by")


def test_candidates_in_another_order_and_without_a_tool_give_the_same_probabilities() -> None:
    made, world = learner(), World()
    teach(made, world, 30)
    vector, calls = world.request()
    base = world.base(calls)[0]
    gone = next(tool for tool in range(TOOLS) if tool + 1 not in calls)
    base[gone] = -30  # so that the others share the same probability with it and without
    expected = made.predict(base, made.query(vector, POSITIONS, TOOLS + 1), [])
    order = np.random.default_rng(1).permutation(TOOLS + 1)
    where = np.empty_like(order)
    where[order] = np.arange(TOOLS + 1)
    shuffled = made.predict(base[order], made.query(vector, where[POSITIONS], TOOLS + 1), [])
    assert np.allclose(shuffled, expected[order], atol=1e-5)
    left = np.delete(np.arange(TOOLS + 1), gone)
    absent = np.where(gone == POSITIONS, -1, POSITIONS - (gone < POSITIONS))
    fewer = made.predict(base[left], made.query(vector, absent, TOOLS), [])
    assert np.allclose(fewer - fewer[0], expected[left] - expected[left][0], atol=1e-4)


def test_a_candidate_that_the_base_excludes_stays_finite() -> None:
    made, world = learner(), World()
    teach(made, world, 10)
    vector, calls = world.request()
    base = world.base(calls)
    base[:, 3] = -np.inf
    assert np.isfinite(made.predict(base[0], made.query(vector, POSITIONS, TOOLS + 1), [])).all()
    made.learn(vector, calls, base, POSITIONS)
    assert np.isfinite(made.predict(base[0], made.query(vector, POSITIONS, TOOLS + 1), [])).all()


def test_a_base_that_knows_the_user_loses_nothing() -> None:
    world = World(knowing=0.9)
    made = learner({f"tool{tool}": 50 for tool in range(TOOLS)})
    teach(made, world, 100)
    assert accuracy(made, world) == 1


def test_a_habit_that_ends_is_given_up_within_fifty_plans() -> None:
    world = World(knowing=0.9)
    made = learner({"tool0": 50})
    truth = world.plans
    world.plans = [[1 + (call + 3) % TOOLS for call in plan] for plan in truth]
    habit = world.base
    for _ in range(600):  # the user insists on what the base takes to be wrong
        vector, calls = world.request()
        kind = world.plans.index(calls)
        made.learn(vector, calls, habit(truth[kind]), POSITIONS)
    assert not made.guard.muted and made.guard.gain > 1
    world.plans = truth
    teach(made, world, 50)  # and then on what the base says
    assert accuracy(made, world) == 1


def test_what_does_harm_is_muted_until_it_is_better() -> None:
    made, world = learner({"tool0": 50}), World(knowing=0.9)
    teach(made, world, 20)
    vector, calls = world.request()
    base = world.base(calls)
    used = made.predict(base[0], made.query(vector, POSITIONS, TOOLS + 1), [])
    for _ in range(20):
        made.guard.judge(-1.0)
    assert made.guard.muted and "muted" in made.status and "worse than the base" in made.status
    assert made.predict(base[0], made.query(vector, POSITIONS, TOOLS + 1), []).tolist() == base[0].tolist()
    for _ in range(20):
        made.guard.judge(0.5)
    assert not made.guard.muted
    assert made.predict(base[0], made.query(vector, POSITIONS, TOOLS + 1), []).tolist() == used.tolist()


def test_one_plan_a_thousand_times_counts_a_few_times() -> None:
    made, world = learner(), World()
    teach(made, world, 40)
    vector, _ = world.request()
    wrong = [7, 7, 7]
    for _ in range(3):
        made.learn(vector, wrong, world.base(wrong), POSITIONS)
    weights = made.increments.weights.copy()
    for _ in range(1000):
        made.learn(vector, wrong, world.base(wrong), POSITIONS)
    assert (made.increments.weights == weights).all()
    assert made.memory.weights[: made.memory.plans].max() == MAX_WEIGHT
    assert accuracy(made, world) > 0.8


def test_newer_habits_replace_older_ones() -> None:
    made, world = learner(), World()
    teach(made, world, 150)
    world.plans = [[1 + (call + 3) % TOOLS for call in plan] for plan in world.plans]
    teach(made, world, 150)
    assert accuracy(made, world) > 0.8


def test_a_thousand_plans_in_a_small_memory_stay_in_it() -> None:
    made, world = learner(capacity_steps=60), World()
    teach(made, world, 1000)
    assert made.memory.steps <= 60
    assert accuracy(made, world) > 0.95


def same(one: Learner, other: Learner) -> bool:
    increments = ("weights", "bias", "squares", "history")
    alike = [(getattr(one.increments, name) == getattr(other.increments, name)).all() for name in increments]
    return all(alike) and one.guard == other.guard and (one.mixture.weights == other.mixture.weights).all()


def test_nothing_of_a_forgotten_plan_remains() -> None:
    made, never = learner(), learner()
    for world, taught in ((World(), made), (World(), never)):
        teach(taught, world, 40)
        if taught is made:
            calls = [9, 9]
            gone = made.learn(np.full(D, D**-0.5, np.float32), calls, world.base(calls), POSITIONS)
        else:
            never.memory.clock += 1
            never.memory.next_id += 1
        teach(taught, world, 20)
    assert not same(made, never)
    assert made.forget([gone, 12345]) == 1
    assert same(made, never)
    assert gone not in made.memory.ids[: made.memory.plans]
    assert accuracy(made, World()) > 0.95


def test_a_forgotten_correction_leaves_what_it_corrected_as_it_was() -> None:
    made, world = learner(), World()
    vector, _ = world.request()
    made.learn(vector, [1], world.base([1]), POSITIONS)
    made.learn(vector, [1], world.base([1]), POSITIONS)
    wrong = made.learn(vector, [2], world.base([2]), POSITIONS)
    assert made.memory.weights[0] == 1 and made.memory.redundant[0]
    made.forget([wrong])
    assert made.memory.weights[0] == 2 and not made.memory.redundant[0]


def test_lessons_learned_again_in_the_same_order_give_the_same() -> None:
    made, again, world = learner(), learner(), World()
    for _ in range(50):
        vector, calls = world.request()
        plan_id = made.learn(vector, calls, world.base(calls), POSITIONS)
        row = made.memory.ids.tolist().index(plan_id)
        lesson = Lesson(made.memory.vectors[row].copy(), [*calls, 0], made.memory.offsets[row])
        assert again.learn_lesson(lesson) == plan_id
    assert same(made, again)


def test_ids_are_never_used_again() -> None:
    made, world = learner(), World()
    ids = teach(made, world, 10)
    made.forget(ids)
    assert made.memory.plans == 0
    assert not set(teach(made, world, 10)) & set(ids)


def test_forgetting_all_leaves_what_a_new_learner_is() -> None:
    made, world = learner(), World()
    teach(made, world, 10)
    made.forget_all()
    assert made.names == ["<end>"] and made.memory.plans == made.increments.rows == 0
    assert made.label("tool0") == 1


def test_plans_that_cannot_be_learned_are_refused_and_change_nothing() -> None:
    made, world = learner(), World()
    vector, _ = world.request()
    base = world.base([1])
    nan, late = base.copy(), base.copy()
    nan[0, 0] = late[-1, -1] = np.nan
    refused = [
        (vector, [1, 2], base, POSITIONS, "needs 3 rows"),
        (vector, [1], nan, POSITIONS, "without NaN"),
        (vector, [1], late, POSITIONS, "without NaN"),
        (vector, [1], base[:, :0], POSITIONS, r"found shape \(2, 0\)"),
        (vector * 2, [1], base, POSITIONS, "length 1"),
        (vector[:-1], [1], base, POSITIONS, "32 numbers"),
        (vector, [1], base, POSITIONS[:-1], "each of 11 names"),
        (vector, [1], base, POSITIONS + 1, "one of 11 candidates"),
        (vector, [1], base, POSITIONS - 2, "one of 11 candidates"),
        (vector, [11], base, POSITIONS, "found \\[11\\]"),
        (vector, [0], base, POSITIONS, "found \\[0\\]"),
        (vector, [1], base, np.where(POSITIONS == 0, -1, POSITIONS), "found \\['tool0'\\]"),
        (vector, [1] * 300, world.base([1] * 300), POSITIONS, "may have 255 calls"),
    ]
    for *arguments, message in refused:
        with pytest.raises(InputError, match=message):
            made.learn(*arguments)
    assert made.memory.plans == made.memory.clock == made.learned == made.increments.rows == 0
    with pytest.raises(InputError, match="which candidate it is, found 10"):
        made.query(vector, POSITIONS[:-1], TOOLS + 1)


def test_a_lesson_in_which_no_label_at_all_was_probable_gives_none_a_row() -> None:
    """As a forged overlay may say it: whoever reads one trusts it to name labels, and -1 is none."""
    made, world = learner(), World()
    vector, calls = world.request()
    lesson = made.lesson(vector, calls, world.base(calls), POSITIONS)
    forged = np.full_like(lesson.offsets.log_p, -0.01)
    offsets = Offsets(np.full_like(lesson.offsets.labels, -1), forged)
    for each in (offsets, Offsets.of(offsets.labels, forged)):
        made.learn_lesson(replace(lesson, offsets=each))
    assert min(made.increments.row_of) >= 0 and made.increments.labels.min() >= 0
    assert Offsets.of(offsets.labels, forged).log_p.max() == LEAST_LOG
    assert np.isfinite(made.predict(world.base(calls)[0], made.query(vector, POSITIONS, TOOLS + 1), [])).all()
