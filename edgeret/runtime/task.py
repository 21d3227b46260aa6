"""One request of a user, step by step: from its words and the calls so far to decisions, prompts and arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from edgeret.errors import InputError, MissingExtraError, PlannerError
from edgeret.inputs.demonstrations import MAX_CALLS
from edgeret.planner.arguments import Filled, check_arguments
from edgeret.planner.chat import Prompt
from edgeret.planner.prompts import MASKINGS, Masking, selection_prompt, wants_weights
from edgeret.quoting import quoted
from edgeret.runtime.components import Parts
from edgeret.scoring.calibration import POLICIES, PolicyName
from edgeret.scoring.graph import UNKNOWN
from edgeret.types import Call, Candidate, Decision, Source, Usage

CROWD = 16
"""Candidates for each one listed from which on selecting those listed is faster than sorting all."""
COVERAGE = 0.95
MAX_ASKED = 16
"""Candidates that the planner is asked about at most; more cost a second and help no planner."""
NO_DESCRIPTION = np.full(1, -np.inf, np.float32)
"""The cosine of `<end>` to any query, where candidates are ranked by description."""
Weighted = Literal["auto", "yes", "no"]
HEADS: Source = "heads"
SEARCH: Source = "search"
BY_HEADS = "most probable candidate of graph, head and description similarity"


class Task:
    """One request of a user: its query, encoded once, and the calls so far. Not shared between threads."""

    def __init__(self, runtime: Parts, query: str) -> None:
        """Use `Runtime.task`.

        `candidate_names` are the names that `probabilities` speaks of: labels (tools, then `<end>`), then tools
        without demonstrations.
        """
        self._runtime = runtime
        self.query = query
        self._calls: list[Call] = []
        self._numbers: list[int] = []
        started = perf_counter()
        ids = runtime.encoder.tokenize(runtime.encoder.spec.query_prefix + query)
        tokenized = perf_counter()
        vectors = runtime.encoder.embed_segments(ids)
        self.vector = vectors[0]
        encoded = perf_counter()
        # One pass over the tools' vectors serves the query itself and the head's mixtures of it and its parts.
        described = runtime.head.described(vectors, runtime.label_pieces)
        self._similarities = described[0]
        self.candidate_names, self._novel = runtime.novel_similarities(self.vector)
        self._novel_weights = runtime.policy.novel_weights(self._novel) if len(self._novel) else self._novel
        searched = perf_counter()
        self._position = runtime.graph.locate(self.vector)
        located = perf_counter()
        self.query_logits = runtime.head.query_logits(self.vector, described[1:])
        self._pending = {
            "tokenize": (tokenized - started) * 1e3,
            "encode": (encoded - tokenized) * 1e3,
            "search": (searched - encoded) * 1e3,
            "graph": (located - searched) * 1e3,
            "head": (perf_counter() - located) * 1e3,
            "total": (perf_counter() - started) * 1e3,
        }

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls so far, in order, with their arguments."""
        return tuple(self._calls)

    @property
    def familiar(self) -> bool:
        """Whether the query resembles the demonstrations."""
        return self._runtime.policy.familiar(self._position.similarity)

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None) -> None:
        """Adds a call to the history; nothing is encoded again. Raises InputError for an unknown tool, for arguments
        that JSON cannot hold, and for more than MAX_CALLS calls."""
        if tool not in self._runtime.tools:
            raise InputError(
                f"unknown tool {quoted(str(tool))} in the history; list the bundle's tools with: edgeret inspect"
            )
        if len(self._calls) == MAX_CALLS:
            raise InputError(f"{MAX_CALLS} calls were made already, more than any plan has; open a new task")
        self._calls.append(Call(tool, check_arguments(arguments) if arguments else {}))
        self._numbers.append(self._runtime.label_number.get(tool, UNKNOWN))

    def accept(self, decision: Decision, arguments: Mapping[str, Any] | None = None) -> bool:
        """Adds the call that a decision names, if it names one; whether it did. False says that the plan is over:
        nothing is left to do, nothing fits, or the history is full. So this loop is right for every request:

            while task.accept(decision := task.next()):
                ...

        Raises InputError for a decision of another bundle, and for arguments that JSON cannot hold.
        """
        if not decision.is_call or len(self._calls) == MAX_CALLS:
            return False
        assert decision.tool is not None
        self.call(decision.tool, arguments)
        return True

    def probabilities(self) -> NDArray[np.float32]:
        """Calibrated probabilities of `candidate_names`, float32, summing to 1."""
        return self._distribution({})

    def candidates(self, k: int | None = None) -> list[Candidate]:
        """The `k` most probable candidates (None: all), most probable first."""
        return list(self._ranked(self.probabilities(), k))

    def next(
        self,
        *,
        policy: PolicyName = "auto",
        k: int | None = 10,
        min_probability: float | None = None,
        coverage: float = COVERAGE,
        masking: Masking = "hard",
        weighted: Weighted = "auto",
    ) -> Decision:
        """Decides what comes next.

        Policy "heads" always takes the heads' best candidate. "auto" abstains where nothing fits, lets description
        search decide a query that is unlike the demonstrations, and asks a planner whose advice was found to help,
        where the heads are unsure, about the candidates of the conformal set with this `coverage`. "planner" goes by
        the planner's word alone wherever that set leaves a choice; `masking` and `weighted` shape its prompt, and
        with a masking other than "hard" it chooses among all tools. `k` bounds the candidates listed,
        `min_probability` overrides the bundle's floor.

        Raises InputError for "planner" if the bundle has none; PlannerError or MissingExtraError for "planner" if it
        cannot be asked (under "auto" the heads then decide).
        """
        if policy not in POLICIES:
            raise InputError(f"unknown policy '{policy}'; choose one of {', '.join(POLICIES)}")
        if k is not None and k < 1:
            raise InputError(f"k must be at least 1, found {k}")
        if min_probability is not None and not 0 <= min_probability <= 1:
            raise InputError(f"min_probability must lie between 0 and 1, found {min_probability}")
        self._runtime.check_process()
        advisor = self._runtime.advisor
        if policy == "planner":
            return self._decide_by_planner(k, coverage, masking, weighted)
        started = perf_counter()
        timings, self._pending = self._pending, {}
        first = not self._calls
        if policy == "auto" and first and not self.familiar:
            return self._decide_by_search(k, min_probability, weighted, timings, started)
        probabilities = self._distribution(timings)
        fused = perf_counter()
        candidates = self._ranked(probabilities, k)
        best = candidates[0]
        if policy == "auto":
            reason, usage, source = BY_HEADS, None, HEADS
            unasked = advisor.unasked
            if unasked is None and best.probability >= advisor.parameters.ask_below:
                unasked = "the heads are sure enough"
            if unasked is None and len(asked := self._mask(coverage)) > 1:
                needed = f"candidates that a coverage of {coverage:.0%} needs"
                candidates, usage, reason = self._advised(asked, candidates, weighted, BY_HEADS, needed)
                best = candidates[0]
                source = "planner" if usage else HEADS
                timings["planner"] = usage.ms if usage else 0.0
            elif advisor.has_planner:
                reason += f"; the planner was not asked: {unasked or 'only one candidate is left'}"
            refusal = self._runtime.policy.refusal(best.tool, best.probability, first, min_probability)
            return self._decision(source, best, candidates, refusal, timings, started, fused, reason, usage)
        return self._decision(HEADS, best, candidates, None, timings, started, fused)

    def described(self, k: int | None = None) -> tuple[Candidate, ...]:
        """The `k` tools (None: all) whose descriptions are nearest to the query, nearest first, whatever was
        demonstrated. Each has its own probability of being right, so they need not sum to 1.
        """
        # `<end>` has no description; it stands between labels and novel tools, and comes last of all.
        similarities = np.concatenate((self._similarities, NO_DESCRIPTION, self._novel))
        nearest = self._ranked(similarities, k)[: len(similarities) - 1]
        confidence = self._runtime.policy.search_confidence
        return tuple(Candidate(name, confidence(cosine)) for name, cosine in nearest)

    def prompt(
        self,
        *,
        masking: Masking = "hard",
        weighted: Weighted = "auto",
        coverage: float = COVERAGE,
        candidates: Sequence[Candidate] | None = None,
    ) -> Prompt:
        """A prompt that asks a language model which function comes next, for whoever brings one of their own.

        The mask are `candidates`, or the conformal set with this `coverage`; "none" and "demos" show all tools.
        `weighted` "auto" shows probabilities where they can be trusted to help. Raises InputError.
        """
        if masking not in MASKINGS:
            raise InputError(f"unknown masking '{masking}'; choose one of {', '.join(MASKINGS)}")
        if weighted not in ("auto", "yes", "no"):
            raise InputError(f"weighted must be 'auto', 'yes' or 'no', found '{weighted}'")
        mask = self._mask(coverage) if candidates is None else candidates
        advisor = self._runtime.advisor
        return selection_prompt(
            tuple(self._runtime.tools.values()),
            self.query,
            self._calls,
            mask,
            masking=masking,
            weighted=weighted == "yes" or (weighted == "auto" and wants_weights(mask)),
            worked=advisor.worked,
            demonstrations=advisor.demonstrations(mask) if masking == "demos" else (),
        )

    def fill(self, tool: str) -> tuple[Filled, Usage | None]:
        """The arguments of a call of `tool` as the next one, by the planner: what the query and earlier outputs give,
        and which required ones are missing; with what asking cost. Raises InputError for an unknown tool or without
        a planner, PlannerError, MissingExtraError.
        """
        if tool not in self._runtime.tools:
            raise InputError(f"unknown tool {quoted(str(tool))}; list the bundle's tools with: edgeret inspect")
        return self._runtime.advisor.fill(self._runtime.tools[tool], self.query, self._calls)

    def _mask(self, coverage: float) -> tuple[Candidate, ...]:
        """The conformal set at this step, at most MAX_ASKED candidates."""
        return tuple(self._runtime.policy.candidate_set(self._ranked(self.probabilities(), MAX_ASKED), coverage))

    def _decide_by_planner(self, k: int | None, coverage: float, masking: Masking, weighted: Weighted) -> Decision:
        """The planner's word alone, among the mask (hard) or all candidates."""
        runtime = self._runtime
        _ = runtime.advisor.planner  # raises before anything is used up
        started = perf_counter()
        timings, self._pending = self._pending, {}
        ranked = self._ranked(self._distribution(timings), None)
        asked = runtime.policy.candidate_set(ranked[:MAX_ASKED], coverage)
        prompt = self.prompt(masking=masking, weighted=weighted, coverage=coverage, candidates=asked)
        if masking != "hard":
            asked = ranked
        fused = perf_counter()
        if len(asked) == 1:
            reason = f"the only candidate needed for a coverage of {coverage:.0%}, so the planner was not asked"
            return self._decision(HEADS, asked[0], ranked[:k], None, timings, started, fused, reason)
        advised, usage = runtime.advisor.ask(prompt, asked, alone=True)
        timings["planner"] = usage.ms
        names = {candidate.tool for candidate in asked}
        candidates = (*advised, *(c for c in ranked if c.tool not in names))[:k]
        reason = f"the planner's choice among {len(asked)} candidates (masking {masking})"
        return self._decision("planner", advised[0], candidates, None, timings, started, fused, reason, usage)

    def _advised(
        self, asked: Sequence[Candidate], candidates: tuple[Candidate, ...], weighted: Weighted, by: str, among: str
    ) -> tuple[tuple[Candidate, ...], Usage | None, str]:
        """The candidates after the planner's advice, what it cost, and why; the same ones, and still `by` what found
        them, if it cannot be asked. `among` says in words which ones it is asked about."""
        advisor = self._runtime.advisor
        try:
            prompt = self.prompt(weighted=weighted, candidates=asked)
            advised, usage = advisor.ask(prompt, asked, alone=False)
        except (PlannerError, MissingExtraError) as error:
            return candidates, None, f"{by}; the planner could not be asked: {error}"
        names = {candidate.tool for candidate in asked}
        after = (*advised, *(c for c in candidates if c.tool not in names))[: len(candidates)]
        weight = f"weight {advisor.parameters.weight:g}"
        return after, usage, f"{by}, and the planner's advice ({weight}) on the {len(asked)} {among}"

    def _distribution(self, timings: dict[str, float]) -> NDArray[np.float32]:
        runtime = self._runtime
        started = perf_counter()
        graph = runtime.graph.distribution(self._position, self._numbers, normalise=False)
        walked = perf_counter()
        head = runtime.head.logits(self.query_logits, self._numbers)
        timings["graph"] = timings.get("graph", 0.0) + (walked - started) * 1e3
        timings["head"] = timings.get("head", 0.0) + (perf_counter() - walked) * 1e3
        if not len(self._novel):
            return runtime.policy.fuse(head, graph)
        called = None
        if UNKNOWN in self._numbers:
            history = {call.tool for call in self._calls}
            called = np.array([name in history for name in self.candidate_names[len(runtime.labels) :]])
        return runtime.policy.fuse(head, graph, self._novel_weights, called)

    def _ranked(self, probabilities: NDArray[np.float32], k: int | None) -> tuple[Candidate, ...]:
        """The first `k` of `candidate_names` by `probabilities`, or by any other measure of how well they fit."""
        n = len(probabilities)
        if k is not None and k * CROWD < n:
            listed = probabilities.argpartition(n - k)[n - k :]
            order = listed[probabilities[listed].argsort()[::-1]]
        else:
            order = probabilities.argsort()[::-1][:k]
        names = map(self.candidate_names.__getitem__, order.tolist())
        return tuple(map(Candidate._make, zip(names, probabilities[order].tolist(), strict=True)))

    def _decide_by_search(
        self,
        k: int | None,
        min_probability: float | None,
        weighted: Weighted,
        timings: dict[str, float],
        started: float,
    ) -> Decision:
        advisor, parameters = self._runtime.advisor, self._runtime.policy.parameters
        candidates = self.described(k)
        found = perf_counter()
        reason = (
            f"unlike the demonstrations (cosine {self._position.similarity:.2f}, "
            f"familiar from {parameters.familiar_cosine:.2f})"
        )
        usage, source = None, SEARCH
        if advisor.unasked is None and candidates[0].probability < advisor.parameters.ask_below:
            asked = self.described(MAX_ASKED)
            candidates, usage, reason = self._advised(asked, candidates, weighted, reason, "nearest by description")
            timings["planner"] = usage.ms if usage else 0.0
            source = "planner" if usage else SEARCH
        best, refusal = candidates[0], None
        # Without demonstrations to lean on, a tool must be more likely right than wrong.
        floor = parameters.min_probability if min_probability is None else min_probability
        if not best.probability >= max(floor, 0.5):
            refusal = f"{reason} and no description fits: {best.tool} has probability {best.probability:.3f}"
        reason += f" and found by description: {best.tool}"
        return self._decision(source, best, candidates, refusal, timings, started, found, reason, usage)

    def _decision(
        self,
        source: Source,
        best: Candidate,
        candidates: tuple[Candidate, ...],
        refusal: str | None,
        timings: dict[str, float],
        started: float,
        fused: float,
        reason: str = BY_HEADS,
        usage: Usage | None = None,
    ) -> Decision:
        now = perf_counter()
        timings["decide"] = (now - fused) * 1e3
        timings["total"] = timings.get("total", 0.0) + (now - started) * 1e3
        return Decision(
            tool=None if refusal else best.tool,
            probability=best.probability,
            source=source,
            abstained=refusal is not None,
            reason=refusal or reason,
            candidates=candidates,
            timings_ms=timings,
            usage=usage,
        )
