"""Smaller and faster encoders: dynamic int8 per channel for a CPU family, and fp16 for GPUs and NPUs."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from edgeret.encoders.base import PRECISIONS
from edgeret.encoders.providers import DISABLED_OPTIMIZERS, SLOW_ON_CPU
from edgeret.encoders.variants import WEIGHT_BITS
from edgeret.errors import InputError
from edgeret_export.encoders.fuse import fuse_attention
from edgeret_export.encoders.onnx_graph import quiet, strip_names, with_nodes
from edgeret_export.encoders.smooth import smooth

MIN_TABLE = 1 << 20


def convert(model: Any, precision: str, instruction_set: str, tokenizer: bytes, max_tokens: int, keep: str) -> bytes:
    """The ONNX model's bytes in `precision` (one of PRECISIONS). Raises InputError for another one.

    int8 graphs run on CPUs only, so they are also optimised ahead, which saves that work at every load; fp32 and fp16
    stay as exported, for other providers to optimise their own way. `tokenizer` and `max_tokens` are the model's, and
    `keep` is a regular expression on the names of nodes that int8 leaves in fp32 ("" leaves none).
    """
    if precision == "fp32":
        return bytes(model.SerializeToString(deterministic=True))
    if precision == "fp16":
        from onnxruntime.transformers.float16 import convert_float_to_float16

        with quiet():
            half = convert_float_to_float16(model, keep_io_types=True)
        return bytes(half.SerializeToString(deterministic=True))
    if precision != "int8":
        raise InputError(f"unknown precision '{precision}'; choose one of {', '.join(PRECISIONS)}")
    with quiet():
        return int8(smooth(fuse_attention(model), tokenizer, max_tokens), instruction_set, keep)


def int8(model: Any, instruction_set: str, keep: str) -> bytes:
    import onnx
    import onnxruntime as ort
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory() as folder:
        source, small, optimised = (Path(folder) / name for name in ("source.onnx", "int8.onnx", "optimised.onnx"))
        onnx.save(quantize_lookups(model), str(source))
        quantize_dynamic(
            source,
            small,
            op_types_to_quantize=["MatMul", "Attention"],
            nodes_to_exclude=[n.name for n in model.graph.node if keep and re.search(keep, n.name)],
            per_channel=True,
            reduce_range=WEIGHT_BITS[instruction_set] < 8,
            weight_type=QuantType.QInt8,
            # Shapes behind a fused operator are not inferred, nor are types; all values between products are floats.
            extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
        )
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        # What is joined here stays so in the bundle, whatever the runtime asks of its session.
        options.add_session_config_entry(DISABLED_OPTIMIZERS, ";".join(SLOW_ON_CPU))
        options.optimized_model_filepath = str(optimised)
        ort.InferenceSession(str(small), options, providers=["CPUExecutionProvider"])
        return bytes(strip_names(onnx.load(str(optimised))).SerializeToString(deterministic=True))


def quantize_lookups(model: Any) -> Any:
    """A copy of the ONNX model whose large embedding tables are int8 with one scale a row.

    ONNX Runtime's own quantiser has one scale for a whole table, which costs rare words most of their precision.
    """
    import onnx
    from onnx import helper, numpy_helper

    result = onnx.ModelProto()
    result.CopyFrom(model)
    graph = result.graph
    tables = {i.name: i for i in graph.initializer if len(i.dims) == 2 and i.dims[0] * i.dims[1] >= MIN_TABLE}
    nodes: list[Any] = []
    done: set[str] = set()
    for node in graph.node:
        by_row = all(attribute.i == 0 for attribute in node.attribute if attribute.name == "axis")
        if node.op_type != "Gather" or node.input[0] not in tables or not by_row:
            nodes.append(node)
            continue
        name, ids, output = node.input[0], node.input[1], node.output[0]
        if name not in done:
            table = numpy_helper.to_array(tables[name])
            scales = np.maximum(np.abs(table).max(axis=1, keepdims=True), 1e-12) / 127
            rows = np.round(table / scales).astype(np.int8)
            graph.initializer.append(numpy_helper.from_array(rows, f"{name}_rows"))
            graph.initializer.append(numpy_helper.from_array(scales, f"{name}_scales"))
            done.add(name)
        nodes += (
            helper.make_node("Gather", [f"{name}_rows", ids], [f"{output}_small"], axis=0),
            helper.make_node("Cast", [f"{output}_small"], [f"{output}_wide"], to=onnx.TensorProto.FLOAT),
            helper.make_node("Gather", [f"{name}_scales", ids], [f"{output}_scale"], axis=0),
            helper.make_node("Mul", [f"{output}_wide", f"{output}_scale"], [output]),
        )
    return with_nodes(result, nodes)
