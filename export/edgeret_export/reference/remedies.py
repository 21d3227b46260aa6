"""What would turn a decision: a plan learned, or a sentence in a description. Both are tried out on copies, since no
rule of thumb knows what a dozen plans or three hundred tools make of it. Knows nothing of how it is told."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Literal

from edgeret.errors import InputError
from edgeret.inputs.hygiene import without_hidden
from edgeret.runtime.options import Policy
from edgeret.types import END, Remedy
from edgeret_export.reference.moment import Decides, Moment
from edgeret_export.reference.scorer import Scorer
from edgeret_export.reference.stopwatch import Stopwatch
from edgeret_export.reference.tool_changes import changed

MOST_TOOLS = 1000
"""Beyond so many tools a description is not tried out: all words would be arranged anew, in half a second."""
MOST_QUOTED = 300
"""Characters of the request that a description would quote."""


def remedies(moment: Moment, tool: str) -> tuple[Remedy, ...]:
    """What either would give a tool as the next call; `<end>` has no description."""
    scorer, decides = moment.decider.trial or (moment.scorer, moment.decider)
    found = [_learnt(moment, scorer, decides, tool)]
    if tool != END and len(scorer.names) <= MOST_TOOLS:
        found.append(_described(moment, scorer, decides, tool))
    return tuple(remedy for remedy in found if remedy is not None)


def _learnt(moment: Moment, scorer: Scorer, decides: Decides, tool: str) -> Remedy | None:
    """After one plan: the calls that were made, and the tool; or no more calls. None where that cannot be learned."""
    taught = copy.copy(scorer)
    taught.learned = scorer.learned.copy()
    calls = [call.tool for call in moment.calls]
    try:
        moment.reread(taught).learn(calls if tool == END else [*calls, tool], "corrected", keep_words=False)
    except InputError:
        return None  # calls of foreign tools, a later turn of a conversation, or a plan too long
    return _outcome("learn", moment, taught, decides, tool)


def _described(moment: Moment, scorer: Scorer, decides: Decides, tool: str) -> Remedy | None:
    """After a sentence that quotes the request, behind the tool's description. None where that takes no more."""
    old, request = scorer.components.tools[tool], without_hidden(moment.query)[:MOST_QUOTED]
    try:
        other = replace(old, description=f'{old.description} For example: "{request}".')
        components = changed(scorer.components, (), (), [other])
    except InputError:
        return None
    return _outcome("describe", moment, Scorer(components, scorer.learned), decides, tool)


def _outcome(kind: Literal["learn", "describe"], moment: Moment, scorer: Scorer, decides: Decides, tool: str) -> Remedy:
    policy: Policy = "heads" if moment.options.policy == "heads" else "auto"  # nobody waits for a planner again
    options, request = replace(moment.options, k=None, policy=policy), moment.reread(scorer)
    decision = decides.over(scorer.components).decide(request, moment.history(), options, Stopwatch())
    chosen = decision.tool if decision.is_call or moment.calls else (END if decision.abstained else decision.tool)
    return Remedy(kind, tool, dict(decision.candidates).get(tool, 0.0), chosen == tool)
