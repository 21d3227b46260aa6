"""Which function comes next, teacher-forced over whole plans: every method on the same steps, encoder and labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle import open_bundle
from edgeret.demonstrations import Demonstration, Step
from edgeret.errors import BundleError, InputError
from edgeret.graph import PADDING, UNKNOWN
from edgeret.head import PAPER_ROLE, STATIC_ROLE, PlainHead, history_text, load_plain_head
from edgeret.runtime import Runtime, Task
from edgeret.types import END
from edgeret_bench import NEXT_TOOL_METHODS
from edgeret_bench.metrics import mean, next_tool_metrics, rank
from edgeret_export.calibrate import expected_calibration_error, refusal_curve
from edgeret_export.progress import track

Scorer = Callable[[Task, Step], NDArray[np.floating]]
"""Scores of all candidates (`Task.candidate_names`) at one step; higher is better."""


class Methods:
    """The scorers of a bundle, by name."""

    def __init__(self, runtime: Runtime, seed: int) -> None:
        self._runtime = runtime
        self._rng = np.random.default_rng(seed)
        self._plain: dict[str, PlainHead] = {}
        self._by_name: Mapping[str, Scorer] = {
            "random": self._random,
            "dr": self._static_graph,
            "lr": self._static_head,
            "dtdr-c": self._graph,
            "dtdr-l": self._paper_head,
            "dtdr-l-factored": self._factored_head,
            "fused": lambda task, step: task.probabilities(),
        }

    def get(self, name: str) -> Scorer:
        """The scorer. Raises InputError for an unknown name, BundleError if the bundle lacks the baseline's head."""
        if name not in self._by_name:
            raise InputError(f"unknown method '{name}'; choose among: {', '.join(NEXT_TOOL_METHODS)}")
        role = {"lr": STATIC_ROLE, "dtdr-l": PAPER_ROLE}.get(name)
        if role is not None and role not in self._plain:
            try:
                self._plain[role] = load_plain_head(open_bundle(self._runtime.path), role)
            except BundleError as error:
                raise BundleError(f"{error}; method '{name}' needs a bundle built with `baselines = true`") from None
        return self._by_name[name]

    def _random(self, task: Task, step: Step) -> NDArray[np.floating]:
        return self._rng.random(len(task.candidate_names))

    def _static_graph(self, task: Task, step: Step) -> NDArray[np.floating]:
        last = self._runtime.label_number.get(step.history[-1], UNKNOWN) if step.history else PADDING
        return self._all(task, self._runtime.graph.markov(last))

    def _graph(self, task: Task, step: Step) -> NDArray[np.floating]:
        graph = self._runtime.graph
        return self._all(task, graph.distribution(graph.locate(task.vector), self._numbers(step)))

    def _static_head(self, task: Task, step: Step) -> NDArray[np.floating]:
        return self._all(task, np.exp(self._plain[STATIC_ROLE].log_probabilities(task.vector)))

    def _paper_head(self, task: Task, step: Step) -> NDArray[np.floating]:
        vector = task.vector
        if step.history:
            vector = self._runtime.encoder.encode(history_text(task.query, step.history))
        return self._all(task, np.exp(self._plain[PAPER_ROLE].log_probabilities(vector)))

    def _factored_head(self, task: Task, step: Step) -> NDArray[np.floating]:
        return self._all(task, np.exp(self._runtime.head.log_probabilities(task.query_logits, self._numbers(step))))

    def _numbers(self, step: Step) -> list[int]:
        return [self._runtime.label_number.get(name, UNKNOWN) for name in step.history]

    def _all(self, task: Task, scores: NDArray[np.floating]) -> NDArray[np.floating]:
        """Scores of the labels, padded with zeros for tools that no demonstration calls."""
        return np.concatenate((scores, np.zeros(len(task.candidate_names) - len(scores))))


def run(
    runtime: Runtime, demonstrations: Sequence[Demonstration], methods: Sequence[str], seed: int = 0
) -> dict[str, Any]:
    """The contract's `next-tool` result, with calibration and refusal beside it.

    Histories are the demonstrations' own; in a DAG any call whose predecessors are done counts as right.
    """
    known = Methods(runtime, seed)
    scorers = {name: known.get(name) for name in methods}
    rows: dict[str, list[dict[str, float]]] = {name: [] for name in methods}
    confidence: list[float] = []
    correct: list[bool] = []
    offered: list[bool] = []
    fits: list[bool] = []
    for demonstration in track(demonstrations, "plans", len(demonstrations)):
        task = runtime.task(demonstration.query)
        position = {name: i for i, name in enumerate(task.candidate_names)}
        steps = demonstration.steps()
        for step in steps:
            acceptable = {position[name] for name in step.acceptable if name in position}
            for name, scorer in scorers.items():
                ranking = rank(scorer(task, step))
                rows[name].append(next_tool_metrics(ranking, acceptable, len(step.acceptable)))
            decision = task.next(k=1)
            if not step.history:
                offered.append(not decision.abstained)
                fits.append(bool(demonstration.calls))
            best = decision.candidates[0]
            confidence.append(best.probability)
            correct.append(best.tool in step.acceptable)
            if step.taken != END:
                task.call(step.taken)
    return {
        "n_plans": len(demonstrations),
        "n_steps": len(confidence),
        "dag": any(d.links is not None for d in demonstrations),
        "seed": seed,
        "methods": {name: mean(values) for name, values in rows.items()},
        "calibration": {
            "ece": expected_calibration_error(np.array(confidence), np.array(correct)),
            "refusal_curve": refusal_curve(np.array(confidence), np.array(correct)),
        },
        "fitness": _fitness(np.array(offered), np.array(fits)),
    }


def _fitness(offered: NDArray[np.bool_], fits: NDArray[np.bool_]) -> dict[str, Any]:
    """How policy "auto" tells requests that a tool fits from those that none fits, at the first step."""
    return {
        "n_fitting": int(fits.sum()),
        "n_without_tool": int((~fits).sum()),
        "offered_when_fitting": float(offered[fits].mean()) if fits.any() else None,
        "declined_when_none_fits": float((~offered[~fits]).mean()) if (~fits).any() else None,
    }
