"""Fusing attention: a small transformer with random weights, exported as a real one is."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from conftest import tiny_exported
from hypothesis import given
from hypothesis import strategies as st

from edgeret.encoders import onnx as runtime_encoder
from edgeret.encoders.base import EncoderSpec
from edgeret.encoders.providers import ProviderChoice, choose, create_session
from edgeret_export.encoders.fuse import fuse_attention
from edgeret_export.encoders.onnx_graph import export_onnx, quiet
from edgeret_export.encoders.quantize import convert

LAYERS, HEADS, WIDTH, WORDS = 2, 2, 32, 60


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Any:
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("bert")
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=WORDS,
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=2 * WIDTH,
        max_position_embeddings=64,
    )
    with quiet():
        BertModel(config).save_pretrained(folder / "bert")
        (folder / "tokenizer.json").write_bytes(tiny_exported().tokenizer)
        words = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), pad_token="[PAD]")
        words.save_pretrained(folder / "bert")
        layers = [Transformer(str(folder / "bert")), Pooling(WIDTH), Normalize()]
        SentenceTransformer(modules=layers, device="cpu").save(str(folder / "model"))
    return export_onnx(Path(folder / "model"))


@pytest.fixture(scope="module")
def sessions(exported: Any) -> list[ort.InferenceSession]:
    return [
        ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        for model in (exported, fuse_attention(exported))
    ]


def test_every_block_becomes_one_operator_and_the_original_stays(exported: Any) -> None:
    before = exported.SerializeToString(deterministic=True)
    fused = fuse_attention(exported)
    assert [node.op_type for node in fused.graph.node].count("Attention") == LAYERS
    assert not any(node.op_type == "Softmax" for node in fused.graph.node)
    assert exported.SerializeToString(deterministic=True) == before


@given(st.lists(st.integers(0, WORDS - 1), min_size=1, max_size=40), st.integers(0, 20))
def test_fused_outputs_are_the_same_padded_or_not(
    sessions: list[ort.InferenceSession], ids: list[int], padding: int
) -> None:
    feed = {
        "input_ids": np.array([ids + [0] * padding], np.int64),
        "attention_mask": np.array([[1] * len(ids) + [0] * padding], np.int64),
        "token_type_ids": np.zeros((1, len(ids) + padding), np.int64),
    }
    taken = {i.name for i in sessions[0].get_inputs()}
    outputs = ["sentence_embedding", "token_embeddings"]
    plain, fused = (s.run(outputs, {k: v for k, v in feed.items() if k in taken}) for s in sessions)
    np.testing.assert_allclose(fused[0], plain[0], atol=1e-5)
    np.testing.assert_allclose(fused[1][:, : len(ids)], plain[1][:, : len(ids)], atol=1e-4)


def operators(model: Any) -> Counter[str]:
    return Counter(node.op_type for node in model.graph.node)


def test_int8_normalises_apart_from_the_sum_before_which_cpus_do_faster(exported: Any) -> None:
    found = operators(
        onnx.load_from_string(convert(exported, "int8", "avx512_vnni", tiny_exported().tokenizer, 40, ""))
    )
    assert found["QAttention"] == LAYERS
    assert found["LayerNormalization"] == 2 * LAYERS + 1
    assert not found["SkipLayerNormalization"]


def test_the_runtime_does_not_join_on_a_cpu_what_the_export_left_apart(
    exported: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kept(model: bytes, choice: ProviderChoice, options: Any) -> Any:
        options.optimized_model_filepath = str(tmp_path / "run.onnx")
        return create_session(model, choice, options)

    monkeypatch.setattr(runtime_encoder, "create_session", kept)
    spec = EncoderSpec(WIDTH, 40, "mean", True, "", "", "fp32", "any")
    model = fuse_attention(exported).SerializeToString()
    runtime_encoder.OnnxGraphs(model, spec, choose("cpu", False, {}), 1)
    found = operators(onnx.load(str(tmp_path / "run.onnx")))
    assert found["LayerNormalization"] == 2 * LAYERS + 1
    assert not found["SkipLayerNormalization"]
