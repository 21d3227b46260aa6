"""What `edgeret serve` adds to a decision: so many requests a second over kept connections, whether or not earlier ones
were answered, and the server's own word for how long each decision took."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from time import perf_counter
from typing import Any

from edgeret.errors import InputError
from edgeret_bench.metrics import quantiles

WARM = 100
"""Requests before any is measured."""
EMPTY_EVERY = 10
"""Behind so many requests comes one that asks for nothing: what the machine and others on it add to any answer."""
START_S = 120
PATIENCE = 3
"""Times the seconds of a round, and then so long for answers that are still owed: more would measure a queue alone."""


def run(
    bundle: str,
    queries: Sequence[str],
    rate: int,
    seconds: float,
    connections: int,
    core: int | None,
    rounds: int = 1,
) -> dict[str, Any]:
    """The middle of some rounds, each with a server of its own, by what it adds at p99 beyond an empty request's p99;
    `rounds` has these p99 of each, in their order. Other programs disturb both alike, so the difference travels."""
    found = [_round(bundle, queries, rate, seconds, connections, core) for _ in range(rounds)]
    apart = [one["added_ms"]["p99"] - one["empty_ms"]["p99"] for one in found]
    middle = sorted(range(rounds), key=apart.__getitem__)[rounds // 2]
    told = [
        {"beyond_empty_p99_ms": beyond, **{f"{name}_p99_ms": one[f"{name}_ms"]["p99"] for name in ("added", "empty")}}
        for beyond, one in zip(apart, found, strict=True)
    ]
    return {**found[middle], "beyond_empty_p99_ms": apart[middle], "rounds": told}


def _round(
    bundle: str, queries: Sequence[str], rate: int, seconds: float, connections: int, core: int | None
) -> dict[str, Any]:
    """Quantiles in ms of `answer`, from the moment at which a request was due; of `decision`, as long as the server
    says that it took; and of `added`, what lies between them. `empty` is the same as `answer` for requests that need no
    decision, in the same run: `n_empty` of them, beside the rate. `late` requests found no connection free when they
    were due. `cpu_ms` is the server's processor time a decision, where the system tells it, empty requests included.
    With `core` the server runs on that one alone."""
    with _serving(bundle, core) as (port, process):
        before = _processor_ms(process)
        found = asyncio.run(_measured(port, queries, rate, seconds, connections))
        after = _processor_ms(process)
    spent = None if before is None or after is None else (after - before) / (WARM + found["n_requests"])
    return {**found, "cpu_ms": spent}


@contextmanager
def _serving(bundle: str, core: int | None) -> Iterator[tuple[int, int]]:
    command = [sys.executable, "-m", "edgeret", "serve", bundle, "--listen", "127.0.0.1:0", "--read-only"]
    before = os.sched_getaffinity(0) if core is not None and hasattr(os, "sched_getaffinity") else None
    if before is not None and core is not None:
        os.sched_setaffinity(0, {core})  # which the child inherits
    try:
        server = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    finally:
        if before is not None:
            os.sched_setaffinity(0, before)
    with server:
        assert server.stderr is not None
        told = server.stderr.readline()
        if "listening; ask http://" not in told:
            raise InputError(f"the server did not start: {told.strip()}")
        try:
            yield int(told.split("127.0.0.1:")[1].split("/")[0]), server.pid
        finally:
            server.terminate()


def _processor_ms(process: int) -> float | None:
    """Processor time of a process so far; None where the system does not tell it as Linux does."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) * 1e3 / os.sysconf("SC_CLK_TCK")


async def _measured(port: int, queries: Sequence[str], rate: int, seconds: float, connections: int) -> dict[str, Any]:
    free: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
    for _ in range(connections):
        free.put_nowait(await asyncio.open_connection("127.0.0.1", port))
    asked = cycle(queries)
    samples: dict[str, list[float]] = {"answer": [], "decision": [], "added": [], "empty": []}
    late = 0

    async def look(due: float) -> None:
        stream = await free.get()
        try:
            await _answered(*stream, _EMPTY)
        finally:
            free.put_nowait(stream)
        samples["empty"].append((perf_counter() - due) * 1e3)

    async def ask(query: str, due: float, measured: bool) -> None:
        nonlocal late
        late += measured and free.empty()
        stream = await free.get()
        try:
            took = await _asked(*stream, query)
        finally:
            free.put_nowait(stream)
        if measured:
            whole = (perf_counter() - due) * 1e3
            for name, value in (("answer", whole), ("decision", took), ("added", whole - took)):
                samples[name].append(value)

    for _ in range(WARM):
        await ask(next(asked), perf_counter(), False)
    count, began, tasks = int(rate * seconds), perf_counter(), []
    for number in range(count):
        due = began + number / rate
        if (wait := due - perf_counter()) > 0:
            await asyncio.sleep(wait)
        tasks.append(asyncio.create_task(ask(next(asked), due, True)))
        if number % EMPTY_EVERY == EMPTY_EVERY // 2:
            due += 0.5 / rate  # between two decisions, as likely before as behind one that is waited for
            if (wait := due - perf_counter()) > 0:
                await asyncio.sleep(wait)
            tasks.append(asyncio.create_task(look(due)))
    try:
        await asyncio.wait_for(asyncio.gather(*tasks), PATIENCE * seconds)
    except TimeoutError:
        raise InputError(
            f"{len(samples['answer'])} of {count} requests were answered in {(1 + PATIENCE) * seconds:g} s: the server "
            f"cannot keep up with {rate} a second here; name a lower --rate, or let the machine do nothing else"
        ) from None
    reached = count / (perf_counter() - began)
    return {
        "rate": {"asked": rate, "reached": reached},
        "n_requests": count,
        "n_empty": len(samples["empty"]),
        "connections": connections,
        "late": late,
        **{f"{name}_ms": quantiles(values) for name, values in samples.items()},
    }


_EMPTY = b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n"


async def _asked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, query: str) -> float:
    """One request; how long the decision took by the server's own word, in ms."""
    body = json.dumps({"query": query}).encode()
    head = (
        f"POST /v1/decide HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    )
    told = await _answered(reader, writer, f"{head}\r\n\r\n".encode() + body)
    if "error" in told:
        raise InputError(f"the server refused a query: {told['error']['message']}")
    return float(told["timings_ms"]["total"])


async def _answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> dict[str, Any]:
    """What the server answers to some bytes."""
    writer.write(request)
    answer = await reader.readuntil(b"\r\n\r\n")
    length = int(answer.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    told: dict[str, Any] = json.loads(await reader.readexactly(length))
    return told
