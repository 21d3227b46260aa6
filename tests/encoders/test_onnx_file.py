"""ONNX files: what is no plain encoder is refused before ONNX Runtime sees it, and what comes out of one is checked."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from conftest import DIMENSION, WORDS, tiny_exported
from forge import Forger
from onnx import TensorProto, helper, numpy_helper

import edgeret
from edgeret.encoders.base import OUTPUT, TOKENS_OUTPUT, EncoderSpec
from edgeret.encoders.checks import onnx_file
from edgeret.encoders.providers import choose
from edgeret.errors import BundleError, InputError
from edgeret_export.reference.encoders.onnx import OnnxEncoder

ENCODER = tiny_exported()
Change = Callable[[Any], object]


def tiny(*changes: Change) -> bytes:
    """The made-up encoder, changed."""
    model = onnx.load_from_string(ENCODER.model)
    for change in changes:
        change(model)
    return bytes(model.SerializeToString())


def node(operator: str, inputs: list[str], outputs: list[str], domain: str = "", **attributes: Any) -> Change:
    """Adds an operator at the end."""
    return lambda model: model.graph.node.append(
        helper.make_node(operator, inputs, outputs, domain=domain, **attributes)
    )


def constant(name: str, value: Any) -> Change:
    return lambda model: model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))


def between(output: str, operator: str, *more: str, **attributes: Any) -> Change:
    """Puts an operator between what was an output and the output."""

    def change(model: Any) -> None:
        for old in model.graph.node:
            old.output[:] = ["inner" if name == output else name for name in old.output]
            old.input[:] = ["inner" if name == output else name for name in old.input]
        node(operator, ["inner", *more], [output], **attributes)(model)

    return change


def several(*changes: Change) -> Change:
    return lambda model: [change(model) for change in changes]


def branch(name: str, value: float) -> Any:
    output = helper.make_tensor_value_info(name, TensorProto.FLOAT, [])
    made = helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.float32(value)))
    return helper.make_graph([made], name, [], [output])


def outside(model: Any) -> None:
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.external_data.add(key="location", value="weights.bin")
    tensor.data_location = TensorProto.EXTERNAL


def weights(**fields: Any) -> Change:
    """Changes the table of words."""

    def change(model: Any) -> None:
        for name, value in fields.items():
            if name == "dims":
                model.graph.initializer[0].dims[:] = value
            else:
                setattr(model.graph.initializer[0], name, value)

    return change


SIZE = constant("size", [10**9])
BOOL = constant("yes", True)
REFUSED: dict[str, tuple[Change, str]] = {
    "If": (
        several(BOOL, node("If", ["yes"], ["x"], then_branch=branch("a", 1), else_branch=branch("b", 2))),
        "'If': a attribute holds a graph",
    ),
    "Loop": (
        several(SIZE, node("Loop", ["size", ""], ["x"], body=branch("a", 1))),
        "'Loop': a attribute holds a graph",
    ),
    "Scan": (node("Scan", ["table"], ["x"], body=branch("a", 1), num_scan_inputs=1), "'Scan': a attribute holds a"),
    "SequenceMap": (node("SequenceMap", ["table"], ["x"], body=branch("a", 1)), "'SequenceMap': a attribute holds"),
    "a loop without a body": (several(SIZE, node("Loop", ["size", ""], ["x"])), "operator 'Loop' is not allowed"),
    "a random tensor": (node("RandomNormal", [], ["x"], shape=[10**9]), "operator 'RandomNormal' is not allowed"),
    "Einsum": (node("Einsum", ["sum"], ["x"], equation="ij->ji"), "operator 'Einsum' is not allowed"),
    "an operator of nobody's domain": (node("Add", ["sum", "sum"], ["x"], "evil"), "operator 'evil.Add' is not"),
    "an operator of the wrong domain": (node("QAttention", ["sum"], ["x"]), "operator 'QAttention' is not allowed"),
    "a function": (
        lambda model: model.functions.append(helper.make_function("f", "F", [], [], [], [])),
        "a model holds functions",
    ),
    "training": (lambda model: model.training_info.add(), "a model holds training information"),
    "sparse weights": (lambda model: model.graph.sparse_initializer.add(), "a graph holds sparse initializers"),
    "weights outside": (outside, "a tensor holds external data"),
    "weights somewhere": (weights(data_location=1), "constant 'table' holds external data"),
    "weights in segments": (lambda model: model.graph.initializer[0].segment.SetInParent(), "a tensor holds a segment"),
    "weights cut short": (
        weights(dims=[36, 25]),
        r"constant 'table' must hold 900 elements for its dimensions \[36, 25",
    ),
    "weights of less than nothing": (weights(dims=[-36, -24]), "constant 'table' has impossible dimensions"),
    "weights of another type": (weights(data_type=TensorProto.STRING), "constant 'table' has element type 8"),
    "weights in two ways": (lambda model: model.graph.initializer[0].float_data.append(1), "impossible dimensions"),
    "weights twice": (constant("table", [1]), "constant 'table' is there twice"),
    "a reference to an attribute": (
        lambda model: model.graph.node[1].attribute[0].__setattr__("ref_attr_name", "to"),
        "'Cast': a attribute holds a reference",
    ),
    "an attribute of two types": (
        lambda model: model.graph.node[1].attribute[0].__setattr__("f", 1.0),
        "'Cast': attribute 'to' does not hold what its type 2 says",
    ),
    "an unknown input": (
        lambda model: model.graph.input.append(helper.make_tensor_value_info("secret", TensorProto.INT64, [1])),
        "expected some of input_ids, attention_mask, token_type_ids",
    ),
    "an input that is a constant": (constant("input_ids", [[1]]), "an input is a constant too"),
    "an output that nothing makes": (
        lambda model: model.graph.output.append(helper.make_tensor_value_info("no", TensorProto.FLOAT, [1])),
        "nothing makes its output 'no'",
    ),
    "nodes in a circle": (node("Neg", ["x"], ["x"]), "operator Neg reads 'x' before it is made"),
    "a value made twice": (node("Neg", ["sum"], ["mask"]), "operator Neg has an output too many"),
    "operators of the future": (
        lambda model: model.opset_import[0].__setattr__("version", 99),
        "of version 99, expected",
    ),
    "two versions of operators": (
        lambda model: model.opset_import.append(helper.make_opsetid("ai.onnx", 17)),
        "gives two versions of the operators of ''",
    ),
    "ten thousand nodes": (
        several(*(node("Neg", ["sum"], [f"n{i}"]) for i in range(9000))),
        "expected 8192 nodes at most, found 9006",
    ),
    # ONNX Runtime 1.31 dies of it.
    "an input without a name": (
        several(constant("scale", np.ones(24, np.float32)), node("LayerNormalization", ["sum", "scale", ""], ["x"])),
        "operator LayerNormalization has an input or output without a name",
    ),
    "a scale of one number": (
        several(constant("scale", np.float32(1)), node("LayerNormalization", ["sum", "scale"], ["x"])),
        r"operator LayerNormalization: input 1 has shape \[\], expected \[24\]",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_graph_that_is_no_encoders_is_refused_by_name(name: str) -> None:
    change, message = REFUSED[name]
    with pytest.raises(BundleError, match=message) as caught:
        onnx_file.check(tiny(change), 64, "encoder")
    assert str(caught.value).startswith("encoder: ")
    assert str(caught.value).endswith("; build the bundle with another encoder (docs/FORMAT.md, section 5)")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "it lacks a graph"),
        (b"\x00\x00\x00\x00ORTM" + bytes(100), "an ORT flatbuffer, expected an ONNX model"),
        (b"not a model at all", "a model holds field"),
        (ENCODER.model[:-1], "cut short"),
        (ENCODER.model + ENCODER.model, "a model holds field 1 twice"),
        (b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "cut short"),
        (b"\x80" * 20, "cut short"),
        (ENCODER.model.replace(b"sum", b"\xff\xfe\xfd"), "can't decode byte"),
    ],
)
def test_bytes_that_are_no_model_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(BundleError, match=message):
        onnx_file.check(data, 64, "encoder")


def load(base: Path, folder: Path, *changes: Change) -> edgeret.Runtime:
    """Loads a bundle around a changed encoder, all of whose hashes are right."""
    forgery = Forger(base).forgery()
    forgery.files["encoder"] = tiny(*changes)
    folder.mkdir()
    forgery.write(folder)
    return edgeret.load(folder, threads=1)


HALF = constant("half", np.float32(2))
NAN = constant("nan", np.float32("nan"))
ENDS = (constant("zero", [0]), constant("end", [7]), constant("axis", [1]))
STRANGE: dict[str, tuple[Change, str]] = {
    "vectors of another length": (several(HALF, between(OUTPUT, "Mul", "half")), "must have length 1 .*, found 4"),
    "a vector of NaN": (between(OUTPUT, "Sqrt"), "must have length 1 .*, found nan"),
    "tokens of NaN": (between(TOKENS_OUTPUT, "Sqrt"), f"{OUTPUT} must have length 1|not finite"),
    "a constant that is NaN": (
        several(NAN, between(OUTPUT, "Mul", "nan")),
        "constant 'nan' holds numbers that are not",
    ),
    "too short a vector": (
        several(*ENDS, between(OUTPUT, "Slice", "zero", "end", "axis")),
        rf"output {OUTPUT} must have shape \(1, 24\), found \(1, 7\)",
    ),
    "integers": (
        several(
            between(OUTPUT, "Cast", to=TensorProto.INT64),
            lambda model: setattr(model.graph.output[0].type.tensor_type, "elem_type", TensorProto.INT64),
        ),
        f"output {OUTPUT} must be tensor.float., found tensor.int64.",
    ),
    "no tokens": (
        lambda model: model.graph.output.pop(),
        f"output {TOKENS_OUTPUT} must be tensor.float., found None",
    ),
    "tokens in another shape": (
        between(TOKENS_OUTPUT, "Transpose", perm=[0, 2, 1]),
        "cannot run the graph|must have shape",
    ),
    "words beyond the table": (
        lambda model: model.graph.initializer[0].CopyFrom(
            numpy_helper.from_array(np.ones((2, DIMENSION), np.float32), "table")
        ),
        r"ONNX Runtime cannot run the graph \(.*out of data bounds.*\); build the bundle again",
    ),
}


@pytest.mark.parametrize("name", STRANGE)
def test_what_a_strange_encoder_gives_is_refused_at_load(name: str, tiny_original: Path, tmp_path: Path) -> None:
    change, message = STRANGE[name]
    with pytest.raises(BundleError, match=message) as caught:
        load(tiny_original, tmp_path / "forged", change)
    assert str(caught.value).startswith(f"{tmp_path / 'forged'} (encoder): ")
    assert "\n" not in str(caught.value)


def flawed(value: float) -> bytes:
    """An encoder whose table holds a wrong number for one word that no golden query has."""

    def change(model: Any) -> None:
        table = numpy_helper.to_array(model.graph.initializer[0]).copy()
        table[5] = value
        model.graph.initializer[0].CopyFrom(numpy_helper.from_array(table, "table"))

    return tiny(change)


def test_numbers_that_are_too_large_for_one_word_are_refused_when_the_word_comes() -> None:
    encoder = OnnxEncoder(flawed(1e30), ENCODER.tokenizer, ENCODER.spec, choose(("cpu",), False, {}), 1)
    good, bad = np.array([1, 7, 8, 2]), np.array([1, 7, 5, 8, 2])
    assert encoder.embed_tokens(good)[1].shape == (4, DIMENSION)
    for use in (
        encoder.embed_tokens,
        encoder.embed,
        lambda _: encoder.encode_batch([" ".join(WORDS[4:6]), f"{WORDS[4]} {WORDS[2]} {WORDS[5]}"]),
    ):
        with pytest.raises(BundleError, match=r"must have length 1|holds numbers that are not finite"):
            use(bad)


def test_parts_without_words_stay_rows_of_zeros() -> None:
    encoder = OnnxEncoder(ENCODER.model, ENCODER.tokenizer, ENCODER.spec, choose(("cpu",), False, {}), 1)
    assert not encoder.encode_query("mail").rows[2:].any()


def test_a_text_without_a_token_is_an_input_error() -> None:
    encoder = OnnxEncoder(ENCODER.model, ENCODER.tokenizer, ENCODER.spec, choose(("cpu",), False, {}), 1)
    with pytest.raises(InputError, match="a text without a single token has no vector"):
        encoder.embed(np.zeros(0, np.int64))


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("max_tokens", 8193, '"max_tokens" must be 1 to 8192, found 8193'),
        ("max_tokens", 0, '"max_tokens" must be 1 to 8192, found 0'),
        ("dimension", 1 << 40, '"dimension" must be 1 to 65536'),
        ("pooling", "none", '"pooling" must be one of mean, cls, max, lasttoken'),
        ("precision", "int3", '"precision" must be one of fp32, fp16, int8'),
        ("query_prefix", "so " * 10**5, '"query_prefix" has more than 1000 characters'),
    ],
)
def test_a_spec_out_of_range_is_refused(field: str, value: object, message: str) -> None:
    with pytest.raises(BundleError, match=message):
        EncoderSpec.from_dict({**ENCODER.spec.to_dict(), field: value}, "bundle (encoder)")


def test_the_made_up_encoder_passes_at_every_length() -> None:
    for tokens in (1, 64, 8192):
        onnx_file.check(ENCODER.model, tokens, "encoder")


@pytest.mark.real
@pytest.mark.parametrize("precision", ["fp32", "fp16", "int8"])
def test_the_real_encoder_passes_in_every_precision(precision: str) -> None:
    from edgeret_export.encoders.export import export_encoder
    from edgeret_export.sources.cards import DEFAULT_ENCODER, find_card

    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    onnx_file.check(export_encoder(find_card(DEFAULT_ENCODER), precision).model, 512, "encoder")
