"""A planner's turn: one question at a time, until its deadline and no longer, and free again whatever went wrong."""

from __future__ import annotations

import threading
from time import perf_counter
from typing import Any

import pytest

from edgeret.planner.answers import Limits, LocalAnswerer
from edgeret.planner.chat import Prompt
from edgeret.planner.chat import Turn as Said
from edgeret.planner.turn import BusyError, Turn

PATIENCE_S = 60


def test_one_at_a_time_and_nobody_is_lost() -> None:
    turn, inside, most = Turn(), 0, 0

    def ask() -> None:
        nonlocal inside, most
        for _ in range(200):
            with turn.by():
                inside += 1
                most = max(most, inside)
                inside -= 1

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert (inside, most) == (0, 1)


def test_who_waits_in_vain_is_told_and_the_turn_goes_on() -> None:
    turn = Turn()
    with turn.by():
        for late in (perf_counter() - 1, perf_counter() + 0.01):
            with pytest.raises(BusyError), turn.by(late):
                pytest.fail("it was nobody's turn")
    with pytest.raises(ZeroDivisionError), turn.by(perf_counter() - 1):
        raise ZeroDivisionError
    with turn.by(perf_counter() + PATIENCE_S):
        pass


class _Busy:
    def __getattr__(self, name: str) -> Any:
        def asked(*_: object, **__: object) -> None:
            raise BusyError

        return asked


def test_a_busy_planner_is_an_answer_with_a_problem_and_no_likelihoods() -> None:
    busy: Any = _Busy()
    answerer, prompt, limits = LocalAnswerer(busy), Prompt((), Said("user", "a")), Limits()
    answer = answerer.answer(prompt, "text", limits)
    assert (answer.value, answer.problem) == (None, "the planner answers others")
    assert answerer.likelihoods([prompt], "a", limits)[0] == ()
    assert answerer.replies([(prompt, ["a"])], limits, keep=False)[0] == ()
