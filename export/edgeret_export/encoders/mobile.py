"""An ONNX model in ONNX Runtime's own format, for applications with a minimal build of ONNX Runtime."""

from __future__ import annotations

import tempfile
from pathlib import Path

from edgeret.encoders.providers import DISABLED_OPTIMIZERS, SLOW_ON_CPU


def to_ort(model: bytes) -> tuple[bytes, bytes]:
    """The model as a flatbuffer (.ort), and the list of operators and types that a minimal build needs for it, as
    ONNX Runtime's build script reads it."""
    import onnxruntime as ort
    from onnxruntime.tools.ort_format_model import create_config_from_models

    with tempfile.TemporaryDirectory() as folder:
        target, listed = Path(folder) / "encoder.ort", Path(folder) / "operators.config"
        options = ort.SessionOptions()
        # The graph is optimised already; what this machine's session would add is for this machine.
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.add_session_config_entry(DISABLED_OPTIMIZERS, ";".join(SLOW_ON_CPU))
        options.add_session_config_entry("session.save_model_format", "ORT")
        options.optimized_model_filepath = str(target)
        ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        create_config_from_models([target], listed, enable_type_reduction=True)
        # Its head names the folder that it was made in.
        lines = [line for line in listed.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
        return target.read_bytes(), "\n".join([*lines, ""]).encode()
