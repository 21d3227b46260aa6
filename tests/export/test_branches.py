"""Branches that the exporter writes around a squeeze are gone before the runtime, which refuses branches, sees them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

from edgeret_export.encoders.onnx_graph import without_branches


def branch(nodes: list[Any]) -> Any:
    output = helper.make_tensor_value_info("taken", TensorProto.FLOAT, None)
    return helper.make_graph(nodes, "branch", [], [output])


def first_token() -> Any:
    """The first token's vector, as exporters write it: squeezed if its dimension is 1, else as it is."""
    squeezed = branch(
        [
            helper.make_node("Constant", [], ["axis"], value=numpy_helper.from_array(np.array([1]), "axis")),
            helper.make_node("Squeeze", ["first", "axis"], ["taken"]),
        ]
    )
    same = branch([helper.make_node("Identity", ["first"], ["taken"])])
    constants = {"zero": [0], "one": [1], "two": [2], "number": 1}
    nodes = [
        helper.make_node("Slice", ["tokens", "zero", "one", "one"], ["first"]),
        helper.make_node("Shape", ["first"], ["shape"]),
        helper.make_node("Gather", ["shape", "number"], ["size"]),
        helper.make_node("Equal", ["size", "number"], ["is"]),
        helper.make_node("If", ["is"], ["vector"], then_branch=squeezed, else_branch=same),
    ]
    tokens = helper.make_tensor_value_info("tokens", TensorProto.FLOAT, [1, "n", 4])
    vector = helper.make_tensor_value_info("vector", TensorProto.FLOAT, None)
    initializers = [numpy_helper.from_array(np.array(value), name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "first", [tokens], [vector], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def run(model: Any, tokens: np.ndarray) -> np.ndarray:
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return np.asarray(session.run(["vector"], {"tokens": tokens})[0])


def test_a_squeeze_in_a_branch_is_a_squeeze() -> None:
    tokens = np.random.default_rng(0).normal(size=(1, 5, 4)).astype(np.float32)
    before = run(first_token(), tokens)
    plain = without_branches(first_token())
    assert "If" not in {node.op_type for node in plain.graph.node}
    np.testing.assert_array_equal(run(plain, tokens), before)


def test_any_other_branch_stays_and_is_the_runtimes_to_refuse() -> None:
    model = first_token()
    taken = next(a for a in model.graph.node[-1].attribute if a.name == "then_branch")
    del taken.g.node[0]
    assert "If" in {node.op_type for node in without_branches(model).graph.node}
