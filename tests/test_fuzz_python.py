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
