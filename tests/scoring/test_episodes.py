"""The memory that ships with few demonstrations: votes by the formula, the same after the file, forgeries refused."""

from __future__ import annotations

import hashlib
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forge import Forger
from forge_arrays import get, pack
from rewritten import changed

import edgeret
from edgeret.bundle.reader import open_bundle
from edgeret.errors import BundleError
from edgeret_export.reference.runtime import components_of, request_of
from edgeret_export.reference.scoring.episodes import Episodes, load_memory

PLANS = [(0, 1), (2,), (), (0, 0)]
LABELS = 4
PRIOR = np.log(np.array([0.4, 0.1, 0.1, 0.1, 0.2, 0.1], np.float32))  # two tools without a label behind the labels


def unit_vectors(count: int = len(PLANS)) -> np.ndarray:
    vectors = np.ones((count, 8)) + 0.4 * np.random.default_rng(0).normal(size=(count, 8))
    rounded = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)
    return rounded.astype(np.float32)


def by_the_formula(vectors: np.ndarray, vector: np.ndarray, history: list[int]) -> np.ndarray:
    """FORMAT.md, section 8.2, written out."""
    found = 0.01 * np.exp(PRIOR.astype(float)) / np.exp(PRIOR.astype(float)).sum()
    cosines = vectors.astype(float) @ vector
    for plan, cosine in zip(PLANS, cosines, strict=True):
        if cosine < 0.4:
            continue
        for k, label in enumerate((*plan, LABELS - 1)):
            before = plan[:k]
            same_last = (before[-1] if before else None) == (history[-1] if history else None)
            bag, other = set(before), set(history)
            alike = len(bag & other) / len(bag | other) if bag | other else 1.0
            found[label] += math.exp(
                (cosine - 1) / 0.05 + 1.5 * (same_last - 1) + 1.5 * (alike - 1) - abs(k - len(history))
            )
    return np.log(found + 1e-30)


@pytest.mark.parametrize("history", [[], [0], [0, 1], [2], [-3], [0, -3], [1, 1, 1, 1, 1]])
def test_votes_are_as_the_formula_says(history: list[int]) -> None:
    vectors = unit_vectors()
    episodes, vector = Episodes(vectors, PLANS, LABELS), vectors[0]
    found = episodes.log_probabilities(episodes.near(vector), history, PRIOR)
    assert (found.shape, found.dtype) == ((6,), np.float32)
    if -3 not in history:
        np.testing.assert_allclose(found, by_the_formula(vectors, vector, history), atol=1e-4)
    assert found[4] - found[5] == pytest.approx(PRIOR[4] - PRIOR[5], abs=1e-4)


def test_a_foreign_call_counts_as_a_call_that_no_plan_made() -> None:
    vectors = unit_vectors()
    episodes = Episodes(vectors, PLANS, LABELS)
    near = episodes.near(vectors[0])
    foreign, first = (episodes.log_probabilities(near, history, PRIOR) for history in ([-3], []))
    assert foreign[0] < first[0]
    assert not np.allclose(foreign, first)


def test_a_query_unlike_all_plans_leaves_what_is_expected() -> None:
    episodes = Episodes(unit_vectors(), PLANS, LABELS)
    far = -unit_vectors()[0]
    found = episodes.log_probabilities(episodes.near(far), [0], PRIOR)
    np.testing.assert_allclose(np.exp(found), 0.01 * np.exp(PRIOR), rtol=1e-4)


def test_a_memory_decides_alike_before_and_after_its_file(tiny_original: Path) -> None:
    runtime = edgeret.load(tiny_original, threads=1)
    loaded = load_memory(open_bundle(tiny_original), len(components_of(runtime).head.labels))
    assert loaded is not None
    stored = Forger(tiny_original).forgery().map("memory")
    starts, calls = get(stored["starts"]).tolist(), get(stored["calls"]).tolist()
    plans = [calls[i:j] for i, j in pairwise(starts)]
    fresh = Episodes(get(stored["vectors"]).astype(np.float32), plans, len(components_of(runtime).head.labels))
    vector = request_of(runtime.task("find my file and send a mail")).vector
    for history in ([], [0], [0, 1]):
        first, second = (e.log_probabilities(e.near(vector), history, PRIOR) for e in (loaded, fresh))
        np.testing.assert_array_equal(first, second)


def spoiled(stored: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Memories that hang together less than they must, by what is wrong."""
    vectors, starts, calls = (get(stored[key]) for key in ("vectors", "starts", "calls"))
    many = np.concatenate((starts[:1], starts[1:] + 300))
    return {
        "no plans": {
            "vectors": pack(vectors[:0], "<f2"),
            "starts": pack(starts[:1], "<i4"),
            "calls": pack(calls[:0], "<i4"),
        },
        "starts that fall": {"starts": pack(starts[::-1], "<i4")},
        "starts beyond the calls": {"starts": pack(starts + 1, "<i4")},
        "calls without a plan": {"calls": pack(np.append(calls, 0), "<i4")},
        "a call of no label": {"calls": pack(np.where(calls == 1, 99, calls), "<i4")},
        "a call of the end": {"calls": pack(np.where(calls == 1, 5, calls), "<i4")},
        "a negative call": {"calls": pack(np.where(calls == 1, -1, calls), "<i4")},
        "a plan too long": {"starts": pack(many, "<i4"), "calls": pack(np.append(calls, [0] * 300), "<i4")},
        "vectors of another length": {"vectors": pack(2 * vectors, "<f2")},
        "vectors in float32": {"vectors": pack(vectors, "<f4")},
        "vectors of one number": {"vectors": pack(np.ones((len(vectors), 1)), "<f2")},
        "starts of another plan": {"starts": pack(starts[:-1], "<i4")},
        "another encoder's": {"encoder": "0" * 64},
        "a number that is none": {"vectors": pack(np.full(vectors.shape, np.nan), "<f2")},
    }


@pytest.mark.parametrize(
    "what",
    ["no plans", "starts that fall", "starts beyond the calls", "calls without a plan", "a call of no label",
     "a call of the end", "a negative call", "a plan too long", "vectors of another length", "vectors in float32",
     "vectors of one number", "starts of another plan", "another encoder's", "a number that is none"],
)  # fmt: skip
def test_a_forged_memory_with_valid_hashes_is_refused(tiny: Path, what: str) -> None:
    change = spoiled(Forger(tiny).forgery().map("memory"))[what]
    changed(tiny, "memory.msgpack", **{key: unpacked(value) for key, value in change.items()})
    with pytest.raises(BundleError, match=r"bundle \(memory\)|vectors of \["):
        edgeret.load(tiny)


def unpacked(value: Any) -> Any:
    return get(value) if isinstance(value, dict) else value


def test_a_calibration_says_with_which_memory_it_was_fitted(tiny: Path) -> None:
    data = (tiny / "memory.msgpack").read_bytes()
    info = Forger(tiny).info["calibration"]
    assert info["memory"] == hashlib.sha256(data).hexdigest()
    forgery = Forger(tiny).forgery()
    forgery.remove("memory")
    other = tiny.with_name("other")
    other.mkdir()
    forgery.write(other)
    with pytest.raises(BundleError, match="calibrated for another memory"):
        edgeret.load(other)
