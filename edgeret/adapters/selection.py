"""Which of a request's tools a model is shown: the most probable ones now, and those for what else is wanted. Knows no
message formats and no network."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice, zip_longest
from typing import Any

from edgeret import END, InputError, Runtime
from edgeret.adapters.conversation import Conversation
from edgeret.adapters.tool_sets import Definitions
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


def select(runtime: Runtime, said: Conversation, names: Collection[str], amount: Amount) -> set[str]:
    """Those of `names`, all of them tools of the runtime, that are to be shown. Raises InputError for words that cannot
    be read.

    Two rankings are taken in turns. The decision ranks by what comes next after the calls so far, and knows what was
    learned; search ranks by how much of the whole request a tool serves, so it finds what a second wish needs. With a
    coverage, each ranking is cut where its shares add up to it. Without demonstrations there are no conformal
    thresholds, so nothing is guaranteed: measured, the set held the next call about as often as was asked for.
    """
    assert said.wanted is not None, "somebody has to want something"
    every = len(names) == len(runtime.tools)
    history = [call.tool for call in said.calls if call.tool in runtime.tools][-MOST_CALLS:]
    task = runtime.task(said.wanted, history, tools=None if every else names)
    most = len(runtime.tools) if amount.coverage is not None or not every else amount.k or DEFAULT_K
    hits = [hit for hit in runtime.search(said.wanted, most) if hit.tool in names]
    candidates = [candidate for candidate in task.candidates(most + 1) if candidate.tool != END]
    if amount.coverage is not None:
        found = set(_covering([(hit.tool, hit.share or 0.0) for hit in hits], amount.coverage))
        return found | set(_covering(candidates, amount.coverage))
    turns = zip_longest((candidate.tool for candidate in candidates), (hit.tool for hit in hits))
    return set(islice(_distinct(name for turn in turns for name in turn), amount.k or DEFAULT_K))


def keep(
    shape: Shape, definitions: Definitions, runtime: Runtime, said: Conversation, tool_choice: Any, amount: Amount
) -> list[int]:
    """Where those entries of `tools` stand that are kept, in the order in which they were given: prompts of one
    conversation then begin alike, and a model's cache serves them. Kept are what `select` finds, what was called
    before, what the choice forces, and all that is no function of the runtime. Raises InputError."""
    known = {name for name in definitions.names if name is not None and name in runtime.tools}
    if said.wanted is None or not known:
        return list(range(len(definitions.names)))
    if amount.coverage is None and len(known) <= (amount.k or DEFAULT_K):
        return list(range(len(definitions.names)))
    shown = select(runtime, said, known, amount) | said.called | shape.forced(tool_choice)
    return [i for i, name in enumerate(definitions.names) if name is None or name not in known or name in shown]


def _covering(shares: Sequence[tuple[str, float]], coverage: float) -> Iterable[str]:
    """The first names, most first, whose shares add up to so much of all."""
    left = coverage * sum(share for _, share in shares)
    for name, share in shares:
        yield name
        left -= share
        if left <= 0:
            return


def _distinct(names: Iterable[str | None]) -> Iterable[str]:
    seen: set[str] = set()
    for name in names:
        if name is not None and name not in seen:
            seen.add(name)
            yield name
