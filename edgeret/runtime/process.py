"""What is asked before anything is decided: whether this process may, and whether the words can be read."""

from __future__ import annotations

import warnings
from pathlib import Path

from edgeret.errors import InputError, LanguageWarning
from edgeret.host import forks
from edgeret.inputs.query import check_query
from edgeret.runtime.unread import unread


def check_process(forked: int, path: Path) -> None:
    """Raises InputError in a process that was forked off after so many forks."""
    if forks() != forked:
        raise InputError(
            f"{path}: loaded before this process was forked; load it again in here, with edgeret.load, or "
            'start processes by "spawn"'
        )


def checked(query: str, languages: tuple[str, ...], path: Path) -> str:
    """The query, if it can be read; see `Loaded.checked`."""
    query = check_query(query)
    foreign = unread(query, languages)
    if foreign is not None:
        told = ", ".join(languages[:5]) + (", …" if len(languages) > 5 else "")
        message = (
            f"{path}: a query in {foreign}, which its encoder was not trained on ({told}): what "
            "is decided of it is chance; build the bundle with a multilingual encoder (--encoder)"
        )
        warnings.warn(message, LanguageWarning, stacklevel=4)
    return query
