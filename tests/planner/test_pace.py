"""What a planner has time for before a deadline, told by its last reading."""

from __future__ import annotations

from math import inf

import pytest

from edgeret.planner import pace
from edgeret.planner.pace import Pace


def test_seven_tenths_of_the_time_are_spent_at_the_last_readings_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "perf_counter", lambda: 100.0)
    reading = Pace()
    reading.read(50, started=99.9)  # 2 ms a token
    assert reading.tokens_before(100.2) == pytest.approx(70)
    assert reading.tokens_before(99.0) < 0 and reading.tokens_before(inf) == inf
    for _ in range(1000):
        reading.refused()
    assert reading.tokens_before(100.2) > 140  # one slow moment is forgiven


def test_a_cache_may_take_twice_as_long_as_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "perf_counter", lambda: 100.0)
    making = Pace()
    assert making.lets_grow(inf) and not making.lets_grow(100.15)
    making.grew(100.0)
    assert making.lets_grow(100.15)
