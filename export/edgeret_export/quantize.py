"""Smaller and faster encoders: dynamic int8 per channel for a CPU family, and fp16 for GPUs and NPUs."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from edgeret.errors import InputError
from edgeret_export.onnx_export import quiet, strip_names
from edgeret_export.smooth import smooth

PRECISIONS = ("fp32", "fp16", "int8")
# Without VNNI, u8×s8 products are summed in pairs in 16 bits and saturate; 7-bit weights cannot overflow there.
REDUCED_RANGE = frozenset({"avx2", "avx512", "generic"})


def convert(model: Any, precision: str, instruction_set: str, tokenizer: bytes, max_tokens: int) -> bytes:
    """The ONNX model's bytes in `precision` (one of PRECISIONS). Raises InputError for another one.

    int8 graphs run on CPUs only, so they are also optimised ahead, which saves that work at every load; fp32 and fp16
    stay as exported, for other providers to optimise their own way. `tokenizer` and `max_tokens` are the model's.
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
        return _int8(smooth(model, tokenizer, max_tokens), instruction_set)


def _int8(model: Any, instruction_set: str) -> bytes:
    import onnx
    import onnxruntime as ort
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory() as folder:
        source, small, optimised = (Path(folder) / name for name in ("source.onnx", "int8.onnx", "optimised.onnx"))
        onnx.save(model, str(source))
        reduced = instruction_set in REDUCED_RANGE
        quantize_dynamic(source, small, per_channel=True, reduce_range=reduced, weight_type=QuantType.QInt8)
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        options.optimized_model_filepath = str(optimised)
        ort.InferenceSession(str(small), options, providers=["CPUExecutionProvider"])
        return bytes(strip_names(onnx.load(str(optimised))).SerializeToString(deterministic=True))
