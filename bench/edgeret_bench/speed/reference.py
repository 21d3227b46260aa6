"""Fixed pieces of work that times are measured in, so that results from a busier or slower machine can be compared.

Two of them, since a neighbour that takes one core slows what runs on all cores far more than what runs on one: a small
int8 encoder with random weights, on the encoder's threads and the same ONNX Runtime ("encoder"), and some array work
and Python on one ("serial"). Both run between queries, often enough to see what the queries saw.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.encoders.providers import import_onnxruntime
from edgeret_bench.speed import onnx_file

EVERY = 2
"""Queries between two rounds of the work."""
REFERENCE_OF = {"decide": "serial", "next_select": "serial"}
"""Which piece a stage is measured in; "encoder" for all others, which read a model's weights or tables from memory."""
RUN_TO_RUN = {"encode": 0.04, "first_select": 0.04, "next_select": 0.11, "decide": 0.13}
"""Standard deviation of the log ratio of two runs on one bundle, in units of the reference; SHORT for the other stages,
a few dozen microseconds right after an encoding. No resampling of a single run shows it (docs/decisions)."""
SHORT = 0.1
TOKENS, WIDTH, HIDDEN, HEADS, LAYERS = 8, 384, 1536, 12, 6
"""Few tokens and 11 MB of weights, so that reading them takes most of the time, as with a short text."""
CONTRIB = "com.microsoft"


class Reference:
    """The workload for so many threads; the same numbers on every machine and in every version."""

    def __init__(self, threads: int) -> None:
        ort = import_onnxruntime()
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.force_spinning_stop", "1")
        self.session: Any = ort.InferenceSession(reference_model(), options, providers=["CPUExecutionProvider"])
        self._work = np.random.default_rng(2).standard_normal((96, WIDTH)).astype(np.float32)
        self.input = {"x": np.random.default_rng(0).standard_normal((1, TOKENS, WIDTH)).astype(np.float32)}

    def measure(self) -> dict[str, float]:
        """How long each piece took, once, in ms."""
        started = perf_counter()
        self.session.run(None, self.input)
        encoded = perf_counter()
        product = self._work @ self._work.T
        np.exp(-np.abs(product)).sum()
        np.argsort(self._work, axis=1)
        {str(i): i for i in range(500)}
        return {"encoder": (encoded - started) * 1e3, "serial": (perf_counter() - encoded) * 1e3}


def reference_model() -> bytes:
    """Transformer layers of the operations that quantised encoders are fused to; every weight is its own, since an
    encoder's come from memory, which neighbours slow down too."""
    rng = np.random.default_rng(1)
    nodes: list[bytes] = []
    weights: list[bytes] = []

    def constant(name: str, values: NDArray[Any]) -> str:
        weights.append(onnx_file.tensor(name, values))
        return name

    def matrix(name: str, inner: int, outer: int) -> tuple[str, ...]:
        return (
            constant(name, rng.integers(-127, 128, (inner, outer)).astype(np.int8)),
            constant(f"{name}_scale", np.full(outer, 0.014 / inner**0.5, np.float32)),
            constant(f"{name}_zero", np.zeros(outer, np.int8)),
            constant(f"{name}_bias", np.zeros(outer, np.float32)),
        )

    def node(kind: str, inputs: Sequence[str], *outputs: str, domain: str = CONTRIB, **attributes: int) -> str:
        nodes.append(onnx_file.node(kind, inputs, outputs, domain, attributes))
        return outputs[0]

    norm = constant("ones", np.ones(WIDTH, np.float32)), constant("zeros", np.zeros(WIDTH, np.float32))
    last = "x"
    for n in range(LAYERS):
        weight, scale, zero, bias = matrix(f"qkv{n}", WIDTH, 3 * WIDTH)
        quantised = f"q{n}", f"q{n}_scale", f"q{n}_zero"
        node("DynamicQuantizeLinear", [last], *quantised, domain="")
        inputs = [quantised[0], weight, bias, quantised[1], scale, "", quantised[2], zero]
        attended = node("QAttention", inputs, f"attended{n}", num_heads=HEADS)
        mixed = node("DynamicQuantizeMatMul", [attended, *matrix(f"mix{n}", WIDTH, WIDTH)], f"mixed{n}")
        middle = node("SkipLayerNormalization", [mixed, last, *norm], f"middle{n}")
        wide = node("DynamicQuantizeMatMul", [middle, *matrix(f"up{n}", WIDTH, HIDDEN)], f"wide{n}")
        active = node("Gelu", [wide], f"active{n}")
        narrow = node("DynamicQuantizeMatMul", [active, *matrix(f"down{n}", HIDDEN, WIDTH)], f"narrow{n}")
        last = node("SkipLayerNormalization", [narrow, middle, *norm], f"layer{n}")
    first, final = (onnx_file.float_value(end, (1, TOKENS, WIDTH)) for end in ("x", last))
    return onnx_file.model("reference", nodes, weights, [first], [final], {"": 17, CONTRIB: 1}, ir_version=8)
