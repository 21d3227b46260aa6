"""Fits what a later turn of a conversation takes from earlier ones: the mixture over tools, and apart from it the end.

Weights are pulled towards the new words alone, so that features which conversations say nothing of count nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from edgeret.errors import InputError
from edgeret.inputs.conversations import RecordedConversation
from edgeret.runtime.runtime import Runtime
from edgeret.terminal.progress import track
from edgeret.types import END
from edgeret.usage.reliability import expected_calibration_error
from edgeret_export.reference.follow_up import FollowUp
from edgeret_export.reference.runtime import request_of
from edgeret_export.reference.scoring.turns import (
    EXPERTS,
    SHAPES,
    TurnEvidence,
    TurnStep,
    TurnWeights,
    next_probabilities,
    turn_evidence,
)

PULL = 1e-3
"""Of squared distance from where the weights start, beside the mean loss of a step in nats."""
LEAST = 1e-9
THRESHOLDS = tuple(i / 10 for i in range(10))
"""Tried for the probability from which on a turn asks for nothing."""
GIVEN_UP = 0.005
"""Of top-1 of first steps, for follow-ups that are not declined."""
_STEPS = 150

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Decided:
    """A step of a later turn, what was right (a position), and the conversation that it belongs to."""

    step: TurnStep
    right: int
    conversation: int


def decided_steps(runtime: Runtime, conversations: Sequence[RecordedConversation]) -> list[Decided]:
    """All steps of all turns from the second on, teacher-forced, by components. Raises InputError if there is none."""
    found = []
    for number, recorded in enumerate(track(conversations, "conversations", len(conversations))):
        conversation = runtime.conversation()
        for turn in recorded.turns:
            task = conversation.say(turn.query)
            request = request_of(task) if len(conversation.turns) > 1 else None
            for made in range(len(turn.calls) + 1):
                right = END if made == len(turn.calls) else turn.calls[made].tool
                if isinstance(request, FollowUp) and right in request.names:
                    found.append(Decided(request.after(turn.calls[:made]), request.names.index(right), number))
            for call in turn.calls:
                task.call(call.tool)
    if not found:
        raise InputError("no conversation has a second turn; give some that go on")
    return found


def fit_turns(decided: Sequence[Decided]) -> TurnWeights:
    """The weights under which what was right is likeliest; the likeliest leads, be it `<end>`."""
    evidence = [turn_evidence(one.step) for one in decided]
    over = np.array([one.right == one.step.end for one in decided])
    going = np.flatnonzero(~over).tolist()
    weights = dict(_fit_tools([evidence[i] for i in going], [decided[i].right for i in going]))
    weights["end"] = _fit_end(np.array([seen.end for seen in evidence]), over)
    fitted = {name: value.tolist() for name, value in weights.items()}
    return TurnWeights.from_dict({**fitted, "nothing": 0.0}, "fit of turns")


def measure_turns(decided: Sequence[Decided], weights: TurnWeights) -> tuple[Array, NDArray[np.bool_]]:
    """Of every step the best candidate's probability, and whether it was right."""
    found = [next_probabilities(one.step, weights) for one in decided]
    right = [probabilities.argmax() == one.right for probabilities, one in zip(found, decided, strict=True)]
    return np.array([probabilities.max() for probabilities in found], np.float64), np.array(right)


def cross_fitted(decided: Sequence[Decided]) -> tuple[float, dict[str, float]]:
    """What the weights of one half of the conversations make of the other: the highest threshold `nothing` that gives
    up no more than GIVEN_UP, and how often what comes of it is right, and how well calibrated."""
    halves = [[one for one in decided if one.conversation % 2 == half] for half in (0, 1)]
    weights = [fit_turns(half) for half in halves]

    def measured(nothing: float, first: bool) -> tuple[Array, NDArray[np.bool_]]:
        parts = [
            measure_turns([one for one in half if not (first and one.step.made)], replace(other, nothing=nothing))
            for half, other in zip(halves, reversed(weights), strict=True)
        ]
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    right = [float(measured(threshold, True)[1].mean()) for threshold in THRESHOLDS]
    nothing = max(at for at, share in zip(THRESHOLDS, right, strict=True) if share >= right[0] - GIVEN_UP)
    confidence, correct = measured(nothing, False)
    told = {"steps": len(correct), "top1": float(correct.mean())}
    told["ece"] = expected_calibration_error(confidence, correct)
    return nothing, {name: round(value, 4) for name, value in told.items()}


def _start(name: str) -> Array:
    start = np.zeros(SHAPES[name])
    if name == "gates":
        start[:, :2] = -1.0
    elif name == "end":
        start[[1, 8]] = 1.0
    else:
        start[0] = 0.7
        start[1] = 0.3 if name == "whole" else 0.0
    return start


def _fit_end(features: Array, over: NDArray[np.bool_]) -> Array:
    """A logistic regression (17,)."""
    start = _start("end")

    def loss(weights: Array) -> tuple[float, Array]:
        logits = features @ weights
        wrong = 1 / (1 + np.exp(-logits)) - over
        value = (np.logaddexp(0, logits) - over * logits).mean() + PULL * ((weights - start) ** 2).sum()
        return float(value), features.T @ wrong / len(over) + 2 * PULL * (weights - start)

    found: Array = minimize(loss, start, jac=True, method="L-BFGS-B").x
    return found


def _fit_tools(evidence: Sequence[TurnEvidence], right: Sequence[int]) -> list[tuple[str, Array]]:
    """The experts' weights and the gates', together."""
    names = (*EXPERTS, "gates")
    most = max(len(seen.tools[0]) for seen in evidence)
    features: list[Array] = [_stacked([seen.features[i] for seen in evidence], most) for i in range(len(EXPERTS))]
    tools: list[NDArray[np.bool_]] = [_stacked([seen.tools[i] for seen in evidence], most) for i in range(len(EXPERTS))]
    gates, rows = np.stack([seen.gates for seen in evidence]), np.arange(len(right))
    there = np.stack([among.any(axis=1) for among in tools], axis=1)
    start = np.concatenate([_start(name).ravel() for name in names])
    cuts = np.cumsum([_start(name).size for name in names])[:-1]

    def loss(point: Array) -> tuple[float, Array]:
        *weights, gating = np.split(point, cuts)
        shares = [_shares(x @ w, among) for x, w, among in zip(features, weights, tools, strict=True)]
        logits = np.einsum("igk,gk->ig", gates, gating.reshape(SHAPES["gates"]))
        counted = _shares(np.concatenate((np.zeros((len(rows), 1)), logits), axis=1), there)
        given = np.stack([share[rows, right] for share in shares], axis=1)
        total = (counted * given).sum(axis=1) + LEAST
        due = counted * given / total[:, None]
        slopes = [
            -(due[:, i, None] * (x[rows, right] - np.einsum("in,ink->ik", shares[i], x))).mean(axis=0)
            for i, x in enumerate(features)
        ]
        slopes.append(-((due - counted)[:, 1:, None] * gates).mean(axis=0).ravel())
        away = point - start
        return float(-np.log(total).mean() + PULL * (away**2).sum()), np.concatenate(slopes) + 2 * PULL * away

    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS}).x
    return [(name, part.reshape(SHAPES[name])) for name, part in zip(names, np.split(found, cuts), strict=True)]


def _stacked(rows: Sequence[NDArray[Any]], most: int) -> NDArray[Any]:
    """Arrays with different numbers of candidates as one, filled up with nothing."""
    return np.stack([np.pad(row, [(0, most - len(row)), *[(0, 0)] * (row.ndim - 1)]) for row in rows])


def _shares(scores: Array, among: NDArray[np.bool_]) -> Array:
    """Softmax of each row among some (rows, n); 0 where there are none."""
    scores = np.where(among, scores, -np.inf)
    top = np.where(among.any(axis=1), scores.max(axis=1), 0.0)
    found = np.where(among, np.exp(scores - top[:, None]), 0.0)
    result: Array = found / np.maximum(found.sum(axis=1, keepdims=True), LEAST)
    return result
