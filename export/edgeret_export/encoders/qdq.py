"""Static quantisation in ONNX's own terms (QuantizeLinear and DequantizeLinear, "QDQ"), which compilers for NPUs read.

Scales are fixed beforehand, from texts like those that will come. Weights are int8 with a scale a column; activations
are unsigned with 8 bits, or 16 where 8 would drown them: behind a transformer's second product few channels are so much
larger than the others that one scale for all leaves nothing of them (measured: docs/decisions).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret_export.encoders.onnx_graph import quiet, strip_names
from edgeret_export.encoders.static_shape import check_operators

CALIBRATION_TEXTS = 256
MAX_NOISE = 0.001
"""Of an activation's energy, that rounding to 8 bits may add as noise; louder ones get 16 bits."""

Feed = Mapping[str, NDArray[np.int64]]


def quantized(model: Any, feeds: Sequence[Feed]) -> bytes:
    """The ONNX model of static shape with its weight products and its table of words quantised; `feeds` are inputs to
    calibrate with, as the model takes them. Raises CheckFailedError for a graph that NPUs cannot run."""
    import onnx
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    class Reader(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self._left: Iterator[Feed] = iter(feeds)

        def get_next(self) -> Feed | None:
            return next(self._left, None)

    weights = {i.name for i in model.graph.initializer}
    products = [n for n in model.graph.node if n.op_type == "MatMul" and n.input[1] in weights]
    tables = [n for n in model.graph.node if n.op_type == "Gather" and n.input[0] in weights]
    loud = _loud(model, [name for node in products for name in (node.input[0], node.output[0])], feeds)
    wide = {n for node in products if loud & {node.input[0], node.output[0]} for n in (node.input[0], node.output[0])}
    # One scale for a whole table: with 8 bits, rare words would lose most of theirs.
    wide |= {name for node in tables for name in (node.input[0], node.output[0])}
    with tempfile.TemporaryDirectory() as folder, quiet():
        source, small = Path(folder) / "source.onnx", Path(folder) / "qdq.onnx"
        onnx.save(model, str(source))
        quantize_static(
            str(source),
            str(small),
            Reader(),
            quant_format=QuantFormat.QDQ,
            op_types_to_quantize=["MatMul", "Gather"],
            nodes_to_quantize=[node.name for node in (*products, *tables)],
            per_channel=True,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            extra_options={
                "WeightSymmetric": True,
                "ActivationSymmetric": False,
                "TensorQuantOverrides": {name: [{"quant_type": QuantType.QUInt16}] for name in sorted(wide)},
            },
        )
        result = strip_names(onnx.load(str(small)))
    check_operators(result)
    return bytes(result.SerializeToString(deterministic=True))


def _loud(model: Any, names: Sequence[str], feeds: Sequence[Feed]) -> set[str]:
    """Which of the named activations 8 bits with one scale would drown in noise."""
    import onnx
    import onnxruntime as ort

    names = list(dict.fromkeys(names))
    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    known = {output.name for output in probe.graph.output}
    probe.graph.output.extend(
        onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, None) for n in names if n not in known
    )
    session = ort.InferenceSession(probe.SerializeToString(), providers=["CPUExecutionProvider"])
    low, high, energy = np.zeros(len(names)), np.zeros(len(names)), np.zeros(len(names))
    for feed in feeds:
        for i, found in enumerate(session.run(names, dict(feed))):
            low[i], high[i] = min(low[i], float(found.min())), max(high[i], float(found.max()))
            energy[i] += float(np.square(found, dtype=np.float64).mean()) / len(feeds)
    # Rounding to steps of one size adds a twelfth of a step's square.
    noise = ((high - low) / 255) ** 2 / 12
    return {name for name, ratio in zip(names, noise / np.maximum(energy, 1e-30), strict=True) if ratio > MAX_NOISE}
