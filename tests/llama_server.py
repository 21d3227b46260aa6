"""llama.cpp's own server with real weights, for tests and commands that ask an endpoint."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, sleep

from patience import PATIENCE_S

SERVE = """
import sys
from llama_cpp import llama_cpp
made = llama_cpp.llama_model_default_params
def plain():  # as our own engine does: with these, GCC 12's code for AMX dies at the first prompt
    parameters = made()
    parameters.use_extra_bufts = False
    return parameters
llama_cpp.llama_model_default_params = plain
from llama_cpp.server.__main__ import main
main()
"""


@contextmanager
def llama_server(context: int, weights: Path | None = None) -> Iterator[str]:
    """llama-cpp-python's server with these weights, SmolLM2 135M by default, and so many tokens of context, once it
    listens; its URL."""
    from edgeret_export.sources.cards import find_card
    from edgeret_export.sources.fetch import fetch

    if weights is None:
        weights = next(fetch(find_card("smollm2-135m-instruct")).glob("*.gguf"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = int(listener.getsockname()[1])
    options = f"--port {port} --n_threads 1 --n_ctx {context} --interrupt_requests false".split()
    command = [sys.executable, "-c", SERVE, "--model", str(weights), *options]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            end = perf_counter() + PATIENCE_S
            while not _listens(port):
                assert process.poll() is None, "the server ended"
                assert perf_counter() < end, "the server does not listen"
                sleep(0.2)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.kill()


def _listens(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 1):
            return True
    except OSError:
        return False
