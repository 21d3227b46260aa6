"""A family of encoders that ONNX Runtime may run and that are no encoders: other outputs, numbers, sizes, operators.

As in forge_fields.py, a family makes the same forgery of the same number and says what it did.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from forge import Forgery
from forge_bytes import VALUES
from forge_fields import Family, cell

Change = Callable[[Any, int], object]
OUTPUT, TOKENS = "sentence_embedding", "token_embeddings"
SPECIAL = (float("nan"), float("inf"), 3e38, 1e30, 1e19, 1e-30, 1e-45, 0.0, -1.0)
OPERATORS = (
    "Relu",
    "Identity",
    "Neg",
    "Exp",
    "Log",
    "Sqrt",
    "Not",
    "Softmax",
    "Nothing",
    "Cast",
    "RandomNormalLike",
    "Shape",
)
TYPES = (1, 10, 11, 6, 7, 8, 9, 0, 16, 99)


def _renamed(model: Any, output: str) -> str:
    """Gives the value behind an output another name, so that something can come between."""
    for node in model.graph.node:
        node.output[:] = ["inner" if name == output else name for name in node.output]
        node.input[:] = ["inner" if name == output else name for name in node.input]
    return "inner"


def _constant(model: Any, name: str, value: Any) -> str:
    from onnx import numpy_helper

    model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    return name


def _node(model: Any, operator: str, inputs: list[str], outputs: list[str], **attributes: Any) -> None:
    from onnx import helper

    model.graph.node.append(helper.make_node(operator, inputs, outputs, **attributes))


def _between(model: Any, output: str, operator: str, *constants: Any, **attributes: Any) -> None:
    """An operator between what was an output and the output."""
    inner = _renamed(model, output)
    names = [_constant(model, f"new{i}", value) for i, value in enumerate(constants)]
    _node(model, operator, [inner, *names], [output], **attributes)


def _table(model: Any, number: int) -> Any:
    from onnx import numpy_helper

    table = next(i for i in model.graph.initializer if i.name == "table")
    array = numpy_helper.to_array(table).copy()
    rows = (slice(None), 9, 8, 35, 0, 1)[number % 6]
    array[rows, : (24, 1)[number // 6 % 2]] = SPECIAL[number // 12 % len(SPECIAL)]
    table.CopyFrom(numpy_helper.from_array(array, "table"))


def _bomb(model: Any, number: int) -> None:
    """A tensor whose size a constant names, hung behind the vector so that it must be made."""
    size = (10**8, 10**9, 10**10, 2**31, 2**40, 2**62)[number % 6]
    way = number // 6 % 5
    if way == 0:
        _node(model, "ConstantOfShape", [_constant(model, "size", np.array([size]))], ["much"])
    elif way == 1:
        _node(
            model, "Range", [_constant(model, n, np.float32(v)) for n, v in (("b", 0), ("e", size), ("s", 1))], ["much"]
        )
    elif way == 2:
        _node(
            model,
            "Expand",
            [_constant(model, "one1", np.ones(1, np.float32)), _constant(model, "size", np.array([size]))],
            ["much"],
        )
    elif way == 3:
        _node(
            model,
            "Tile",
            [_constant(model, "one1", np.ones(1, np.float32)), _constant(model, "size", np.array([size]))],
            ["much"],
        )
    else:
        _node(model, "RandomNormal", [], ["much"], shape=[size])
    _node(model, "ReduceMean", ["much"], ["mean"], keepdims=0)
    inner = _renamed(model, OUTPUT)
    _node(model, "Mul", ["mean", _constant(model, "none", np.float32(0))], ["nothing"])
    _node(model, "Add", [inner, "nothing"], [OUTPUT])


def _loop(model: Any, number: int) -> None:
    """Control flow: as often as the constant says."""
    from onnx import TensorProto, helper

    info = helper.make_tensor_value_info
    inner = _renamed(model, OUTPUT)
    if number % 3 == 2:
        branch = helper.make_graph(
            [helper.make_node("Identity", [inner], ["chosen"])], "b", [], [info("chosen", TensorProto.FLOAT, None)]
        )
        _node(model, "If", [_constant(model, "yes", np.array(True))], [OUTPUT], then_branch=branch, else_branch=branch)
        return
    body = helper.make_graph(
        [helper.make_node("Identity", ["again"], ["still"]), helper.make_node("Identity", ["state"], ["next"])],
        "body",
        [info("i", TensorProto.INT64, []), info("again", TensorProto.BOOL, []), info("state", TensorProto.FLOAT, None)],
        [info("still", TensorProto.BOOL, []), info("next", TensorProto.FLOAT, None)],
    )
    times = (10, 10**9, 2**62)[number // 3 % 3]
    _node(
        model,
        "Loop",
        [_constant(model, "times", np.array(times)), _constant(model, "yes", np.array(True)), inner],
        [OUTPUT],
        body=body,
    )


def _nested(model: Any, number: int) -> None:
    """Graphs inside graphs, as deep as a parser may have to go, or twice as many at every depth."""
    from onnx import TensorProto, helper

    inner, chosen = _renamed(model, OUTPUT), helper.make_tensor_value_info("chosen", TensorProto.FLOAT, None)
    branch = helper.make_graph([helper.make_node("Identity", [inner], ["chosen"])], "b", [], [chosen])
    _constant(model, "yes", np.array(True))
    depth, both = ((3, False), (30, False), (10, True))[number % 3]
    for _ in range(depth):
        branches = {"then_branch": branch, "else_branch": branch} if both else {"then_branch": branch}
        branch = helper.make_graph([helper.make_node("If", ["yes"], ["chosen"], **branches)], "b", [], [chosen])
    _node(model, "If", ["yes"], [OUTPUT], then_branch=branch, else_branch=branch)


def _long(model: Any, number: int) -> None:
    """A chain of very many operators."""
    inner = _renamed(model, OUTPUT)
    for i in range((100, 2_000, 20_000)[number % 3]):
        _node(model, "Neg", [inner], [f"chain{i}"])
        inner = f"chain{i}"
    _node(model, "Identity", [inner], [OUTPUT])


def _attribute(model: Any, number: int) -> None:
    found = [attribute for node in model.graph.node for attribute in node.attribute]
    found[number % len(found)].i = VALUES[number // len(found) % len(VALUES)]


def _initializer(model: Any, number: int) -> None:
    tensor = model.graph.initializer[number % 3]
    match number // 3 % 6:
        case 0:
            tensor.data_type = TYPES[number // 18 % len(TYPES)]
        case 1:
            tensor.dims[:] = [VALUES[number // 18 % len(VALUES)]] * len(tensor.dims)
        case 2:
            tensor.raw_data = tensor.raw_data[:-1]
        case 3:
            tensor.raw_data = b""
        case 4:
            tensor.dims.insert(0, VALUES[number // 18 % len(VALUES)])
        case _:
            tensor.name = ("", "table", "input_ids", OUTPUT)[number // 18 % 4]


def _declared(model: Any, number: int) -> None:
    """What inputs and outputs are said to be."""
    value = (*model.graph.input, *model.graph.output)[number % 4]
    match number // 4 % 5:
        case 0:
            value.type.tensor_type.elem_type = TYPES[number // 20 % len(TYPES)]
        case 1:
            for dimension in value.type.tensor_type.shape.dim:
                dimension.dim_value = VALUES[number // 20 % len(VALUES)]
        case 2:
            value.type.tensor_type.ClearField("shape")
        case 3:
            value.name = ("", "input_ids", "x\x1b[31m", "y" * 100_000, "token_type_ids")[number // 20 % 5]
        case _:
            value.type.Clear()


def _extra(model: Any, number: int) -> None:
    """More inputs, outputs, versions, metadata than there should be."""
    from onnx import TensorProto, helper

    match number % 9:
        case 0:
            model.graph.input.append(helper.make_tensor_value_info("extra", TensorProto.FLOAT, [1]))
        case 1:
            model.graph.input.append(helper.make_tensor_value_info("token_type_ids", TensorProto.FLOAT, [1]))
        case 2:
            model.graph.output.append(model.graph.output[0])
        case 3:
            model.opset_import[0].version = VALUES[number // 9 % len(VALUES)]
        case 4:
            model.ir_version = VALUES[number // 9 % len(VALUES)]
        case 5:
            model.metadata_props.add(key="k" * 10, value="v" * 10_000_000)
        case 6:
            model.opset_import.add(domain="made.up", version=1)
        case 7:
            model.graph.node.append(model.graph.node[number // 9 % 6])
        case _:
            model.graph.doc_string = "\x1b[31m" * 100_000


def _external(model: Any, number: int) -> None:
    from onnx import TensorProto

    tensor = model.graph.initializer[number % 3]
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (
        ("location", ("/etc/passwd", "../index.msgpack", "encoder.onnx", "/dev/zero", "")[number // 3 % 5]),
        ("length", "96"),
    ):
        tensor.external_data.add(key=key, value=value)
    tensor.ClearField("raw_data")


def _operator(model: Any, number: int) -> None:
    node = model.graph.node[number % len(model.graph.node)]
    node.op_type = OPERATORS[number // len(model.graph.node) % len(OPERATORS)]


def _removed(model: Any, number: int) -> None:
    part = (model.graph.node, model.graph.initializer, model.graph.input, model.graph.output, model.opset_import)[
        number % 5
    ]
    del part[number // 5 % len(part)]


def _crossed(model: Any, number: int) -> None:
    """A node fed by another's output, perhaps its own."""
    nodes = model.graph.node
    nodes[number % len(nodes)].input[0] = nodes[number // len(nodes) % len(nodes)].output[0]


BETWEEN: tuple[tuple[str, tuple[Any, ...], dict[str, Any]], ...] = (
    ("Mul", (np.float32(2.0),), {}), ("Mul", (np.float32(0),), {}), ("Mul", (np.float32("nan"),), {}),
    ("Mul", (np.float32(1e38),), {}),
    ("Cast", (), {"to": 10}), ("Cast", (), {"to": 11}), ("Cast", (), {"to": 7}), ("Cast", (), {"to": 8}),
    ("Cast", (), {"to": 9}),
    ("Unsqueeze", (np.array([0]),), {}), ("Reshape", (np.array([-1]),), {}), ("Reshape", (np.array([2, -1]),), {}),
    ("Reshape", (np.array([-1, 1]),), {}), ("Tile", (np.array([1] * 3),), {}), ("Tile", (np.array([2, 1]),), {}),
    ("Slice", (np.array([0]), np.array([0])), {}), ("Slice", (np.array([0]), np.array([5]), np.array([-1])), {}),
    ("Slice", (np.array([0]), np.array([0]), np.array([1])), {}), ("Squeeze", (), {}), ("Exp", (), {}),
    ("NonZero", (), {}),
    ("Gather", (np.array([0, 9, 11]),), {"axis": -1}), ("Gather", (np.array([3]),), {"axis": 1}),
    ("RandomNormalLike", (), {}),
    ("Div", (np.float32(0),), {}), ("Sqrt", (), {}), ("Unique", (), {}), ("SequenceConstruct", (), {}),
    ("Optional", (), {}),
)  # fmt: skip


def _operation(model: Any, number: int) -> None:
    operator, constants, attributes = BETWEEN[number // 2 % len(BETWEEN)]
    _between(model, (OUTPUT, TOKENS)[number % 2], operator, *constants, **attributes)


def _short_positions(model: Any, number: int) -> None:
    """An encoder that works for short texts only: it looks a position up in a table that is too small."""
    rows = (1, 3, 8, 40)[number % 4]
    inner = _renamed(model, OUTPUT)
    _node(model, "Shape", ["input_ids"], ["sizes"])
    _node(model, "Gather", ["sizes", _constant(model, "second", np.array([1]))], ["length"])
    _node(model, "Gather", [_constant(model, "positions", np.zeros(rows, np.float32)), "length"], ["found"])
    _node(model, "Add", [inner, "found"], [OUTPUT])


@cache
def flatbuffer(model: bytes) -> bytes:
    """The same model in ONNX Runtime's own format."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    with TemporaryDirectory() as folder:
        options.optimized_model_filepath = str(Path(folder) / "model.ort")
        options.add_session_config_entry("session.save_model_format", "ORT")
        onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        return (Path(folder) / "model.ort").read_bytes()


ACTING = (
    "\x1b[31mred",
    "\x1b]0;mine\x07",
    "\x9b2J",
    "a\rb",
    "a\nb",
    "a\u202eb",
    "a\u2028b",
    "hid\U000e0041den",
    "\x00",
    "",
)
NAMED = 16


def _named(model: Any, number: int) -> None:
    """A text that a terminal obeys, wherever a model has texts; and a graph that fails now and then, so that ONNX
    Runtime has something to say about it."""
    from onnx import TensorProto, helper

    text, graph = ACTING[number // NAMED % len(ACTING)], model.graph
    node, value = graph.node[number // NAMED % len(graph.node)], graph.value_info
    match number % NAMED:
        case 0:
            node.name = text
        case 1:
            node.op_type = text
        case 2:
            node.domain = text
        case 3 | 4:
            inner = _renamed(model, (OUTPUT, TOKENS)[number % 2])
            _node(model, "Identity", [inner], [text])
            _node(model, "Identity", [text], [(OUTPUT, TOKENS)[number % 2]])
        case 5:
            graph.initializer[number // NAMED % len(graph.initializer)].name = text
        case 6:
            graph.name = text
        case 7:
            graph.input[0].type.tensor_type.shape.dim[1].dim_param = text
        case 8:
            graph.output[0].type.tensor_type.shape.dim[0].dim_param = text
        case 9:
            value.append(helper.make_tensor_value_info(text, TensorProto.FLOAT, [text, 3]))
        case 10:
            model.opset_import.add(domain=text, version=1)
        case 11:
            model.metadata_props.add(key=text, value=text)
        case 12:
            model.producer_name = model.producer_version = model.domain = text
        case 13:
            _between(model, OUTPUT, "LpNormalization", **{text or "axis": 7})
        case 14:
            _between(model, OUTPUT, "Gelu", approximate=text)
        case _:
            node.name, graph.initializer[0].doc_string = text, text
    if number // NAMED % 3 == 2:  # a node with that name which fails while it runs
        _short_positions(model, 0)
        graph.node[-2].name = text


CHANGES: tuple[Change, ...] = (
    _table, _bomb, _loop, _nested, _long, _attribute, _initializer, _declared, _extra, _external, _operator, _removed,
    _crossed,
    _operation, _operation, _short_positions, _named, _named,
)  # fmt: skip


def graphs(forgery: Forgery, number: int) -> str:
    """An encoder that differs in one thing; now and then one in another format, or one that is a parser's trap."""
    import onnx

    data = forgery.files["encoder"]
    way, rest = number % (len(CHANGES) + 1), number // (len(CHANGES) + 1)
    if way == len(CHANGES):
        ort = flatbuffer(data)
        traps = (
            ort,
            ort[:-9],
            ort[:100] + struct.pack("<I", 2**31) + ort[104:],
            b"",
            b"\x0a" * 10**6,
            b"\x3a\xff\xff\xff\xff\x0f",
        )
        forgery.files["encoder"] = traps[rest % len(traps)]
        return f"encoder: trap {rest % len(traps)}"
    model = onnx.load_from_string(data)
    # Every kind of change counts through its own numbers, in jumps, so that a short run sees different ones too.
    CHANGES[way](model, cell(rest, 997)[0])
    forgery.files["encoder"] = model.SerializeToString()
    return f"encoder: {CHANGES[way].__name__.strip('_')} {cell(rest, 997)[0]}"


ENCODER: dict[str, Family] = {"encoder-graphs": graphs}
