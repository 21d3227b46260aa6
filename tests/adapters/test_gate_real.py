"""A few requests through the gate to llama.cpp's own server, by OpenAI's own client; `tests/gate_run.py` sends many."""

from __future__ import annotations

import gate_run
import pytest
from planner_layers import few_layers

import edgeret

pytestmark = pytest.mark.real


@pytest.mark.full
def test_no_request_is_lost_or_altered_before_a_real_server(tmp_path_factory: pytest.TempPathFactory) -> None:
    for module in ("openai", "uvicorn", "llama_cpp", "fastapi", "pydantic_settings", "sse_starlette"):
        pytest.importorskip(module, reason="openai, the extra 'gate' or llama-cpp-python[server] is not installed")
    with gate_run.llama_server(gate_run.CONTEXT, few_layers()) as server:
        found = gate_run.measure(server, edgeret.base_path(), requests=8, timed=1)
    assert (found["lost"], found["altered"], found["trimmed"]) == ([], [], 8)
    assert found["own_ms"]["p50"] > 0
