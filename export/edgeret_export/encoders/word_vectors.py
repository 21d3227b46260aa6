"""The vectors of pieces of words, from the table that an encoder begins with. Knows nothing of tools."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle import roles
from edgeret.bundle.codec import unpack
from edgeret.errors import InputError
from edgeret_export.encoders.export import ExportedEncoder
from edgeret_export.encoders.onnx_graph import read_onnx
from edgeret_export.encoders.static import principal
from edgeret_export.reference.encoders.codebook import words_of
from edgeret_export.reference.encoders.tokenizer import load_tokenizer
from edgeret_export.reference.encoders.word_vectors import DIMENSION, WordVectors
from edgeret_export.reference.few_bits import to_halves

SPACE = "\N{LOWER ONE EIGHTH BLOCK}"
"""What stands for a space in pieces of SentencePiece."""


def word_vectors(exported: ExportedEncoder) -> NDArray[np.float32]:
    """Unit vectors of all pieces that an encoder's tokenizer knows, float32 (pieces, DIMENSION): its own vectors less
    their mean, along the directions that hold most of them. Zeros for a piece that stands for no word, such as the one
    for what is unknown: two unknown words would be the same. Raises InputError for a graph that looks no tokens up."""
    tokenizer = load_tokenizer(exported.tokenizer, exported.spec.max_tokens, "encoder").library
    table = _table(exported)
    pieces = tokenizer.get_vocab_size()
    rows = np.zeros((pieces, table.shape[1]), np.float32)
    rows[: len(table)] = table[:pieces]  # some models have rows beyond their vocabulary
    words = np.ones(pieces, bool)
    words[_no_words(tokenizer)] = False
    words[len(table) :] = False
    centred = _unit(rows - rows[words].mean(axis=0))
    found = np.zeros((pieces, DIMENSION), np.float32)
    directions = principal(centred[words], DIMENSION)
    found[words, : directions.shape[1]] = _unit(centred[words] @ directions)
    return found


def word_reader(exported: ExportedEncoder) -> WordVectors:
    """The same as a runtime reads it, for what is measured or fitted before there is a bundle."""
    tokenizer = load_tokenizer(exported.tokenizer, exported.spec.max_tokens, "encoder")
    return WordVectors(*to_halves(word_vectors(exported)), tokenizer)


def _no_words(tokenizer: Any) -> list[int]:
    """The pieces that stand for no word: special ones, the one for what is unknown, and a bare sign of a space."""
    model = json.loads(tokenizer.to_str())["model"]
    special = [number for number, token in tokenizer.get_added_tokens_decoder().items() if token.special]
    others = (tokenizer.token_to_id(name) for name in (model.get("unk_token") or "", SPACE))
    return [*special, *(number for number in (*others, model.get("unk_id")) if number is not None)]


def _table(exported: ExportedEncoder) -> NDArray[np.float32]:
    if exported.role == roles.ENCODER_ARRAYS:
        return words_of(unpack(exported.model, "encoder"), exported.spec.dimension, "encoder")
    return _looked_up(read_onnx(exported.model))


def _looked_up(model: Any) -> NDArray[np.float32]:
    """The table in which a graph looks its input's tokens up, float32 (rows, dimension); that of an int8 graph has
    whole numbers and a scale for every row."""
    from onnx import numpy_helper

    tables = {each.name: each for each in model.graph.initializer if len(each.dims) == 2}
    used = [
        numpy_helper.to_array(tables[node.input[0]]).astype(np.float32)
        for node in model.graph.node
        if node.op_type == "Gather" and node.input[1] == "input_ids" and node.input[0] in tables
    ]
    wide = [table for table in used if table.shape[1] > 1]
    scales = [table for table in used if table.shape[1] == 1]
    if len(wide) != 1:
        raise InputError(f"the encoder's graph looks its tokens up in {len(wide)} tables, expected one")
    return wide[0] * scales[0] if scales else wide[0]


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    found: NDArray[np.float32] = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    return found
