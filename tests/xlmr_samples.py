"""Multilingual encoders in miniature: XLM-R with random weights and a real Unigram tokenizer, as sentence-transformers
saves one, and its card."""

from __future__ import annotations

import functools
import hashlib
import json
from pathlib import Path
from typing import Any

from unigram_samples import unigram

from edgeret_export.encoders.onnx_graph import quiet
from edgeret_export.sources.cards import Card, read_card

WIDTH, MAX_TOKENS = 32, 60


@functools.cache
def tokenizer_json() -> str:
    return json.dumps(unigram())


def save_xlmr(folder: Path, *after: Any, pooling: str = "mean") -> Path:
    """A model whose transformer is followed by a pooling and by the modules `after` it."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    with quiet():
        layers = [Transformer(str(save_bare(folder.with_name(f"{folder.name}-bare")))), Pooling(WIDTH, pooling), *after]
        torch.manual_seed(1)
        SentenceTransformer(modules=layers, device="cpu").save(str(folder))
    # What transformers saves of a tokenizer it has changed; publishers' files are as the converter wrote them.
    (folder / "tokenizer.json").write_text(tokenizer_json(), encoding="utf-8")
    return folder


def save_bare(folder: Path) -> Path:
    """The transformer alone, as transformers saves one."""
    import torch
    from transformers import PreTrainedTokenizerFast, XLMRobertaConfig, XLMRobertaModel

    torch.manual_seed(0)
    config = XLMRobertaConfig(
        vocab_size=len(json.loads(tokenizer_json())["model"]["vocab"]),
        hidden_size=WIDTH,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=2 * WIDTH,
        max_position_embeddings=MAX_TOKENS + 4,
        pad_token_id=1,
    )
    with quiet():
        XLMRobertaModel(config, add_pooling_layer=False).save_pretrained(folder)
        file = folder / "given.json"
        file.write_text(tokenizer_json(), encoding="utf-8")
        names = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
        PreTrainedTokenizerFast(tokenizer_file=str(file), **names).save_pretrained(folder)
        file.unlink()
    (folder / "tokenizer.json").write_text(tokenizer_json(), encoding="utf-8")
    return folder


def card_of(folder: Path, pooling: str = "mean", dimension: int = WIDTH, **more: Any) -> Card:
    """The card of a saved model, beside it; `more` are keys of its table [encoder], as TOML has them."""
    keys = {
        "dimension": dimension,
        "max_tokens": MAX_TOKENS,
        "pooling": f'"{pooling}"',
        "normalised": "true",
        "query_prefix": '"query: "',
        "tool_prefix": '"passage: "',
        **more,
    }
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    hashes = [
        f'"{file.relative_to(folder).as_posix()}" = "{hashlib.sha256(file.read_bytes()).hexdigest()}"' for file in files
    ]
    lines = [
        f'name = "{folder.name}"',
        'kind = "encoder"',
        'summary = "a multilingual encoder in miniature"',
        'licence = "MIT"',
        f'sources = ["path:{folder.name}"]',
        "[encoder]",
        *(f"{key} = {value}" for key, value in keys.items()),
        "[files]",
        *hashes,
    ]
    path = folder.with_name(f"{folder.name}.toml")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return read_card(path)
