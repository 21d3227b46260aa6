"""Between a decision of Python's and what tells of it, which is loaded when somebody asks. Tells nothing itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from edgeret.types import Alternative, Arguments, Decision, Explanation, Remedy
from edgeret_export.reference.moment import Moment

if TYPE_CHECKING:
    from edgeret.core.explained import Explained


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
            from edgeret_export.reference.arguments.filling import fill
            from edgeret_export.reference.arguments.reader import reader_of

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

    @property
    def advice(self) -> float:
        """What a planner's advice weighs."""
        return self.scorer.components.reranking.weight

    def explained(self, compared: Sequence[str], end: float) -> Explained:
        """What the parts say of these candidates; `end` is the end's probability."""
        from edgeret_export.reference.votes import explained

        return explained(self, compared, end)

    def floor(self, best: str) -> float:
        """How probable this answer had to be."""
        return self.decider.floor(best, bool(self.calls), self.options)

    def remedies(self, tool: str) -> tuple[Remedy, ...]:
        """What would turn it to this tool."""
        from edgeret_export.reference.remedies import remedies

        return remedies(self, tool)
