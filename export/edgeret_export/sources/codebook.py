"""An encoder whose weights are in codes, in one file: what will be a bundle's `encoder-arrays` (docs/FORMAT.md, section
5.4), with the text of its tokenizer.json and JSON of how it came to be as two keys more. Makes of it what an encoder's
publisher delivers, for whoever wants its graph."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle.codec import DTYPES, get_array, pack, unpack
from edgeret.errors import BundleError, InputError
from edgeret.fields import get
from edgeret_export.reference.encoders.codebook import numbers_in, tensors_of
from edgeret_export.sources.model_folder import bert_config, write_model

ARRAYS = "encoder-arrays.msgpack"
"""In the folder that is made: the codes as they are."""


class CodeFile(NamedTuple):
    """What such a file holds."""

    arrays: Mapping[str, Any]
    tokenizer: str
    told: Mapping[str, Any]


def pack_code_file(file: CodeFile) -> bytes:
    """The file's bytes."""
    return pack({"told": json.dumps(file.told), "tokenizer": file.tokenizer, **file.arrays})


def read_code_file(path: Path) -> CodeFile:
    """What is in the file. Raises InputError for one that is none."""
    try:
        value = unpack(path.read_bytes(), str(path))
        told, tokenizer = (get(value, key, str, str(path)) for key in ("told", "tokenizer"))
        arrays = {key: _whole(inner, str(path)) for key, inner in value.items() if key not in ("told", "tokenizer")}
        return CodeFile(arrays, tokenizer, json.loads(told))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); expected an encoder in codes") from None
    except (BundleError, ValueError) as error:
        raise InputError(f"{path}: no encoder in codes ({error}); make one with: edgeret-export lab distil") from None


def _whole(value: Any, where: str) -> Any:
    """What was unpacked, as it was packed: with arrays."""
    if isinstance(value, list):
        return [_whole(inner, where) for inner in value]
    if not isinstance(value, dict):
        return value
    if isinstance(dtype := value.get("dtype"), str) and dtype in DTYPES:
        shape = value.get("shape")
        return get_array(
            {"array": value}, "array", dtype, (None,) * (len(shape) if isinstance(shape, list) else 1), where
        )
    return {key: _whole(inner, where) for key, inner in value.items()}


def words_in(file: CodeFile, where: str) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """The codes of its words, uint8 (tokens, pieces), and what they stand for, float32 (pieces, 256, width). Raises
    InputError for a file whose words have none."""
    if "books" not in file.arrays:
        raise InputError(f"{where}: its words are in no codes; make one with: edgeret-export lab distil")
    return file.arrays["words"], numbers_in(file.arrays["books"], file.arrays["book_scales"])


def convert_codebook(file: Path, target: Path) -> None:
    """Writes the encoder in `file` into the folder `target`, in numbers as sentence-transformers reads them and in
    codes. Raises InputError for a file that is none."""
    found = read_code_file(file)
    try:
        data = pack(found.arrays)
        arrays = unpack(data, str(file))
        width = len(found.arrays["embedded"]["gain"])
        tensors = tensors_of(arrays, width, str(file))
        specials = specials_of(found.tokenizer, str(file))
        heads, epsilon = int(arrays["heads"]), float(arrays["embedded"]["epsilon"])
    except (BundleError, ValueError, KeyError, IndexError, TypeError) as error:
        raise InputError(f"{file}: no encoder in codes ({error}); make one with: edgeret-export lab distil") from None
    words, places = (tensors[f"embeddings.{kind}_embeddings.weight"] for kind in ("word", "position"))
    inner = len(tensors["encoder.layer.0.intermediate.dense.bias"])
    layers = len(arrays["layers"])
    config = bert_config(width, layers, heads, inner, len(words), len(places), 1, epsilon)
    write_model(target, tensors, config, found.tokenizer, specials)
    (target / ARRAYS).write_bytes(data)


_SPECIAL = {"cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]", "pad_token": "[PAD]"}


def specials_of(tokenizer: str, where: str) -> Mapping[str, str]:
    """The texts of BERT's special tokens, by what they are for. Raises InputError for a tokenizer.json without them."""
    there = {each["content"] for each in json.loads(tokenizer)["added_tokens"]}
    for text in _SPECIAL.values():
        if text not in there:
            raise InputError(f"{where}: its tokenizer has no {text}, as those of encoders in codes do")
    return _SPECIAL
