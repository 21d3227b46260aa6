"""A model's folder as sentence-transformers reads one, to the byte the same on every machine, so that a card can name
its hashes: JSON and safetensors are written here and not by libraries, whose next release may order keys otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def write_model(
    target: Path,
    tensors: Mapping[str, NDArray[np.float32]],
    config: Mapping[str, Any],
    tokenizer: str,
    specials: Mapping[str, str],
) -> None:
    """Writes a BertModel's tensors and `config` into the folder `target`, with the file of its tokenizer and the texts
    of its special tokens: mean pooling, length 1."""
    longest = config["max_position_embeddings"]
    (target / "1_Pooling").mkdir(parents=True, exist_ok=True)
    (target / "model.safetensors").write_bytes(pack_safetensors(tensors))
    (target / "tokenizer.json").write_text(tokenizer, encoding="utf-8", newline="\n")
    told: Mapping[str, Any] = {
        "config.json": config,
        "special_tokens_map.json": specials,
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": longest,
            **specials,
        },
        "sentence_bert_config.json": {"max_seq_length": longest, "do_lower_case": False},
        "1_Pooling/config.json": {
            "word_embedding_dimension": config["hidden_size"],
            "pooling_mode_mean_tokens": True,
        },
        "modules.json": [
            {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for i, (kind, path) in enumerate(
                (("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize"))
            )
        ],
    }
    for name, value in told.items():
        (target / name).write_text(as_json(value), encoding="utf-8", newline="\n")


def bert_config(
    width: int, layers: int, heads: int, inner: int, vocabulary: int, positions: int, types: int, epsilon: float
) -> dict[str, Any]:
    """The configuration of a BertModel."""
    return {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": inner,
        "vocab_size": vocabulary,
        "max_position_embeddings": positions,
        "type_vocab_size": types,
        "layer_norm_eps": epsilon,
        "hidden_act": "gelu",
        "position_embedding_type": "absolute",
        "pad_token_id": 0,
        "torch_dtype": "float32",
    }


def as_json(value: Any) -> str:
    """A line of JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


def pack_safetensors(tensors: Mapping[str, NDArray[np.float32]]) -> bytes:
    """A safetensors file of float32 tensors, in the order of their names."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    parts: list[bytes] = []
    place = 0
    for name, values in sorted(tensors.items()):
        parts.append(values.astype("<f4").tobytes())
        end = place + len(parts[-1])
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [place, end]}
        place = end
    told = json.dumps(header, separators=(",", ":")).encode()
    told += b" " * (-len(told) % 8)
    return b"".join((len(told).to_bytes(8, "little"), told, *parts))
