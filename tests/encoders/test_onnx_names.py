"""Texts in a graph: ONNX Runtime writes them into its log and its messages, so none may hold what a terminal obeys."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from conftest import DIMENSION, tiny_exported
from forge import Forger
from onnx import TensorProto, helper, numpy_helper

import edgeret
from edgeret.encoders.checks import onnx_file
from edgeret.errors import BundleError
from edgeret.quoting import UNSEEN

ENCODER = tiny_exported()
Place = Callable[[Any, str], object]


def _value(model: Any, text: str, dimension: str = "n") -> None:
    model.graph.value_info.append(helper.make_tensor_value_info(text, TensorProto.FLOAT, [dimension]))


def _operator(model: Any, text: str, **fields: Any) -> None:
    model.graph.node.append(helper.make_node(text, ["input_ids"], ["more"], **fields))


def _renamed(model: Any, text: str) -> None:
    """A value's name, wherever it stands."""
    name = model.graph.node[1].output[0]
    for node in model.graph.node:
        node.output[:] = [text if each == name else each for each in node.output]
        node.input[:] = [text if each == name else each for each in node.input]


PLACES: dict[str, Place] = {
    "a node's name": lambda model, text: setattr(model.graph.node[0], "name", text),
    "a value": _renamed,
    "an input of a node": lambda model, text: model.graph.node[0].input.__setitem__(0, text),
    "an operator": _operator,
    "an operator's domain": lambda model, text: _operator(model, "Neg", domain=text),
    "an attribute": lambda model, text: _operator(model, "Neg", **{text: 1}),
    "an attribute's text": lambda model, text: _operator(model, "Neg", kind=text),
    "one of an attribute's texts": lambda model, text: _operator(model, "Neg", kind=["a", text]),
    "a constant": lambda model, text: model.graph.initializer.append(numpy_helper.from_array(np.zeros(3), text)),
    "the graph": lambda model, text: setattr(model.graph, "name", text),
    "an input": lambda model, text: setattr(model.graph.input[0], "name", text),
    "an output": lambda model, text: setattr(model.graph.output[0], "name", text),
    "an input's size": lambda model, text: setattr(
        model.graph.input[0].type.tensor_type.shape.dim[1], "dim_param", text
    ),
    "a size's meaning": lambda model, text: setattr(
        model.graph.input[0].type.tensor_type.shape.dim[1], "denotation", text
    ),
    "a type's meaning": lambda model, text: setattr(model.graph.output[0].type, "denotation", text),
    "a value that is described": _value,
    "the size of a value that is described": lambda model, text: _value(model, "described", text),
    "what quantised it": lambda model, text: model.graph.quantization_annotation.add(tensor_name=text),
    "who made it": lambda model, text: setattr(model, "producer_name", text),
    "the maker's version": lambda model, text: setattr(model, "producer_version", text),
    "the model's domain": lambda model, text: setattr(model, "domain", text),
    "an operator set": lambda model, text: model.opset_import.add(domain=text, version=1),
    "a note's key": lambda model, text: model.metadata_props.add(key=text, value="v"),
    "a note": lambda model, text: model.metadata_props.add(key="k", value=text),
    "a note on a node": lambda model, text: model.graph.node[0].metadata_props.add(key="k", value=text),
    "a note on a constant": lambda model, text: model.graph.initializer[0].metadata_props.add(key="k", value=text),
    "the graph's description": lambda model, text: setattr(model.graph, "doc_string", text),
    "a node's description": lambda model, text: setattr(model.graph.node[0], "doc_string", text),
    "a constant's description": lambda model, text: setattr(model.graph.initializer[0], "doc_string", text),
}
NOTES = frozenset(name for name in PLACES if "note" in name or "description" in name) - {"a note's key"}
ACTING = ("\x1b[31mred\x1b]0;mine\x07", "\x9b2J", "a\u202eb", "a\u2028b", "hid\U000e0041den", "a\x7f", "a\x00b")


def changed(place: str, text: str) -> bytes:
    model = onnx.load_from_string(ENCODER.model)
    PLACES[place](model, text)
    return bytes(model.SerializeToString())


@pytest.mark.parametrize("place", PLACES)
def test_a_text_that_a_terminal_obeys_is_refused_and_told_in_escapes(place: str) -> None:
    for text in (*ACTING, *(() if place in NOTES else ("a\nb", "a\rb", "\t"))):
        with pytest.raises(BundleError, match="which nobody sees or terminals obey") as caught:
            onnx_file.check(changed(place, text), 64, "encoder")
        assert not UNSEEN.search(str(caught.value))


def test_texts_in_other_writing_and_notes_of_several_lines_are_let_through() -> None:
    for place in ("a node's name", "a value", "a value that is described", "who made it"):
        onnx_file.check(changed(place, "größe/日本語_🎵.1"), 64, "encoder")
    for place in NOTES:
        onnx_file.check(changed(place, "one\r\n\ttwo"), 64, "encoder")


def forged(base: Path, folder: Path, model: bytes) -> Path:
    forgery = Forger(base).forgery()
    forgery.files["encoder"] = model
    folder.mkdir()
    forgery.write(folder)
    return folder


@pytest.mark.parametrize("place", ["a node's name", "an operator", "a value"])
def test_nothing_of_it_reaches_the_terminal(
    place: str, tiny_original: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    bundle = forged(tiny_original, tmp_path / "forged", changed(place, "\x1b[31mred"))
    with pytest.raises(BundleError) as caught:
        edgeret.load(bundle, threads=1)
    assert not UNSEEN.search(str(caught.value))
    assert capfd.readouterr() == ("", "")


def test_onnx_runtime_says_what_fails_in_the_error_alone(
    tiny_original: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    model = onnx.load_from_string(ENCODER.model)
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.ones((2, DIMENSION), np.float32), "table"))
    with pytest.raises(BundleError, match=r"ONNX Runtime cannot run the graph .*out of data bounds"):
        edgeret.load(forged(tiny_original, tmp_path / "forged", model.SerializeToString()), threads=1)
    assert capfd.readouterr() == ("", "")
