"""With many demonstrations the graph has a say before the first call, and costs nothing behind it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from python_reader import by_python

from edgeret.runtime.runtime import Runtime
from edgeret_export.reference.runtime import components_of, runtime_of
from edgeret_export.reference.scoring.calibration import Calibration
from edgeret_export.reference.scoring.graph import Graph


@pytest.fixture(scope="module")
def runtime(tiny_many: Path) -> Runtime:
    return by_python(tiny_many, threads=1)


@pytest.mark.parametrize("call", ["find_file", "a_tool_of_others"])
def test_behind_a_call_the_graph_is_not_walked(runtime: Runtime, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    walked, real = [], Graph.distribution
    monkeypatch.setattr(
        Graph, "distribution", lambda self, *given, **named: walked.append(1) or real(self, *given, **named)
    )
    task = runtime.task("find a file to send")
    task.probabilities()
    assert len(walked) == 1
    task.call(call, foreign=call not in runtime.tools)
    before = task.probabilities()
    assert len(walked) == 1
    others = replace(components_of(runtime).calibration.parameters, head_weight=0.0, graph_weight=9.0)
    other = runtime_of(replace(components_of(runtime), calibration=Calibration(others))).task("find a file to send")
    assert not np.allclose(other.probabilities(), runtime.task("find a file to send").probabilities())
    other.call(call, foreign=call not in runtime.tools)
    np.testing.assert_array_equal(other.probabilities(), before)
