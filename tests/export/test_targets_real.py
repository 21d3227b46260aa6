"""An encoder's graphs for other hardware, made of real weights: what they are, that each runs, and thin bundles."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from conftest import EXAMPLE

import edgeret
from edgeret import BundleError, InputError
from edgeret.bundle.reader import read_manifest, verify_bundle
from edgeret.inputs.tools import read_tools
from edgeret.runtime.golden import golden_cosines
from edgeret_export.build import build_bundle
from edgeret_export.cli import main
from edgeret_export.encoders.export import export_encoder
from edgeret_export.encoders.static_shape import NPU_OPERATORS, check_operators, fixed
from edgeret_export.recipe import Recipe, read_recipe
from edgeret_export.reference.encoders.onnx import OnnxEncoder
from edgeret_export.reference.runtime import components_of
from edgeret_export.sources.cards import DEFAULT_ENCODER, find_card
from edgeret_export.thin import thin_bundle

pytestmark = pytest.mark.real

RUNNING = ("encoder", "cpu-7bit", "cpu-8bit", "gpu", "npu")
QUERIES = ("mail the minutes to Ana", "wake me at six", "what does the report of last week say " * 6)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All targets beside the fp32 original, of few tools and no demonstrations."""
    path = tmp_path_factory.mktemp("targets") / "bundle"
    recipe = Recipe(precision="fp32", targets="cpu,gpu,npu,mobile", npu_tokens="16,64")
    build_bundle(read_tools(EXAMPLE / "tools.jsonl")[:12], (), path, find_card(DEFAULT_ENCODER), recipe)
    return path


def ran(path: Path, target: str | None) -> OnnxEncoder:
    encoder = components_of(edgeret.load(path, target=target)).encoder
    assert isinstance(encoder, OnnxEncoder)
    return encoder


@pytest.mark.full
@pytest.mark.parametrize("target", RUNNING)
def test_every_graph_gives_nearly_the_originals_vectors(bundle: Path, target: str) -> None:
    runtime = edgeret.load(bundle, target=target)
    assert min(golden_cosines(runtime)) > 0.98
    original = ran(bundle, "encoder")
    for query in QUERIES:
        assert float(components_of(runtime).encoder.encode(query) @ original.encode(query)) > 0.98
    assert runtime.task(QUERIES[0]).next().candidates


@pytest.mark.full
def test_a_graph_is_judged_by_its_own_vectors_not_by_those_of_the_tools(tmp_path: Path) -> None:
    # The bundle's tools have int8's vectors, which are no half precision's.
    recipe = Recipe(targets="cpu,gpu", profile="full")
    tools = read_tools(EXAMPLE / "tools.jsonl")[:12]
    report = build_bundle(tools, (), tmp_path / "bundle", find_card(DEFAULT_ENCODER), recipe).report
    assert report["parity"]["precision"] == "int8"
    assert report["variants"]["gpu"]["cosine_min"] > 0.9995 > report["parity"]["cosine_mean"]


@pytest.mark.full
def test_what_is_for_npus_has_shapes_and_standard_operators_alone(bundle: Path) -> None:
    for tokens in (16, 64):
        graph = onnx.load(str(bundle / f"encoder-npu-{tokens}.onnx")).graph
        for given in graph.input:
            assert [d.dim_value for d in given.type.tensor_type.shape.dim] == [1, tokens]
        operators = Counter(node.op_type for node in graph.node)
        assert not {node.domain for node in graph.node} - {"", "ai.onnx"}
        assert set(operators) <= NPU_OPERATORS
        assert operators["QuantizeLinear"] > 36
        assert "Shape" not in operators


@pytest.mark.full
def test_half_precision_is_cast_at_its_ends_alone(bundle: Path) -> None:
    graph = onnx.load(str(bundle / "encoder-gpu.onnx")).graph
    outputs, inputs = {o.name for o in graph.output}, {i.name for i in graph.input}
    made = {name: node for node in graph.node for name in node.output}
    for node in graph.node:
        if node.op_type == "Cast" and not outputs & set(node.output):
            # The mask's numbers, on their way from the input: what they come through computes nothing.
            while node.input[0] not in inputs:
                node = made[node.input[0]]
                assert node.op_type in ("Cast", "Unsqueeze", "Expand", "Slice", "Reshape"), node.op_type


@pytest.mark.full
def test_a_text_is_read_by_the_shortest_graph_that_it_fits(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, ...]] = []
    run = onnxruntime.InferenceSession.run

    def told(self: object, outputs: object, inputs: dict[str, np.ndarray], *rest: object) -> object:
        asked.append(inputs["input_ids"].shape)
        return run(self, outputs, inputs, *rest)

    encoder = ran(bundle, "npu")
    monkeypatch.setattr(onnxruntime.InferenceSession, "run", told)
    for words in (3, 12, 20, 60, 100):
        encoder.encode("a " * words)
    assert asked == [(1, 16), (1, 16), (1, 64), (1, 64), (1, 64), (1, 64)]
    with pytest.raises(InputError, match="one text at a time"):
        encoder.encode_batch(["a", "b"])


@pytest.mark.full
def test_lengths_of_their_own_exclude_another(bundle: Path) -> None:
    with pytest.raises(InputError, match=r"\(npu\): made for texts of 16, 64 tokens; leave out static_tokens"):
        edgeret.load(bundle, target="npu", static_tokens=32)


@pytest.mark.full
def test_the_mobile_file_is_the_8_bit_graph_in_another_format(bundle: Path) -> None:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    mobile = onnxruntime.InferenceSession(str(bundle / "encoder-mobile.ort"), options)
    eight = onnxruntime.InferenceSession(str(bundle / "encoder-cpu-8bit.onnx"), options)
    ids = np.array([[101, 5653, 1996, 2781, 102]], np.int64)
    feed = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    found, expected = (session.run(["sentence_embedding"], feed)[0] for session in (mobile, eight))
    assert float((found * expected).sum()) > 0.999
    operators = (bundle / "encoder-mobile-operators.config").read_text()
    assert "QAttention" in operators and not any(line.startswith("#") for line in operators.splitlines())


@pytest.mark.full
@pytest.mark.parametrize(("target", "kept"), [("npu", ["npu"]), ("cpu-7bit", ["cpu-7bit"]), ("gpu", ["gpu"])])
def test_a_thin_bundle_decides_as_the_whole_one(bundle: Path, tmp_path: Path, target: str, kept: list[str]) -> None:
    thinned = thin_bundle(bundle, target, tmp_path / "thin")
    assert thinned.kept == kept
    assert thinned.size < sum(entry.size for entry in read_manifest(bundle).files) / 2
    whole, thin = edgeret.load(bundle, target=target), edgeret.load(tmp_path / "thin")
    for query in QUERIES:
        assert whole.task(query).next().candidates == thin.task(query).next().candidates
    assert not (tmp_path / "thin" / "encoder.onnx").exists()
    assert (
        components_of(edgeret.load(tmp_path / "thin", target=kept[0])).encoder.spec == components_of(thin).encoder.spec
    )
    verify_bundle(tmp_path / "thin")


@pytest.mark.full
def test_the_encoder_alone_is_a_bundle_without_variants(bundle: Path, tmp_path: Path) -> None:
    thin_bundle(bundle, "encoder", tmp_path / "thin")
    assert "variants" not in read_manifest(tmp_path / "thin").info
    assert components_of(edgeret.load(tmp_path / "thin")).encoder.spec.precision == "fp32"


@pytest.mark.full
def test_thinning_says_what_there_is(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "thin", str(bundle), "--target", "cuda", "-o", str(tmp_path / "thin")]) == 2
    assert "has encoder, cpu-7bit, cpu-8bit, gpu, npu, mobile" in capsys.readouterr().err
    assert not (tmp_path / "thin").exists()
    assert main(["lab", "thin", str(bundle), "--target", "cpu", "-o", str(tmp_path / "thin"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["left_out"] == ["gpu", "npu", "mobile"]


@pytest.mark.full
def test_a_damaged_graph_matters_where_it_runs(bundle: Path, tmp_path: Path) -> None:
    path = tmp_path / "bundle"
    shutil.copytree(bundle, path)
    file = path / "encoder-gpu.onnx"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    assert components_of(edgeret.load(path)).encoder.spec.precision == "fp32"
    with pytest.raises(BundleError, match=r"encoder-gpu\.onnx: altered"):
        edgeret.load(path, target="gpu")
    with pytest.raises(BundleError, match="altered"):
        thin_bundle(path, "cpu", tmp_path / "thin")


def test_a_graph_with_what_npus_lack_is_refused() -> None:
    model = onnx.load_from_string(export_encoder(find_card(DEFAULT_ENCODER), "fp32").model)
    check_operators(fixed(model, 16))
    with pytest.raises(
        edgeret.CheckFailedError, match=r"operators that NPUs lack: Constant, ConstantOfShape, Equal, Shape"
    ):
        check_operators(model)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"targets": "cpu,tpu"}, '"targets" must be some of cpu, gpu, npu, mobile'),
        ({"npu_tokens": "32,100"}, '"npu_tokens" must be some of 16, 32'),
        ({"npu_tokens": ""}, '"npu_tokens" must be some of'),
        ({"targets": "gpu", "profile": "tiny"}, "a tiny bundle has no encoder"),
    ],
)
def test_targets_that_cannot_be_built_are_refused(settings: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_recipe(None, **settings)
