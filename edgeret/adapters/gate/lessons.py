"""What passes through the gate as plans to learn: when a request is done, the calls that worked for it. Knows nothing
of HTTP."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from edgeret import Call, Demonstration, EdgeretError, Runtime
from edgeret.adapters.conversation import Conversation
from edgeret.adapters.gate.ending import Ending
from edgeret.adapters.turns import wish
from edgeret.records import dataclass

MOST_WAITING = 64


@dataclass(frozen=True, slots=True)
class Lesson:
    """What the user wanted, the calls that worked, and the runtime that has their tools."""

    runtime: Runtime
    wanted: str
    calls: tuple[str, ...]


def lesson(runtime: Runtime, said: Conversation) -> Lesson | None:
    """What there would be to learn should the model say that it is done; None where no call is known to have worked."""
    calls = tuple(call.tool for call in said.calls if call.worked and call.tool in runtime.tools)
    return Lesson(runtime, wish(runtime, said), calls) if calls and said.wanted is not None else None


class Learning:
    """Learns in a thread of its own, one plan after the other. Nobody waits for it, and nothing fails by it."""

    def __init__(self, say: Callable[[str], None]) -> None:
        """`say` is told once if what was learned cannot be kept."""
        self._say = say
        self._worker = ThreadPoolExecutor(1, "edgeret-learn")
        self._room = threading.Semaphore(MOST_WAITING)
        self._complained = False
        self.learned = 0

    def hear(self, lesson: Lesson, ending: Ending) -> None:
        """An answer ended; learns if it was the last one of its request. Where too many wait, this one is left out."""
        if self._room.acquire(blocking=False):
            self._worker.submit(self._learn, lesson, ending)

    def close(self) -> None:
        """Waits for what is still to be learned."""
        self._worker.shutdown()

    def _learn(self, lesson: Lesson, ending: Ending) -> None:
        try:
            if ending.is_final():
                calls = tuple(Call(name) for name in lesson.calls)
                lesson.runtime.learn([Demonstration("gate", lesson.wanted, calls)])
                self.learned += 1
        except EdgeretError as error:
            if not self._complained:
                self._complained = True
                self._say(f"cannot learn: {error}")
        finally:
            self._room.release()
