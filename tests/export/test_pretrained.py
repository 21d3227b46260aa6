"""Token vectors that are shipped: what a table makes of them, and which files are refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from edgeret.bundle.codec import get_array, pack, unpack
from edgeret.errors import InputError
from edgeret_export.cli import main
from edgeret_export.encoders.encodings import start
from edgeret_export.encoders.pretrained import (
    TokenVectors,
    fit_token_vectors,
    made_for,
    make_token_vectors,
    read_token_vectors,
    token_vectors_of,
)
from edgeret_export.encoders.static import Texts, single_tokens
from edgeret_export.recipe import Recipe
from edgeret_export.reference.encoders.static import StaticEncoder
from edgeret_export.sources.cards import DEFAULT_ENCODER, find_card, with_dimension
from edgeret_export.static_stage import static_encoded
from tests.conftest import DIMENSION, WORDS, encode_tiny, make_demonstrations, tiny_exported

RECIPE = Recipe(precision="fp32")
CARD = find_card(DEFAULT_ENCODER)


@pytest.fixture
def alone() -> np.ndarray:
    exported = tiny_exported()
    return single_tokens(exported, start(exported))


@pytest.fixture
def file(tmp_path: Path, alone: np.ndarray) -> Path:
    """Fitted to sentences of all words but the first, by the made-up encoder."""
    encoder = start(tiny_exported())
    draw = np.random.default_rng(0)
    texts = [" ".join(draw.choice(WORDS[1:], 5)) for _ in range(300)]
    read = Texts([encoder.tokenize_words(text) for text in texts], np.stack([encoder.encode(text) for text in texts]))
    data, _ = fit_token_vectors(read, alone, {"card": CARD.name, "made_for": made_for(CARD)}, DIMENSION)
    path = tmp_path / "vectors.msgpack"
    path.write_bytes(data)
    return path


def cosines(found: StaticEncoder, columns: np.ndarray, texts: list[str]) -> np.ndarray:
    encoder = start(tiny_exported())
    meant = np.stack([encoder.encode(text) for text in texts]) @ columns
    meant /= np.linalg.norm(meant, axis=1, keepdims=True)
    return np.einsum("ij,ij->i", np.stack([found.encode(text) for text in texts]), meant)


def table_of(vectors: TokenVectors | None, demonstrations: int = 0) -> StaticEncoder:
    encoded = replace(encode_tiny(RECIPE, make_demonstrations(demonstrations)), token_vectors=vectors)
    exported = static_encoded(encoded, RECIPE).exported
    return StaticEncoder(exported.model, exported.tokenizer, exported.spec)


def test_without_demonstrations_a_table_reads_words_that_no_tool_has(file: Path) -> None:
    vectors = read_token_vectors(file)
    texts = [" ".join(np.random.default_rng(n).choice(WORDS, 4)) for n in range(40)]
    assert cosines(table_of(vectors), vectors.columns, texts).mean() > 0.9


def test_tokens_that_no_text_held_are_mapped(file: Path, alone: np.ndarray) -> None:
    vectors = read_token_vectors(file)
    token = start(tiny_exported()).tokenizer.library.token_to_id(WORDS[0])
    assert token not in get_array(unpack(file.read_bytes(), "file"), "tokens", "<i4", (None,), "file")
    found = vectors.start(len(alone)).vectors
    assert found.shape == (len(alone), DIMENSION)
    meant = alone[token] @ vectors.columns
    assert found[token] @ meant / np.linalg.norm(found[token]) / np.linalg.norm(meant) > 0.7


def test_texts_may_choose_the_directions(file: Path, alone: np.ndarray) -> None:
    vectors, texts = read_token_vectors(file), np.random.default_rng(0).normal(size=(50, alone.shape[1]))
    start_at = vectors.start(len(alone), 5)
    columns = start_at.directions(texts.astype(np.float32))
    assert columns.shape == (alone.shape[1], 5)
    found = start_at.table(sp.csr_matrix((0, len(alone))), np.zeros((0, 5), np.float32), columns)
    whole = vectors.start(len(alone))
    np.testing.assert_allclose(found, whole.vectors @ whole.columns.T @ columns, atol=1e-4)


def test_demonstrations_pull_the_table(file: Path) -> None:
    vectors = read_token_vectors(file)
    queries = [demonstration.query for demonstration in make_demonstrations()]
    assert cosines(table_of(vectors, 8), vectors.columns, queries).mean() > 0.9


def test_the_same_texts_give_the_same_file(file: Path, alone: np.ndarray) -> None:
    texts = Texts([np.array([3, 4, 5]), np.array([4, 6])] * 60, np.tile(alone[:2], (60, 1)))
    assert fit_token_vectors(texts, alone, {}, 4) == fit_token_vectors(texts, alone, {}, 4)


def test_what_is_shipped_is_for_the_encoder_as_it_is() -> None:
    shipped = token_vectors_of(CARD)
    assert shipped is not None
    assert shipped.columns.shape == (384, 192)
    assert token_vectors_of(CARD, "none") is None
    assert token_vectors_of(find_card("multilingual-e5-small-q4")) is None
    assert token_vectors_of(with_dimension(CARD, 128)) is None


@pytest.mark.parametrize("name", ["all-minilm-l6-v2", "all-minilm-l6-v2-tools"])
def test_a_shipped_file_was_made_for_the_adapter_that_is_shipped(name: str) -> None:
    assert token_vectors_of(find_card(name)) is not None


def test_a_file_of_another_encoder_is_refused(file: Path) -> None:
    assert token_vectors_of(CARD, str(file)) is not None
    with pytest.raises(InputError, match="of another encoder than all-minilm-l6-v2-tools"):
        token_vectors_of(find_card("all-minilm-l6-v2-tools"), str(file))


def test_another_vocabulary_is_refused(file: Path) -> None:
    with pytest.raises(InputError, match="the encoder has 3"):
        read_token_vectors(file).start(3)


@pytest.mark.parametrize("change", ["nothing", "text", "cut", "told", "made_for", "tokens", "rows", "pairs", "more"])
def test_files_that_are_none_are_refused_by_name(file: Path, change: str) -> None:
    data = file.read_bytes()
    value = unpack(data, "file")
    told = json.loads(value["told"])
    few = np.zeros(2, "<i4")
    changed = {
        "nothing": b"",
        "text": b"hello",
        "cut": data[:-3],
        "told": pack({**value, "told": "{"}),
        "made_for": pack({**value, "told": json.dumps({**told, "made_for": 1})}),
        "tokens": pack({**value, "tokens": few, "rows": np.zeros((2, DIMENSION), "|i1"), "scales": np.ones(2, "<f4")}),
        "rows": pack({**value, "rows": np.zeros((2, 3), "|i1")}),
        "pairs": pack({**value, "pairs": np.zeros((2, 3), "|i1")}),
        "more": pack({**value, "tokens": get_array(value, "tokens", "<i4", (None,), "file") + np.int32(len(WORDS))}),
    }
    file.write_bytes(changed[change])
    with pytest.raises(InputError, match=r"vectors\.msgpack: no token vectors"):
        read_token_vectors(file)
    file.unlink()
    with pytest.raises(InputError, match=r"vectors\.msgpack: cannot be read"):
        read_token_vectors(file)


def test_too_few_texts_are_refused() -> None:
    with pytest.raises(InputError, match="3 different texts, at least 100 are needed"):
        make_token_vectors(CARD, ["a", "b", "c"])


def test_the_command_needs_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "token-vectors", "-o", str(tmp_path / "vectors.msgpack")]) == 2
    assert "give some with --set or --texts" in capsys.readouterr().err


def test_a_bundle_without_a_table_takes_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tools = tmp_path / "tools.jsonl"
    tools.write_text('{"name": "lamp", "description": "turns a lamp on"}\n', encoding="utf-8")
    words = ["build", "--tools", str(tools), "-o", str(tmp_path / "b"), "--profile", "full", "--token-vectors", "none"]
    assert main(words) == 2
    assert "the profile full has no table" in capsys.readouterr().err


@pytest.mark.real
def test_the_command_writes_what_a_build_takes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts, file = tmp_path / "texts.txt", tmp_path / "vectors.msgpack"
    texts.write_text("\n".join(f"{a} the {b}, please" for a in WORDS[:12] for b in WORDS[:12]), encoding="utf-8")
    assert main(["lab", "token-vectors", "--texts", str(texts), "--numbers", "16", "-o", str(file), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["texts"] == 144
    found = token_vectors_of(CARD, str(file))
    assert found is not None
    assert found.columns.shape == (384, 16)
    assert main(["lab", "token-vectors", "--texts", str(texts), "--numbers", "400", "-o", str(file)]) == 2
    assert "expected an even number up to 384" in capsys.readouterr().err
