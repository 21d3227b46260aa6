"""Conversations, teacher-forced from the second turn on: the turns joined to one request, the newest alone, and what
`Runtime.conversation` makes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from edgeret.inputs.conversations import RecordedConversation
from edgeret.inputs.query import MAX_QUERY_CHARS
from edgeret.runtime.runtime import Runtime
from edgeret.runtime.task import Task
from edgeret.terminal.progress import track
from edgeret.types import END, Turn
from edgeret.usage.reliability import calibration_errors
from edgeret_bench.accuracy.walk import averages
from edgeret_bench.metrics import quantiles
from edgeret_bench.results.files import order_of, rounded

JOINED, NEWEST, NEWEST_ALL, OURS = "joined", "newest", "newest, all calls", "conversation"


@dataclass
class _Walked:
    """What one way of going on made of all steps: a row each."""

    rows: list[dict[str, float]] = field(default_factory=list)
    confidence: list[float] = field(default_factory=list)
    first_ms: list[float] = field(default_factory=list)
    next_ms: list[float] = field(default_factory=list)
    declined: list[bool] = field(default_factory=list)
    offered: list[bool] = field(default_factory=list)


def run(runtime: Runtime, conversations: Sequence[RecordedConversation]) -> dict[str, Any]:
    """Top-1 and MRR of all steps, of each turn's first, of calls and of ends, from the second turn on, with intervals
    for which whole conversations are drawn; ECE and times. `joined` is all turns' words as one request behind all
    earlier calls, `newest` the new words as a request of its own."""
    found = {name: _Walked() for name in (JOINED, NEWEST, NEWEST_ALL, OURS)}
    groups: list[int] = []
    first: list[bool] = []
    ends: list[bool] = []
    for number, recorded in enumerate(track(conversations, "conversations", len(conversations))):
        conversation = runtime.conversation()
        for i, turn in enumerate(recorded.turns):
            if i:
                ways = _ways(runtime, recorded.turns[:i], turn.query)
                ways[OURS] = partial(conversation.say, turn.query)
                for name, opened in ways.items():
                    _walk(opened, turn, found[name])
                steps = len(turn.calls) + 1
                groups += [number] * steps
                first += [True] + [False] * (steps - 1)
                ends += [False] * (steps - 1) + [True]
            else:
                _follow(conversation.say(turn.query), turn)
    kinds = {
        "all": np.ones(len(groups), bool),
        "first": np.array(first),
        "calls": ~np.array(ends),
        "ends": np.array(ends),
    }
    return {
        "n_conversations": len(conversations),
        "n_steps": len(groups),
        "ways": {name: _told(walked, groups, kinds) for name, walked in found.items()},
        "samples": {
            "unit": "score",
            "order": order_of([turn.query for recorded in conversations for turn in recorded.turns]),
            "groups": groups,
            "series": rounded(
                {f"{name} {key}": [row[key] for row in w.rows] for name, w in found.items() for key in ("top1", "mrr")}
            ),
        },
    }


def _ways(runtime: Runtime, before: Sequence[Turn], query: str) -> dict[str, Callable[[], Task]]:
    """What is done without conversations."""
    text = " ".join((*(turn.query for turn in before), query))[-MAX_QUERY_CHARS:]
    calls = [call for turn in before for call in turn.calls]
    return {
        JOINED: partial(runtime.task, text, calls),
        NEWEST: partial(runtime.task, query),
        NEWEST_ALL: partial(runtime.task, query, calls),
    }


def _walk(opened: Callable[[], Task], turn: Turn, found: _Walked) -> None:
    started = perf_counter()
    task = opened()
    for made in range(len(turn.calls) + 1):
        right = turn.calls[made].tool if made < len(turn.calls) else END
        decision = task.next(k=None)
        (found.next_ms if made else found.first_ms).append((perf_counter() - started) * 1e3)
        ranks = [i for i, each in enumerate(decision.candidates, 1) if each.tool == right]
        found.rows.append({"top1": float(ranks[:1] == [1]), "mrr": 1 / ranks[0] if ranks else 0.0})
        found.confidence.append(decision.candidates[0].probability)
        if not made:
            (found.offered if turn.calls else found.declined).append(decision.abstained)
        started = perf_counter()
        if right != END:
            task.call(right, turn.calls[made].arguments)


def _follow(task: Task, turn: Turn) -> None:
    for call in turn.calls:
        task.call(call.tool, call.arguments)


def _told(walked: _Walked, groups: Sequence[int], kinds: dict[str, Any]) -> dict[str, Any]:
    rows, numbers = np.array(walked.rows, object), np.array(groups)
    correct = np.array([row["top1"] == 1 for row in walked.rows])
    return {
        **{kind: averages(rows[some].tolist(), numbers[some].tolist()) for kind, some in kinds.items()},
        **calibration_errors(np.array(walked.confidence), correct),
        "declined_when_none_fits": float(np.mean(walked.declined)) if walked.declined else None,
        "declined_when_fitting": float(np.mean(walked.offered)) if walked.offered else None,
        "first_ms": quantiles(walked.first_ms),
        "next_ms": quantiles(walked.next_ms) if walked.next_ms else None,
    }
