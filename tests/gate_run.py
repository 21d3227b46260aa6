"""Sends requests through the gate to llama.cpp's own server, and says what was lost or altered and what the gate's part
of the time was. A command: `gate_run.py --help`.

The client is OpenAI's own package. A witness between gate and server remembers what came through, so that every request
can be compared with the one that the client sent. Then some requests are sent with the gate and without, in turns, one
at a time: the difference is what the gate adds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "adapters"))

from gates import gating
from llama_server import llama_server
from samples import functions, many_tools, user

from edgeret import Tool, read_tools

EXAMPLE = Path(__file__).parents[1] / "examples" / "desktop"
PARALLEL = 16
KEPT = 5
CONTEXT = 4096
ECHO = "echo"
"""The `x-number` of a request that the witness answers itself."""


def main() -> None:
    """Prints one JSON object; exits 1 if a request was lost or altered."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=1000, help="through the gate, 16 at once")
    parser.add_argument("--timed", type=int, default=60, help="each with the gate and without it")
    parser.add_argument("--base", type=Path, help="a bundle whose encoder reads the tools (default: one is built)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, llama_server(CONTEXT) as server:
        found = measure(server, arguments.base or built(Path(folder)), arguments.requests, arguments.timed)
    sys.stdout.write(f"{json.dumps(found, indent=1)}\n")
    sys.exit(bool(found["lost"] or found["altered"]))


def built(folder: Path) -> Path:
    """A bundle of the example's tools alone."""
    from edgeret_export.build import build_bundle
    from edgeret_export.recipe import Recipe
    from edgeret_export.sources.cards import DEFAULT_ENCODER, find_card

    tools = read_tools(EXAMPLE / "tools.jsonl")
    build_bundle(tools, [], folder / "base", find_card(DEFAULT_ENCODER), Recipe(profile="full"))
    return folder / "base"


class Witness:
    """Between gate and server: passes everything on, and remembers each request's body by its header `x-number`."""

    def __init__(self, server: str) -> None:
        self.seen: dict[str, bytes] = {}
        host, _, port = server.split("/")[2].partition(":")
        seen = self.seen

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # or a reply's second part waits 40 ms for the first one's receipt

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                seen[self.headers["x-number"]] = body
                if self.headers["x-number"] == ECHO:
                    return self.give(200, "application/json", b"{}")
                connection = HTTPConnection(host, int(port), timeout=600)
                passed = {name: self.headers[name] for name in ("content-type", "accept") if name in self.headers}
                connection.request("POST", self.path, body, passed)
                reply = connection.getresponse()
                self.give(reply.status, reply.getheader("content-type", ""), reply.read())
                return connection.close()

            def give(self, status: int, kind: str, content: bytes) -> None:
                """The whole reply."""
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                """Says nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def measure(server: str, base: Path, requests: int, timed: int) -> dict[str, Any]:
    """Both parts, with the example's tools and as many made-up ones."""
    import openai

    tools: list[Tool] = [*read_tools(EXAMPLE / "tools.jsonl"), *many_tools(76)]
    lines = (EXAMPLE / "requests.jsonl").read_text(encoding="utf-8").splitlines()
    said = [json.loads(line)["query"] for line in lines]
    witness = Witness(server)
    with gating(witness.url, base, "-k", str(KEPT), "--timeout", "900") as gate:
        gated = openai.OpenAI(base_url=gate.url, api_key="none", max_retries=0, timeout=900)
        plain = openai.OpenAI(base_url=witness.url, api_key="none", max_retries=0, timeout=900)
        options = {"model": "m", "tools": functions(tools), "max_tokens": 1, "temperature": 0.1}

        def ask(number: int) -> tuple[str | None, bool]:
            """What went wrong with a request, and whether its tools were trimmed."""
            sent = {**options, "messages": [user(f"{said[number % len(said)]} ({number})")]}
            try:
                reply = gated.chat.completions.with_raw_response.create(**sent, extra_headers={"x-number": str(number)})
                assert reply.parse().choices[0].finish_reason
            except (openai.OpenAIError, AssertionError) as error:
                return f"{number}: {type(error).__name__}: {error}"[:200], False
            return None, reply.headers["x-edgeret"].startswith(f"kept {KEPT} of")

        ask(-1)
        with ThreadPoolExecutor(PARALLEL) as pool:
            results = list(pool.map(ask, range(requests)))
        altered = [
            number for number in range(requests) if str(number) in witness.seen and not _same(
                json.loads(witness.seen[str(number)]),
                {**options, "messages": [user(f"{said[number % len(said)]} ({number})")]},
            )
        ]  # fmt: skip
        times = _times(gated, plain, witness, options, said, timed) if timed else {}
    return {
        "requests": requests,
        "lost": [problem for problem, _ in results if problem],
        "trimmed": sum(trimmed for _, trimmed in results),
        "altered": altered,
        "tools": len(tools),
        "kept": KEPT,
        **times,
    }


def _same(came: dict[str, Any], sent: dict[str, Any]) -> bool:
    """Whether a request is as it was sent but for tools that are missing."""
    tools = came.pop("tools")
    return came == {k: v for k, v in sent.items() if k != "tools"} and all(tool in sent["tools"] for tool in tools)


def _times(gated: Any, plain: Any, witness: Witness, options: dict[str, Any], said: list[str], timed: int) -> Any:
    """Milliseconds with the gate and without, in turns. Fewer tools make the model faster, so that both ways ask it the
    same, the plain one sends the tools that the gate let through; a first request, not counted, finds these. What it
    takes the client to write all tools instead of those, and the witness to read them, is `client_ms`, a part of
    `added_ms`; `own_ms` is what the gate itself says."""
    found: dict[str, list[float]] = {"gate_ms": [], "plain_ms": [], "added_ms": [], "own_ms": [], "client_ms": []}

    def ask(client: Any, number: int, tools: Any, name: str = "timed") -> tuple[float, Any]:
        sent = {**options, "tools": tools, "messages": [user(said[number % len(said)])]}
        started = perf_counter()
        reply = client.chat.completions.with_raw_response.create(**sent, extra_headers={"x-number": name})
        return (perf_counter() - started) * 1e3, reply.headers.get("x-edgeret")

    for number in range(timed):
        ask(gated, number, options["tools"])
        passed = json.loads(witness.seen["timed"])["tools"]
        spent: dict[str, float] = {}
        for way in ("gate", "plain") if number % 2 else ("plain", "gate"):
            if way == "gate":
                spent["gate_ms"], told = ask(gated, number, options["tools"])
                spent["own_ms"] = float(told.split("; ")[1].split()[0])
            else:
                spent["plain_ms"], _ = ask(plain, number, passed)
        spent["client_ms"] = ask(plain, number, options["tools"], ECHO)[0] - ask(plain, number, passed, ECHO)[0]
        spent["added_ms"] = spent["gate_ms"] - spent["plain_ms"]
        for name, value in spent.items():
            found[name].append(value)
    return {name: _told(values) for name, values in found.items()}


def _told(values: list[float]) -> dict[str, float]:
    ranked = sorted(values)
    p99 = ranked[min(len(ranked) - 1, int(0.99 * len(ranked)))]
    return {"p50": round(statistics.median(ranked), 2), "p99": round(p99, 2), "n": len(ranked)}


if __name__ == "__main__":
    main()
