"""Plans walked step by step as they were demonstrated, and how the runtime ranks what comes next at each.

Knows nothing of where a runtime comes from, and of what it learned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from edgeret.inputs.demonstrations import Demonstration, Step
from edgeret.inputs.query import plain
from edgeret.runtime.runtime import Runtime
from edgeret.runtime.task import Task
from edgeret.terminal.progress import say
from edgeret.types import END
from edgeret_bench.metrics import next_tool_metrics, rank
from edgeret_bench.results.intervals import score_interval

Found = TypeVar("Found")
Ranked = tuple[Sequence[str], NDArray[np.floating]]
"""What a task decides between, and the probability of each."""
Rows = Sequence[Mapping[str, float]]


def walk(runtime: Runtime, demonstration: Demonstration, look: Callable[[Task], Found]) -> list[Found]:
    """What `look` finds in the plan's task before every step, `<end>` included; the history is the demonstration's."""
    task = runtime.task(demonstration.query)
    found = []
    for step in demonstration.steps():
        found.append(look(task))
        if step.taken != END:
            task.call(step.taken)
    return found


def ranked(task: Task) -> Ranked:
    """A task's candidates with their probabilities, as method `fused` of next-tool ranks them."""
    return task.names, task.probabilities()


def score(found: Ranked, step: Step) -> dict[str, float]:
    """The next-tool metrics of one step."""
    names, probabilities = found
    acceptable = {position for position, name in enumerate(names) if name in step.acceptable}
    return next_tool_metrics(rank(probabilities), acceptable, len(step.acceptable))


def averages(rows: Rows, groups: Sequence[int], keys: Sequence[str] = ("top1", "mrr")) -> dict[str, object]:
    """The mean of each metric over the rows, and `intervals` of 95 %, for which whole plans (`groups`) are drawn."""
    columns = {key: [row[key] for row in rows] for key in keys}
    means: dict[str, object] = {key: float(np.mean(values)) for key, values in columns.items()}
    return means | {"intervals": {key: score_interval(values, groups) for key, values in columns.items()}}


def repeated_queries(train: Sequence[Demonstration], test: Sequence[Demonstration]) -> int:
    """How many test queries are among the training queries word for word; says so, since they flatter every method."""
    known = {plain(d.query) for d in train}
    repeated = sum(plain(d.query) in known for d in test)
    if repeated:
        say(f"{repeated} test queries are among the training queries word for word; they flatter every method")
    return repeated
