"""What a build may ask a planner, and what it tells of that."""

from __future__ import annotations

import pytest

from edgeret.types import Usage
from edgeret_export.planner.budget import MOST_TOKENS, Budget


def test_a_planner_that_reads_much_is_asked_less(capsys: pytest.CaptureFixture[str]) -> None:
    budget = Budget("advice", 100)
    while not budget.is_spent:
        budget.add(Usage(0, 0, 1000, 0, 2000.0))
    budget.close(False)
    told = capsys.readouterr().err
    assert "at most 100 times" in told
    assert "2.0 s a question here, so 0.8 minutes at most" in told
    assert f"stopped after {MOST_TOKENS // 1000} questions" in told


def test_few_tokens_are_asked_as_often_as_was_said(capsys: pytest.CaptureFixture[str]) -> None:
    budget = Budget("arguments", 3)
    for _ in range(3):
        assert not budget.is_spent
        budget.add(Usage(0, 0, 10, 0, 1.0))
    assert budget.is_spent
    budget.close(True)
    assert "3 were enough, it does not help" in capsys.readouterr().err
