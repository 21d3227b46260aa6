"""Fits the prior: weights for ranking tools without demonstrations, on other people's tools. Encodes nothing.

A conditional logit over the tools of each decision, and a logistic regression for `<end>`, that a plan is complete.
That no tool fits is fitted in `nothing`. All evidence comes from the runtime's own code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.usage.reliability import expected_calibration_error
from edgeret_export.fitting.logit import DIGITS, conditional_logit
from edgeret_export.fitting.nothing import NothingSet, fit_nothing
from edgeret_export.fitting.prior_sets import PriorSet
from edgeret_export.fitting.values import fit_values
from edgeret_export.fitting.wishes import ADDED, fit_wishes
from edgeret_export.reference.scoring.prior import (
    KINDS,
    EndWeights,
    Evidence,
    Prior,
    PriorWeights,
    SearchWeights,
    ToolWeights,
)
from edgeret_export.reference.scoring.reading import Reading
from edgeret_export.reference.scoring.relevance import features as search_features

TOOL, COMPLETE, SEARCH = (tuple(f.name for f in fields(kind)) for kind in (ToolWeights, EndWeights, SearchWeights))
LATER = {"tool": (*ADDED["tool"], "values"), "end": ADDED["end"]}
"""What others than this module fit, by block."""
SMOOTH = 0.01
"""scikit-learn's C of the logistic regression."""
MAY_BE_NEGATIVE = ("still_needed", "key_still_needed", "spent_name", "spent_coverage")
"""Evidence against a tool; all other evidence speaks for it, and a negative weight would be an accident of the sets."""
BLANK = PriorWeights(**{name: kind(*[0.0] * len(fields(kind))) for name, kind in KINDS.items()})
"""For tools that are arranged before any weights are known."""


def fit_prior(
    sets: Sequence[PriorSet],
    asked: Sequence[NothingSet],
    kept: PriorWeights | None = None,
    only: str | None = None,
) -> PriorWeights:
    """The weights; every decision counts the same. `asked` are the sets that tell what no tool fits. With `kept`, only
    the block named `only` is fitted and all others stay as they are; the block "wish" brings what `fit_wishes` adds to
    others. Raises ValueError without requests that have calls."""
    plain = [_plain(part) for part in sets]
    weights = BLANK if kept is None else kept
    if only in (None, "tool"):
        weights = replace(weights, tool=_with_added("tool", _fit_tools(plain), weights.tool))
    if only in (None, "end"):
        weights = replace(weights, end=_with_added("end", _fit_complete(plain, weights), weights.end))
    if only in (None, "search"):
        weights = replace(weights, search=_fit_search(plain))
    if only in (None, "wish"):
        weights = fit_wishes(sets, weights)
    if only in (None, "values"):
        weights = fit_values(sets, weights)
    return replace(weights, nothing=fit_nothing(asked, weights)) if only in (None, "nothing") else weights


def _plain(part: PriorSet) -> PriorSet:
    """A set without what is fitted behind all else: requests that were joined, several wishes, opposites, values."""
    requests = [
        replace(request, evidence=replace(request.evidence, wishes=None, opposed=None, values=None))
        for request in part.requests
        if not request.joined
    ]
    return replace(part, requests=tuple(requests))


def _with_added(block: str, fitted: Any, before: Any) -> Any:
    """A block as it was fitted, with what is fitted behind it as it was before."""
    return replace(fitted, **{name: getattr(before, name) for name in LATER[block]})


def _fit_complete(sets: Sequence[PriorSet], weights: PriorWeights) -> EndWeights:
    """That a plan is complete, with this ranking."""
    complete: list[tuple[list[float], bool]] = []
    for part in sets:
        prior = part.prior.weighing(weights)
        for request in part.requests:
            reading = Reading(prior, request.evidence)
            for k, acceptable in enumerate(request.acceptable):
                if k:
                    calls = request.calls[:k]
                    found = reading.end_features(reading.scores(calls).max().item(), calls)
                    complete.append(([found[name] for name in COMPLETE], prior.end in acceptable))
    return EndWeights(*_logistic(complete))


def _fit_tools(sets: Sequence[PriorSet]) -> ToolWeights:
    """Conditional logit by L-BFGS over all tools but those called already."""
    rows: list[NDArray[np.float32]] = []
    targets: list[NDArray[np.float32]] = []
    for part in sets:
        prior = part.prior
        for request in part.requests:
            reading = Reading(prior, request.evidence)
            for k, acceptable in enumerate(request.acceptable):
                if prior.end in acceptable:
                    continue
                found = reading.features(request.calls[:k])
                left = np.ones(prior.n, bool)
                left[[prior.end, *(call for call in request.calls[:k] if call not in acceptable)]] = False
                truth = np.zeros(prior.n, np.float32)
                truth[list(acceptable)] = 1 / len(acceptable)
                rows.append(np.stack([found[name] for name in TOOL], axis=1)[left])
                targets.append(truth[left])
    if not rows:
        raise ValueError("no request with a call to fit the prior on")
    bounds = [(None, None) if name in MAY_BE_NEGATIVE else (0, None) for name in TOOL]
    return ToolWeights(*conditional_logit(rows, targets, np.ones(len(rows)), bounds))


def _fit_search(sets: Sequence[PriorSet]) -> SearchWeights:
    """The same for each tool that a request needs against all that it does not need, whatever their order."""
    rows: list[NDArray[np.float32]] = []
    targets: list[NDArray[np.float32]] = []
    weights: list[float] = []
    for part in sets:
        prior = part.prior
        for request in part.requests:
            needed = sorted(set(request.calls))
            found = search_features(request.evidence, request.similar, prior.vectors).T
            others = np.delete(found, [*needed, prior.end], axis=0)
            for call in needed:
                rows.append(np.vstack((found[call : call + 1], others)))
                targets.append(np.eye(1, len(others) + 1, dtype=np.float32)[0])
                weights.append(1 / len(needed))
    if not rows:
        raise ValueError("no request with a call to fit the prior on")
    return SearchWeights(*conditional_logit(rows, targets, np.array(weights), [(0, None)] * len(SEARCH)))


def _logistic(rows: Sequence[tuple[list[float], bool]]) -> list[float]:
    """Weights of a logistic regression whose first feature is the constant; features are scaled for the penalty."""
    from sklearn.linear_model import LogisticRegression

    x, y = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    if y.all() or not y.any():
        constant = 5.0 if y.all() else -5.0
        return [constant, *[0.0] * (x.shape[1] - 1)]
    mean, scale = x[:, 1:].mean(axis=0), x[:, 1:].std(axis=0) + 1e-9
    model = LogisticRegression(C=SMOOTH, max_iter=1000).fit((x[:, 1:] - mean) / scale, y)
    weights = model.coef_[0] / scale
    constant = float(model.intercept_[0] - weights @ mean)
    return [round(float(w), DIGITS) for w in (constant, *weights)]


@dataclass(frozen=True, slots=True)
class PriorFigures:
    """What the prior does on a set: decisions, top-1 and MRR over them (`<end>` included), first tool right, the same
    by description search, and the expected calibration error; with the confidences and outcomes behind it."""

    decisions: int
    top1: float
    mrr: float
    first_tool: float
    search_first_tool: float
    confidence: NDArray[np.float64]
    correct: NDArray[np.bool_]

    def to_dict(self) -> dict[str, float | int]:
        """The figures, rounded."""
        names = ("top1", "mrr", "first_tool", "search_first_tool")
        ece = expected_calibration_error(self.confidence, self.correct)
        return {"decisions": self.decisions, **{n: round(getattr(self, n), 4) for n in names}, "ece": round(ece, 4)}


def evaluate(weights: PriorWeights, sets: Sequence[PriorSet]) -> PriorFigures:
    """The figures over all decisions of these sets."""
    ranks: list[float] = []
    first: list[bool] = []
    searched: list[bool] = []
    confidence: list[float] = []
    for part in sets:
        prior = part.prior.weighing(weights)
        for request in part.requests:
            if request.joined:
                continue
            reading = Reading(prior, request.evidence)
            for k, acceptable in enumerate(request.acceptable):
                log_p = reading.log_probabilities(request.calls[:k])
                ranks.append(1 + int((log_p > log_p[list(acceptable)].max()).sum()))
                confidence.append(float(np.exp(log_p.max())))
                if not k and prior.end not in acceptable:
                    tools = np.where(np.arange(prior.n) == prior.end, -np.inf, log_p)
                    first.append(int(tools.argmax()) in acceptable)
                    searched.append(_nearest(prior, request.evidence) in acceptable)
    rank = np.array(ranks)
    return PriorFigures(
        len(rank),
        float((rank == 1).mean()),
        float((1 / rank).mean()),
        float(np.mean(first)) if first else 1.0,
        float(np.mean(searched)) if searched else 1.0,
        np.array(confidence),
        rank == 1,
    )


def leave_one_out(sets: Sequence[PriorSet], asked: Sequence[NothingSet]) -> Mapping[str, PriorFigures]:
    """Every group's figures with weights that were fitted on the others. Raises ValueError for a single group."""
    groups = sorted({part.group for part in sets})
    if len(groups) < 2:
        raise ValueError("one group of sets cannot be left out of itself; give several")
    return {
        group: evaluate(
            fit_prior([part for part in sets if part.group != group], [part for part in asked if part.group != group]),
            [part for part in sets if part.group == group],
        )
        for group in groups
    }


def _nearest(prior: Prior, evidence: Evidence) -> int:
    cosines = prior.vectors @ evidence.passages.rows[0]
    cosines[prior.end] = -np.inf
    return int(cosines.argmax())
