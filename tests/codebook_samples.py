"""A BERT in miniature with its weights in codes, and the card that names it."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from bert_samples import HEADS, MAX_TOKENS, WIDTH, save_bert

from edgeret_export.encoders.coded import Words, encoder_map
from edgeret_export.reference.encoders.codebook import BOOK
from edgeret_export.sources.cards import Card, read_card
from edgeret_export.sources.codebook import CodeFile, convert_codebook, pack_code_file
from edgeret_export.sources.fetch import sha256_of

PIECES, BITS, EPSILON = 16, 3, 1e-12


@functools.cache
def coded_bert(bits: int = BITS) -> CodeFile:
    """Its file, with books and codes of words at random."""
    from safetensors.numpy import load_file

    with tempfile.TemporaryDirectory() as folder:
        saved = save_bert(Path(folder, "bert"))
        tensors = load_file(saved / "model.safetensors")
        tokenizer = (saved / "tokenizer.json").read_text(encoding="utf-8")
    random = np.random.default_rng(0)
    count = len(tensors["embeddings.word_embeddings.weight"])
    books = random.normal(0, 0.2, (PIECES, BOOK, WIDTH // PIECES)).astype(np.float32)
    words = Words(random.integers(0, BOOK, (count, PIECES), np.uint8), books)
    return CodeFile(encoder_map(tensors, words, bits, HEADS, EPSILON), tokenizer, {"taught_by": "nobody"})


def save_card(folder: Path, file: CodeFile | None = None) -> Card:
    """Writes the file and a card for it."""
    path = folder / "coded.msgpack"
    path.write_bytes(pack_code_file(file or coded_bert()))
    convert_codebook(path, folder / "made")
    names = sorted(name for name in (folder / "made").rglob("*") if name.is_file())
    hashes = "\n".join(f'"{name.relative_to(folder / "made").as_posix()}" = "{sha256_of(name)}"' for name in names)
    card = folder / "coded.toml"
    card.write_text(
        f"""name = "coded"
kind = "encoder"
summary = "For tests"
licence = "MIT"
sources = ["path:."]
[converted]
layout = "codebook"
file = "coded.msgpack"
sha256 = "{sha256_of(path)}"
[encoder]
dimension = {WIDTH}
max_tokens = {MAX_TOKENS}
pooling = "mean"
normalised = true
[files]
{hashes}
"""
    )
    return read_card(card)


def changed(path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    """The arrays with another value in one place; None: without it."""
    found: dict[str, Any] = dict(coded_bert().arrays)
    at: Any = found
    for key in path[:-1]:
        inner = at[key]
        at[key] = list(inner) if isinstance(inner, list) else dict(inner)
        at = at[key]
    at[path[-1]] = value
    return found
