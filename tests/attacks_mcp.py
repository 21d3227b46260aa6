"""Attacks `edgeret mcp` with servers that flood, pack, nest, change and flee, and says what the proxy took and how long
a second server's answers took meanwhile. A command: `attacks_mcp.py --help`.

Each attack has a proxy of its own, a real process, in front of a good server and a hostile one. While the hostile one
does its worst, tools are searched and the good one is called, one after the other, and the proxy's memory is looked at.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from itertools import count, repeat
from pathlib import Path
from typing import Any

import anyio

sys.path.insert(0, str(Path(__file__).parent / "adapters"))

from conftest import build_tiny
from mcp_client import call, found, hostile, names, proxied, write_config
from odd_http import NOTE, Asked, bomb, odd, plain, reply, result

FLOODING = Path(__file__).with_name("adapters") / "flooding_mcp.py"
MOST_MIB, MOST_S = 300.0, 1.0
CHILDREN = (
    *("pings", "samples", "repeats", "cancels", "notices", "logs", "changed", "answers", "garbage", "blanks"),
    *("values", "nests", "line", "shouts", "boasts", "names", "changes", "deaf", "closes", "flees"),
)
_EVENTS = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"


def _events(*parts: bytes, packed: bool = False, forever: bytes = b"") -> Any:
    yield _EVENTS + (b"content-encoding: gzip\r\n\r\n" if packed else b"\r\n")
    yield from parts
    while forever:
        yield forever


def _json(body: bytes) -> bytes:
    return reply(200, body, "application/json", content_encoding="gzip")


def _many(asked: Asked) -> Any:
    """2,000 tools of other names with every answer, and a word that they changed."""
    number = next(_TURNS)
    if asked.message.get("method") == "tools/list":
        return result(asked, {"tools": [{**NOTE, "name": f"t{i}_{number}"} for i in range(2000)]})
    if asked.method == "GET":
        changed = b'data: {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}\n\n'
        return _events(forever=changed * 100)
    answer = plain(asked)
    return answer.replace(b"content-type", b"mcp-session-id: 1\r\ncontent-type", 1)


def _again(asked: Asked) -> Any:
    """A stream that ends at once and is to be asked for again at once, for every request that is no greeting."""
    if asked.method == "GET" or asked.message.get("method") == "tools/list":
        return _events(b"retry: 0\nid: 1\ndata:\n\n")
    return plain(asked)


@cache
def _packed(text: bytes) -> bytes:
    return bomb(600 // len(text), text)


_TURNS = count()
_FORBIDDEN = reply(401, os.urandom(1 << 20))
WEB: dict[str, Callable[[Asked], Any]] = {
    "http bomb": lambda asked: _json(_packed(b" ")) if asked.body else reply(405),
    "http bomb of events": lambda asked: _events(_packed(b"x"), packed=True) if asked.body else reply(405),
    "http bomb of comments": lambda asked: _events(_packed(b":\n\n"), packed=True) if asked.body else reply(405),
    "http events of nothing": lambda asked: _events(forever=b":\n\n" * 20_000) if asked.body else reply(405),
    "http head without end": lambda _: repeat(b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 10_000),
    "http pieces": lambda _: repeat(_EVENTS + b"transfer-encoding: chunked\r\n\r\n" + b"1\r\n:\r\n" * 200_000, 1),
    "http informations": lambda _: repeat(b"HTTP/1.1 100 Continue\r\n\r\n" * 20_000),
    "http cookies": lambda _: b"HTTP/1.1 200 OK\r\n" + b"set-cookie: a=b\r\n" * 5_000 + b"\r\n",
    "http streams without end": _again,
    "http values": lambda asked: reply(200, b"[" * (20 << 20), "application/json"),
    "http refusals": lambda _: _FORBIDDEN,
    "http tools over and over": _many,
}


async def attacked(kind: str, base: Path, folder: Path, seconds: float) -> dict[str, Any]:
    """One attack: the proxy's memory in MiB, the slowest search and call in seconds, and what it wrote in bytes."""
    async with _hostile(kind, folder) as entry:
        config = write_config(folder, good=hostile("plain"), bad=entry)
        pins = folder / "pins.json"
        async with proxied(config, base, "--pins", str(pins)) as client:
            await names(client, "write a note")
            process = _proxy(config)
            slowest, turns, end = 0.0, 0, time.monotonic() + seconds
            before = most = _mib(process)
            tasks = []
            if kind == "deaf":  # calls that it never takes
                tasks = [{"text": "x" * 1_000_000}] * 6
            async with anyio.create_task_group() as calls:
                for arguments in tasks:
                    calls.start_soon(call, client, "bad__write_note", arguments)
                while time.monotonic() < end:
                    began = time.monotonic()
                    assert "tools" in await found(client, "write a note")
                    assert not (await call(client, "good__write_note")).is_error
                    slowest, turns = max(slowest, time.monotonic() - began), turns + 1
                    most = max(most, _mib(process))
                    await anyio.sleep(0.02)
                calls.cancel_scope.cancel()
            said = client.told()
    held = most <= MOST_MIB and slowest <= MOST_S and len(said) < 20_000 and "Traceback" not in said
    return {
        "attack": kind,
        "held": held,
        "mib_before": round(before),
        "mib_most": round(most),
        "slowest_s": round(slowest, 2),
        "turns": turns,
        "stderr_bytes": len(said),
        "said": said.splitlines()[:3],
    }


@asynccontextmanager
async def _hostile(kind: str, folder: Path) -> AsyncIterator[dict[str, Any]]:
    if kind in WEB:
        async with odd(WEB[kind]) as server:
            yield {"url": server.url}
    else:
        yield {"command": sys.executable, "args": [str(FLOODING), kind, str(folder / "left")]}


def _proxy(config: Path) -> int:
    """The process that serves this file."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"mcp" in words and os.fsencode(config) in words:
            return int(path.parent.name)
    raise AssertionError("the proxy does not run")


def _mib(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


def main() -> None:
    """Prints one JSON object a line; exits 1 if an attack was not held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, help="a bundle whose encoder reads the tools (default: a made-up one)")
    parser.add_argument("--seconds", type=float, default=25.0, help="of each attack")
    parser.add_argument("attacks", nargs="*", help=f"of {', '.join((*CHILDREN, *WEB))} (default: all)")
    arguments = parser.parse_args()
    failed = False
    for kind in arguments.attacks or (*CHILDREN, *WEB):
        with tempfile.TemporaryDirectory() as folder:
            base = arguments.base or build_tiny(Path(folder) / "base")
            report = anyio.run(attacked, kind, base, Path(folder), arguments.seconds)
        failed |= not report["held"]
        sys.stdout.write(f"{json.dumps(report)}\n")
        sys.stdout.flush()
    sys.exit(failed)


if __name__ == "__main__":
    main()
