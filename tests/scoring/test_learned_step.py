"""A learned step is what its formulas say, whatever candidates, histories and newcomers there are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from edgeret_export.reference.scoring.increments import COUNTS, MAX_SCORE
from edgeret_export.reference.scoring.learner import PRIOR_FROM_NOTHING, PRIOR_OVER_A_HEAD, Learner
from edgeret_export.reference.scoring.memory import END, HALF_LIFE, LEAST_COSINE, WIDTH
from edgeret_export.reference.scoring.mixture import MAX_GAIN

D, TOOLS, PLANS = 24, 14, 40
Array = NDArray[np.float64]


def unit(rng: np.random.Generator) -> NDArray[np.float32]:
    vector = rng.normal(size=D) + 3 * np.eye(D)[rng.integers(3)]
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def log_p(rng: np.random.Generator, rows: int, candidates: int) -> NDArray[np.float32]:
    return np.log(rng.dirichlet(np.full(candidates, 0.3), rows) + 1e-9).astype(np.float32)


def taught(seed: int) -> tuple[Learner, np.random.Generator]:
    """A learner; with an odd seed its base was shown much, but two of its tools never."""
    rng = np.random.default_rng(seed)
    shown = {f"tool{i}": 200 for i in range(TOOLS - 2)} if seed % 2 else {}
    made = Learner(D, shown, replayed=4)
    for i in range(TOOLS):
        made.label(f"tool{i}")
    for _ in range(PLANS):
        calls = (1 + rng.integers(TOOLS - seed % 3, size=rng.integers(5))).tolist()
        made.learn(unit(rng), calls, log_p(rng, len(calls) + 1, TOOLS + 1), np.arange(TOOLS + 1))
    made.mixture.weights = np.array([0.5, 0.4, 0.3], np.float32)
    return made, rng


def added(made: Learner, label: int, query: Array, history: Sequence[int]) -> float:
    """What the increments add to a label's log-probability."""
    learned = made.increments
    row = learned.row_of.get(label)
    if row is None:
        return 0.0
    features = {min(len(history), COUNTS - 1)}
    for call in history:
        if call in learned.row_of:
            features.add(COUNTS + 2 * learned.row_of[call])
    if history and history[-1] in learned.row_of:
        features.add(COUNTS + 2 * learned.row_of[history[-1]] + 1)
    score = learned.weights[row].astype(float) @ query + learned.bias[row]
    return float(np.clip(score + 0.5 * learned.history[sorted(features), row].sum(), -MAX_SCORE, MAX_SCORE))


def voted(made: Learner, query: Array, history: Sequence[int]) -> dict[int, float]:
    """How much the stored plans speak for every label."""
    memory, found = made.memory, dict[int, float]()
    for row in range(memory.plans):
        cosine, calls = float(memory.vectors[row] @ query), memory.calls_of(row)
        if cosine < LEAST_COSINE:
            continue
        age = (memory.clock - int(memory.times[row])) / HALF_LIFE
        for k, target in enumerate([*calls, END]):
            one, other = set(calls[:k]), set(history)
            alike = len(one & other) / len(one | other) if one | other else 1.0
            last = calls[:k][-1:] == list(history[-1:])
            exponent = (cosine - 1) / WIDTH + 1.5 * (last - 1) + 1.5 * (alike - 1) - abs(k - len(history))
            found[target] = found.get(target, 0.0) + float(memory.weights[row]) * 0.5**age * np.exp(exponent)
    return found


def softmax(logs: Array) -> Array:
    found: Array = np.exp(logs - logs.max())
    return found / found.sum()


def plain(made: Learner, base: Array, query: Array, history: Sequence[int], label_at: Sequence[int | None]) -> Array:
    """The probabilities of candidates with these labels, step by step as they are defined."""
    logs = np.log(softmax(base))
    labelled = [(i, label) for i, label in enumerate(label_at) if label is not None]
    increased, remembered = logs.copy(), np.exp(logs)
    votes = voted(made, query, history)
    prior = PRIOR_OVER_A_HEAD if made.demonstrations else PRIOR_FROM_NOTHING
    for i, label in labelled:
        increased[i] += added(made, label, query, history)
        remembered[i] += votes.get(label, 0.0) / prior
    sure = sum(made.demonstrations.values()) >= 1000
    nearest = max((float(vector @ query) for vector in made.memory.vectors[: made.memory.plans]), default=0.0)
    trust = min(1.0, max(0.0, (nearest - 0.5) / 0.2)) if sure else 1.0
    weights = trust * made.mixture.weights.astype(float)
    weights[2] += (1 - trust) * (0.1 + 0.5 + 0.4)
    mixed = softmax(weights @ np.array([increased, np.log(remembered), logs]))
    known = set(made.increments.row_of) | set(votes)
    new = [
        i for i, label in labelled if sure and label and label in known and made.names[label] not in made.demonstrations
    ]
    given = 0.5 * softmax(increased)[new] + 0.5 * (remembered / remembered.sum())[new]
    given = np.maximum(trust * given, np.exp(logs)[new])
    mixed[new] = 0.0
    mixed *= (1 - given.sum()) / mixed.sum()
    mixed[new] = given
    return mixed


@pytest.mark.parametrize("seed", range(8))
def test_a_prediction_is_that_of_the_plain_formulas(seed: int) -> None:
    made, rng = taught(seed)
    for length in (0, 1, 2, 3, 5, 6, 9):
        # Some labels stand for no candidate, and two candidates have no label.
        chosen = [END, *(1 + rng.permutation(TOOLS)[: TOOLS - 3]).tolist()]
        n = len(chosen) + 2
        where = rng.permutation(n)
        positions = np.full(TOOLS + 1, -1)
        positions[chosen] = where[: len(chosen)]
        label_at: list[int | None] = [None] * n
        for label, i in zip(chosen, where.tolist(), strict=False):
            label_at[i] = label
        vector, base = unit(rng), log_p(rng, 1, n)[0]
        history = (1 + rng.integers(TOOLS, size=length)).tolist()
        query = made.query(vector, positions, n)
        logs = made.predict(base + np.float32(7), query, history).astype(float)
        stored = vector.astype(np.float16).astype(float)
        expected = plain(made, base.astype(float), stored, history, label_at)
        assert softmax(logs) == pytest.approx(expected, rel=2e-4, abs=1e-7)
        assert made.predict(base, query, history).argmax() == expected.argmax()


@pytest.mark.parametrize("seed", range(8))
def test_a_plan_is_judged_by_what_its_steps_would_have_been_predicted_to_be(seed: int) -> None:
    made, rng = taught(seed)
    names = np.arange(TOOLS + 1)
    for length in (0, 1, 3, 7):
        calls = (1 + rng.integers(TOOLS, size=length)).tolist()
        vector, targets = unit(rng), [*calls, END]
        lesson = made.lesson(vector, calls, log_p(rng, length + 1, TOOLS + 1), names)
        base = lesson.offsets.dense(TOOLS + 1)
        query = made.query(vector, names, TOOLS + 1)
        steps = [np.log(softmax(made.predict(base[k], query, calls[:k]).astype(float))) for k in range(length + 1)]
        gain = sum(step[target] - base[k, target] for k, (step, target) in enumerate(zip(steps, targets, strict=True)))
        before = 0.9 * made.guard.total
        made.learn_lesson(lesson)
        assert made.guard.total - before == pytest.approx(np.clip(gain, -MAX_GAIN, MAX_GAIN), abs=2e-3)
        made.guard.muted = False
