"""A made-up planner, and runtimes that have it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

import edgeret
from edgeret.errors import PlannerError
from edgeret.planner.chat import Prompt
from edgeret.planner.lazy import LazyPlanner
from edgeret.planner.model import Scores
from edgeret.planner.reranker import RerankParameters
from edgeret.runtime.components import Components
from edgeret.runtime.runtime import Runtime
from edgeret.scoring.calibration import Calibration
from edgeret.types import Usage

QUERY = "find my file and send a mail"
ALWAYS = RerankParameters(weight=1.0, scale=1.0, ask_below=1.1)


class FakePlanner:
    """Favours one name, writes one answer, and remembers what it was asked."""

    def __init__(self, favourite: str = "", answers: Sequence[str] = ("{}",), problem: str = "") -> None:
        self.favourite, self.answers, self.problem = favourite, list(answers), problem
        self.asked: list[tuple[Prompt, list[str]]] = []
        self.grammars: list[str] = []
        self.states: list[bytes] = []

    def score(self, prompt: Prompt, answers: Sequence[str], deadline: float = inf) -> Scores:
        if self.problem:
            raise PlannerError(self.problem)
        self.asked.append((prompt, list(answers)))
        likely = np.array([0.0 if answer == self.favourite else -20.0 for answer in answers])
        return Scores(2 * likely, np.full(len(answers), 2), Usage(10, 20, 15, 10, 1.0))

    def write(self, prompt: Prompt, gbnf: str) -> tuple[str, bool, Usage]:
        self.grammars.append(gbnf)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer, True, Usage(10, 20, 15, 10, 1.0)

    def rehearse(self) -> None:
        """Needs none."""

    def save(self, prompt: Prompt) -> bytes:
        return b"state"

    def restore(self, prompt: Prompt, state: bytes) -> bool:
        self.states.append(state)
        return True


def with_planner(
    bundle: Path, planner: Any, parameters: RerankParameters = ALWAYS, folder: Path | None = None
) -> Runtime:
    components = edgeret.load(bundle).components
    # The tiny bundle is sure of everything; with these quantiles a coverage of 0.95 holds all candidates.
    return Runtime(
        replace(
            components,
            planner=LazyPlanner(lambda: planner, "fake", folder),
            reranking=parameters,
            calibration=calibrated(components, right_probabilities=(0.0, 0.5, 1.0)),
        )
    )


def varied(runtime: Runtime, **components: Any) -> Runtime:
    """The same runtime but for some components; `tools` name only those that differ."""
    if "tools" in components:
        components["tools"] = {**runtime.components.tools, **components["tools"]}
    return Runtime(replace(runtime.components, **components))


def calibrated(components: Components, **values: Any) -> Calibration:
    return Calibration(replace(components.calibration.parameters, **values))


def with_schema(tool: edgeret.Tool, **more: Any) -> edgeret.Tool:
    properties = {"to": {"type": "string", "description": "Phone number."}, "note": {"type": "string"}, **more}
    return edgeret.Tool(tool.name, tool.description, {"type": "object", "properties": properties, "required": ["to"]})
