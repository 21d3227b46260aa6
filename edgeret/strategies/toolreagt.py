"""ToolReAGt (paper 004): a ReAct loop of thought, action and observation, in which every sub-task must be searched for
before its tools are named (section 3); at most MAX_ROUNDS.

Deviations: thought, action and input are JSON, so that an action is one of two. Tools are named out of what was
observed alone, and are a ranking of their own beside those of the searches. A decomposition is `Search.steps`.
"""

from __future__ import annotations

from collections.abc import Iterator

from edgeret.planner.chat import Prompt, Turn
from edgeret.strategies.base import SHOWN, Search, Strategy
from edgeret.strategies.fusion import peak_rank
from edgeret.types import Hit

MAX_ROUNDS = 10
_SHAPE = {"thought": "text", "done": "flag", "search": "text", "tools": ["text"]}
_CONSTANT = (
    Turn(
        "system",
        "You choose tools for a task, one sub-task after the other. In every round write a thought; what to search the "
        "library of tools for next; and the tools, out of those found so far, that you need. You must search for every "
        "sub-task before you choose for it. When all sub-tasks have their tools, you are done. Answer in JSON: "
        '{"thought": …, "done": true or false, "search": …, "tools": [...]}.',
    ),
    Turn("user", "Task: Translate the report and mail it to Ana.\nNothing was searched for yet."),
    Turn(
        "assistant",
        '{"thought":"The first sub-task is a translation.","done":false,"search":"translate a document","tools":[]}',
    ),
)


def _views(search: Search) -> Iterator[list[Hit]]:
    told = [f"Task: {search.request}"]
    if search.steps:
        told.append("Sub-tasks: " + "; ".join(search.steps))
    first = search.view(search.request)
    yield first
    observed = {hit.tool: hit for hit in first[:SHOWN]}
    chosen: dict[str, Hit] = {}
    searched: set[str] = set()
    for _ in range(MAX_ROUNDS):
        note = [] if searched else ["Nothing was searched for yet."]
        round_ = search.ask(Prompt(_CONSTANT, Turn("user", "\n".join(told + note))), _SHAPE, 256)
        if round_ is None:
            break
        search.note("thought", round_["thought"])
        chosen |= {name: observed[name] for name in round_["tools"] if name in observed}
        query = round_["search"].strip()
        # Retrieval is mandatory: before anything was searched for, being done is no answer.
        if (round_["done"] and searched) or not query or query in searched:
            break
        searched.add(query)
        hits = search.view(query)
        observed |= {hit.tool: hit for hit in hits[:SHOWN]}
        told.append(f"Searched: {query}\nFound: {', '.join(hit.tool for hit in hits[:SHOWN])}")
        yield hits
    if chosen:
        search.note("chosen", ", ".join(chosen), list(chosen.values()))
        yield list(chosen.values())


TOOLREAGT = Strategy("toolreagt", _views, peak_rank, asks=True)
"""The tools that the planner names, after it has searched for each sub-task."""
