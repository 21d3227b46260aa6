"""Progress on stderr: bars while a person watches; lines always, plain ones where stderr is not a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from edgeret.quoting import visible

T = TypeVar("T")
_console = Console(stderr=True, highlight=False)


def say(text: str) -> None:
    """One line about what is going on. A log gets it too: hours of silence cannot be told from a hang."""
    # As Text, since rich would take the brackets of `edgeret[hnsw]` for a style.
    _console.print(Text.assemble(("· ", "dim"), visible(text)), soft_wrap=True)


def track(items: Iterable[T], what: str, total: int) -> Iterator[T]:
    """Yields the items behind a bar."""
    columns = (
        TextColumn("  {task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=_console, transient=True, disable=not _console.is_terminal) as progress:
        yield from progress.track(items, total=total, description=what)
