"""The process of one peer: reads requests and writes answers, one JSON object a line. Started by `process`.

Requests: {"prepare": {"model", "threads", "tools", "texts"}} once, then {"queries", "k"}. Answers: what was measured,
or {"error"}, or {"missing"} where the peer is not installed.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

from edgeret.host import resident_mb
from edgeret.types import Tool
from edgeret_bench.peers.base import Peer, peer_class, timed


def prepare(name: str, request: Mapping[str, Any]) -> tuple[Peer, dict[str, Any]]:
    """The peer, ready to be asked, and what that took: ms to import and load, ms to build the index, MB resident."""
    tools = [Tool(*fields) for fields in request["tools"]]
    model = None if request["model"] is None else Path(request["model"])
    started = perf_counter()
    peer = peer_class(name)(model, request["threads"])
    loaded = perf_counter()
    peer.prepare(tools, request["texts"])
    built = perf_counter()
    return peer, {
        "version": peer.version(),
        "load_ms": (loaded - started) * 1e3,
        "build_ms": (built - loaded) * 1e3,
        "rss_mb": resident_mb(),
    }


def failure(name: str, error: Exception) -> dict[str, str]:
    """An error in words that say whose it is."""
    lines = str(error).strip().splitlines()
    return {"error": f"the peer {name} failed: {type(error).__name__}{': ' + lines[0] if lines else ''}"}


def main(name: str) -> int:
    """Answers until its input ends."""
    # What libraries print must not get between the answers.
    with os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        peer: Peer | None = None
        for line in sys.stdin:
            request = json.loads(line)
            try:
                if peer is None:
                    peer, answer = prepare(name, request["prepare"])
                else:
                    times, rankings = timed(peer.rank, request["queries"], request["k"])
                    answer = {"ms": times, "rankings": rankings}
            except ImportError as error:
                answer = {"missing": f"module {error.name}" if error.name else str(error)}
            except Exception as error:  # it is other people's code, so anything can come
                answer = failure(name, error)
            answers.write(json.dumps(answer) + "\n")
            answers.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
