"""An encoder whose weights are in codes: what codes stand for, what is read of them, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bert_samples import HEADS, INNER, LAYERS, MAX_TOKENS, WIDTH
from codebook_samples import BITS, PIECES, changed, coded_bert, save_card
from conftest import TOOLS
from hypothesis import given
from hypothesis import strategies as st

import edgeret
from edgeret.bundle import roles
from edgeret.bundle.codec import pack, unpack
from edgeret.core.embedder import Embedder
from edgeret.core.library import the_library
from edgeret.errors import BundleError, InputError
from edgeret.runtime.options import LoadOptions
from edgeret_export.build import build_bundle
from edgeret_export.encoders.argument_card import argument_card_of
from edgeret_export.encoders.coded import LARGEST, levels, scales_of
from edgeret_export.encoders.export import attempts, export_encoder
from edgeret_export.encoders.pretrained import token_vectors_of
from edgeret_export.recipe import Recipe
from edgeret_export.reference.components import load_components
from edgeret_export.reference.encoders.codebook import pack_codes, tensors_of, unpack_codes
from edgeret_export.sources.cards import find_card, with_dimension
from edgeret_export.sources.codebook import convert_codebook, read_code_file
from edgeret_export.sources.priors import prior_of_tables
from edgeret_export.thin import thin_bundle

IDS = np.array([2, 4, 5, 6, 9, 3], np.int64)


@given(st.integers(1, 7), st.integers(1, 5), st.integers(1, 5), st.integers(0, 1 << 30))
def test_codes_lie_one_behind_the_other_from_the_lowest_bit_on(bits: int, rows: int, eighths: int, seed: int) -> None:
    codes = np.random.default_rng(seed).integers(0, 1 << bits, (rows, 8 * eighths), np.uint8)
    packed = pack_codes(codes, bits)
    assert packed.shape == (rows, bits * eighths)
    whole = sum(int(code) << bits * place for place, code in enumerate(codes[0]))
    assert packed[0].tobytes() == whole.to_bytes(bits * eighths, "little")
    assert (unpack_codes(packed, bits) == codes).all()


def test_levels_are_those_that_lose_least_of_normal_numbers() -> None:
    """As Max (1960) lists them for eight levels: .2451, .7560, 1.344, 2.152."""
    known = np.array([0.2451, 0.7560, 1.344, 2.152])
    assert levels(3).reach == pytest.approx(2.152, abs=1e-3)
    assert levels(3).book.tolist()[4:] == np.rint(known / known[-1] * LARGEST).astype(int).tolist()
    for bits in range(1, 7):
        book = levels(bits).book.astype(int)
        assert (book == -book[::-1]).all() and (np.diff(book) > 0).all() and book.max() == LARGEST


def test_a_row_s_scale_goes_by_its_spread() -> None:
    rows = np.random.default_rng(0).normal(0, [[1.0], [3.0], [0.0]], (3, 4000)).astype(np.float32)
    found = scales_of(rows, 3) * LARGEST / levels(3).reach
    np.testing.assert_allclose(found, [1, 3, 0], rtol=0.05, atol=1e-6)


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 7])
def test_the_library_reads_what_the_codes_stand_for(bits: int) -> None:
    """The reference's numbers in torch, against the codes in the library."""
    import torch
    from transformers import BertConfig, BertModel

    data = pack(coded_bert(bits).arrays)
    tensors = tensors_of(unpack(data, "t"), WIDTH, "t")
    config = BertConfig(
        vocab_size=len(tensors["embeddings.word_embeddings.weight"]),
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=INNER,
        max_position_embeddings=len(tensors["embeddings.position_embeddings.weight"]),
        type_vocab_size=1,
    )
    model = BertModel(config, add_pooling_layer=False).eval()
    model.load_state_dict({name: torch.tensor(values) for name, values in tensors.items()})
    with torch.no_grad():
        expected = model(torch.tensor(IDS)[None])[0][0].numpy()
    vector, tokens = Embedder(the_library(), b"", data, WIDTH, MAX_TOKENS).embed(IDS)
    whole = expected.mean(0) / np.linalg.norm(expected.mean(0))
    assert float(vector @ whole) > 0.999
    assert np.abs(tokens - expected).max() < 0.03 * np.abs(expected).max()


_LAYER = ("layers", 1)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("words",), np.zeros((22, PIECES + 1), np.uint8)),
        (("words",), np.zeros((22, PIECES), np.int8)),
        (("words",), np.zeros((22, 2 * WIDTH), np.uint8)),
        (("books",), np.zeros((PIECES * 255, WIDTH // PIECES), np.int8)),
        (("books",), np.zeros((PIECES * 256, WIDTH), np.int8)),
        (("book_scales",), np.zeros(PIECES - 1, np.float32)),
        (("book_scales",), np.full(PIECES, np.nan, np.float32)),
        (("book_scales",), None),
        (("places",), np.zeros((MAX_TOKENS - 1, WIDTH), np.int8)),
        (("place_scales",), None),
        ((*_LAYER, "wide", "book"), np.zeros(7, np.int8)),
        ((*_LAYER, "wide", "book"), np.zeros(1, np.int8)),
        ((*_LAYER, "wide", "book"), np.zeros(256, np.int8)),
        ((*_LAYER, "wide", "book"), np.zeros(16, np.int8)),
        ((*_LAYER, "wide", "book"), None),
        ((*_LAYER, "wide", "weights"), np.zeros((WIDTH, INNER * BITS // 8 - 1), np.uint8)),
        ((*_LAYER, "narrow", "weights"), np.zeros((INNER, WIDTH), np.uint8)),
        ((*_LAYER, "together", "scales"), np.full(3 * WIDTH, np.inf, np.float32)),
        ((*_LAYER, "behind"), None),
        (("layers",), []),
        (("heads",), 5),
    ],
)
def test_arrays_that_make_no_encoder_are_refused(path: tuple[str | int, ...], value: Any) -> None:
    if isinstance(value, np.ndarray):
        value = {"dtype": value.dtype.str, "shape": list(value.shape), "padding": b"", "data": value.tobytes()}
    with pytest.raises(BundleError, match="encoder"):
        Embedder(the_library(), b"", pack(changed(path, value)), WIDTH, MAX_TOKENS)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("coded")
    build_bundle(TOOLS, [], folder / "bundle", save_card(folder), Recipe(profile="full"))
    return folder / "bundle"


def test_a_card_in_codes_gives_a_bundle_without_a_graph(bundle: Path) -> None:
    runtime = edgeret.load(bundle)
    assert runtime.loaded.encoder.precision == "codebook"
    assert runtime.manifest.file(roles.ENCODER) is None and runtime.manifest.file(roles.ENCODER_ARRAYS) is not None
    best = runtime.task("send it to ann").candidates()
    of_python = load_components(bundle, LoadOptions()).encoder
    np.testing.assert_allclose(runtime.loaded.core.encode("send it"), of_python.encode("send it"), atol=1e-6)
    assert sum(each.probability for each in best) == pytest.approx(1, abs=1e-4)


def test_only_the_cpu_reads_codes(bundle: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"codes, which the CPU alone reads.*--precision int8"):
        edgeret.load(bundle, providers=["CUDAExecutionProvider", "CPUExecutionProvider"])
    with pytest.raises(InputError, match="nothing in it is called 'gpu'"):
        thin_bundle(bundle, "gpu", tmp_path / "thin")


def test_another_precision_of_the_card_is_a_graph_of_the_same_numbers(tmp_path: Path) -> None:
    card = save_card(tmp_path)
    coded, whole = (export_encoder(card, precision) for precision in ("codebook", "fp32"))
    assert (coded.role, whole.role) == (roles.ENCODER_ARRAYS, roles.ENCODER)
    assert coded.spec == replace(whole.spec, precision="codebook")


def test_a_card_without_codes_has_no_such_precision() -> None:
    with pytest.raises(InputError, match="in no codes"):
        export_encoder(find_card("all-minilm-l6-v2"), "codebook")


@pytest.mark.parametrize("data", [b"", b"\x80", pack({"told": "{}", "tokenizer": "{}"})])
def test_a_file_that_holds_no_encoder_is_refused(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(InputError, match="no encoder in codes"):
        convert_codebook(tmp_path / "file", tmp_path / "made")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_code_file(tmp_path / "none")


def test_what_changes_the_numbers_is_built_as_a_graph() -> None:
    card = find_card("all-minilm-l4-tools")
    assert attempts(card, None)[0] == ("codebook", 0)
    changed = with_dimension(card, 128)
    assert attempts(changed, None)[0] == ("int8", 0)
    assert argument_card_of(card) is not None and argument_card_of(changed) is None


def test_a_table_of_it_starts_where_that_of_its_teacher_does() -> None:
    card, teacher = find_card("all-minilm-l4-tools"), find_card("all-minilm-l6-v2-tools")
    vectors, prior = token_vectors_of(card), prior_of_tables(card)
    assert vectors is not None and prior is not None
    assert vectors.sha256 == token_vectors_of(teacher).sha256 and prior == prior_of_tables(teacher)
