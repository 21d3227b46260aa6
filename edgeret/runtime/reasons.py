"""In words, which parts a decision rests on: those that have weight, and no others. Knows nothing of requests."""

from __future__ import annotations

from collections.abc import Sequence

from edgeret.runtime.components import Components

BY_TOOLS = "most probable by the tools' names, descriptions and flow"
UNDEMONSTRATED = f"{BY_TOOLS}; nothing was demonstrated"
LEARNED = "what was learned here"


class Reasons:
    """The reasons of decisions by some components. Each is worded once. Immutable."""

    def __init__(self, components: Components) -> None:
        weights, head = components.calibration.parameters, components.head
        self._by: dict[tuple[bool, bool], str] = {}
        for later in (False, True):
            for learned in (False, True):
                if head is None:
                    self._by[later, learned] = f"{BY_TOOLS}, and by {LEARNED}" if learned else UNDEMONSTRATED
                    continue
                # Where the head rests on the prior at every step, all steps are fused alike.
                own = later and not head.prior_steps
                graph = weights.later_graph_weight if own else weights.graph_weight
                memory = 0.0 if components.memory is None or not head.prior_steps else weights.memory_weight
                parts = [
                    (weights.later_head_weight if own else weights.head_weight, "head"),
                    (graph, "graph"),
                    (memory, "stored demonstrations"),
                    (head.arrays.prior_weight, "the tools' own words"),
                    (float(learned), LEARNED),
                ]
                self._by[later, learned] = f"most probable by {_listed([name for weight, name in parts if weight])}"

    def by_heads(self, later: bool, learned: bool) -> str:
        """Why the most probable candidate is taken, behind the first call (`later`) or before any, where what was
        `learned` on this device counts or not."""
        return self._by[later, learned]


def _listed(names: Sequence[str]) -> str:
    """The names as people list them."""
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else "".join(names)
