"""Attacks doors of edgeret with raw sockets, and says what became of them: whether the process lived, how much memory
it took at most, how long a second client had to wait, how much was written. A command: `attacks_run.py --help`.

The attacks on the gate are in attacks_gate.py, those on the MCP proxy in attacks_mcp.py, a command of its own that this
one runs, too. An attack has a process of its own, as has the server behind the door; the door is begun anew for each.
The second client is this process.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "adapters"))

from attacks_gate import EVIL, GATE, Door, serve
from gate_run import built
from gates import gating
from samples import functions, many_tools, user

MOST_MB, MOST_S = 300, 1.0
"""Of memory, and of waiting for a second client."""
MOST_WRITTEN = 2000
"""Characters that a door may say of it to its user."""


def gate_under(name: str, base: Path, seconds: float, descriptors: int) -> dict[str, Any]:
    """What became of the gate under an attack."""
    ports: Any = multiprocessing.Queue()
    upstream = multiprocessing.Process(target=serve, args=(ports,), daemon=True)
    upstream.start()
    EVIL.value = 0
    try:
        with gating(f"http://127.0.0.1:{ports.get(timeout=60)}/v1", base, descriptors=descriptors) as gate:
            port = int(gate.url.split(":")[2].split("/")[0])
            known, end = functions(many_tools(40)), perf_counter() + 60
            while perf_counter() < end and not ask(port, known).startswith("kept"):
                sleep(0.1)
            attacker = multiprocessing.Process(target=GATE[name], args=(Door(port, seconds),), daemon=True)
            attacker.start()
            found = watched(lambda tools: ask(port, tools), known, attacker)
            attacker.kill()
            found["alive"] = gate.process.poll() is None and ask(port, known).startswith("kept")
            found["peak_mb"] = peak_mb(gate.process.pid)
            found["written"] = len(gate.stop())
            found["foreign"] = EVIL.value
            return found
    finally:
        upstream.kill()


def ask(port: int, tools: list[Any]) -> str:
    """What the gate says that it did, else why it did nothing."""
    body = json.dumps({"model": "m", "messages": [user("send a mail to my friend")], "tools": tools}).encode()
    client = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        client.request("POST", "/v1/chat/completions", body, {"content-type": "application/json"})
        reply = client.getresponse()
        reply.read()
        return (
            reply.getheader("x-edgeret", "")
            if reply.status == 200
            else f"{reply.status}: {reply.getheader('x-edgeret')}"
        )
    except OSError as error:
        return type(error).__name__
    finally:
        client.close()


def watched(asks: Callable[[list[Any]], str], known: list[Any], attacker: Any) -> dict[str, Any]:
    """A second client's requests while the attack goes on: with tools that are known, now and then with new ones."""
    times: list[float] = []
    failed: Counter[str] = Counter()
    new: list[bool] = []
    for number in count():
        if not attacker.is_alive():
            break
        if number % 20 == 19:  # reading new tools takes a while, whoever asks
            new.append(asks(fresh(number)).startswith("kept 16 of 20"))
        started = perf_counter()
        told = asks(known)
        times.append(perf_counter() - started)
        if not told.startswith("kept "):
            failed[told[:60]] += 1
        sleep(0.05)
    return {
        "served": len(times) - sum(failed.values()), "failed": dict(failed), "slowest_s": round(max(times), 2),
        "new_lists": f"{sum(new)} of {len(new)}",
    }  # fmt: skip


def fresh(number: int) -> list[Any]:
    """Tools that were never seen."""
    return functions([replace(tool, name=f"{tool.name}_{number}") for tool in many_tools(20)])


def peak_mb(process: int) -> int:
    """The most memory that a process had, where the system tells."""
    status = Path(f"/proc/{process}/status")
    if not status.exists():
        return 0
    return int(status.read_text().partition("VmHWM:")[2].split()[0]) >> 10


def is_bad(found: dict[str, Any]) -> bool:
    """Whether a door did not hold."""
    return bool(
        not found["alive"] or found["failed"] or found["slowest_s"] > MOST_S or found["peak_mb"] > MOST_MB
        or found["written"] > MOST_WRITTEN or found["foreign"]
    )  # fmt: skip


def on_the_proxy(seconds: float) -> dict[str, dict[str, Any]]:
    """What became of the MCP proxy under its attacks."""
    line = [sys.executable, str(Path(__file__).with_name("attacks_mcp.py")), "--seconds", str(seconds)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        told = [json.loads(text) for text in run.stdout]
    return {f"mcp {report['attack']}": report for report in told}


def main() -> None:
    """Prints one JSON object; exits 1 if a door did not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("attacks", nargs="*", help=f"on the gate: {', '.join(GATE)} (default: all, on both doors)")
    parser.add_argument("--seconds", type=float, default=15, help="each (default: %(default)s)")
    parser.add_argument("--descriptors", type=int, default=256, help="that the door may have (default: %(default)s)")
    parser.add_argument("--base", type=Path, help="a bundle whose encoder reads the tools (default: one is built)")
    arguments = parser.parse_args()
    if unknown := set(arguments.attacks) - set(GATE):
        parser.error(f"no attack is called {', '.join(sorted(unknown))}")
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        base = arguments.base or built(Path(folder))
        for name in arguments.attacks or GATE:
            found[name] = gate_under(name, base, arguments.seconds, arguments.descriptors)
            sys.stderr.write(f"{'BAD ' if is_bad(found[name]) else ''}{name}: {json.dumps(found[name])}\n")
    bad = [name for name, told in found.items() if is_bad(told)]
    if not arguments.attacks:
        proxied = on_the_proxy(arguments.seconds)
        bad += [name for name, told in proxied.items() if not told["held"]]
        found |= proxied
    sys.stdout.write(f"{json.dumps({'attacks': found, 'bad': bad}, indent=1)}\n")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
