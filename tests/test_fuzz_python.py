"""Every reader of strangers' bytes takes its seeds, what broke it once, and some changes of these."""

from __future__ import annotations

import random

import pytest
from fuzz_python import TARGETS, changed, seeds_of, try_one

CHANGED = 300


@pytest.mark.parametrize("name", TARGETS)
def test_nothing_but_a_refusal_in_one_line(name: str) -> None:
    draw, seeds = random.Random(1), seeds_of(name)
    assert seeds
    for data in [*seeds, *(changed(seeds, draw) for _ in range(CHANGED))]:
        try_one(name, data)


@pytest.mark.parametrize("name", ["signatures", "keys"])
def test_texts_to_begin_with_are_taken(name: str) -> None:
    for data in TARGETS[name].seeds():
        assert TARGETS[name].read(data)
