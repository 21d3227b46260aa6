"""A made-up planner, and runtimes that have it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

import edgeret
from edgeret.errors import PlannerError
from edgeret.planner.chat import Prompt
from edgeret.planner.lazy import LazyPlanner
from edgeret.planner.model import Scores
from edgeret.planner.reranker import RerankParameters
from edgeret.runtime.beside import Beside
from edgeret.runtime.loaded import Loaded, load_bundle
from edgeret.runtime.options import LoadOptions
from edgeret.runtime.runtime import Runtime
from edgeret.types import Usage
from edgeret_export.reference.components import Components
from edgeret_export.reference.runtime import components_of, runtime_of
from edgeret_export.reference.scoring.calibration import Calibration

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
    components = components_of(edgeret.load(bundle))
    # The tiny bundle is sure of everything; with these quantiles a coverage of 0.95 holds all candidates.
    return runtime_of(
        replace(
            components,
            planner=LazyPlanner(lambda: planner, "fake", folder),
            reranking=parameters,
            calibration=calibrated(components, right_probabilities=(0.0, 0.5, 1.0)),
        )
    )


def planned(bundle: Path, planner: Any, parameters: RerankParameters = ALWAYS) -> Runtime:
    """By the library, beside a planner."""
    held = load_bundle(bundle, LoadOptions())
    kept, options, before = attrgetter("_kept", "options", "beside")(held)
    beside = Beside(before.encoder, LazyPlanner(lambda: planner, "fake"), parameters)
    return Runtime(Loaded(kept, options, held.core, beside))


def varied(runtime: Runtime, **components: Any) -> Runtime:
    """The same runtime but for some components; `tools` name only those that differ."""
    if "tools" in components:
        components["tools"] = {**components_of(runtime).tools, **components["tools"]}
    return runtime_of(replace(components_of(runtime), **components))


def calibrated(components: Components, **values: Any) -> Calibration:
    return Calibration(replace(components.calibration.parameters, **values))


def with_schema(tool: edgeret.Tool, **more: Any) -> edgeret.Tool:
    properties = {"to": {"type": "string", "description": "Phone number."}, "note": {"type": "string"}, **more}
    return edgeret.Tool(tool.name, tool.description, {"type": "object", "properties": properties, "required": ["to"]})
