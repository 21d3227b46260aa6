"""Smoothing, int8 lookups and the cache of exports, on small models made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from conftest import tiny_card, tiny_exported
from onnx import TensorProto, helper, numpy_helper

from edgeret.errors import InputError
from edgeret.host import instruction_set
from edgeret_export.encoders import export as encoders
from edgeret_export.encoders import quantize, smooth
from edgeret_export.encoders.export import export_encoder

WORDS, WIDTH, OUT = 60, 32, 16
IDS = np.arange(3, 40)[None]
OUTLIERS = [3, 17]


def as_model(nodes: Sequence[Any], constants: dict[str, np.ndarray]) -> onnx.ModelProto:
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch_size", "sequence_length"])
    out = helper.make_tensor_value_info("out", TensorProto.FLOAT, ["batch_size", "sequence_length", "width"])
    stored = [numpy_helper.from_array(value.astype(np.float32), name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "toy", [ids], [out], stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


@pytest.fixture(scope="module")
def toy() -> onnx.ModelProto:
    """Words to vectors with two outlying channels, then two products of the same activation, added up."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(WORDS, WIDTH))
    table[:, OUTLIERS] *= 60
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["x"], name="lookup"),
        helper.make_node("MatMul", ["x", "w1"], ["y1"], name="layer.0/dense"),
        helper.make_node("MatMul", ["x", "w2"], ["y2"], name="layer.1/dense"),
        helper.make_node("Add", ["y1", "y2"], ["out"], name="sum"),
    ]
    weights = 0.1 * rng.normal(size=(2, WIDTH, OUT))
    weights[:, OUTLIERS] /= 60
    return as_model(nodes, {"table": table, "w1": weights[0], "w2": weights[1]})


@pytest.fixture(scope="module")
def tokenizer() -> bytes:
    return tiny_exported().tokenizer


def evaluate(model: onnx.ModelProto | bytes) -> np.ndarray:
    data = model if isinstance(model, bytes) else model.SerializeToString()
    return ort.InferenceSession(data, providers=["CPUExecutionProvider"]).run(["out"], {"input_ids": IDS})[0]


def error(model: onnx.ModelProto | bytes, reference: onnx.ModelProto) -> float:
    exact = evaluate(reference)
    return float(np.linalg.norm(evaluate(model) - exact) / np.linalg.norm(exact))


def constants(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    return {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}


def test_smoothing_keeps_the_function_and_leaves_the_original_alone(toy: onnx.ModelProto, tokenizer: bytes) -> None:
    before = toy.SerializeToString()
    smoothed = smooth.smooth(toy, tokenizer, 64)
    assert toy.SerializeToString() == before
    assert error(smoothed, toy) < 1e-5
    onnx.checker.check_model(smoothed)


def test_products_of_one_activation_share_its_scale(toy: onnx.ModelProto, tokenizer: bytes) -> None:
    smoothed = smooth.smooth(toy, tokenizer, 64)
    assert [node.op_type for node in smoothed.graph.node] == ["Gather", "Mul", "MatMul", "MatMul", "Add"]
    assert set(constants(smoothed)) == {"table", "x_shrink", "x_w1_grown", "x_w2_grown"}


def test_outlying_channels_shrink_most(toy: onnx.ModelProto, tokenizer: bytes) -> None:
    shrink = constants(smooth.smooth(toy, tokenizer, 64))["x_shrink"]
    assert set(np.argsort(shrink)[:2]) == set(OUTLIERS)
    assert shrink.min() >= np.float32(1 / smooth.MAX_RATIO)
    assert shrink.max() <= smooth.MAX_RATIO


def test_int8_after_smoothing_is_closer_to_fp32(toy: onnx.ModelProto, tokenizer: bytes) -> None:
    # What is made for another family than this CPU's may overflow here.
    plain = quantize.int8(toy, instruction_set(), "")
    smoothed = quantize.convert(toy, "int8", instruction_set(), tokenizer, 64, "")
    assert error(smoothed, toy) < 0.5 * error(plain, toy)
    assert error(smoothed, toy) < 0.02


def test_nodes_to_keep_stay_fp32(toy: onnx.ModelProto, tokenizer: bytes) -> None:
    def in_fp32(keep: str) -> list[str]:
        model = onnx.load_from_string(quantize.convert(toy, "int8", instruction_set(), tokenizer, 64, keep))
        return [n.name for n in model.graph.node if n.op_type == "MatMul"]

    assert in_fp32("") == []
    assert in_fp32(r"layer\.0/dense") == ["layer.0/dense"]
    assert sorted(in_fp32("dense$")) == ["layer.0/dense", "layer.1/dense"]


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 0.0), ("fp16", 1e-3), ("int8", 0.02)])
def test_a_conversion_has_the_same_bytes_twice(
    toy: onnx.ModelProto, tokenizer: bytes, precision: str, tolerance: float
) -> None:
    copies = []
    for _ in range(2):
        model = onnx.ModelProto()
        model.CopyFrom(toy)
        copies.append(quantize.convert(model, precision, instruction_set(), tokenizer, 64, ""))
    assert copies[0] == copies[1]
    assert error(copies[0], toy) <= tolerance


def test_large_lookups_are_int8_with_one_scale_a_row(toy: onnx.ModelProto, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantize, "MIN_TABLE", WORDS * WIDTH)
    model = as_model([helper.make_node("Gather", ["table", "input_ids"], ["out"])], {"table": constants(toy)["table"]})
    small = quantize.quantize_lookups(model)
    found, table = constants(small), constants(model)["table"]
    assert set(found) == {"table_rows", "table_scales"}
    assert found["table_rows"].dtype == np.int8
    assert found["table_scales"].shape == (WORDS, 1)
    # Rounding loses at most half a step, and a row's largest number has 127 steps.
    steps = np.abs(table[IDS[0]]).max(axis=1, keepdims=True) / 127
    assert (np.abs(evaluate(small)[0] - table[IDS[0]]) <= 0.501 * steps).all()


def test_small_lookups_stay_as_they_are(toy: onnx.ModelProto, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantize, "MIN_TABLE", WORDS * WIDTH + 1)
    assert quantize.quantize_lookups(toy).SerializeToString() == toy.SerializeToString()


def test_a_table_that_is_read_in_another_way_too_is_kept_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantize, "MIN_TABLE", 1)
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["x"]),
        helper.make_node("ReduceMean", ["table"], ["centre"], keepdims=0),
        helper.make_node("Sub", ["x", "centre"], ["out"]),
    ]
    model = as_model(nodes, {"table": np.random.default_rng(1).normal(size=(WORDS, WIDTH))})
    small = quantize.quantize_lookups(model)
    assert set(constants(small)) == {"table", "table_rows", "table_scales"}
    assert error(small, model) < 0.01


def test_an_unknown_precision_is_refused_with_the_list(toy: onnx.ModelProto, tokenizer: bytes) -> None:
    with pytest.raises(InputError, match=r"^unknown precision 'int4'; choose one of fp32, fp16, int8, codebook$"):
        quantize.convert(toy, "int4", "any", tokenizer, 64, "")
    with pytest.raises(InputError, match=r"^unknown precision 'int4'; choose one of fp32, fp16, int8, codebook$"):
        export_encoder(tiny_card(), "int4")


@pytest.fixture
def exports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replaces fetching and exporting; every export appends to the list that is returned."""
    done: list[str] = []
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "tokenizer.json").write_bytes(tiny_exported().tokenizer)

    def convert(model: Any, precision: str, *options: Any) -> bytes:
        done.append(precision)
        return f"model in {precision}".encode()

    monkeypatch.setenv("EDGERET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(encoders, "fetch", lambda card, offline: tmp_path / "model")
    monkeypatch.setattr(encoders, "export_onnx", lambda *_: None)
    monkeypatch.setattr(encoders, "read_onnx", lambda data: None)
    monkeypatch.setattr(encoders, "convert", convert)
    return done


def test_an_export_is_kept_for_the_next_build(exports: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = export_encoder(tiny_card(), "fp32"), export_encoder(tiny_card(), "fp32")
    assert exports == ["fp32"]
    assert first.model == second.model == b"model in fp32"
    assert (first.spec.precision, first.spec.instruction_set) == ("fp32", "any")
    assert export_encoder(tiny_card(), "fp16").model == b"model in fp16"
    monkeypatch.setattr(encoders, "EXPORT_RECIPE", -1)
    export_encoder(tiny_card(), "fp32")
    assert exports == ["fp32", "fp16", "fp32"]


def test_an_int8_export_belongs_to_a_cpu_family(exports: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for family in ("avx2", "avx512_vnni", "avx2"):
        monkeypatch.setattr(encoders, "instruction_set", lambda family=family: family)
        assert export_encoder(tiny_card(), "int8").spec.instruction_set == family
    assert exports == ["fp32", "int8", "int8"]  # made from one fp32 export


@pytest.mark.parametrize("damage", [lambda d: d[:-5], lambda d: d[:10], lambda d: b"", lambda d: b"x" + d[1:]])
def test_a_damaged_cache_file_is_ignored_and_replaced(exports: list[str], tmp_path: Path, damage: Any) -> None:
    export_encoder(tiny_card(), "fp32")
    (file,) = (tmp_path / "cache" / "onnx").iterdir()
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    assert export_encoder(tiny_card(), "fp32").model == b"model in fp32"
    assert exports == ["fp32", "fp32"]
    assert file.read_bytes() == whole


def test_a_full_disk_does_not_stop_a_build(exports: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    assert export_encoder(tiny_card(), "fp32").model == b"model in fp32"
    assert exports == ["fp32"]
    assert list((tmp_path / "cache" / "onnx").iterdir()) == []
