"""A planner that says what it is told to, for tests of what is done with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from edgeret.planner.answers import Answer, Limits, Shape, misfit
from edgeret.planner.chat import Prompt
from edgeret.types import Usage

USAGE = Usage(1, 2, 3, 0, 1.0)


class Scripted:
    """Answers one after the other; None, or a value of another shape, is an answer that is none."""

    def __init__(self, answers: Iterable[Any] | Callable[[str], Any]) -> None:
        self.prompts: list[str] = []
        self.limits: list[Limits] = []
        self._next = answers if callable(answers) else None
        self._answers = iter(()) if callable(answers) else iter(answers)

    def answer(self, prompt: Prompt, shape: Shape, limits: Limits) -> Answer:
        self.prompts.append(prompt.variable.text)
        self.limits.append(limits)
        value = self._next(prompt.variable.text) if self._next else next(self._answers)
        problem = "nothing was written" if value is None else misfit(value, shape)
        return Answer(None if problem else value, USAGE, problem)


def filled(shape: Shape) -> Any:
    """Some value of a shape."""
    if shape == "flag":
        return False
    if isinstance(shape, str):
        return "send a mail"
    if isinstance(shape, dict):
        return {key: filled(part) for key, part in shape.items()}
    return [filled(shape[0])]


class Willing(Scripted):
    """Answers everything with some value of the shape."""

    def __init__(self) -> None:
        super().__init__(())

    def answer(self, prompt: Prompt, shape: Shape, limits: Limits) -> Answer:
        self.prompts.append(prompt.variable.text)
        return Answer(filled(shape), USAGE)
