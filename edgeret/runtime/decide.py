"""From a request and its history to a decision: heads, description search or planner, abstention, and the reason.

Knows nothing of how anything is scored, encoded or worded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from edgeret.errors import BundleError, MissingExtraError, PlannerError
from edgeret.planner.chat import Prompt
from edgeret.planner.prompts import selection_prompt, wants_weights
from edgeret.planner.reranker import rerank
from edgeret.runtime.components import Components
from edgeret.runtime.history import History
from edgeret.runtime.options import DecideOptions, PromptOptions
from edgeret.runtime.scorer import Request
from edgeret.stopwatch import Stopwatch
from edgeret.types import END, Candidate, Decision, Source, Usage

MAX_ASKED = 16
"""Candidates that the planner is asked about at most; more cost a second and help no planner."""
BY_HEADS = "most probable candidate of graph, head and description similarity"
BY_TOOLS = "most probable by the tools' names, descriptions and flow; nothing was demonstrated"
NONE_FITS = "no tool fits"
SEARCH_FLOOR = 0.5
"""Where a request is unlike all demonstrations, a tool must be more likely right than wrong, or graph and head, which
read other evidence, must choose it too."""
LIKELY_NOTHING, SURELY_NOTHING = 0.15, 0.8
"""That nothing fits takes evidence from the tools too: where their own words make it less likely than the first (the
prior takes it to be 0.05 of all requests), demonstrations must make it likelier than the second. What users say is not
what was demonstrated, and whatever is unlike it looks most like requests that no tool fits."""


@dataclass(slots=True)
class _Verdict:
    """A decision before its times are known; `refusal` says why edgeret abstains."""

    source: Source
    candidates: Sequence[Candidate]
    reason: str
    usage: Usage | None = None
    refusal: str | None = None


class Decider:
    """Makes decisions with a bundle's components. Immutable and thread-safe."""

    def __init__(self, components: Components) -> None:
        self._components = components
        self._has_planner = components.planner.exists

    def decide(self, request: Request, history: History, options: DecideOptions, watch: Stopwatch) -> Decision:
        """The decision that `Task.next` describes. Raises as it does."""
        blocked = history.blocked
        if blocked and set(request.names) - blocked == {END}:
            ranked = request.ranked(request.probabilities(history, watch), options.k, blocked)
            verdict = _Verdict("heads", ranked, BY_HEADS, refusal="every tool failed, so none is left to choose")
        elif options.policy == "planner":
            verdict = self._by_planner(request, history, options, watch)
        elif options.policy == "auto" and not history.calls and request.demonstrated and not request.in_distribution:
            verdict = self._by_search(request, history, options, watch)
        else:
            verdict = self._by_heads(request, history, options, watch)
        best, reason = verdict.candidates[0], verdict.refusal or verdict.reason
        if best.tool == END and not verdict.refusal:
            reason = f"nothing is left to do: {reason}"
        if blocked:
            reason += f"; {history.left_out}"
        if best.tool in request.named and not history.calls:
            reason += "; the request names it"
        watch.lap("decide")
        return Decision(
            tool=None if verdict.refusal else best.tool,
            probability=best.probability,
            source=verdict.source,
            abstained=verdict.refusal is not None,
            reason=reason,
            candidates=verdict.candidates,
            timings_ms=watch.ms(),
            usage=verdict.usage,
            stage="planner" if verdict.source == "planner" else self._components.stage,
            left_aside=request.left_aside(history) if best.tool == END and history.calls else (),
        )

    def unasked(self) -> str | None:
        """Why the planner is not asked by itself, in words; None if it is."""
        planner = self._components.planner
        if planner.problem is not None:
            return str(planner.problem)
        if not planner.exists:
            return "there is none"
        return None if self._components.reranking.weight > 0 else "its advice did not help on held-out decisions"

    def mask(self, ranked: Sequence[Candidate], coverage: float) -> Sequence[Candidate]:
        """The conformal set of candidates (most probable first), at most MAX_ASKED of them."""
        return self._components.calibration.candidate_set(ranked[:MAX_ASKED], coverage)

    def prompt(self, request: Request, history: History, mask: Sequence[Candidate], options: PromptOptions) -> Prompt:
        """The prompt that asks which function comes next, with this mask. Raises BundleError for exemplars that are
        none."""
        exemplars, masking = self._components.exemplars, options.masking
        return selection_prompt(
            tuple(self._components.tools.values()),
            request.query,
            history.calls,
            mask,
            masking=masking,
            weighted=options.weighted == "yes" or (options.weighted == "auto" and wants_weights(mask)),
            exemplars=exemplars.constant,
            demonstrations=exemplars.using(mask) if masking == "demos" else (),
        )

    def _by_heads(self, request: Request, history: History, options: DecideOptions, watch: Stopwatch) -> _Verdict:
        """Graph and head; under "auto" with the planner's advice where they are unsure, and with a floor."""
        probabilities, doubt = request.probabilities(history, watch), None
        if options.policy == "auto" and not history.calls and request.demonstrated:
            doubt = self._doubt_nothing(request, history, probabilities)
        ranked = request.ranking(probabilities, options.k, history.blocked)
        verdict = _Verdict("heads", ranked, BY_HEADS) if request.demonstrated else _Verdict("search", ranked, BY_TOOLS)
        if options.policy == "heads":
            return verdict
        if doubt:
            verdict.reason += doubt
        if self._has_planner:
            self._ask_where_unsure(verdict, request, history, options, probabilities, watch)
        verdict.refusal = self._refusal(verdict.candidates[0], not history.calls, options.min_probability)
        return verdict

    def _doubt_nothing(self, request: Request, history: History, probabilities: NDArray[np.float32]) -> str | None:
        """Gives `<end>` what the tools' own words give it, in place, where demonstrations say that nothing fits and
        these speak against it; what to say of it, None where nothing was changed."""
        end = int(probabilities.argmax())
        nothing = probabilities.item(end)
        if request.names[end] != END or nothing > SURELY_NOTHING:
            return None
        likely = request.by_prior(history).item(end)
        if likely >= LIKELY_NOTHING:
            return None
        probabilities *= (1 - likely) / (1 - nothing)
        probabilities[end] = likely
        return f"; that nothing fits is {likely:.3f} by the tools' own words, {nothing:.3f} by demonstrations"

    def _floor(self, min_probability: float | None) -> float:
        return self._components.calibration.parameters.min_probability if min_probability is None else min_probability

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
        unasked, coverage = self.unasked(), options.prompt.coverage
        if unasked is None and verdict.candidates[0].probability >= self._components.reranking.ask_below:
            unasked = "the heads are sure enough"
        if unasked is None:
            mask = self.mask(request.ranked(probabilities, MAX_ASKED, history.blocked), coverage)
            if len(mask) > 1:
                among = f"the {len(mask)} candidates that a coverage of {coverage:.0%} needs"
                ask = partial(self.prompt, request, history, mask, options.prompt)
                self._rerank(verdict, mask, among, ask, watch)
                return
            unasked = "only one candidate is left"
        verdict.reason += f"; the planner was not asked: {unasked}"

    def _by_search(self, request: Request, history: History, options: DecideOptions, watch: Stopwatch) -> _Verdict:
        """The tools alone, for a query that is unlike the demonstrations."""
        parameters, reranking = self._components.calibration.parameters, self._components.reranking
        reason = (
            f"unlike the demonstrations (cosine {request.similarity:.2f}, "
            f"like them from {parameters.in_distribution_cosine:.2f})"
        )
        probabilities = request.by_prior(history)
        verdict = _Verdict("search", request.ranked(probabilities, options.k, history.blocked), reason)
        if self.unasked() is None and verdict.candidates[0].probability < reranking.ask_below:
            mask = request.ranked(probabilities, MAX_ASKED, history.blocked)
            among = f"the {len(mask)} most probable by the tools alone"
            self._rerank(verdict, mask, among, partial(self.prompt, request, history, mask, options.prompt), watch)
        best = verdict.candidates[0]
        floor = self._floor(options.min_probability)
        if best.tool == END:
            verdict.refusal = f"{verdict.reason} and {NONE_FITS}"
        elif best.probability < SEARCH_FLOOR and request.choice(history, watch) == best.tool:
            verdict.reason += ", chosen by graph and head too,"
            verdict.refusal = self._refusal(best, True, floor)
        elif not best.probability >= max(floor, SEARCH_FLOOR):
            verdict.refusal = (
                f"{verdict.reason} and no tool fits well: {best.tool} has probability {best.probability:.3f}"
            )
        verdict.reason += f" and found among the tools: {best.tool}"
        return verdict

    def _by_planner(self, request: Request, history: History, options: DecideOptions, watch: Stopwatch) -> _Verdict:
        """The planner's word alone, among the mask (hard) or all candidates."""
        planner = self._components.planner.get()
        watch.lap("planner")
        masking, coverage = options.prompt.masking, options.prompt.coverage
        ranked = request.ranked(request.probabilities(history, watch), None, history.blocked)
        mask = self.mask(ranked, coverage)
        asked = mask if masking == "hard" else ranked
        if len(asked) == 1:
            reason = f"the only candidate needed for a coverage of {coverage:.0%}, so the planner was not asked"
            return _Verdict("heads", ranked[: options.k], reason)
        prompt = self.prompt(request, history, mask, options.prompt)
        watch.lap("decide")
        try:
            reranked, usage = rerank(planner, prompt, asked, self._components.reranking, alone=True)
        finally:
            watch.lap("planner")
        reason = f"the planner's choice among {len(asked)} candidates (masking {masking})"
        return _Verdict("planner", _put_first(reranked, ranked)[: options.k], reason, usage)

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
            verdict.candidates = _put_first(reranked, verdict.candidates)[: len(verdict.candidates)]
            verdict.reason += f", and the planner's advice (weight {reranking.weight:g}) on {among}"
        finally:
            watch.lap("planner")

    def _refusal(self, best: Candidate, first: bool, min_probability: float | None) -> str | None:
        """Why edgeret abstains from the heads' best candidate, or None if it does not."""
        if first and best.tool == END:
            return f"{NONE_FITS}: calling nothing is most probable"
        floor = self._floor(min_probability)
        if not best.probability >= floor:
            return f"unsure: the best candidate, {best.tool}, has probability {best.probability:.3f}, below {floor:.3f}"
        return None


def _put_first(asked: Sequence[Candidate], others: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """The candidates that were asked about, then those that were not."""
    names = {candidate.tool for candidate in asked}
    return (*asked, *(candidate for candidate in others if candidate.tool not in names))
