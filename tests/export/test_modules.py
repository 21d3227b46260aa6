"""Pooling, projections, normalisation and cuts are in the graph, and what cannot be there is refused by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import full
from xlmr_samples import MAX_TOKENS, WIDTH, card_of, save_bare, save_xlmr

from edgeret.encoders.base import MIN_COSINE
from edgeret.errors import BundleError, CheckFailedError, InputError
from edgeret_export.encoders.encodings import start
from edgeret_export.encoders.export import ExportedEncoder, export_encoder
from edgeret_export.encoders.gate import gate_of
from edgeret_export.encoders.modules import load_original, read_modules
from edgeret_export.encoders.onnx_graph import quiet
from edgeret_export.encoders.original import compare_with_torch
from edgeret_export.reference.encoders.onnx import OnnxEncoder

TEXTS = ("send a mail", "schicke eine Mail", "打开文件", "find my file then play the song and stop the music")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGERET_CACHE", str(tmp_path / "cache"))


def dense(width: int, activation: str = "Tanh") -> Any:
    import torch
    from sentence_transformers.base.modules.dense import Dense

    torch.manual_seed(2)
    return Dense(WIDTH, width, activation_function=getattr(torch.nn, activation)())


def normalize() -> Any:
    from sentence_transformers.sentence_transformer.modules import Normalize

    return Normalize()


def measured(exported: ExportedEncoder) -> OnnxEncoder:
    """The exported encoder, whose vectors were compared with those of its original, token by token too."""
    encoder = start(exported)
    with gate_of(exported, (), (), ()):
        pass  # compares on texts of every kind, prefix and all
    with quiet():
        torch = load_original(exported.model_folder, exported.spec.pooling)
        expected = torch.encode(
            [exported.spec.query_prefix + text for text in TEXTS],
            normalize_embeddings=True,
            truncate_dim=exported.spec.dimension,
            show_progress_bar=False,
        )
    found = np.stack([encoder.encode(text) for text in TEXTS])
    assert (found * expected).sum(axis=1).min() > MIN_COSINE["fp32"]
    for text in TEXTS:
        query = encoder.encode_query(text)
        assert query.tokens.shape == (len(query.spans), exported.spec.dimension)
        assert (query.spans >= 0).all()
    return encoder


@pytest.mark.parametrize("pooling", ["cls", "lasttoken", *full("mean", "max")])
def test_every_pooling_is_in_the_graph(tmp_path: Path, pooling: str) -> None:
    card = card_of(save_xlmr(tmp_path / "small", normalize(), pooling=pooling), pooling)
    exported = export_encoder(card, "fp32")
    encoder = measured(exported)
    assert (exported.spec.query_prefix, exported.spec.tool_prefix) == ("query: ", "passage: ")
    assert encoder.encode_tools(["send a mail"]).shape == (1, WIDTH)


@pytest.mark.parametrize("activation", ["Tanh", "GELU", *full("Identity", "ReLU", "Sigmoid")])
def test_a_projection_is_in_the_graph_with_its_activation(tmp_path: Path, activation: str) -> None:
    card = card_of(save_xlmr(tmp_path / "projected", dense(20, activation), normalize()), dimension=20)
    assert measured(export_encoder(card, "fp32")).spec.dimension == 20


def test_a_model_that_does_not_normalise_gives_unit_vectors_all_the_same(tmp_path: Path) -> None:
    card = card_of(save_xlmr(tmp_path / "long", dense(48, "Identity")), dimension=48)
    assert read_modules(tmp_path / "long").normalises is False
    encoder = measured(export_encoder(card, "fp32"))
    assert np.linalg.norm(encoder.encode("send a mail")) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_a_bare_transformer_gets_the_cards_pooling(tmp_path: Path, pooling: str) -> None:
    folder = save_bare(tmp_path / "bare")
    measured(export_encoder(card_of(folder, pooling), "fp32"))
    assert read_modules(folder) is None


def test_int8_of_such_a_model_is_an_encoder_too(tmp_path: Path) -> None:
    card = card_of(save_xlmr(tmp_path / "small", normalize()))
    small, exact = start(export_encoder(card, "int8")), start(export_encoder(card, "fp32"))
    assert min(float(small.encode(text) @ exact.encode(text)) for text in TEXTS) > MIN_COSINE["int8"]


@pytest.mark.parametrize("cut", [8, *full(1, 31)])
def test_a_cut_keeps_the_first_numbers_and_the_length(tmp_path: Path, cut: int) -> None:
    folder = save_xlmr(tmp_path / "small", normalize())
    whole, exported = (export_encoder(card_of(folder, **more), "fp32") for more in ({}, {"truncate": cut}))
    assert exported.spec.dimension == cut
    encoder, original = measured(exported), start(whole)
    for text in TEXTS:
        expected = original.encode(text)[:cut]
        np.testing.assert_allclose(encoder.encode(text), expected / np.linalg.norm(expected), atol=1e-5)
        np.testing.assert_allclose(
            encoder.encode_query(text).tokens, original.encode_query(text).tokens[:, :cut], atol=1e-4
        )


def edit(file: str, change: Callable[[Any], object]) -> Callable[[Path], object]:
    """Changes one of a saved model's JSON files."""

    def edited(folder: Path) -> None:
        value = json.loads((folder / file).read_text(encoding="utf-8"))
        change(value)
        (folder / file).write_text(json.dumps(value), encoding="utf-8")

    return edited


def swapped(modules: list[Any]) -> None:
    modules[0], modules[1] = modules[1], modules[0]


ABUSES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a module by a stranger": (
        edit("modules.json", lambda v: v[1].update(type="custom_st.Pooling")),
        "a module 'custom_st.Pooling', which edgeret cannot export; known: Transformer, Pooling, Dense",
    ),
    "a module that is not a sentence encoder's": (
        edit("modules.json", lambda v: v[1].update(type="sentence_transformers.models.CLIPModel")),
        "a module 'sentence_transformers.models.CLIPModel', which",
    ),
    "an order of its own": (edit("modules.json", swapped), "expected a Transformer and a Pooling first, found Pooling"),
    "no list of modules": (
        lambda folder: (folder / "modules.json").write_text("{}"),
        "modules.json: expected a list",
    ),
    "no JSON": (lambda folder: (folder / "1_Pooling" / "config.json").write_text("{"), "cannot be read"),
    "several poolings at once": (
        edit("1_Pooling/config.json", lambda v: v.update(pooling_mode=["mean", "cls"])),
        "pools in several ways at once",
    ),
    "another pooling than the card's": (
        edit("1_Pooling/config.json", lambda v: v.update(pooling_mode="cls")),
        "odd.toml: pooling is mean, that of the model is cls; mend it",
    ),
    "a prefix left out": (
        edit("1_Pooling/config.json", lambda v: v.update(include_prompt=False)),
        "leaves a prefix out when it pools",
    ),
    "an activation that is code": (
        edit("2_Dense/config.json", lambda v: v.update(activation_function="torch.hub.load")),
        "activation 'torch.hub.load', expected one of torch.nn.modules.linear.Identity",
    ),
    "a projection of something else": (
        edit("2_Dense/config.json", lambda v: v.update(module_input_name="token_embeddings")),
        "module_input_name is 'token_embeddings', expected sentence_embedding",
    ),
    "another width than the card's": (
        edit("2_Dense/config.json", lambda v: v.update(out_features=21)),
        "odd.toml: dimension is 20, the model gives 21; mend it",
    ),
    "another width of its transformer": (
        edit("modules.json", lambda v: v.pop(2)),
        f"odd.toml: dimension is 20, the model gives {WIDTH}; mend it",
    ),
    "weights in a pickle": (
        lambda folder: (folder / "2_Dense" / "model.safetensors").rename(folder / "2_Dense" / "pytorch_model.bin"),
        "no model.safetensors; other weights are pickles, which can run code",
    ),
}


@pytest.mark.parametrize("name", ABUSES)
def test_what_no_graph_can_have_is_refused_before_anything_is_loaded(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = save_xlmr(tmp_path / "odd", dense(20), normalize())
    change, message = ABUSES[name]
    change(folder)
    monkeypatch.setattr("edgeret_export.encoders.export.export_onnx", lambda *_: pytest.fail("it was exported"))
    with pytest.raises(InputError) as caught:
        export_encoder(card_of(folder, dimension=20), "fp32")
    assert message in str(caught.value)


def test_a_tokenizer_of_bytes_is_refused_by_name_before_the_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = save_xlmr(tmp_path / "odd", normalize())
    edit("tokenizer.json", lambda v: v.update(model={"type": "BPE", "vocab": {"a": 0}, "merges": []}))(folder)
    monkeypatch.setattr("edgeret_export.encoders.export.export_onnx", lambda *_: pytest.fail("it was exported"))
    with pytest.raises(BundleError, match=r"^odd: tokenizer: model 'BPE' is not allowed, expected one of WordPiece"):
        export_encoder(card_of(folder), "fp32")


def test_a_card_with_the_wrong_pooling_for_a_bare_transformer_is_only_another_encoder(tmp_path: Path) -> None:
    folder = save_bare(tmp_path / "bare")
    mean, first = (export_encoder(card_of(folder, pooling), "fp32") for pooling in ("mean", "cls"))
    assert mean.model != first.model
    with pytest.raises(CheckFailedError, match="the fp32 export is not its torch original"):
        compare_with_torch(replace(mean, model=first.model), start(first))


def test_a_text_of_many_tokens_is_cut_where_the_card_says(tmp_path: Path) -> None:
    card = card_of(save_xlmr(tmp_path / "small", normalize()))
    encoder = start(export_encoder(card, "fp32"))
    assert len(encoder.tokenize("find the file " * 100)) == MAX_TOKENS
    assert encoder.encode_query("find the file " * 100).readings > 1
