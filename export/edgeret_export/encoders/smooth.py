"""Makes an ONNX transformer easier to quantise (SmoothQuant, Xiao et al. 2023): large activation channels are scaled
down and the weights behind them up, which leaves the function as it is.

Dynamic int8 has one scale for a whole activation; a few outlying channels then cost all others their precision.
Measured on this project's example: nDCG@5 lost to int8 went from 1.7 points to about none (docs/decisions).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret_export.encoders.onnx_graph import with_nodes

ALPHA = 0.65
"""Share of the difficulty that moves into the weights; 0.5, the original paper's, and 0.8 keep less precision here."""
MAX_RATIO = 100.0

SAMPLES = (
    "What is on my calendar for Thursday?",
    "Send Maria the quarterly report and tell her that the meeting moved to half past three.",
    "turn it down",
    "Find the cheapest flight from Lisbon to Oslo on 14 March 2025, then book a hotel near the airport for two nights.",
    "My account 4929-1177 was charged twice. Please cancel the order, refund 59.90 euros and confirm by e-mail!",
    "The landlord says the heating has been broken since last week; can you look up my rights and draft a letter?",
    "Translate 'good morning' into Japanese and save it as greetings.txt",
    "weather Nairobi",
    "search repair provider | Search for repair service providers near an address",
    "get_stock_price: Returns the latest price of a share, given its ticker symbol.",
    "Compute the integral of x^2 + 3x between 0 and 5, and plot the curve.",
    "I'd like to learn about the history of jazz, any good books or podcasts? Also play something by Coltrane.",
    "Set an alarm for 6:45, remind me to take my pills at noon, and turn off the lights in the kitchen.",
    "Which of our customers in Berlin have not paid the invoice INV-2024-0031 yet?",
    "Create a new folder called Projects/2025, move every PDF from Downloads there and compress it.",
    "Summarise the attached contract in three sentences.",
)
"""Texts whose activations show which channels stand out. They are alike for all texts of a model, so a few do."""


def smooth(model: Any, tokenizer: bytes, max_tokens: int) -> Any:
    """A copy of the ONNX model with every weight product's input scaled per channel, its weights scaled back."""
    import onnx
    from onnx import helper, numpy_helper

    smoothed = onnx.ModelProto()
    smoothed.CopyFrom(model)
    graph = smoothed.graph
    weights = {i.name: i for i in graph.initializer}
    products: dict[str, list[Any]] = {}
    for node in graph.node:
        if node.op_type in ("MatMul", "Attention") and node.input[1] in weights:
            products.setdefault(node.input[0], []).append(node)
    peaks = _peaks(model, list(products), tokenizer, max_tokens)
    nodes = list(graph.node)
    for name, consumers in products.items():
        matrices = [numpy_helper.to_array(weights[node.input[1]]) for node in consumers]
        scale = _scale(peaks[name], np.max([np.abs(m).max(axis=1) for m in matrices], axis=0))
        graph.initializer.append(numpy_helper.from_array(1 / scale, f"{name}_shrink"))
        shrink = helper.make_node("Mul", [name, f"{name}_shrink"], [f"{name}_shrunk"], name=f"{name}_shrink")
        nodes.insert(min(nodes.index(node) for node in consumers), shrink)
        for node, matrix in zip(consumers, matrices, strict=True):
            grown = f"{name}_{node.input[1]}_grown"  # one matrix may serve two activations, each with its own scale
            graph.initializer.append(numpy_helper.from_array(matrix * scale[:, None], grown))
            node.input[0], node.input[1] = f"{name}_shrunk", grown
    return with_nodes(smoothed, nodes)


def _scale(peaks: NDArray[np.float32], weights: NDArray[np.float32]) -> NDArray[np.float32]:
    scale = np.maximum(peaks, 1e-5) ** ALPHA / np.maximum(weights, 1e-5) ** (1 - ALPHA)
    scale /= np.exp(np.log(scale).mean())
    return np.clip(scale, 1 / MAX_RATIO, MAX_RATIO).astype(np.float32)


def _peaks(model: Any, names: Sequence[str], tokenizer: bytes, max_tokens: int) -> Mapping[str, NDArray[np.float32]]:
    """The largest magnitude of every channel of the named activations, over SAMPLES."""
    import onnx
    import onnxruntime as ort
    from tokenizers import Tokenizer

    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    probe.graph.output.extend(onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, None) for n in names)
    session = ort.InferenceSession(probe.SerializeToString(), providers=["CPUExecutionProvider"])
    words = Tokenizer.from_buffer(tokenizer)
    words.no_padding()
    words.enable_truncation(max_tokens)
    inputs = {i.name for i in session.get_inputs()}
    peaks: dict[str, NDArray[np.float32]] = {}
    for text in SAMPLES:
        ids = np.array([words.encode(text).ids], np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        values = session.run(list(names), {k: v for k, v in feed.items() if k in inputs})
        for name, value in zip(names, values, strict=True):
            peak = np.abs(value).reshape(-1, value.shape[-1]).max(axis=0)
            peaks[name] = np.maximum(peaks.get(name, peak), peak)
    return peaks
