"""What a person is told at the first use of a command, and never again. Writes one empty file in the user's folder."""

from __future__ import annotations

import sys
from pathlib import Path

from edgeret.terminal.console import tell


def explain_once(command: str, text: str) -> None:
    """Says `text` on stderr, if a person watches and was not told before. Where nothing can be kept, says nothing: to
    be told each time is worse than never."""
    if not sys.stderr.isatty():
        return
    told = Path.home() / ".edgeret" / f"{command}.explained"
    try:
        told.parent.mkdir(mode=0o700, exist_ok=True)
        told.touch(exist_ok=False)
    except (OSError, RuntimeError):
        return
    tell(text)
