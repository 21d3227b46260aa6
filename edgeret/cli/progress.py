"""Progress on stderr: bars and lines while a person watches, nothing when stderr is not a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

T = TypeVar("T")
_console = Console(stderr=True, highlight=False)


def say(text: str) -> None:
    """One line about what is going on."""
    if _console.is_terminal:
        _console.print(f"[dim]·[/dim] {text}", markup=True)


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
