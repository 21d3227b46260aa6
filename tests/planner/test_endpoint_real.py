"""An endpoint against llama-cpp-python's own server with real weights (SmolLM2 135M)."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from time import perf_counter, sleep

import pytest

from edgeret.errors import PlannerError
from edgeret.planner.answers import Limits
from edgeret.planner.chat import Prompt, Turn
from edgeret.planner.endpoint import Endpoint

pytest.importorskip("httpx", reason="the extra 'endpoint' is not installed")
pytestmark = pytest.mark.real

SHAPE = {"searches": ["text"], "done": "flag"}
PROMPT = Prompt((Turn("system", "Answer in JSON."),), Turn("user", "Turn on the heating"))
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


@pytest.fixture(scope="module")
def llama_server() -> Iterator[str]:
    """llama-cpp-python's server with SmolLM2 135M; its URL."""
    pytest.importorskip("llama_cpp", reason="the extra 'planner' is not installed")
    for module in ("fastapi", "uvicorn", "pydantic_settings", "sse_starlette", "starlette_context", "yaml"):
        pytest.importorskip(module, reason="llama-cpp-python[server] is not installed")
    from edgeret_export.sources.cards import find_card
    from edgeret_export.sources.fetch import fetch

    weights = next(fetch(find_card("smollm2-135m-instruct")).glob("*.gguf"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
    options = f"--port {port} --n_threads 1 --n_ctx 1024".split()
    command = [sys.executable, "-c", SERVE, "--model", str(weights), *options]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.kill()


def test_a_real_server_answers_in_the_shape_that_was_asked_for(llama_server: str) -> None:
    endpoint = Endpoint(llama_server, timeout=120)
    end = perf_counter() + 60
    while True:
        try:
            first = endpoint.answer(PROMPT, SHAPE, Limits(max_tokens=64))
            break
        except PlannerError:  # it is still starting
            assert perf_counter() < end
            sleep(0.2)
    drawn = [endpoint.answer(PROMPT, SHAPE, Limits(max_tokens=64, temperature=0.7, seed=seed)) for seed in (1, 2)]
    for answer in (first, *drawn):
        assert answer.problem is None or answer.problem.startswith("cut off after "), answer
        assert answer.value is None or answer.value.keys() == SHAPE.keys()
        assert answer.usage.variable_tokens > 10
        assert answer.usage.tokens_evaluated > answer.usage.variable_tokens
    assert first.value is not None
    assert (endpoint.answer(PROMPT, SHAPE, Limits(max_tokens=2)).problem or "").startswith("cut off after ")
    with pytest.raises(PlannerError, match="a right URL is"):
        Endpoint(llama_server.removesuffix("/v1"), "m").answer(PROMPT, SHAPE, Limits())
