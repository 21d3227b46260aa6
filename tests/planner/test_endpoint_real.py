"""An endpoint against llama-cpp-python's own server with real weights (SmolLM2 135M)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from llama_server import llama_server as running

from edgeret.errors import PlannerError
from edgeret.planner.answers import Limits
from edgeret.planner.chat import Prompt, Turn
from edgeret.planner.endpoint import Endpoint

pytest.importorskip("httpx", reason="the extra 'endpoint' is not installed")
pytestmark = pytest.mark.real

SHAPE = {"searches": ["text"], "done": "flag"}
PROMPT = Prompt((Turn("system", "Answer in JSON."),), Turn("user", "Turn on the heating"))


@pytest.fixture(scope="module")
def llama_server() -> Iterator[str]:
    """llama-cpp-python's server with SmolLM2 135M; its URL."""
    pytest.importorskip("llama_cpp", reason="the extra 'planner' is not installed")
    for module in ("fastapi", "uvicorn", "pydantic_settings", "sse_starlette", "starlette_context", "yaml"):
        pytest.importorskip(module, reason="llama-cpp-python[server] is not installed")
    with running(1024) as url:
        yield url


def test_a_real_server_answers_in_the_shape_that_was_asked_for(llama_server: str) -> None:
    endpoint = Endpoint(llama_server, timeout=120)
    first = endpoint.answer(PROMPT, SHAPE, Limits(max_tokens=64))
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
