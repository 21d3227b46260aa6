"""The first stage of a cascade: decides without the full encoder where that would change nothing. Knows nothing of how
anything is scored."""

from __future__ import annotations

import math

from edgeret.runtime.history import History
from edgeret.runtime.options import DecideOptions
from edgeret.runtime.reasons import NONE_FITS, SURE
from edgeret.types import END, Decision
from edgeret_export.reference.components import Cascade, learner_for
from edgeret_export.reference.decide import Decider
from edgeret_export.reference.learning import Learned
from edgeret_export.reference.request import Request
from edgeret_export.reference.scorer import Scorer
from edgeret_export.reference.scoring.cascade import ALONE, LATER, contradicted
from edgeret_export.reference.stopwatch import Stopwatch
from edgeret_export.reference.why import Remembered


class FirstStage:
    """A small encoder's heads, whose word stands where it is sure enough. Immutable and thread-safe."""

    def __init__(self, cascade: Cascade, scorer: Scorer, decider: Decider) -> None:
        """`scorer` and `decider` are those with the full encoder, which decide once something was learned."""
        components = cascade.components
        self.decider = Decider(components, (scorer, decider))
        self.scorer = Scorer(components, Learned(learner_for(components)))
        self._cascade = cascade

    def read(self, query: str, watch: Stopwatch) -> Request:
        """The query as the small encoder has it."""
        return self.scorer.read(query, watch)

    def decide(self, request: Request, history: History, options: DecideOptions, watch: Stopwatch) -> Decision | None:
        """The decision, or None where the full encoder is to be asked: the small one is not sure enough, the tools' own
        words speak for another tool and the head is not sure by itself, something or nothing may fit, the tool was
        never called in demonstrations, a tool failed, or a planner is to decide. What was fitted says nothing of
        these."""
        if options.policy == "planner" or history.blocked:
            return None
        probabilities, end = request.probabilities(history, watch), self.scorer.end
        best = probabilities.argmax().item()
        probability, first = probabilities.item(best), not history.calls
        declines = first and best == end
        if declines:
            # Only "auto" abstains.
            stands = options.policy == "auto" and probability > self._cascade.declines
        else:
            floor = self.decider.floor(request.names[best], not first, options)
            least = max(self._cascade.least, floor, 0.0 if first else LATER)
            stands = best <= end and probability >= least
            if first and stands:
                stands = probabilities.item(end) < self._cascade.nothing
                if stands and contradicted(request.reading.static, best, end):
                    stands = math.exp(request.head_scores(history).item(best)) >= ALONE
        if not stands:
            return None
        tool, reason = request.names[best], self.decider.reasons.own[not first] + SURE
        if declines:
            reason = f"{NONE_FITS}: {reason}"
        elif tool == END:
            reason = f"nothing is left to do: {reason}"
        elif tool in request.named and first:
            reason += "; the request names it"
        candidates = request.ranking(probabilities, options.k, history.blocked)
        watch.lap("decide")
        chosen = None if declines else tool
        confirm = self.decider.confirms(chosen)
        why = Remembered(request, history, options, probabilities, self.decider)
        return Decision(
            tool=chosen,
            probability=probability,
            source="heads",
            abstained=declines,
            reason=reason,
            candidates=candidates,
            timings_ms=watch.ms(),
            stage="static",
            confirm=confirm,
            why=why,
        )
