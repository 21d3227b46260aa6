"""Which of a request's tools a model is shown: the most probable ones now, and those for what else is wanted. Knows no
message formats and no network."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice
from typing import Any

from edgeret import InputError, Runtime
from edgeret.adapters.conversation import Conversation
from edgeret.adapters.tool_sets import Definitions
from edgeret.adapters.turns import in_turns, three_to_one, weigh
from edgeret.records import dataclass

DEFAULT_K = 16
MOST_CALLS = 256
"""Calls that a task takes; of more, the last ones say what comes next."""


@dataclass(frozen=True, slots=True)
class Amount:
    """How many tools are kept: the `k` best, or the best until their probabilities add up to `coverage`."""

    k: int | None = None
    coverage: float | None = None

    def __post_init__(self) -> None:
        """Raises InputError for what is out of range, and for both."""
        k, coverage = self.k, self.coverage
        if k is not None and coverage is not None:
            raise InputError("give k or coverage, not both: each says how many tools are kept")
        if k is not None and (not isinstance(k, int) or isinstance(k, bool) or k < 1):
            raise InputError(f"k must be a whole number of at least 1, found {k!r:.40}")
        if coverage is not None and (
            not isinstance(coverage, int | float) or isinstance(coverage, bool) or not 0 < coverage < 1
        ):
            raise InputError(f"coverage must lie between 0 and 1, found {coverage!r:.40}")


@dataclass(frozen=True, slots=True)
class Shape:
    """How an API writes tools, conversations and choices."""

    definition: Callable[[Any], Any]
    """What `edgeret.read_tool` reads, of an entry of `tools`; None for what is no function."""
    conversation: Callable[[Any], Conversation]
    """What a list of messages says."""
    forced: Callable[[Any], frozenset[str]]
    """The tools that a `tool_choice` names."""


def select(
    runtime: Runtime,
    said: Conversation,
    names: Collection[str],
    amount: Amount,
    queries: str | Sequence[str] | None = None,
    tell: Callable[[str], object] | None = None,
) -> set[str]:
    """Those of `names`, all of them tools of the runtime, that are to be shown. Raises InputError for words that cannot
    be read. `tell` is told which one stands first.

    Tools are ranked by what comes next after the calls so far, with what was learned, and by how much of the whole
    request each serves, so that there is what a second wish needs: `edgeret.Task.ranked`. Where the last turn may say
    too little ("Sounds good to me, go ahead"), what was said before is ranked too, see `edgeret.adapters.turns`. With a
    coverage, each ranking is cut where its shares add up to it. Without demonstrations there are no conformal
    thresholds, so nothing is guaranteed: measured, the set held the next call about as often as was asked for.

    `queries` are what somebody says that the needed tools should do, and take turns with all that, first.
    """
    assert said.wanted is not None, "somebody has to want something"
    hits = [] if queries is None else runtime.search(queries, len(runtime.tools))
    asked = [(hit.tool, hit.share or 0.0) for hit in hits if hit.tool in names]
    weighed = weigh(runtime, said)
    k = amount.k or DEFAULT_K
    if amount.coverage is not None:
        found = set(_covering(asked, amount.coverage))
        for place, text in enumerate((*weighed.first, *weighed.second)):
            ranked = _shares(runtime, text, said, names)
            found |= {*_covering(ranked, amount.coverage)}
            if tell is not None and ranked and not place:
                tell(asked[0][0] if asked else ranked[0][0])
        return found
    first, second = (
        in_turns([name for name, _ in _shares(runtime, text, said, names)] for text in texts)
        for texts in (weighed.first, weighed.second)
    )
    kept = list(islice(in_turns([[name for name, _ in asked], three_to_one(first, second)]), k))
    if tell is not None and kept:
        tell(kept[0])
    return set(kept)


def _shares(runtime: Runtime, text: str, said: Conversation, names: Collection[str]) -> list[tuple[str, float]]:
    """The names with their shares, most first."""
    history = [call.tool for call in said.calls if call.tool in runtime.tools][-MOST_CALLS:]
    task = runtime.task(text, history, tools=None if len(names) == len(runtime.tools) else names)
    return [(hit.tool, hit.share or 0.0) for hit in task.ranked(len(runtime.tools))]


def keep(
    shape: Shape,
    definitions: Definitions,
    runtime: Runtime,
    said: Conversation,
    tool_choice: Any,
    amount: Amount,
    queries: str | Sequence[str] | None = None,
    tell: Callable[[str], object] | None = None,
) -> list[int]:
    """Where those entries of `tools` stand that are kept, in the order in which they were given: prompts of one
    conversation then begin alike, and a model's cache serves them. Kept are what `select` finds, what was called
    before, what the choice forces, and all that is no function of the runtime. `tell` as in `select`. Raises
    InputError."""
    known = {name for name in definitions.names if name is not None and name in runtime.tools}
    if said.wanted is None or not known:
        return list(range(len(definitions.names)))
    if amount.coverage is None and len(known) <= (amount.k or DEFAULT_K):
        return list(range(len(definitions.names)))
    shown = select(runtime, said, known, amount, queries, tell) | said.called | shape.forced(tool_choice)
    return [i for i, name in enumerate(definitions.names) if name is None or name not in known or name in shown]


def _covering(shares: Sequence[tuple[str, float]], coverage: float) -> Iterable[str]:
    """The first names, most first, whose shares add up to so much of all."""
    left = coverage * sum(share for _, share in shares)
    for name, share in shares:
        yield name
        left -= share
        if left <= 0:
            return
