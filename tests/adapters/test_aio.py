"""edgeret beside an asyncio loop: the same answers, nobody waits longer than wanted, one thing at a time in a task."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from patience import PATIENCE_S

import edgeret
from edgeret.adapters.aio import AsyncRuntime


@pytest.fixture(scope="module")
def runtime(tiny_original: Path) -> edgeret.Runtime:
    return edgeret.load(tiny_original)


def test_it_decides_and_searches_as_the_runtime_does(runtime: edgeret.Runtime) -> None:
    query = "find my file and send a mail"

    async def talk() -> tuple[list[str], list[str]]:
        async with AsyncRuntime(runtime) as edge:
            task = await edge.task(query)
            while await task.accept(await task.next()):
                pass
            return [call.tool for call in task.calls], [hit.tool for hit in await edge.search(query, 3)]

    made = runtime.task(query)
    while made.accept(made.next()):
        pass
    expected = [call.tool for call in made.calls], [hit.tool for hit in runtime.search(query, 3)]
    assert asyncio.run(talk()) == expected


def test_many_at_once_are_answered_alike(runtime: edgeret.Runtime) -> None:
    queries = ["write a note", "play my song", "find my file"] * 20

    async def one(edge: AsyncRuntime, query: str) -> str | None:
        return (await (await edge.task(query)).next()).tool

    async def talk() -> list[str | None]:
        async with AsyncRuntime(runtime, workers=3) as edge:
            return await asyncio.gather(*(one(edge, query) for query in queries))

    assert asyncio.run(talk()) == [runtime.task(query).next().tool for query in queries]


def test_a_deadline_and_a_cancellation_end_the_waiting_at_once_and_harm_nobody(runtime: edgeret.Runtime) -> None:
    async def talk() -> None:
        released = threading.Event()
        async with AsyncRuntime(runtime, workers=1) as edge:
            task = await edge.task("write a note")
            blocked = asyncio.create_task(task.do(lambda _: released.wait(PATIENCE_S)))
            await asyncio.sleep(0.05)
            with pytest.raises(TimeoutError):
                await task.next(timeout=0.05)
            with pytest.raises(TimeoutError):
                await edge.search("play my song", timeout=0.05)
            blocked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await blocked
            later = asyncio.create_task(task.next())  # waits for the thread, not for whoever went
            await asyncio.sleep(0.05)
            assert not later.done()
            released.set()
            assert (await later).tool == "write_note"

    asyncio.run(talk())


def test_a_task_is_never_in_two_threads(runtime: edgeret.Runtime) -> None:
    inside, most = 0, 0

    def slow(_: edgeret.Task) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        sleep(0.01)
        inside -= 1

    async def talk() -> None:
        async with AsyncRuntime(runtime, workers=4) as edge:
            task = await edge.task("write a note")
            asked = [asyncio.create_task(task.do(slow)) for _ in range(12)]
            await asyncio.sleep(0.015)
            for each in asked[::3]:
                each.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
            await task.do(slow)

    asyncio.run(talk())
    assert most == 1


def test_too_many_questions_and_a_closed_runtime_are_refused(runtime: edgeret.Runtime) -> None:
    async def talk() -> None:
        released = threading.Event()
        edge = AsyncRuntime(runtime, workers=1, waiting=2)
        held = [asyncio.create_task(edge.run(lambda: released.wait(PATIENCE_S))) for _ in range(2)]
        await asyncio.sleep(0.05)
        with pytest.raises(edgeret.InputError, match="2 questions are open already"):
            await edge.search("play my song")
        released.set()
        await asyncio.gather(*held)
        assert await edge.search("play my song")  # there is room again
        await edge.close()
        with pytest.raises(edgeret.InputError, match="was closed"):
            await edge.search("play my song")

    asyncio.run(talk())


def test_what_is_wrong_is_said_as_by_the_runtime(runtime: edgeret.Runtime) -> None:
    async def talk() -> None:
        async with AsyncRuntime(runtime) as edge:
            with pytest.raises(edgeret.InputError):
                await edge.task("  ")
            task = await edge.task("write a note")
            with pytest.raises(edgeret.InputError, match="no_such"):
                await task.call("no_such")
            assert (await task.next()).tool == "write_note"

    asyncio.run(talk())
    wrong: dict[str, Any]
    for wrong in ({"workers": 0}, {"waiting": 0}):
        with pytest.raises(edgeret.InputError, match="at least 1"):
            AsyncRuntime(runtime, **wrong)
