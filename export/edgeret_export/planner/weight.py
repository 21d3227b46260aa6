"""Finds out what a planner's advice is worth: it is asked about held-out decisions that the heads are unsure of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from edgeret.planner.exemplars import CONSTANT, Exemplar
from edgeret.planner.model import Planner
from edgeret.planner.prompts import selection_prompt, wants_weights
from edgeret.planner.reranker import RerankParameters
from edgeret.runtime.options import COVERAGE, MAX_ASKED
from edgeret.terminal.progress import track
from edgeret.types import Call, Candidate, Usage
from edgeret_export.fitting.held_out import HeldOut
from edgeret_export.fitting.training_set import TrainingSet
from edgeret_export.planner.budget import Budget
from edgeret_export.planner.exemplars import choose_exemplars
from edgeret_export.reference.scoring.calibration import Calibration

ASKED_SHARE = 0.3
"""Share of the decisions, the least sure ones, that a planner may be asked about."""
MAX_WEIGHT, MIN_SCALE, MAX_SCALE = 3.0, 0.05, 10.0
"""A scale of 0 would leave the order to the heads even where the planner's word alone is asked for."""
_STANDARD_ERRORS = 1.0
LOOK, HOPELESS, LEAST_GAIN = 40, 2.0, 0.005
"""After how many questions it is looked whether more are worth their seconds: not where the gain is, by so many
standard errors, surely below so many nats."""
_FEWEST = 20


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked: the candidates' log-probabilities by the heads, the planner's mean log-likelihoods and whether
    each candidate was right, all (candidates,)."""

    heads: NDArray[np.float64]
    likelihoods: NDArray[np.float64]
    right: NDArray[np.bool_]


def fit_reranking(
    planner: Planner, training: TrainingSet, held_out: HeldOut, calibration: Calibration, questions: int
) -> tuple[RerankParameters, dict[str, Any]]:
    """The weight of the planner's advice, by cross-entropy over at most so many questions, and a report.

    The weight is 0, and the planner is then never asked by itself, unless two halves of the questions agree that it
    helps by more than a standard error. No more is asked once it surely does not. Raises PlannerError.
    """
    confidence = held_out.probabilities.max(axis=1)
    ask_below = round(float(np.quantile(confidence, ASKED_SHARE)), 4)
    unsure = np.flatnonzero(confidence < ask_below)
    chosen = np.random.default_rng(training.seed).permutation(unsure)[:questions]
    constant = choose_exemplars(training.demonstrations)[:CONSTANT]
    asked: list[Question] = []
    budget, is_sure = Budget("advice", questions, "planner_questions in a recipe makes it fewer"), False
    for i in track(chosen, "asking the planner", len(chosen)):
        ranked = _ranked(held_out.names, held_out.probabilities[i])
        mask = calibration.candidate_set(ranked, COVERAGE)
        if len(mask) < 2:
            continue
        question, usage = _ask(planner, training, int(held_out.rows[i]), mask, constant)
        asked.append(question)
        budget.add(usage)
        is_sure = len(asked) % LOOK == 0 and is_hopeless(asked)
        if is_sure or budget.is_spent:
            break
    budget.close(is_sure)
    return weigh(asked, ask_below)


def _ranked(labels: Sequence[str], probabilities: NDArray[np.float32]) -> list[Candidate]:
    order = np.argsort(-probabilities, kind="stable")[:MAX_ASKED]
    return [Candidate(labels[j], float(probabilities[j])) for j in order]


def _ask(
    planner: Planner, training: TrainingSet, row: int, mask: Sequence[Candidate], constant: Sequence[Exemplar]
) -> tuple[Question, Usage]:
    """Asks about one decision of the training set, by its row."""
    decisions = training.decisions
    query = training.demonstrations[decisions.plan[row]].query
    history = [Call(decisions.labels[t]) for t in decisions.histories[row]]
    prompt = selection_prompt(training.tools, query, history, mask, weighted=wants_weights(mask), exemplars=constant)
    found = planner.score(prompt, [candidate.tool for candidate in mask])
    acceptable = {decisions.labels[t] for t in decisions.target_label[decisions.target_row == row]}
    question = Question(
        np.log(np.maximum([c.probability for c in mask], 1e-12)),
        found.log_likelihood / found.lengths,
        np.array([c.tool in acceptable for c in mask]),
    )
    return question, found.usage


def weigh(asked: Sequence[Question], ask_below: float) -> tuple[RerankParameters, dict[str, Any]]:
    """The parameters and the report for the questions' outcomes."""
    useful = [q for q in asked if q.right.any()]
    if len(useful) < _FEWEST:
        note = f"{len(useful)} questions with a right answer among the candidates are too few to say; advice unused"
        return RerankParameters(ask_below=ask_below), {"questions": len(asked), "weight": 0.0, "note": note}
    gain, error = _gain(useful)
    weight = _fit(useful) if gain > _STANDARD_ERRORS * error else 0.0
    scale = float(
        minimize_scalar(lambda s: _losses(useful, s, 0.0).mean(), bounds=(MIN_SCALE, MAX_SCALE), method="bounded").x
    )
    parameters = RerankParameters(round(weight, 4), round(scale, 4), ask_below)
    report: dict[str, Any] = {
        "questions": len(asked),
        "weight": parameters.weight,
        "gain_nats": round(gain, 5),
        "gain_standard_error": round(error, 5),
        "top1_heads": _top1(asked, 0.0, 1.0),
        "top1_planner": _top1(asked, 1.0, 0.0),
        "top1_together": _top1(asked, weight, 1.0),
        "asked_share": ASKED_SHARE,
    }
    if not parameters.weight:
        report["note"] = "the planner's advice did not help on held-out decisions, so it is not asked by itself"
    return parameters, report


def is_hopeless(asked: Sequence[Question]) -> bool:
    """Whether more questions would surely find no gain that is worth asking for."""
    useful = [q for q in asked if q.right.any()]
    if len(useful) < _FEWEST:
        return False
    gain, error = _gain(useful)
    return gain + HOPELESS * error < LEAST_GAIN


def _gain(useful: Sequence[Question]) -> tuple[float, float]:
    """What each half of the questions gains, in nats a question, by the weight that the other half is best with; and
    the standard error."""
    halves = useful[::2], useful[1::2]
    gains = np.concatenate(
        [_losses(other, 0.0, 1.0) - _losses(other, _fit(half), 1.0) for half, other in (halves, halves[::-1])]
    )
    return float(gains.mean()), float(gains.std(ddof=1) / len(gains) ** 0.5)


def _fit(questions: Sequence[Question]) -> float:
    return float(
        minimize_scalar(lambda w: _losses(questions, w, 1.0).mean(), bounds=(0, MAX_WEIGHT), method="bounded").x
    )


def _losses(questions: Sequence[Question], planner: float, heads: float) -> NDArray[np.float64]:
    """Cross-entropy in nats of what was right, one a question."""
    losses = []
    for question in questions:
        logits = heads * question.heads + planner * question.likelihoods
        logits = logits - logits.max()
        losses.append(np.log(np.exp(logits).sum()) - np.log(np.exp(logits[question.right]).sum()))
    return np.array(losses)


def _top1(questions: Sequence[Question], planner: float, heads: float) -> float:
    hits = [q.right[int((heads * q.heads + planner * q.likelihoods).argmax())] for q in questions]
    return round(float(np.mean(hits)), 4)
