"""Runs `serve`, `gate`, `mcp` and the library side by side for half an hour, and says whether any of them grows.
A command: `python tests/soak_run.py BUNDLE --minutes 30`.

Each is asked as its users ask it, all the time, at a steady pace: decisions, searches and plans, sessions, bodies that
are refused and clients that go away, tools that come and go, plans that are learned and forgotten. Prints one JSON
object: for each process how much was asked, what went wrong, the mean memory and the fewest handles in parts of the
last half, and the slope of these means. Memory is what is a process's own, swapped out or not: a system takes pages of
files away and gives them back as it likes, so the whole that is resident, told beside it, says nothing of what is kept.
The first half warms up: caches that are bounded fill (words and requests that were read, 256 sessions, the gate's 64
lists of tools). Exits 1 where something went wrong, memory grows by a megabyte an hour or more, or handles do. Of these
the fewest count: how many clients are just going away is chance. What a switch of bundles leaves behind,
`switch_run.py` counts by switches: no clock tells it from what an allocator holds back.
"""

from __future__ import annotations

import argparse
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import combinations, count
from pathlib import Path
from typing import Any

import httpx

from edgeret import BundleStore, Call, Demonstration, Tool, read_tools

HERE = Path(__file__).parent
EXAMPLE = HERE.parent / "examples" / "desktop"
MOST_MB_AN_HOUR = 1.0
KB = ("RssAnon", "VmSwap", "VmRSS")
"""Lines of Linux's status of a process."""
SAMPLE_S, PART_S = 5.0, 120.0
EACH = 5
"""Every so many-th request of the example is asked: what was read is read again within the time that this takes."""
TAUGHT = 50
"""Requests that `serve`, which forgets nothing, learns from; the same again and again."""
PLANS = 200
"""Learned before all is forgotten."""
PATIENCE_S = 300.0
NEW = {"name": "water_plants", "description": "Waters the plants on the balcony"}
CALL = {"id": "c", "type": "function", "function": {"name": "NAME", "arguments": "{}"}}
SAID = {"role": "assistant", "content": None, "tool_calls": [CALL]}
CHOICE = {"index": 0, "finish_reason": "tool_calls", "message": SAID}
ANSWER = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [CHOICE]}


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundle", nargs="?", type=Path)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--pace", type=float, default=0.05, help="seconds between requests (default: %(default)s)")
    parser.add_argument("--only", choices=("serve", "gate", "mcp", "library"), help="this one alone")
    parser.add_argument("--no-learning", action="store_true", help="what is learned takes memory, too: leave it out")
    parser.add_argument("--library", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.library is not None:
        library(arguments.library)
        return
    with tempfile.TemporaryDirectory() as folder:
        found = soak(arguments, Path(folder))
    sys.stdout.write(f"{json.dumps(found, indent=1)}\n")
    grows = [
        each
        for each in found.values()
        if each["mb_an_hour"] >= MOST_MB_AN_HOUR or each["handles"][1] > each["handles"][0]
    ]
    sys.exit(bool(grows or any(each["errors"] for each in found.values())))


def queries() -> list[tuple[str, list[str]]]:
    """Some of the example's requests, and the calls that solve them."""
    lines = (EXAMPLE / "demonstrations.jsonl").read_text().splitlines()[::EACH]
    told = [json.loads(line) for line in lines]
    return [(each["query"], [call["tool"] for call in each["calls"]]) for each in told]


def memory(process: int | str) -> tuple[float, float]:
    """A process's own memory, and all of it that is resident, in MB (10^6 bytes)."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    kb = {name: int(told.split()[0]) for name, _, told in (line.partition(":") for line in lines) if name in KB}
    return (kb["RssAnon"] + kb["VmSwap"]) * 1.024e-3, kb["VmRSS"] * 1.024e-3


class Asker:
    """Asks at a steady pace in a thread of its own, and counts."""

    pace_s = 0.05

    def __init__(self, name: str, pid: int, ask: Callable[[int], None]) -> None:
        self.name, self.pid, self.asked, self.errors = name, pid, 0, list[str]()
        self._ask, self.over = ask, threading.Event()
        self.samples: list[tuple[float, float, float, int]] = []
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        for number in count():
            if self.over.wait(self.pace_s) or len(self.errors) >= 5:
                return
            try:
                self._ask(number)
                self.asked += 1
            except Exception as error:
                self.errors.append(f"{number}: {type(error).__name__}: {error}"[:300])

    def sample(self) -> None:
        """Its memory, and handles, now."""
        with suppress(OSError):
            handles = len(tuple(Path(f"/proc/{self.pid}/fd").iterdir()))
            self.samples.append((time.monotonic(), *memory(self.pid), handles))

    def told(self) -> dict[str, Any]:
        """The figures; of its own memory the median slope between any two means in the last half."""
        end = self.samples[-1][0]
        count = max(2, int((end - self.samples[0][0]) / 2 / PART_S))
        length = min(PART_S, (end - self.samples[0][0]) / 2 / count)
        starts = [end - length * (count - at) for at in range(count)]
        parts = [[each for each in self.samples if at <= each[0] < at + length] for at in starts]
        told = [(at, part) for at, part in zip(starts, parts, strict=True) if part]
        means, resident = ([(at, statistics.fmean(one[k] for one in part)) for at, part in told] for k in (1, 2))
        slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in combinations(means, 2)]
        handles = [min(each[3] for each in part) for _, part in told]
        return {
            "asked": self.asked,
            "errors": self.errors,
            "mb": [round(mean, 2) for _, mean in means],
            "mb_an_hour": round(3600 * statistics.median(slopes), 2),
            "resident_mb": [round(mean, 2) for _, mean in resident],
            "handles": [min(handles[: len(handles) // 2]), min(handles[len(handles) // 2 :])],
            "most_handles": max(each[3] for each in self.samples),
        }


def soak(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """All four, or one of them, for so long."""
    bundle, learns, seconds = arguments.bundle, not arguments.no_learning, arguments.minutes * 60
    Asker.pace_s = arguments.pace
    store = BundleStore(folder / "store", threads=1)
    store.add(bundle, "a")
    store.activate("a")
    store.close()
    known = queries()
    with ExitStack() as stack:
        upstream = stack.enter_context(model_server())
        ways: dict[str, Callable[[], AbstractContextManager[Asker]]] = {
            "serve": lambda: serving(store.folder, folder, known, learns),
            "gate": lambda: gating(upstream, bundle, folder, known, learns),
            "mcp": lambda: proxying(bundle, folder, known, learns),
            "library": lambda: deciding(store.folder, learns),
        }
        askers = [stack.enter_context(way()) for name, way in ways.items() if arguments.only in (None, name)]
        for asker in askers:
            asker.thread.start()
        end = time.monotonic() + seconds
        while time.monotonic() < end and not any(asker.errors for asker in askers):
            time.sleep(min(SAMPLE_S, seconds / 30))
            for asker in askers:
                asker.sample()
        for asker in askers:
            asker.over.set()
        for asker in askers:
            asker.thread.join(PATIENCE_S)
    return {asker.name: asker.told() for asker in askers}


@contextmanager
def child(*command: object, **more: Any) -> Iterator[subprocess.Popen[str]]:
    """A process of this Python; what it says on standard error is read, and thrown away behind the first line."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, *map(str, command)], **{**pipes, **more}) as process:
        try:
            yield process
        finally:
            process.kill()


def listening(process: subprocess.Popen[str], before: str) -> str:
    """The address behind these words, in what a server says first."""
    assert process.stderr is not None
    line = process.stderr.readline()
    assert before in line, line + process.stderr.read()
    threading.Thread(target=process.stderr.read, daemon=True).start()
    return line.split(before)[1].split()[0]


def checked(answer: httpx.Response, status: int = 200) -> Any:
    """What it says. Raises AssertionError for another status."""
    assert answer.status_code == status, answer.text[:200]
    return answer.json()


@contextmanager
def serving(store: Path, folder: Path, known: list[tuple[str, list[str]]], learns: bool) -> Iterator[Asker]:
    """`edgeret serve` of a store."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    options = ("--learn", "--threads", 1, "--log", folder / "log", "--log-words", "--port", port)
    with child("-m", "edgeret", "serve", "--store", store, *options) as process:
        url = listening(process, "ask ").removesuffix("/v1/decide")
        with httpx.Client(base_url=url, timeout=PATIENCE_S, trust_env=False) as client:

            def ask(number: int) -> None:
                query, calls = known[number % len(known)]
                asked = {"query": query, "session": f"s{number // 3 % 400}"} if number % 2 else {"query": query}
                checked(client.post("/v1/decide", json={**asked, "arguments": True, "explain": number % 7 == 0}))
                if number % 5 == 0:
                    checked(client.post("/v1/search", json={"query": query, "k": 5}))
                    checked(client.post("/v1/decide", json={"query": 3}), 400)
                if number % 20 == 0:
                    checked(client.post("/v1/plan", json={"query": query}))
                    added = checked(client.post("/v1/tools", json={"add": [NEW], "replace": True}))["tools"]
                    assert checked(client.request("DELETE", f"/v1/tools/{NEW['name']}"))["tools"] <= added
                    with socket.create_connection(("127.0.0.1", port)) as gone:  # and never asks to the end
                        gone.sendall(b"POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{")
                if number % 30 == 0 and learns:
                    query, calls = known[number // 30 % TAUGHT]
                    taught = client.post("/v1/learn", json={"query": query, "calls": calls})
                    assert taught.status_code in (200, 400), taught.text
                    checked(client.get("/health"))
                    assert client.get("/metrics").status_code == 200

            yield Asker("serve", process.pid, ask)


class _Model(BaseHTTPRequestHandler):
    """A server that calls the first function that it is shown."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        name = body["tools"][0]["function"]["name"] if body.get("tools") else "none"
        answer = json.dumps(ANSWER).replace("NAME", name).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextmanager
def model_server() -> Iterator[str]:
    """What the gate asks."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Model) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


@contextmanager
def gating(
    upstream: str, base: Path, folder: Path, known: list[tuple[str, list[str]]], learns: bool
) -> Iterator[Asker]:
    """`edgeret gate`, asked with lists of tools that change a little."""
    functions = [
        {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.parameters}}
        for t in read_tools(EXAMPLE / "tools.jsonl")
    ]
    learned = ("--learned", folder / "gate.overlay") if learns else ()
    with child(
        "-m", "edgeret", "gate", "--upstream", upstream, "--base", base, "--listen", "127.0.0.1:0", *learned
    ) as process:
        url = listening(process, "base URL ")
        with httpx.Client(base_url=url, timeout=PATIENCE_S, trust_env=False) as client:

            def ask(number: int) -> None:
                query, _ = known[number % len(known)]
                shown = [tool for place, tool in enumerate(functions) if place != number // 50 % len(functions)]
                said: list[Any] = [{"role": "user", "content": query}]
                body = {"model": "m", "tools": shown, "messages": said}
                call = checked(client.post("/chat/completions", json=body))["choices"][0]["message"]
                if number % 10 == 0:  # the answer to its call, from which the gate learns
                    said += [call, {"role": "tool", "tool_call_id": "c", "content": "done"}]
                    checked(client.post("/chat/completions", json=body))

            yield Asker("gate", process.pid, ask)


@contextmanager
def proxying(base: Path, folder: Path, known: list[tuple[str, list[str]]], learns: bool) -> Iterator[Asker]:
    """`edgeret mcp` before a server, on standard input and output."""
    config = folder / "mcp.json"
    server = {"command": sys.executable, "args": [str(HERE / "adapters" / "wide_mcp.py"), "soak"]}
    config.write_text(json.dumps({"mcpServers": {"soak": server}}))
    options = ("--learn", "--overlay", folder / "mcp.overlay") if learns else ()
    with child(
        "-m", "edgeret", "mcp", "--config", config, "--base", base, *options, stderr=subprocess.DEVNULL
    ) as process:
        numbers = count(1)

        def send(method: str, params: Any, **more: Any) -> None:
            assert process.stdin is not None
            process.stdin.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}) + "\n")
            process.stdin.flush()

        def asked(method: str, params: Any) -> Any:
            assert process.stdout is not None
            number = next(numbers)
            send(method, params, id=number)
            for line in process.stdout:
                if (told := json.loads(line)).get("id") == number and "method" not in told:
                    assert "result" in told, line[:300]
                    return told["result"]
            raise AssertionError("it has ended")

        client = {"name": "soak", "version": "1"}
        asked("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        send("notifications/initialized", {})

        def ask(number: int) -> None:
            words = known[number % len(known)][0]
            asked("tools/call", {"name": "find_tools", "arguments": {"query": words}})
            if number % 3 == 0:
                found = asked("tools/call", {"name": "find_tools", "arguments": {"query": "touch it"}})
                for name in (tool["name"] for tool in json.loads(found["content"][0]["text"])["tools"]):
                    if "touch" in name:  # another one would ask back
                        asked("tools/call", {"name": "call_tool", "arguments": {"name": name, "arguments": {}}})
                asked("tools/list", {})

        yield Asker("mcp", process.pid, ask)


@contextmanager
def deciding(store: Path, learns: bool) -> Iterator[Asker]:
    """The library in a process of its own, told what to do a line at a time."""
    with child(__file__, "--library", store, stderr=None) as process:

        def ask(_: int) -> None:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write("learn\n" if learns else "decide\n")
            process.stdin.flush()
            said = process.stdout.readline()
            assert said == "fine\n", said

        yield Asker("library", process.pid, ask)


def library(folder: Path) -> None:
    """Does what a line says, and says "fine" or what went wrong."""
    known = queries()
    with BundleStore(folder, overlay=True, threads=1) as store:
        for number, line in enumerate(sys.stdin):
            try:
                step(store, number, line == "learn\n", *known[number % len(known)])
            except Exception as error:
                sys.stdout.write(f"{type(error).__name__}: {error}\n")
            else:
                sys.stdout.write("fine\n")
            sys.stdout.flush()


def step(store: BundleStore, number: int, learns: bool, query: str, calls: list[str]) -> None:
    """A request from its words to the end; now and then tools change, and something is learned or all forgotten."""
    runtime = store.runtime
    task = runtime.task(query)
    for _ in range(4):
        if not task.accept(decision := task.next()):
            break
        if number % 11 == 0:
            decision.explain()
    runtime.search(query)
    if number % 10 == 0:
        changed = runtime.with_tools(add=[Tool(str(NEW["name"]), str(NEW["description"]))])
        changed.task(query).next()
    if learns and number % 10 == 5 and all(name in runtime.tools for name in calls):
        runtime.learn([Demonstration(f"d{number}", query, tuple(map(Call, calls)))])
        if runtime.learned.count >= PLANS:
            runtime.forget(everything=True)


if __name__ == "__main__":
    main()
