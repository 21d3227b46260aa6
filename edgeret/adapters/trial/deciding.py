"""A session in a thread of its own, so that typing never waits: of several texts the newest is decided, keys are obeyed
in their order. Knows nothing of what is shown."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from edgeret import EdgeretError
from edgeret.adapters.trial.session import Session
from edgeret.adapters.trial.views import Details, View

Show = Callable[[int, View], None]
"""Is given what there is now, and the number of the text that it was made for; called in the other thread."""
Tell = Callable[[int, int, Details | None], None]
"""Is given the details of a row, the number that `ask` gave, and the row; called in the other thread."""


class Deciding:
    """Takes what a user does and shows what comes of it. Its methods return at once; call them in one thread."""

    def __init__(self, session: Session, show: Show, tell: Tell) -> None:
        """`show` and `tell` are given every outcome."""
        self._session, self._show, self._tell = session, show, tell
        self._thread = ThreadPoolExecutor(1, "edgeret-try")
        self._lock = Lock()
        self._text = self._asked = 0

    @property
    def text(self) -> int:
        """The number of the newest text; what was shown for an older one is out of date."""
        return self._text

    def start(self) -> None:
        """Runs one decision that nobody sees, so that the first one shown is warm."""

        def warm() -> None:
            self._session.runtime.warmup()
            self._show(0, self._session.view())

        self._thread.submit(self._safely, warm, 0)

    def type(self, text: str) -> None:
        """Decides for a text, unless another one comes first."""
        with self._lock:
            self._text += 1
            self._asked += 1
            number = self._text

        def decide() -> None:
            if number == self._text:
                self._session.type(text)
                self._show(number, self._session.view())

        self._thread.submit(self._safely, decide, number)

    def do(self, action: Callable[[Session], str]) -> None:
        """Does something with the session and shows what came of it."""
        with self._lock:
            self._asked += 1
            number = self._text

        def act() -> None:
            self._show(number, self._session.view(action(self._session)))

        self._thread.submit(self._safely, act, number)

    def ask(self, row: int) -> int:
        """Asks for the details of a row, unless something else is done first; the number of the question."""
        with self._lock:
            self._asked += 1
            number, text = self._asked, self._text

        def look() -> None:
            if number == self._asked:
                self._tell(number, row, self._session.details(row))

        self._thread.submit(self._safely, look, text)
        return number

    def close(self) -> None:
        """Ends the thread, behind what it does now."""
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _safely(self, action: Callable[[], None], number: int) -> None:
        """What cannot be done is shown and ends nothing: somebody who tries things makes mistakes."""
        try:
            action()
        except EdgeretError as error:
            self._show(number, self._session.view(str(error), failed=True))
