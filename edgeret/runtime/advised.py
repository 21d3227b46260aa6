"""A planner beside the library, which is asked about the candidates that the library leaves open. Knows nothing of how
either of them comes to its word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING

from edgeret.core import library
from edgeret.errors import BundleError, MissingExtraError, PlannerError
from edgeret.planner.chat import Prompt
from edgeret.planner.lazy import LazyPlanner
from edgeret.planner.reranker import rerank
from edgeret.planner.turn import BusyError
from edgeret.runtime.advice import prompt, put_first, unasked
from edgeret.runtime.history import History
from edgeret.runtime.loaded import Loaded
from edgeret.runtime.options import DecideOptions
from edgeret.runtime.reasons import NONE_FITS
from edgeret.runtime.request import Request, why
from edgeret.types import END, Candidate, Decision, Degraded, Usage

if TYPE_CHECKING:
    from edgeret.planner.model import Planner


class AdvisedRequest(Request):
    """A request that a planner is asked about, too. Not shared between threads."""

    __slots__ = ()

    def decide(self, history: History, options: DecideOptions) -> Decision:
        """What comes next, as `Task.next` describes it. Raises as it does."""
        if options.policy == "heads":
            return super().decide(history, options)
        return (_by_planner if options.policy == "planner" else _advised)(self, history, options)


def _advised(request: Request, history: History, options: DecideOptions) -> Decision:
    """The library's decision, with the planner's advice where it is unsure."""
    loaded, coverage, step = request.loaded, options.coverage, request.step(options)
    planner, reranking = loaded.planner, loaded.reranking
    if step.reason == library.ALL_FAILED or request.is_small(step):
        return request.told(step, history, options)
    mask: Sequence[Candidate] = ()
    no = unasked(planner, reranking)
    if no is None and step.probability >= reranking.ask_below:
        no = "the heads are sure enough"
    if no is None:
        mask = request.mask(step.values, history, coverage)
        no = None if len(mask) > 1 else "only one candidate is left"
    if no is not None:
        return request.told(step, history, options, f"; the planner was not asked: {no}")
    started = perf_counter()
    try:
        shown = prompt(loaded.tools, loaded.exemplars, request.shown, history, mask, options)
        reranked, usage = _asked(loaded, shown, mask, options, started, alone=False)
    except (BundleError, PlannerError, MissingExtraError) as error:
        found = request.told(step, history, options, f"; the planner could not be asked: {error}")
        found = replace(found, degraded=(*found.degraded, Degraded("planner", str(error))))
        return _timed(found, perf_counter() - started)
    listed = request.ranked(step.values, options.k, history)
    candidates = put_first(reranked, listed)[: len(listed)]
    best = candidates[0]
    floor = request.answer_with(best.tool, options)[0]
    among = f"the {len(mask)} candidates that a coverage of {coverage:.0%} needs"
    parts = why(step.parts, step.demonstrated == 1)
    reason = f"{parts}, and the planner's advice (weight {reranking.weight:g}) on {among}"
    refusal = None
    if not history.calls and best.tool == END:
        refusal = f"{NONE_FITS}: calling nothing is most probable"
    elif not best.probability >= floor:
        refusal = f"unsure: the best candidate, {best.tool}, has probability {best.probability:.3f}, below {floor:.3f}"
    plain = request.told(step, history, options)
    found = _taken(request, plain, candidates, history, options, reason, usage, refusal)
    return _timed(found, perf_counter() - started)


def _by_planner(request: Request, history: History, options: DecideOptions) -> Decision:
    """The planner's word alone, among the mask (hard) or all candidates."""
    loaded, masking, coverage = request.loaded, options.masking, options.coverage
    step = request.step(options, own=True)
    if step.reason == library.ALL_FAILED:
        return request.told(step, history, options)
    started = perf_counter()
    _loaded(loaded.planner, options, started)
    spent = perf_counter() - started
    every = request.ranked(step.values, None, history)
    mask = request.mask(step.values, history, coverage)
    asked = mask if masking == "hard" else every
    if len(asked) == 1:
        reason = f"the only candidate needed for a coverage of {coverage:.0%}, so the planner was not asked"
        plain = request.told(step, history, options)
        found = _taken(request, plain, every[: options.k], history, options, reason, None, None)
        return _timed(replace(found, source="heads", stage=plain.stage), spent)
    started = perf_counter()
    shown = prompt(loaded.tools, loaded.exemplars, request.shown, history, mask, options)
    reranked, usage = _asked(loaded, shown, asked, options, started - spent, alone=True)
    reason = f"the planner's choice among {len(asked)} candidates (masking {masking})"
    candidates = put_first(reranked, every)[: options.k]
    found = _taken(request, request.told(step, history, options), candidates, history, options, reason, usage, None)
    return _timed(found, spent + perf_counter() - started)


def _asked(
    loaded: Loaded,
    shown: Prompt,
    mask: Sequence[Candidate],
    options: DecideOptions,
    started: float,
    alone: bool,
) -> tuple[list[Candidate], Usage]:
    """As `rerank`, in the time that there is since `started`. Raises PlannerError or MissingExtraError."""
    planner = _loaded(loaded.planner, options, started)
    try:
        return rerank(planner, shown, mask, loaded.reranking, alone, _deadline(options, started))
    except BusyError:
        raise _late(options, "it was busy, or would have read for longer") from None


def _loaded(planner: LazyPlanner, options: DecideOptions, started: float) -> Planner:
    """The planner, loaded by then. Raises PlannerError or MissingExtraError."""
    if options.budget_ms is None:
        return planner.get()
    found = planner.get_by(_deadline(options, started))
    if found is None:
        raise _late(options, "it is still being loaded")
    return found


def _deadline(options: DecideOptions, started: float) -> float:
    return inf if options.budget_ms is None else started + options.budget_ms / 1e3


def _late(options: DecideOptions, why: str) -> PlannerError:
    return PlannerError(f"no answer within {options.budget_ms:g} ms: {why}")


def _taken(
    request: Request,
    plain: Decision,
    candidates: Sequence[Candidate],
    history: History,
    options: DecideOptions,
    reason: str,
    usage: Usage | None,
    refusal: str | None,
) -> Decision:
    """The library's own decision with other candidates in front; `refusal` says why none is taken."""
    best = candidates[0]
    if refusal is not None:
        reason = refusal
    elif best.tool == END:
        reason = f"nothing is left to do: {reason}"
    if history.blocked:
        reason += f"; {history.left_out}"
    if request.answer_with(best.tool, options)[1]:
        reason += "; the request names it"
    tool = None if refusal is not None else best.tool
    return replace(
        plain,
        tool=tool,
        probability=best.probability,
        source="planner",
        abstained=refusal is not None,
        reason=reason,
        candidates=candidates,
        usage=usage,
        stage="planner",
        confirm=tool is not None and tool != END and request.loaded.tools[tool].confirm,
        left_aside=request.task.left_aside() if best.tool == END and history.calls else (),
    )


def _timed(decision: Decision, planner_s: float) -> Decision:
    """With these seconds as the planner's time."""
    times = dict(decision.timings_ms)
    times["planner"] = planner_s * 1e3
    times["total"] = times.pop("total", 0.0) + times["planner"]
    return replace(decision, timings_ms=times)
