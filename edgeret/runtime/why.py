"""Between a decision and what tells of it, which is loaded when somebody asks. Tells nothing itself."""

from __future__ import annotations

from edgeret.runtime.moment import Moment
from edgeret.types import Alternative, Arguments, Decision, Explanation


class Remembered(Moment):
    """A decision's `why`."""

    __slots__ = ("_alternatives", "_arguments")

    def alternatives(self, decision: Decision) -> tuple[Alternative, ...]:
        """As `Decision.alternatives`."""
        try:
            return self._alternatives
        except AttributeError:
            from edgeret.runtime.alternatives import alternatives

            held = self.scorer.components
            self._alternatives: tuple[Alternative, ...] = alternatives(
                decision, self.candidates, held.tools, held.exemplars, self.scorer.learned
            )
            return self._alternatives

    def arguments(self, decision: Decision) -> Arguments:
        """As `Decision.arguments` and `Decision.missing`."""
        try:
            return self._arguments
        except AttributeError:
            from edgeret.runtime.argument_reader import reader_of
            from edgeret.runtime.arguments import fill

            tools, held = self.tools, self.scorer.components
            read = reader_of(held.arguments)
            # Where the request is gone, the reader encodes its words and no more, and only if it read others since.
            kept = self._again.kept() if read is not None and held.stage == "full" else None
            encoded = None if kept is None else kept.encoded
            self._arguments: Arguments = fill(
                tools[str(decision.tool)], self.query, self.calls, tools, self.now, read, encoded
            )
            return self._arguments

    def explain(self, decision: Decision, instead: str | None) -> Explanation:
        """As `Decision.explain`."""
        from edgeret.runtime.explanation import explain

        return explain(self, decision, instead)
