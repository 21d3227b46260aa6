"""The library gives the vectors of the graph, where it runs it; every other graph is ONNX Runtime's."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from bert_samples import HEADS, INNER, LAYERS, MAX_TOKENS, WIDTH, WORDS, exported_bert, weights_of
from conftest import full
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from onnx import helper, numpy_helper

import edgeret
from edgeret.bundle.codec import unpack
from edgeret.encoders.checks import onnx_file
from edgeret.encoders.providers import choose
from edgeret.errors import BundleError, InputError
from edgeret.host import instruction_set
from edgeret_export.encoders.export import ExportedEncoder
from edgeret_export.reference.encoders import core
from edgeret_export.reference.encoders.core import CoreEncoder, core_encoder
from edgeret_export.reference.encoders.encoder_arrays import pack_arrays
from edgeret_export.reference.encoders.load import start_encoder
from edgeret_export.reference.encoders.onnx import OnnxEncoder
from edgeret_export.reference.encoders.transformer_graph import Norm, Product, Transformer, read_transformer
from edgeret_export.reference.runtime import components_of

HERE = instruction_set()
quick = pytest.mark.skipif(HERE not in core.QUICK, reason=f"ONNX Runtime encodes on {HERE}")


def seven() -> ExportedEncoder:
    """With weights of 7 bits, which every set adds up exactly."""
    return exported_bert("avx2")


def ours(exported: ExportedEncoder | None = None) -> CoreEncoder:
    exported = exported or seven()
    arrays = pack_arrays(exported.model, exported.spec)
    assert arrays is not None
    return CoreEncoder(exported.model, arrays, exported.tokenizer, exported.spec)


def theirs(exported: ExportedEncoder | None = None) -> OnnxEncoder:
    exported = exported or seven()
    return OnnxEncoder(exported.model, exported.tokenizer, exported.spec, choose("cpu", False, {}), 1)


def by_hand(of: Transformer, ids: list[int], nudge: float = 0.0) -> NDArray[np.float64]:
    """The vectors of tokens, in float64 by the papers' formulas; products of rows rounded to bytes, up where less than
    a `nudge` is missing."""

    def times(rows: NDArray[np.float64], by: Product) -> NDArray[np.float64]:
        rows = rows * by.shrink
        low, high = np.minimum(rows.min(axis=1), 0), np.maximum(rows.max(axis=1), 0)
        scale = (high - low) / 255
        zero = np.floor(-low / scale + 0.5)
        whole = np.clip(np.floor(rows / scale[:, None] + zero[:, None] + 0.5 + nudge), 0, 255) - zero[:, None]
        found: NDArray[np.float64] = (whole @ by.weights.astype(np.int64)) * scale[:, None] * by.scales + by.bias
        return found

    def normal(rows: NDArray[np.float64], by: Norm) -> NDArray[np.float64]:
        centred = rows - rows.mean(axis=1, keepdims=True)
        found: NDArray[np.float64] = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + by.epsilon)
        return found * by.gain + by.bias

    def gelu(x: NDArray[np.float64]) -> NDArray[np.float64]:
        from scipy.special import erf

        found: NDArray[np.float64] = x * 0.5 * (1 + erf(x / np.sqrt(2)))
        return found

    words = of.words[ids].astype(np.float64)
    if of.word_scales is not None:
        words *= of.word_scales[ids][:, None]
    x = normal(words + of.places[: len(ids)], of.embedded)
    size = x.shape[1] // of.heads
    for layer in of.layers:
        query, key, value = (
            part.reshape(len(ids), of.heads, size).transpose(1, 0, 2)
            for part in np.split(times(x, layer.together), 3, axis=1)
        )
        scores = query @ key.transpose(0, 2, 1) / np.sqrt(size)
        shares = np.exp(scores - scores.max(axis=2, keepdims=True))
        shares /= shares.sum(axis=2, keepdims=True)
        context = (shares @ value).transpose(1, 0, 2).reshape(x.shape)
        x = normal(times(context, layer.attended) + x, layer.between)
        x = normal(times(gelu(times(x, layer.wide)), layer.narrow) + x, layer.behind)
    return x


texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=MAX_TOKENS - 2).map(" ".join)


@given(texts)
@example("find the music")
def test_vectors_of_tokens_are_those_of_the_formulas(text: str) -> None:
    encoder = ours()
    ids = encoder.tokenize(text)
    vector, tokens = encoder.embed_tokens(ids)
    # A number that lies between two bytes may be rounded to either, and all behind it follows: one text in six hundred.
    every = (by_hand(weights_of(seven()), ids.tolist(), nudge) for nudge in (0.0, 1e-5, -1e-5))
    expected = next((found for found in every if np.abs(tokens - found).mean() < 0.01), None)
    assert expected is not None
    mean = expected.mean(axis=0)
    assert vector @ (mean / np.linalg.norm(mean)) > 0.9999


def test_a_text_of_every_length_is_read() -> None:
    encoder, weights = ours(), weights_of(seven())
    for count in range(1, MAX_TOKENS + 1):
        ids = np.resize(np.arange(4, 4 + len(WORDS)), count)
        every = (by_hand(weights, ids.tolist(), nudge) for nudge in (0.0, 1e-5, -1e-5))
        tokens = encoder.embed_tokens(ids)[1]
        assert any(np.abs(tokens - expected).mean() < 0.01 for expected in every)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@given(text=texts)
def test_vectors_are_near_those_of_onnx_runtime(pooling: str, text: str) -> None:
    exported = exported_bert("avx2", pooling)
    assert ours(exported).encode(text) @ theirs(exported).encode(text) > 0.98


@quick
def test_a_vector_does_not_depend_on_texts_beside_it_or_before() -> None:
    encoder = start_encoder(exported_bert().model, exported_bert().tokenizer, exported_bert().spec)
    assert isinstance(encoder, CoreEncoder)
    several = [" ".join(WORDS[i:] + WORDS[:i]) for i in range(len(WORDS))] + ["mail"]
    alone = [encoder.encode(text) for text in several]
    assert (encoder.encode_batch(several) == np.stack(alone)).all()
    assert (encoder.encode_tools(several) == np.stack(alone)).all()
    with ThreadPoolExecutor(4) as pool:
        for _ in range(10):
            assert all((a == b).all() for a, b in zip(pool.map(encoder.encode, several), alone, strict=True))


def test_a_longer_text_is_read_in_windows_as_by_onnx_runtime() -> None:
    text = " ".join(WORDS * 6)
    found, expected = ours().encode_query(text), theirs().encode_query(text)
    assert found.readings == expected.readings > 1
    assert (found.spans == expected.spans).all()
    assert found.vector @ expected.vector > 0.98


@pytest.mark.parametrize("ids", [[2, -1, 3], [2, 10_000, 3], [2] * (MAX_TOKENS + 9)])
def test_what_no_token_has_is_refused(ids: list[int]) -> None:
    with pytest.raises((BundleError, InputError), match=r"token that it does not know|the encoder reads 48"):
        ours().embed(np.array(ids, np.int64))


def test_a_text_without_a_token_is_refused() -> None:
    with pytest.raises(InputError, match="without a single token"):
        ours().embed(np.array([], np.int64))


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e38])
def test_numbers_that_are_none_are_refused(value: float) -> None:
    arrays, model = pack_arrays(seven().model, seven().spec), bytearray(seven().model)
    assert arrays is not None
    at = unpack(arrays, "arrays")["layers"][0]["behind"]["bias"]["at"]
    model[at : at + 4 * WIDTH] = np.full(WIDTH, value, "<f4").tobytes()
    with pytest.raises(BundleError, match="not finite"):
        CoreEncoder(bytes(model), arrays, seven().tokenizer, seven().spec)


def test_arrays_of_another_file_are_refused() -> None:
    arrays = pack_arrays(seven().model, seven().spec)
    assert arrays is not None
    wide = replace(seven().spec, dimension=2 * WIDTH)
    for model, told, spec in ((b"", arrays, seven().spec), (seven().model, arrays, wide), (b"x", b"", seven().spec)):
        with pytest.raises(BundleError, match="encoder"):
            CoreEncoder(model, told, seven().tokenizer, spec)


def test_weights_that_a_set_cannot_add_up_fast_are_left_to_onnx_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    exported = exported_bert("avx512_vnni")  # of 8 bits
    for name, expected in (("avx2", False), ("avx512", False), ("avx512_vnni", True), ("neon", False)):
        monkeypatch.setattr(core, "instruction_set", lambda name=name: name)
        assert (core_encoder(exported.model, exported.tokenizer, exported.spec) is not None) == expected


def test_all_weights_are_read() -> None:
    weights = weights_of(seven())
    assert (weights.heads, len(weights.layers)) == (HEADS, LAYERS)
    assert weights.layers[0].wide.weights.shape == (WIDTH, INNER)
    assert weights.words.shape == (len(WORDS) + 6, WIDTH)
    assert weights.embedded.epsilon == pytest.approx(1e-12)


def changed(change: Callable[[Any], object]) -> bytes:
    model = onnx.load_from_string(seven().model)
    change(model)
    return bytes(model.SerializeToString())


def nodes(model: Any, operator: str) -> list[Any]:
    return [node for node in model.graph.node if node.op_type == operator]


def constant(model: Any, value: Any) -> str:
    name = f"more {len(model.graph.initializer)}"
    model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    return name


def shifted_places(model: Any) -> None:
    """Positions that begin at 1."""
    slices = [node.input[0] for node in nodes(model, "Slice")]
    for tensor in model.graph.initializer:
        if tensor.name in slices and numpy_helper.to_array(tensor).any():
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) + 1, tensor.name))


def zero_points(model: Any) -> None:
    name = nodes(model, "DynamicQuantizeMatMul")[0].input[3]
    for tensor in model.graph.initializer:
        if tensor.name == name:
            tensor.CopyFrom(numpy_helper.from_array(np.ones(tensor.dims, np.int8), name))


def weights_behind(model: Any) -> None:
    """A product between pooling and the end."""
    last = model.graph.node[-1]
    last.output[0] = "inner"
    scale = constant(model, np.ones(WIDTH, np.float32))
    model.graph.node.append(helper.make_node("Mul", ["inner", scale], ["sentence_embedding"]))


def other_mask(model: Any) -> None:
    """Attention that looks at the first token alone."""
    for node in nodes(model, "QAttention"):
        node.input[5] = constant(model, np.ones(1, np.int32))


def other_sum(model: Any) -> None:
    """The second product is added to another value than the first."""
    sums = [node for node in nodes(model, "Add") if "/output/" in node.output[0]]
    sums[1].input[1] = sums[0].output[0]


def attribute(operator: str, name: str, value: Any) -> Callable[[Any], None]:
    def change(model: Any) -> None:
        for node in nodes(model, operator):
            kept = [old for old in node.attribute if old.name != name]
            del node.attribute[:]
            node.attribute.extend([*kept, helper.make_attribute(name, value)])

    return change


@pytest.mark.parametrize(
    "change",
    [
        shifted_places,
        zero_points,
        weights_behind,
        other_mask,
        other_sum,
        attribute("QAttention", "unidirectional", 1),
        attribute("QAttention", "scale", 0.5),
        attribute("QAttention", "num_heads", 8),
        attribute("LayerNormalization", "axis", 1),
        lambda model: [setattr(node, "op_type", "FastGelu") for node in nodes(model, "Gelu")],
        lambda model: nodes(model, "Gather")[-1].input.__setitem__(1, "input_ids"),
    ],
)
def test_another_graph_is_left_to_onnx_runtime(change: Callable[[Any], object]) -> None:
    data = changed(change)
    try:
        graph = onnx_file.check(data, MAX_TOKENS, "encoder")
    except BundleError:
        return  # refused altogether
    assert read_transformer(graph, data, seven().spec) is None


@pytest.mark.parametrize(
    "change",
    [{"precision": "fp32"}, {"pooling": "max"}, {"dimension": WIDTH // 2}, {"max_tokens": MAX_TOKENS + 20}],
)
def test_another_specification_is_left_to_onnx_runtime(change: dict[str, Any]) -> None:
    graph = onnx_file.check(seven().model, MAX_TOKENS, "encoder")
    assert read_transformer(graph, seven().model, replace(seven().spec, **change)) is None


@pytest.mark.parametrize("activation", ["relu"])
def test_another_activation_is_left_to_onnx_runtime(activation: str) -> None:
    exported = exported_bert(activation=activation)
    assert core_encoder(exported.model, exported.tokenizer, exported.spec) is None
    assert start_encoder(exported.model, exported.tokenizer, exported.spec).engine == "onnxruntime"


def test_on_a_cpu_that_sums_no_bytes_fast_onnx_runtime_encodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "instruction_set", lambda: "generic")
    assert start_encoder(seven().model, seven().tokenizer, seven().spec).engine == "onnxruntime"


@pytest.mark.parametrize(
    ("options", "engine"),
    [
        ({}, f"edgeret ({HERE})"),
        ({"threads": 1}, f"edgeret ({HERE})"),
        ({"static_tokens": 32}, "onnxruntime"),
        *full(
            ({"providers": "CPU"}, f"edgeret ({HERE})"),
            ({"threads": 3}, f"edgeret ({HERE})"),
            ({"providers": "CPUExecutionProvider"}, "onnxruntime"),
            ({"provider_options": {"cpu": {"use_arena": "0"}}}, "onnxruntime"),
        ),
    ],
)
@pytest.mark.real
@quick
def test_who_encodes_can_be_chosen(real: Path, options: dict[str, Any], engine: str) -> None:
    runtime = edgeret.load(real, **options)
    assert components_of(runtime).encoder.engine == engine
    assert components_of(runtime).encoder.providers[0] == "cpu"


@pytest.mark.real
@quick
def test_a_bundle_decides_where_onnx_runtime_is_not_installed(real: Path) -> None:
    code = (
        "import sys; sys.modules['onnxruntime'] = None\n"
        "import edgeret\n"
        "print(edgeret.load(sys.argv[1]).task('what is the weather in Oslo?').next().tool)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(real)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
