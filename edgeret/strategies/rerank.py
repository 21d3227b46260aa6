"""Query likelihood (Sachan et al., "Improving Passage Retrieval with Zero-Shot Question Generation", 2022): the planner
says how likely the request is as the words of somebody who needs each of the first tools. Reads and writes nothing.

Deviations: it weighs beside what `auto` found in place of deciding alone, and reads one tool after the other, the first
ones first, so that a budget ends it at any of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import exp, log

from edgeret.inputs.tool_text import name_in_words
from edgeret.planner.chat import Prompt, Turn
from edgeret.strategies.auto import AUTO
from edgeret.strategies.base import Search, Strategy
from edgeret.strategies.fusion import latest
from edgeret.types import Hit

FIRST = 12
"""Tools that the planner reads."""
WEIGHT = 0.2
"""What a nat of the planner's counts beside one of the evidence. Chosen with SmolLM2 on requests of ToolBench and of
BFCL's single turns."""
MAX_CHARS = 300
"""Of a tool's description that are read."""
LEAST = 1e-9
_CONSTANT = (Turn("system", "You are shown a tool. Write what a person says who needs this tool."),)


def _views(search: Search) -> Iterator[list[Hit]]:
    hits: list[Hit] = []
    for hits in AUTO.views(search):
        yield hits
    first = hits[:FIRST]
    if len(first) < 2 or search.answerer is None:
        return
    prompts = [Prompt(_CONSTANT, Turn("user", _shown(search, hit.tool))) for hit in first]
    said = search.likelihoods(prompts, search.request)
    if not said:
        return
    ranked = reranked(first[: len(said)], said)
    search.note("rerank", "how likely the request is, for each tool", ranked)
    yield [*ranked, *hits[len(said) :]]


def reranked(hits: Sequence[Hit], log_likelihoods: Sequence[float]) -> list[Hit]:
    """Hits by their shares times the likelihoods to the power of WEIGHT; what they share stays the same in sum."""
    shares = [max(hit.share or 0.0, LEAST) for hit in hits]
    scores = [log(share) + WEIGHT * said for share, said in zip(shares, log_likelihoods, strict=True)]
    top, whole = max(scores), sum(shares)
    weights = [exp(score - top) for score in scores]
    total = sum(weights)
    order = sorted(range(len(hits)), key=lambda i: -weights[i])
    return [Hit(hits[i].tool, hits[i].similarity, whole * weights[i] / total) for i in order]


def _shown(search: Search, name: str) -> str:
    tool = search.tools.get(name)
    description = "" if tool is None else tool.description[:MAX_CHARS]
    return f"{name_in_words(name)}. {description}".strip()


RERANK = Strategy("rerank", _views, latest, asks=True)
"""The tools that `auto` finds, the first of them by what a planner takes their users to say, too."""
