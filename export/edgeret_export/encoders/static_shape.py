"""An encoder's graph for one length of text, as compilers for NPUs want it: shapes known, standard operators alone.

What depends on the length is computed here, so no operator is left whose result is a shape.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from edgeret.encoders.providers import DISABLED_OPTIMIZERS
from edgeret.errors import CheckFailedError

BATCH, LENGTH = "batch_size", "sequence_length"
"""What the exporter calls the two dimensions that are not known."""

NPU_OPERATORS = frozenset(
    {
        *("Abs", "Add", "Cast", "Clip", "Concat", "DequantizeLinear", "Div", "Erf", "Expand", "Gather", "Gelu"),
        *("Identity", "LayerNormalization", "MatMul", "Max", "Min", "Mul", "Pow", "QuantizeLinear", "ReduceL2"),
        *("ReduceMax", "ReduceMean", "ReduceSum", "Relu", "Reshape", "Sigmoid", "Slice", "Softmax", "Split", "Sqrt"),
        *("Squeeze", "Sub", "Tanh", "Transpose", "Unsqueeze", "Where"),
    }
)
"""Operators that may stay in a graph for NPUs. Qualcomm's compiler takes all that our exports use of them, OpenVINO
too (`tests/npu_run.py`); com.microsoft's fused ones are the CPU's and GPU's own."""


def fixed(model: Any, tokens: int) -> Any:
    """A copy of the ONNX model that reads one text of exactly `tokens` tokens (padded by its attention mask). Raises
    CheckFailedError where an operator is left that NPU_OPERATORS lacks."""
    import onnx
    import onnxruntime as ort
    from onnxruntime.tools.onnx_model_utils import make_dim_param_fixed

    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for name, size in ((BATCH, 1), (LENGTH, tokens)):
        make_dim_param_fixed(copy.graph, name, size)
    options = ort.SessionOptions()
    # Basic: constants are computed, nothing is joined to operators of ONNX Runtime's own.
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    # As Gemm, products would get a Reshape before and behind.
    options.add_session_config_entry(DISABLED_OPTIMIZERS, "MatMulAddFusion")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "source.onnx", Path(folder) / "fixed.onnx"
        onnx.save(copy, str(source))
        options.optimized_model_filepath = str(target)
        ort.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])
        result = onnx.load(str(target))
    check_operators(result)
    open_ended = [given.name for given in result.graph.input if any(d.dim_param for d in _dimensions(given))]
    if open_ended:
        raise CheckFailedError(f"this encoder's inputs {', '.join(open_ended)} cannot be given one length")
    return result


def _dimensions(value: Any) -> Any:
    return value.type.tensor_type.shape.dim


def check_operators(model: Any) -> None:
    """Raises CheckFailedError for an operator that a graph for NPUs may not have."""
    found = {f"{node.domain}.{node.op_type}" if node.domain else node.op_type for node in model.graph.node}
    if strange := sorted(found - NPU_OPERATORS):
        raise CheckFailedError(
            f"this encoder's graph has operators that NPUs lack: {', '.join(strange)}; build without --target npu"
        )
