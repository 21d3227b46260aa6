"""Joins the operators of every attention block into one that ONNX Runtime computes at once.

Exported, attention is some thirty small nodes a layer; on short texts, starting them costs as much as their arithmetic.
"""

from __future__ import annotations

from typing import Any


def fuse_attention(model: Any) -> Any:
    """A copy of the ONNX model with fused attention, for CPUs (and CUDA); blocks of another pattern stay as they are.

    Everything else that could be fused is left to ONNX Runtime's own optimiser, which knows the quantised forms.
    """
    import onnx
    from onnxruntime.transformers import optimizer
    from onnxruntime.transformers.fusion_options import FusionOptions

    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    options = FusionOptions("bert")
    for name in ("gelu", "bias_gelu", "skip_layer_norm", "embed_layer_norm"):
        setattr(options, f"enable_{name}", False)
    # opt_level 0: no session runs beforehand, whose rewriting depends on the machine. Heads and width are read from
    # the graph.
    fused: Any = optimizer.optimize_model(copy, "bert", opt_level=0, optimization_options=options).model
    if not any(entry.domain == "com.microsoft" for entry in fused.opset_import):
        fused.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    return fused
