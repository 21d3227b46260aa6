"""From a request and its history to a decision: heads, prior or planner, abstention, and the reason.

Knows nothing of how anything is scored, encoded or worded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from edgeret.errors import BundleError, MissingExtraError, PlannerError
from edgeret.planner.chat import Prompt
from edgeret.planner.lazy import LazyPlanner
from edgeret.planner.reranker import rerank
from edgeret.runtime.advice import prompt, put_first, unasked
from edgeret.runtime.history import History
from edgeret.runtime.options import MAX_ASKED, DecideOptions, PromptOptions
from edgeret.runtime.reasons import NONE_FITS
from edgeret.types import END, Candidate, Decision, Source, Usage
from edgeret_export.reference.components import Components
from edgeret_export.reference.moment import Decides
from edgeret_export.reference.reasons import Reasons
from edgeret_export.reference.request import Request
from edgeret_export.reference.scorer import Scorer
from edgeret_export.reference.stopwatch import Stopwatch
from edgeret_export.reference.why import Remembered


@dataclass(slots=True)
class _Verdict:
    """A decision before its times are known; `refusal` says why edgeret abstains, and `values` are the probabilities of
    all that was decided between (n,)."""

    source: Source
    candidates: Sequence[Candidate]
    reason: str
    values: NDArray[np.float32]
    usage: Usage | None = None
    refusal: str | None = None


class Decider:
    """Makes decisions with a bundle's components. Immutable and thread-safe."""

    def __init__(self, components: Components, trial: tuple[Scorer, Decides] | None = None) -> None:
        """`trial` is what decides, and reads for it, once something is learned; None for the same."""
        self._components, self.trial = components, trial
        self._demonstrated, self._stage = components.head is not None, components.stage
        self._has_planner = components.planner.exists
        self.reasons = Reasons(components)
        self._floor = components.calibration.floor

    @cached_property
    def careful(self) -> frozenset[str]:
        """The tools that ask for more care than all others."""
        tools = self._components.tools
        return frozenset(name for name, tool in tools.items() if tool.confirm or tool.risk is not None)

    def floor(self, tool: str, later: bool, options: DecideOptions) -> float:
        """How probable this answer must be, before any call or behind one (`later`)."""
        floor = self._floor(later, options.min_probability, options.risk)
        if tool in self.careful and (risk := self._components.tools[tool].risk) is not None:
            return max(floor, self._floor(later, None, risk))
        return floor

    def confirms(self, tool: str | None) -> bool:
        """Whether a person is to confirm a call of this tool."""
        return tool in self.careful and self._components.tools[str(tool)].confirm

    def over(self, components: Components) -> Decider:
        """Another one, by other components, which asks no planner."""
        return Decider(replace(components, planner=LazyPlanner()))

    def decide(self, request: Request, history: History, options: DecideOptions, watch: Stopwatch) -> Decision:
        """The decision that `Task.next` describes. Raises as it does."""
        blocked = history.blocked
        if blocked and set(request.names) - blocked == {END}:
            verdict = self._most_probable(request, history, options, request.probabilities(history, watch))
            verdict.refusal = "every tool failed, so none is left to choose"
        elif options.policy == "planner":
            verdict = self._by_planner(request, history, options, watch)
        else:
            verdict = self._by_heads(request, history, options, watch)
        best, reason = verdict.candidates[0], verdict.refusal or verdict.reason
        if best.tool == END and not verdict.refusal:
            reason = f"nothing is left to do: {reason}"
        if blocked:
            reason += f"; {history.left_out}"
        if not history.calls and best.tool in request.named:
            reason += "; the request names it"
        chosen = None if verdict.refusal else best.tool
        watch.lap("decide")
        source = verdict.source
        return Decision(  # not by keyword, which takes longer than the rest of it
            chosen,
            best.probability,
            source,
            verdict.refusal is not None,
            reason,
            verdict.candidates,
            watch.ms(),
            verdict.usage,
            "planner" if source == "planner" else self._stage,
            bool(self.careful) and self.confirms(chosen),
            request.left_aside(history) if best.tool == END and history.calls else (),
            Remembered(request, history, options, verdict.values, self),
        )

    def unasked(self) -> str | None:
        """Why the planner is not asked by itself, in words; None if it is."""
        return unasked(self._components.planner, self._components.reranking)

    def mask(self, ranked: Sequence[Candidate], coverage: float) -> Sequence[Candidate]:
        """The conformal set of candidates (most probable first), at most MAX_ASKED of them."""
        return self._components.calibration.candidate_set(ranked[:MAX_ASKED], coverage)

    def prompt(self, request: Request, history: History, mask: Sequence[Candidate], options: PromptOptions) -> Prompt:
        """The prompt that asks which function comes next, with this mask. Raises BundleError for exemplars that are
        none."""
        held = self._components
        return prompt(held.tools, held.exemplars, request.query, history, mask, options)

    def _by_heads(self, request: Request, history: History, options: DecideOptions, watch: Stopwatch) -> _Verdict:
        """Graph and head; under "auto" with the planner's advice where they are unsure, and with a floor."""
        probabilities = request.probabilities(history, watch)
        verdict = self._most_probable(request, history, options, probabilities)
        if options.policy == "heads":
            return verdict
        if self._has_planner:
            self._ask_where_unsure(verdict, request, history, options, probabilities, watch)
        verdict.refusal = self._refusal(verdict.candidates[0], not history.calls, options)
        return verdict

    def _most_probable(
        self, request: Request, history: History, options: DecideOptions, probabilities: NDArray[np.float32]
    ) -> _Verdict:
        """The most probable candidate, by all that says something of it."""
        learned = request.learned_then is not None
        reasons = self.reasons.learned if learned else self.reasons.own
        reason = reasons[1 if history.calls else 0]
        if request.aside:
            reason += request.aside
        ranking = request.ranking(probabilities, options.k, history.blocked)
        return _Verdict("heads" if learned or self._demonstrated else "prior", ranking, reason, probabilities)

    def _ask_where_unsure(
        self,
        verdict: _Verdict,
        request: Request,
        history: History,
        options: DecideOptions,
        probabilities: NDArray[np.float32],
        watch: Stopwatch,
    ) -> None:
        """Lets a planner advise on what the heads are unsure of, or says why it was not asked."""
        unasked, coverage = self.unasked(), options.coverage
        if unasked is None and verdict.candidates[0].probability >= self._components.reranking.ask_below:
            unasked = "the heads are sure enough"
        if unasked is None:
            mask = self.mask(request.ranked(probabilities, MAX_ASKED, history.blocked), coverage)
            if len(mask) > 1:
                among = f"the {len(mask)} candidates that a coverage of {coverage:.0%} needs"
                ask = partial(self.prompt, request, history, mask, options)
                self._rerank(verdict, mask, among, ask, watch)
                return
            unasked = "only one candidate is left"
        verdict.reason += f"; the planner was not asked: {unasked}"

    def _by_planner(self, request: Request, history: History, options: DecideOptions, watch: Stopwatch) -> _Verdict:
        """The planner's word alone, among the mask (hard) or all candidates."""
        planner = self._components.planner.get()
        watch.lap("planner")
        masking, coverage = options.masking, options.coverage
        probabilities = request.probabilities(history, watch)
        ranked = request.ranked(probabilities, None, history.blocked)
        mask = self.mask(ranked, coverage)
        asked = mask if masking == "hard" else ranked
        if len(asked) == 1:
            reason = f"the only candidate needed for a coverage of {coverage:.0%}, so the planner was not asked"
            return _Verdict("heads", ranked[: options.k], reason, probabilities)
        shown = self.prompt(request, history, mask, options)
        watch.lap("decide")
        try:
            reranked, usage = rerank(planner, shown, asked, self._components.reranking, alone=True)
        finally:
            watch.lap("planner")
        reason = f"the planner's choice among {len(asked)} candidates (masking {masking})"
        return _Verdict("planner", put_first(reranked, ranked)[: options.k], reason, probabilities, usage)

    def _rerank(
        self, verdict: _Verdict, mask: Sequence[Candidate], among: str, prompt: Callable[[], Prompt], watch: Stopwatch
    ) -> None:
        """Lets the planner advise on the mask; if it cannot be asked, what was found stays, and the reason says so."""
        reranking = self._components.reranking
        watch.lap("decide")
        try:
            planner = self._components.planner.get()
            reranked, verdict.usage = rerank(planner, prompt(), mask, reranking, alone=False)
        except (BundleError, PlannerError, MissingExtraError) as error:
            verdict.reason += f"; the planner could not be asked: {error}"
        else:
            verdict.source = "planner"
            verdict.candidates = put_first(reranked, verdict.candidates)[: len(verdict.candidates)]
            verdict.reason += f", and the planner's advice (weight {reranking.weight:g}) on {among}"
        finally:
            watch.lap("planner")

    def _refusal(self, best: Candidate, first: bool, options: DecideOptions) -> str | None:
        """Why edgeret abstains from the heads' best candidate, or None if it does not."""
        if first and best.tool == END:
            return f"{NONE_FITS}: calling nothing is most probable"
        floor = self.floor(best.tool, not first, options)
        if not best.probability >= floor:
            return f"unsure: the best candidate, {best.tool}, has probability {best.probability:.3f}, below {floor:.3f}"
        return None
