"""The first stage of a cascade: decides without the full encoder where that would change nothing. Knows nothing of how
anything is scored."""

from __future__ import annotations

from dataclasses import replace

from edgeret.runtime.components import Cascade, learner_for
from edgeret.runtime.decide import Decider
from edgeret.runtime.history import History
from edgeret.runtime.learning import Learned
from edgeret.runtime.options import DecideOptions
from edgeret.runtime.scorer import Request, Scorer
from edgeret.stopwatch import Stopwatch
from edgeret.types import END, Decision


class FirstStage:
    """A small encoder's heads, whose word stands where it is sure enough. Immutable and thread-safe."""

    def __init__(self, cascade: Cascade) -> None:
        components = cascade.components
        self._scorer = Scorer(components, Learned(learner_for(components)))
        self._decider = Decider(components)
        self._least = cascade.least

    def read(self, query: str, watch: Stopwatch) -> Request:
        """The query as the small encoder has it."""
        return self._scorer.read(query, watch)

    def decide(self, request: Request, history: History, options: DecideOptions, watch: Stopwatch) -> Decision | None:
        """The decision, or None where the full encoder is to be asked: the small one is not sure enough, nothing seems
        to fit, the request is unlike the demonstrations, the tool was never called in them, a tool failed, or a planner
        is to decide. What was fitted says nothing of these."""
        if options.policy == "planner" or history.blocked or not request.in_distribution:
            return None
        decision = self._decider.decide(request, history, options, watch)
        known = decision.tool == END if history.calls else False
        known = known or (decision.tool is not None and self._scorer.number(decision.tool) >= 0)
        if not known or decision.abstained or decision.source != "heads" or decision.probability < self._least:
            return None
        return replace(decision, reason=f"{decision.reason}; sure enough without the full encoder")
