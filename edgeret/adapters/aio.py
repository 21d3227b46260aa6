"""edgeret beside an asyncio loop: the same runtime and tasks, whose work a few threads do. Knows nothing of how
anything is decided."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

from edgeret import Call, Decision, Demonstration, Hit, InputError, LearnReport, Runtime, Task

T = TypeVar("T")
WORKERS = 4
"""Threads at most; a decision keeps one busy for a millisecond or two, and an int8 encoder uses no second one."""
WAITING = 256
"""Questions that may be open at once, those that threads work on among them."""


class AsyncRuntime:
    """A runtime whose methods are awaited. For one event loop; `close` it, or use it in `async with`.

    Cancelling what is awaited, or a `timeout` in seconds (then TimeoutError), ends the waiting at once. What no thread
    began is not done at all; what one began is finished there and forgotten.
    """

    def __init__(self, runtime: Runtime, *, workers: int | None = None, waiting: int = WAITING) -> None:
        """`workers` are threads (default: as many as there are CPUs, at most WORKERS). Raises InputError for less than
        one of either."""
        count = min(WORKERS, os.cpu_count() or 1) if workers is None else workers
        if count < 1 or waiting < 1:
            raise InputError(f"workers and waiting must be at least 1, found {count} and {waiting}")
        self.runtime = runtime
        self._waiting = waiting
        self._pool = ThreadPoolExecutor(count, "edgeret")
        self._room = threading.Semaphore(waiting)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Drops what no thread has begun, and waits for what one has. Does not close the runtime."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        await asyncio.to_thread(self._pool.shutdown)

    async def task(
        self, query: str, history: Sequence[str | Call] = (), *, timeout: float | None = None, **options: Any
    ) -> AsyncTask:
        """As `Runtime.task`."""
        make = partial(self.runtime.task, query, history, **options)
        return AsyncTask(self, await self.run(make, timeout))

    async def search(
        self, text: str | Sequence[str], k: int = 10, *, timeout: float | None = None, **options: Any
    ) -> list[Hit]:
        """As `Runtime.search`."""
        return await self.run(partial(self.runtime.search, text, k, **options), timeout)

    async def learn(self, demonstrations: Sequence[Demonstration], *, timeout: float | None = None) -> LearnReport:
        """As `Runtime.learn`."""
        return await self.run(partial(self.runtime.learn, demonstrations), timeout)

    async def run(self, work: Callable[[], T], timeout: float | None = None) -> T:
        """Any other work with the runtime, on one of its threads. Raises InputError where too much waits or the
        runtime was closed, TimeoutError, and what the work raises."""
        return await waited(self.begin(work), timeout)

    def begin(self, work: Callable[[], T]) -> Future[T]:
        """The same, not awaited."""
        if not self._room.acquire(blocking=False):
            raise InputError(f"{self._waiting} questions are open already; ask again when some are answered")
        try:
            begun = self._pool.submit(work)
        except RuntimeError:
            self._room.release()
            raise InputError("this AsyncRuntime was closed; make another one") from None
        begun.add_done_callback(lambda _: self._room.release())
        return begun


class AsyncTask:
    """A task whose decisions are awaited. One thing at a time is done with it, in the order of asking; a call that is
    added while a decision is awaited counts for the next one."""

    def __init__(self, runtime: AsyncRuntime, task: Task) -> None:
        """Use `AsyncRuntime.task`."""
        self._runtime, self._task = runtime, task
        self._turn = asyncio.Lock()
        self._begun: Future[Any] | None = None

    @property
    def query(self) -> str:
        """The user's words."""
        return self._task.query

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls so far."""
        return self._task.calls

    async def next(self, *, timeout: float | None = None, **options: Any) -> Decision:
        """As `Task.next`."""
        return await self._do(partial(self._task.next, **options), timeout)

    async def accept(self, decision: Decision, arguments: Mapping[str, Any] | None = None, result: Any = None) -> bool:
        """As `Task.accept`."""
        return await self._do(partial(self._task.accept, decision, arguments, result))

    async def call(
        self, tool: str, arguments: Mapping[str, Any] | None = None, result: Any = None, *, foreign: bool = False
    ) -> None:
        """As `Task.call`."""
        await self._do(partial(self._task.call, tool, arguments, result, foreign=foreign))

    async def failed(self, tool: str, reason: str) -> None:
        """As `Task.failed`."""
        await self._do(partial(self._task.failed, tool, reason))

    async def learn(self, *, keep_words: bool = True) -> LearnReport:
        """As `Task.learn`."""
        return await self._do(partial(self._task.learn, keep_words=keep_words))

    async def do(self, work: Callable[[Task], T], *, timeout: float | None = None) -> T:
        """Anything else with the task, which is handed over for that long."""
        return await self._do(partial(work, self._task), timeout)

    async def _do(self, work: Callable[[], T], timeout: float | None = None) -> T:
        async with asyncio.timeout(timeout), self._turn:
            if self._begun is not None and not self._begun.done():
                # Whoever asked before is gone, and a thread is still at it.
                await asyncio.wait([asyncio.wrap_future(self._begun)])
            self._begun = self._runtime.begin(work)
            return await waited(self._begun)


async def waited(begun: Future[T], timeout: float | None = None) -> T:
    """The result of what a pool was given. Who stops waiting cancels it, unless a thread has begun."""
    async with asyncio.timeout(timeout):
        return await asyncio.wrap_future(begun)
