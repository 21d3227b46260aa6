"""What a task was asked and what had happened, as the library takes it. Knows nothing of decisions."""

from __future__ import annotations

from edgeret.core.model import Task
from edgeret.runtime.history import History
from edgeret.runtime.options import DecideOptions


def needed(options: DecideOptions, usual: float | None) -> tuple[float, float]:
    """The least probability and the risk, as the library takes them, by the `usual` risk where nobody says."""
    least, risk = options.min_probability, options.risk
    if least is None:
        return 0.0, usual or 0.0 if risk is None else risk
    return least or -1.0, 0.0


def replay(task: Task, history: History) -> None:
    """Tells the library what had happened."""
    failures = iter([*history.failures, None])
    failure = next(failures)
    for made in range(len(history.calls) + 1):
        while failure is not None and failure.after == made:
            task.fail(failure.tool)
            if failure.retried:
                task.retry(failure.tool)
            failure = next(failures)
        if made < len(history.calls):
            task.call(history.calls[made].tool)
