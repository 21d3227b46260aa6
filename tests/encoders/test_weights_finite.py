"""Weights that are not finite are refused at loading, by name, whichever engine would run them; weights that are merely
far too large give vectors, or are refused, and make the library compute nothing that C does not define."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle, product
from typing import Any

import numpy as np
import onnx
import pytest
from bert_samples import MAX_TOKENS, exported_bert
from onnx import TensorProto, helper, numpy_helper

from edgeret.encoders.checks import onnx_file
from edgeret.encoders.checks.finite import all_finite, floats_in, halves_in
from edgeret.encoders.providers import choose
from edgeret.errors import BundleError
from edgeret_export.encoders.export import ExportedEncoder
from edgeret_export.reference.encoders.core import CoreEncoder
from edgeret_export.reference.encoders.encoder_arrays import pack_arrays
from edgeret_export.reference.encoders.onnx import OnnxEncoder

FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE)
TEXTS = ("find the file", "send it to ann", "mail a note about rain")


def bert() -> ExportedEncoder:
    """In int8, with weights of 7 bits, which every set of instructions adds up exactly."""
    return exported_bert("avx2")


def arrays() -> list[str]:
    """The names of its arrays of floating-point numbers."""
    return [t.name for t in onnx.load_from_string(bert().model).graph.initializer if t.data_type in FLOATS]


def changed(name: str, value: float, where: Any = -1) -> bytes:
    """The encoder with a number of an array exchanged."""
    model = onnx.load_from_string(bert().model)
    tensor = next(t for t in model.graph.initializer if t.name == name)
    array = numpy_helper.to_array(tensor).copy()
    array.reshape(-1)[where] = value
    tensor.CopyFrom(numpy_helper.from_array(array, name))
    return bytes(model.SerializeToString())


def with_constant(value: Any, operator: str = "Mul", place: int = 1, kept: int = 1, **typed: Any) -> bytes:
    """The encoder with a constant of its own in front of its vector's end, times nothing."""
    model = onnx.load_from_string(bert().model)
    tensor = typed.get("tensor") or numpy_helper.from_array(np.asarray(value), "weird")
    model.graph.initializer.append(tensor)
    add: Callable[..., Any] = lambda *given, **more: model.graph.node.append(helper.make_node(*given, **more))  # noqa: E731
    if operator == "Where":
        model.graph.initializer.append(numpy_helper.from_array(np.array([True]), "yes"))
        add(
            "Where", ["yes", *(("sentence_embedding", "weird") if place else ("weird", "sentence_embedding"))], ["late"]
        )
    else:
        add("Cast", ["weird"], ["cast"], to=1)
        add(operator, ["sentence_embedding", "cast"], ["late"])
    return bytes(model.SerializeToString())


def ours(model: bytes) -> CoreEncoder:
    arrays = pack_arrays(model, bert().spec)
    assert arrays is not None
    return CoreEncoder(model, arrays, bert().tokenizer, bert().spec)


def theirs(model: bytes) -> OnnxEncoder:
    return OnnxEncoder(model, bert().tokenizer, bert().spec, choose("cpu", False, {}), 1)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_an_array_with_one_number_that_is_none_is_refused_by_name(value: float) -> None:
    for name in arrays():
        model = changed(name, value)
        for load in (lambda model=model: ours(model), lambda model=model: theirs(model)):
            with pytest.raises(BundleError, match="holds numbers that are not finite") as caught:
                load()
            assert f"constant '{name[:39]}"[:40] in str(caught.value)


@pytest.mark.parametrize("value", [1e38, -3.4e38, 1e30, 1e-39, -1e-45])
def test_numbers_at_the_ends_of_all_numbers_give_vectors_or_are_refused(value: float) -> None:
    # A text for each array, since all of them for each would take three times as long and find the same.
    for (name, where), text in zip(product(arrays(), (-1, slice(None))), cycle(TEXTS)):
        model = changed(name, value, where)
        for engine in (ours, theirs):
            try:
                found = engine(model).encode_query(text)
            except BundleError as error:
                assert "finite" in str(error) or "must have length 1" in str(error)
                continue
            assert np.isfinite(found.rows).all() and np.isfinite(found.tokens).all()
            assert abs(float(found.vector @ found.vector) - 1) < 0.01


HALF = np.array([1, 2, np.nan, 4], np.float16)


def in_integers(numbers: Any) -> Any:
    """A tensor of float16, each as an integer."""
    bits = numbers.view(np.uint16).tolist()
    return TensorProto(name="weird", data_type=TensorProto.FLOAT16, dims=[len(bits)], int32_data=bits)


@pytest.mark.parametrize(
    "tensor",
    [
        numpy_helper.from_array(HALF, "weird"),
        in_integers(HALF),
        helper.make_tensor("weird", TensorProto.FLOAT, [4], [1, 2, float("inf"), 4]),
        helper.make_tensor("weird", TensorProto.DOUBLE, [4], [1, float("-inf"), 3, 4]),
        numpy_helper.from_array(np.array([1, 2, 3, np.nan]), "weird"),
        numpy_helper.from_array(np.array(np.nan, np.float32), "weird"),
        numpy_helper.from_array(np.array([-np.inf], np.float16), "weird"),
    ],
)
def test_it_is_seen_in_every_way_of_writing_floats(tensor: Any) -> None:
    with pytest.raises(BundleError, match="constant 'weird' holds numbers that are not finite"):
        onnx_file.check(with_constant(None, tensor=tensor), MAX_TOKENS, "encoder")


def test_minus_infinity_may_be_what_a_mask_chooses_and_nothing_else() -> None:
    for place in (0, 1):
        onnx_file.check(with_constant(np.float32("-inf"), "Where", place), MAX_TOKENS, "encoder")
        with pytest.raises(BundleError, match="constant 'weird' holds numbers that are not finite"):
            onnx_file.check(with_constant(np.float32("inf"), "Where", place), MAX_TOKENS, "encoder")
    with pytest.raises(BundleError, match="constant 'weird' holds numbers that are not finite"):
        onnx_file.check(with_constant(np.float32("-inf")), MAX_TOKENS, "encoder")


def test_an_attribute_that_is_no_number_is_refused() -> None:
    model = onnx.load_from_string(bert().model)
    node = next(node for node in model.graph.node if node.op_type == "LayerNormalization")
    next(attribute for attribute in node.attribute if attribute.name == "epsilon").f = float("nan")
    with pytest.raises(
        BundleError, match="'LayerNormalization': attribute 'epsilon' holds numbers that are not finite"
    ):
        onnx_file.check(model.SerializeToString(), MAX_TOKENS, "encoder")


def test_every_place_of_a_long_array_is_looked_at() -> None:
    for kind, bits in (("<f2", "<u2"), ("<f4", "<u4"), ("<f8", "<u8")):
        for place in (0, 65535, 65536, 99_999):
            numbers = np.full(100_000, np.finfo(kind).max, kind)
            numbers[::2] *= -1
            assert all_finite(floats_in(b"x" + numbers.tobytes(), (1, 1 + numbers.nbytes), bits))
            numbers[place] = np.nan
            assert not all_finite(floats_in(b"x" + numbers.tobytes(), (1, 1 + numbers.nbytes), bits))


def test_float16_in_integers_of_seven_bits_a_byte_are_read_as_they_are() -> None:
    numbers = np.random.default_rng(0).integers(0, 1 << 16, 1000, np.uint16)
    data = in_integers(numbers).SerializeToString()
    begin = data.index(b"\x2a") + 3  # the field's key, and two bytes of its length
    octets = np.frombuffer(data, np.uint8)[begin:]
    size = int(np.flatnonzero(octets < 128)[999]) + 1
    assert (halves_in(data, (begin, begin + size)) == numbers).all()
