"""What formats share whose files hold sessions, a line an event: the events so far of each, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from edgeret_export.transcripts.conversation import Place

MAX_OPEN = 256
"""Sessions that are read at once; of more, the one that was begun first ends."""
MAX_HELD = 20_000
"""Pieces of a session that are held; a longer one goes on as another conversation of the same group, from a turn of
the user's on."""
_MOST_TURNLESS = 4
"""Times as many are held where no such turn comes."""
Piece = TypeVar("Piece")


@dataclass(slots=True)
class Session(Generic[Piece]):
    """A session's pieces so far; `later`: some of it was given out already."""

    name: str
    place: Place
    pieces: list[Piece] = field(default_factory=list)
    later: bool = False


class OpenSessions(Generic[Piece]):
    """Sessions by their names."""

    def __init__(self) -> None:
        self._open: dict[str, Session[Piece]] = {}

    def get(self, name: str, place: Place, asked: bool = False) -> tuple[Session[Piece], list[Session[Piece]]]:
        """The session of that name, begun if it is new, and those that ended for it. `asked`: what comes now is a turn
        of the user's."""
        ended: list[Session[Piece]] = []
        session = self._open.get(name)
        if session is not None and len(session.pieces) >= MAX_HELD * (1 if asked else _MOST_TURNLESS):
            ended.append(self._open.pop(name))
            session = self._open[name] = Session(name, place, later=True)
        if session is None:
            session = self._open[name] = Session(name, place)
            if len(self._open) > MAX_OPEN:
                ended.append(self._open.pop(next(iter(self._open))))
        return session, ended

    def end(self) -> Iterator[Session[Piece]]:
        """Those that are still open."""
        yield from self._open.values()
        self._open = {}
