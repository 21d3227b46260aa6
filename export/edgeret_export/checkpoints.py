"""What trainings that can be interrupted leave beside the folder that they will write, and how they are gone on with.
Knows nothing of what is trained."""

from __future__ import annotations

from pathlib import Path

from edgeret.errors import InputError
from edgeret.terminal.console import check_place

PLAN = "plan"
"""Beside the checkpoints: a hash of what they are of."""


def workplace(target: Path, what: str, others: str, resume: bool, plan: str) -> Path:
    """Where the checkpoints of `what` ("tuning") will lie, beside the target; begun by `begin`. `others` says what an
    interrupted one with another `plan` had. Raises InputError for places that are taken."""
    if target.exists() or target.is_symlink():
        raise InputError(f"{target}: exists already; remove it, or choose another folder with -o")
    check_place(target, "-o")
    work = target.with_name(f".{target.name}.{what}")
    record = work / PLAN
    if work.exists() and not resume:
        raise InputError(f"{work}: an interrupted {what} lies here; go on with --resume, or remove it")
    if record.is_file() and record.read_text(encoding="utf-8") != plan:
        raise InputError(
            f"{work}: the interrupted {what} was one of other {others}; give those, or remove it and begin anew"
        )
    return work


def begin(work: Path, plan: str) -> None:
    """Makes the workplace, and writes down what its checkpoints are of."""
    work.mkdir(parents=True, exist_ok=True)
    (work / PLAN).write_text(plan, encoding="utf-8")


def last_checkpoint(work: Path) -> Path | None:
    """The newest whole checkpoint; None if there is none. The trainer writes its own state last."""
    found = [path.parent for path in work.glob("checkpoint-*/trainer_state.json")]
    return max(found, key=lambda path: int(path.name.rpartition("-")[2]), default=None)


def spread(total: int, points: int) -> frozenset[int]:
    """So many of the steps from 1 to `total`, the last among them."""
    return frozenset(round(total * i / points) for i in range(1, points + 1)) - {0}
