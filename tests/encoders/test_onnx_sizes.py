"""Sizes of tensors as computed before a graph runs, held against what ONNX Runtime makes of random graphs.

Run as a script with a first number and a count, this file tries that many and tells what became of them:
`PYTHONPATH=tests python tests/encoders/test_onnx_sizes.py 0 5000`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from limited import main, outcomes
from onnx import TensorProto, helper, numpy_helper

from edgeret.encoders.checks.onnx_graph import BOOL, FLOAT, INT8, INT32, INT64, UINT8, Node, Tensor
from edgeret.encoders.checks.onnx_operators import RULES
from edgeret.encoders.checks.onnx_shapes import ONE, Call, Value, constant, value

CASES = 250
TOKENS = 16
TYPES = {FLOAT: np.float32, INT64: np.int64, INT32: np.int32, BOOL: np.bool_, INT8: np.int8, UINT8: np.uint8}
KINDS = {np.dtype(of): kind for kind, of in TYPES.items()}
MS = "com.microsoft."


class Maker:
    """A random graph in the making: every operator is tried by its rule, and added if the rule lets it through."""

    def __init__(self, number: int) -> None:
        self.rng = random.Random(number)
        self.numbers = np.random.default_rng(number)
        self.constants: dict[str, Any] = {}
        self.nodes: list[Any] = []
        self.values: dict[str, Value] = {"input_ids": value(INT64, (ONE, (1, TOKENS)))}

    def put(self, array: Any, kind: int = INT64) -> str:
        """A constant's name."""
        array, name = np.asarray(array, TYPES[kind]), f"c{len(self.constants)}"
        self.constants[name] = array
        few = tuple(array.ravel().tolist()) if kind in (INT32, INT64) and array.size <= 64 else None
        self.values[name] = constant(Tensor(kind, array.shape, few))
        return name

    def some(self, kind: int, *shape: int) -> str:
        """A constant of random small numbers, of a random shape if none is given."""
        size = shape or tuple(self.rng.choices((1, 1, 2, 3, 4, 8), k=self.rng.randrange(4)))
        return self.put(self.numbers.integers(0, 5, size) if kind != FLOAT else self.numbers.normal(size=size), kind)

    def pick(self, *kinds: int) -> str:
        """A value of one of these types, mostly one that depends on the text."""
        names = [n for n, v in self.values.items() if v.kind in kinds and n not in self.constants]
        return self.rng.choice(names) if names and self.rng.random() < 0.8 else self.some(self.rng.choice(kinds))

    def add(self, operator: str, inputs: Sequence[str], outputs: int = 1, **attributes: Any) -> str | None:
        """The first output's name, or None if the rule refuses the operator."""
        plain = {
            name: Tensor(KINDS[found.dtype], found.shape, tuple(found.ravel().tolist()))
            if isinstance(found, np.ndarray)
            else found
            for name, found in attributes.items()
        }
        names = tuple(f"v{len(self.nodes)}_{i}" for i in range(outputs))
        call = Call(Node(operator, tuple(inputs), names, plain), [self.values.get(name) for name in inputs])
        try:
            result = RULES[operator](call)
        except ValueError:
            return None
        if any(v.size > 50_000 or len(v.shape) > 6 for v in result.outputs):
            return None
        self.values |= zip(names, result.outputs, strict=False)
        domain, _, plain_name = operator.rpartition(".")
        proto = {k: numpy_helper.from_array(v) if isinstance(v, np.ndarray) else v for k, v in attributes.items()}
        self.nodes.append(helper.make_node(plain_name, inputs, names, domain=domain, **proto))
        return names[0]

    def model(self) -> bytes:
        """The model, with everything that is computed as an output."""
        ends = [onnx.ValueInfoProto(name=name) for node in self.nodes for name in node.output]
        ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch_size", "sequence_length"])
        held = [numpy_helper.from_array(array, name) for name, array in self.constants.items()]
        graph = helper.make_graph(self.nodes, "random", [ids], ends, held)
        versions = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
        return bytes(helper.make_model(graph, opset_imports=versions, ir_version=9).SerializeToString())


UNARY = ("Abs", "Ceil", "Cos", "Dropout", "Erf", "Exp", "Floor", "Log", "Neg", "Reciprocal", "Relu", "Sigmoid", "Sin")
REDUCING = ("ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum")


def unary(m: Maker) -> object:
    return m.add(m.rng.choice((*UNARY, "Sqrt", "Tanh", "IsNaN", MS + "Gelu", MS + "QuickGelu")), [m.pick(FLOAT)])


def binary(m: Maker) -> object:
    kind = m.rng.choice((FLOAT, INT64, INT64))
    operator = m.rng.choice(("Add", "Sub", "Mul", "Div", "Min", "Max", "Pow", "Equal", "Less", "GreaterOrEqual"))
    return m.add(operator, [m.pick(kind), m.pick(kind)])


def where(m: Maker) -> object:
    kind = m.rng.choice((FLOAT, INT64))
    return m.add("Where", [m.pick(BOOL), m.pick(kind), m.pick(kind)])


def cast(m: Maker) -> object:
    return m.add("Cast", [m.pick(*TYPES)], to=m.rng.choice(tuple(TYPES)))


def shaped(m: Maker) -> object:
    """Something whose size is computed from a value's shape, as exporters write it."""
    shape = m.add("Shape", [m.pick(FLOAT, INT64)])
    part = m.add("Gather", [str(shape), m.put(m.rng.choice((0, 1, -1, [0], [0, 1])))])
    if part and not m.values[part].shape:
        part = m.add("Unsqueeze", [part, m.put([0])])
    more = m.add(m.rng.choice(("Mul", "Add", "Sub", "Div")), [part, m.put([m.rng.choice((1, 2, 3))])]) if part else None
    size = m.add("Concat", [str(more or part), m.put([m.rng.choice((-1, 1, 2, 4))])], axis=0)
    if size is None:
        return None
    one, same = m.put([1]), m.add("Equal", [size, m.put([-1])])
    size = m.add("Where", [str(same), one, size]) if m.rng.random() < 0.5 else size
    operator = m.rng.choice(("Reshape", "Expand", "ConstantOfShape"))
    return m.add(operator, [str(size)] if operator == "ConstantOfShape" else [m.pick(FLOAT, INT64), str(size)])


def moved(m: Maker) -> object:
    """Transpose, Concat, Slice, Split, Squeeze, Unsqueeze, Flatten, Reshape, Range and look-ups."""
    name = m.pick(FLOAT, INT64)
    rank, axis = len(m.values[name].shape), m.rng.choice((0, 1, -1, 2))
    start, end, step = (m.put([m.rng.choice(of)]) for of in ((0, 1, -2), (1, 5, -1, 2**63 - 1), (1, 1, 2, -1)))
    ways: dict[str, Callable[[], object]] = {
        "Transpose": lambda: m.add("Transpose", [name], **({"perm": m.rng.sample(range(rank), rank)} if rank else {})),
        "Concat": lambda: m.add("Concat", [name, name], axis=axis),
        "Slice": lambda: m.add("Slice", [name, start, end, m.put([axis]), step]),
        "Split": lambda: m.add("Split", [name, m.put(m.rng.choice(([1, 1], [2, 2], [1, 3])))], 2, axis=axis),
        "Squeeze": lambda: m.add("Squeeze", [name, m.put([axis])]),
        "Unsqueeze": lambda: m.add("Unsqueeze", [name, m.put([axis])]),
        "Flatten": lambda: m.add("Flatten", [name], axis=max(0, axis)),
        "Reshape": lambda: m.add("Reshape", [name, m.put(m.rng.choice(([-1], [0, -1], [1, -1, 2], [4, -1])))]),
        "Range": lambda: m.add("Range", [m.put(0), m.put(m.rng.randrange(9)), m.put(m.rng.choice((1, 2)))]),
        "Gather": lambda: m.add("Gather", [name, m.pick(INT64)], axis=axis),
        "GatherElements": lambda: m.add("GatherElements", [name, m.some(INT64, 1, 1)], axis=axis),
    }
    return ways[m.rng.choice(tuple(ways))]()


def reduced(m: Maker) -> object:
    keep, axis = m.rng.choice((0, 1)), m.rng.choice((0, 1, -1))
    if m.rng.random() < 0.3:
        return m.add("ArgMax", [m.pick(FLOAT)], axis=axis, keepdims=keep)
    axes = [m.put(m.rng.choice(([axis], [0, -1], [])))] if m.rng.random() < 0.8 else []
    return m.add(
        m.rng.choice(REDUCING), [m.pick(FLOAT), *axes], keepdims=keep, noop_with_empty_axes=m.rng.choice((0, 1))
    )


def normalised(m: Maker) -> object:
    name = m.pick(FLOAT)
    width = m.values[name].shape[-1][1] if m.values[name].shape else 1
    row, axis = m.rng.choice((m.some(FLOAT, width), m.some(FLOAT), m.some(FLOAT, 1))), m.rng.choice((0, 1, -1))
    ways: dict[str, Callable[[], object]] = {
        "Softmax": lambda: m.add("Softmax", [name], axis=axis),
        "Lp": lambda: m.add("LpNormalization", [name], axis=axis, p=2),
        "Layer": lambda: m.add("LayerNormalization", [name, row, *m.rng.choice(((row,), ()))], axis=axis),
        "Skip": lambda: m.add(
            MS + "SkipLayerNormalization",
            [name, name, row, *m.rng.choice(((), ("", row), (row, "")))],
            m.rng.choice((1, 4)),
        ),
        "Bias": lambda: m.add(MS + "BiasGelu", [name, row]),
        "Sum": lambda: m.add("CumSum", [name, m.put(axis)]),
        "Clip": lambda: m.add("Clip", [name, *m.rng.choice((("", m.put(1, FLOAT)), (m.put(0, FLOAT), ""), ("", "")))]),
    }
    return ways[m.rng.choice(tuple(ways))]()


def multiplied(m: Maker) -> object:
    """Products, plain and quantised, and attention."""
    name, n = m.pick(FLOAT), m.rng.choice((1, 4, 8))
    k = m.values[name].shape[-1][1] if m.values[name].shape else 1
    small, scale, row = m.some(INT8, k, n), m.some(FLOAT, 1), m.some(FLOAT, n)
    tokens = m.put(m.numbers.normal(size=(1, m.rng.choice((1, 5)), k)), FLOAT)
    if m.rng.random() < 0.5 and len(m.values[name].shape) == 3:
        tokens = name
    quantised = m.put(m.numbers.integers(0, 9, (2, 3, k)), UINT8)
    ways: dict[str, Callable[[], object]] = {
        "plain": lambda: m.add("MatMul", [name, m.rng.choice((m.some(FLOAT, k, n), name, m.some(FLOAT, 2, k, n)))]),
        "turned": lambda: m.add(MS + "FusedMatMul", [name, m.some(FLOAT, n, k)], transB=1),
        "gemm": lambda: m.add("Gemm", [name, m.some(FLOAT, k, n), m.rng.choice((row, scale))]),
        "integer": lambda: m.add("MatMulInteger", [quantised, small, m.put(3, UINT8)]),
        "float": lambda: m.add(MS + "MatMulIntegerToFloat", [quantised, small, scale, m.rng.choice((scale, row))]),
        "dynamic": lambda: m.add(
            MS + "DynamicQuantizeMatMul",
            [name, small, m.rng.choice((scale, row, name)), *m.rng.choice(((), ("", row)))],
        ),
        "quantise": lambda: m.add("DynamicQuantizeLinear", [name], 3),
        "attention": lambda: m.add(
            MS + "Attention",
            [tokens, m.some(FLOAT, k, 3 * n), m.some(FLOAT, 3 * n), *m.rng.choice(((), ("",), (m.some(INT32),)))],
            num_heads=m.rng.choice((1, 4)),
        ),
    }
    return ways[m.rng.choice(tuple(ways))]()


def outcome(number: int) -> str:
    """Whether ONNX Runtime made, of graph `number`, what was computed beforehand, at several lengths of text."""
    import onnxruntime as ort

    maker = Maker(number)
    maker.add("Cast", ["input_ids"], to=FLOAT)
    maker.add("Gather", [maker.some(FLOAT, 9, 8), "input_ids"])
    for _ in range(maker.rng.choice((3, 6, 12))):
        maker.rng.choice((unary, binary, where, cast, shaped, shaped, moved, moved, reduced, normalised, multiplied))(
            maker
        )
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    if maker.rng.random() < 0.5:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    ran = "not run"
    try:
        session = ort.InferenceSession(maker.model(), options, providers=["CPUExecutionProvider"])
        for tokens in (1, 2, 5, TOKENS):
            found = session.run(None, {"input_ids": np.full((1, tokens), 2, np.int64)})
            for end, array in zip(session.get_outputs(), found, strict=True):
                if not holds(maker.values[end.name], array):
                    return f"{number}: {end.name} {array.dtype} {array.shape} is not {maker.values[end.name]}"
            ran = "as computed"
    except Exception as error:  # ONNX Runtime refuses many of them, and may
        if "onnxruntime" not in type(error).__module__:
            raise
    return ran


def holds(claim: Value, array: Any) -> bool:
    """Whether an array is what was claimed of it."""
    sizes = len(claim.shape) == array.ndim and array.size <= claim.size and KINDS.get(array.dtype) == claim.kind
    inside = all(low <= size <= high for size, (low, high) in zip(array.shape, claim.shape, strict=False))
    known = claim.numbers is None or (
        len(claim.numbers) == array.size
        and all(low <= n <= high for n, (low, high) in zip(array.ravel().tolist(), claim.numbers, strict=True))
    )
    return sizes and inside and known


def test_sizes_and_integers_of_random_graphs_are_as_computed_and_none_kills_the_process() -> None:
    found = outcomes(__file__, 0, CASES)
    assert found.keys() == {"as computed", "not run"}
    assert found["as computed"] > CASES // 4


@pytest.mark.parametrize(
    ("operator", "numbers"),
    [("Add", (2**31 - 1, 1)), ("Mul", (2**20, 2**20)), ("Sub", (-(2**31), 1)), ("Mul", (2**62, 4))],
)
def test_integers_that_could_wrap_around_are_not_relied_on(operator: str, numbers: tuple[int, int]) -> None:
    maker = Maker(0)
    sized = maker.add(operator, [maker.put([number]) for number in numbers])
    assert maker.values[str(sized)].numbers is None
    assert maker.add("ConstantOfShape", [str(sized)]) is None


if __name__ == "__main__":
    main(outcome)
