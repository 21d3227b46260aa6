"""What a planner is asked, and when: shared by all that ask one. Knows nothing of what becomes of its word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edgeret.planner.chat import Prompt
from edgeret.planner.exemplars import Exemplars
from edgeret.planner.lazy import LazyPlanner
from edgeret.planner.prompts import selection_prompt, wants_weights
from edgeret.planner.reranker import RerankParameters
from edgeret.runtime.history import History
from edgeret.runtime.options import PromptOptions
from edgeret.types import Candidate, Tool


def unasked(planner: LazyPlanner, reranking: RerankParameters) -> str | None:
    """Why a planner is not asked by itself, in words; None if it is."""
    if planner.problem is not None:
        return str(planner.problem)
    if not planner.exists:
        return "there is none"
    return None if reranking.weight > 0 else "its advice did not help on held-out decisions"


def prompt(
    tools: Mapping[str, Tool],
    exemplars: Exemplars,
    query: str,
    history: History,
    mask: Sequence[Candidate],
    options: PromptOptions,
) -> Prompt:
    """The prompt that asks which function comes next, with this mask. Raises BundleError for exemplars that are
    none."""
    masking = options.masking
    return selection_prompt(
        tuple(tools.values()),
        query,
        history.calls,
        mask,
        masking=masking,
        weighted=options.weighted == "yes" or (options.weighted == "auto" and wants_weights(mask)),
        exemplars=exemplars.constant,
        demonstrations=exemplars.using(mask) if masking == "demos" else (),
    )


def put_first(asked: Sequence[Candidate], others: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """The candidates that were asked about, then those that were not."""
    names = {candidate.tool for candidate in asked}
    return (*asked, *(candidate for candidate in others if candidate.tool not in names))
