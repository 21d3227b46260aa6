"""Fixed pieces of work that times are measured in, so that results from a busier or slower machine can be compared.

Two of them, since a neighbour that takes one core slows what runs on all cores far more than what runs on one: a few
matrix products on the encoder's threads and the same ONNX Runtime ("parallel"), and some array work and Python on one
("serial"). Both run between queries, often enough to see what the queries saw.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from edgeret.providers import import_onnxruntime

EVERY = 4
"""Queries between two rounds of the work."""
REFERENCE_OF = {"decide": "serial", "next_select": "serial"}
"""Which piece a stage is measured in; "parallel" for all others, which read a model's weights or tables from memory."""
RUN_TO_RUN = {"encode": 0.03, "first_select": 0.04, "next_select": 0.04, "decide": 0.15}
"""Standard deviation of the log ratio of two runs on one bundle, in units of the reference; SHORT for the other stages,
a few dozen microseconds right after an encoding. No resampling of a single run shows it (docs/DESIGN.md, decisions)."""
SHORT = 0.12
ROWS, WIDTH, HIDDEN, LAYERS = 24, 384, 1536, 3


class Reference:
    """The workload for so many threads; the same numbers on every machine and in every version."""

    def __init__(self, threads: int) -> None:
        ort = import_onnxruntime()
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.force_spinning_stop", "1")
        self._session: Any = ort.InferenceSession(_graph(), options, providers=["CPUExecutionProvider"])
        self._work = np.random.default_rng(2).standard_normal((96, WIDTH)).astype(np.float32)
        self._input = {"x": np.random.default_rng(0).standard_normal((ROWS, WIDTH)).astype(np.float32)}

    def measure(self) -> dict[str, float]:
        """How long each piece took, once, in ms."""
        started = perf_counter()
        self._session.run(None, self._input)
        parallel = perf_counter()
        product = self._work @ self._work.T
        np.exp(-np.abs(product)).sum()
        np.argsort(self._work, axis=1)
        {str(i): i for i in range(500)}
        return {"parallel": (parallel - started) * 1e3, "serial": (perf_counter() - parallel) * 1e3}


def _graph() -> bytes:
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(1)
    # Weights of every layer are its own: an encoder's come from memory, which neighbours slow down too.
    nodes, weights, last = [], [], "x"
    for layer in range(LAYERS):
        for name, shape in (("up", (WIDTH, HIDDEN)), ("down", (HIDDEN, WIDTH))):
            weight, product = f"{name}{layer}", f"{name}{layer}_product"
            scaled = rng.standard_normal(shape) / shape[0] ** 0.5
            weights.append(numpy_helper.from_array(scaled.astype(np.float32), weight))
            nodes.append(helper.make_node("MatMul", [last, weight], [product]))
            nodes.append(helper.make_node("Tanh", [product], [f"{product}_tanh"]))
            last = f"{product}_tanh"
    shape = [ROWS, WIDTH]
    graph = helper.make_graph(
        nodes,
        "reference",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(last, TensorProto.FLOAT, shape)],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    data: bytes = model.SerializeToString()
    return data
