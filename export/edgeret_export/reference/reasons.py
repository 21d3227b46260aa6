"""The reasons of decisions by some components, worded once. Knows nothing of requests."""

from __future__ import annotations

from edgeret.runtime.reasons import BY_TOOLS, LEARNED, UNDEMONSTRATED, listed
from edgeret_export.reference.components import Components


class Reasons:
    """The reasons of decisions by some components. Each is worded once. Immutable."""

    def __init__(self, components: Components) -> None:
        """Of the bundle's own decisions, and of those where what was learned on this device counts: before any call,
        and behind one."""
        self.own = _reason(components, False, False), _reason(components, True, False)
        self.learned = _reason(components, False, True), _reason(components, True, True)


def _reason(components: Components, later: bool, learned: bool) -> str:
    """Why the most probable candidate is taken."""
    weights, head = components.calibration.parameters, components.head
    if head is None:
        return f"{BY_TOOLS}, and by {LEARNED}" if learned else UNDEMONSTRATED
    # Where the head rests on the prior at every step, all steps are fused alike.
    own = later and not head.prior_steps
    remembers = components.memory is not None and head.prior_steps
    parts = [
        (weights.later_head_weight if own else weights.head_weight, "head"),
        (weights.later_graph_weight if own else weights.graph_weight, "graph"),
        (weights.memory_weight if remembers else 0.0, "stored demonstrations"),
        (head.arrays.prior_weight, "the tools' own words"),
        (float(learned), LEARNED),
    ]
    return f"most probable by {listed([name for weight, name in parts if weight])}"
