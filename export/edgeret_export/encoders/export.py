"""An encoder from a card, ready for the runtime: fetched, exported, quantised, and kept for the next build."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from edgeret.cli.progress import say
from edgeret.encoders.base import PRECISIONS, EncoderSpec
from edgeret.errors import InputError, MissingExtraError
from edgeret.host import instruction_set
from edgeret_export.encoders.onnx_graph import export_onnx
from edgeret_export.encoders.quantize import convert
from edgeret_export.sources.cards import Card, EncoderCard
from edgeret_export.sources.fetch import cache_folder, fetch

EXPORT_RECIPE = 2
"""Raised with any change to how a model is exported, so that the cache does not answer with the old way."""
TOOLCHAIN = ("torch", "transformers", "optimum-onnx", "onnx", "onnxruntime")


@dataclass(frozen=True, slots=True)
class ExportedEncoder:
    """An ONNX model and its tokenizer, with what the runtime needs to know of them."""

    model: bytes
    tokenizer: bytes
    spec: EncoderSpec
    model_folder: Path
    toolchain: Mapping[str, str]


def export_encoder(card: Card, precision: str, offline: bool = False, attempt: int = 0) -> ExportedEncoder:
    """The card's encoder in `precision`, for this machine's CPU family if int8.

    `attempt` counts through the card's `int8_keep`, each of which keeps more of the model in fp32. An export takes
    about ten seconds, so it is kept in the cache under the hash of all that determines it. Raises InputError for a
    card of another kind or an unknown precision, MissingExtraError without the export extra.
    """
    encoder = encoder_of(card)
    if precision not in PRECISIONS:
        raise InputError(f"unknown precision '{precision}'; choose one of {', '.join(PRECISIONS)}")
    family = instruction_set() if precision == "int8" else "any"
    try:
        toolchain = {name: version(name) for name in TOOLCHAIN}
    except ModuleNotFoundError:
        raise MissingExtraError("export", "exporting an encoder to ONNX") from None
    folder = fetch(card, offline)
    keep = encoder.int8_keep[attempt] if precision == "int8" else ""
    parts = [
        ("recipe", EXPORT_RECIPE),
        *sorted(card.files.items()),
        *toolchain.items(),
        ("precision", precision),
        ("keep", keep),
        ("cpu", family),
    ]
    key = hashlib.sha256(repr(parts).encode()).hexdigest()[:24]
    tokenizer = (folder / "tokenizer.json").read_bytes()
    model = _recall(key)
    if model is None:
        say(f"exporting {card.name} to ONNX, {precision}")
        model = convert(export_onnx(folder), precision, family, tokenizer, encoder.max_tokens, keep)
        _remember(key, model)
    spec = EncoderSpec(
        dimension=encoder.dimension,
        max_tokens=encoder.max_tokens,
        pooling=encoder.pooling,
        normalised=encoder.normalised,
        query_prefix=encoder.query_prefix,
        tool_prefix=encoder.tool_prefix,
        precision=precision,
        instruction_set=family,
    )
    return ExportedEncoder(model, tokenizer, spec, folder, toolchain)


def encoder_of(card: Card) -> EncoderCard:
    """The card's encoder. Raises InputError for a card of another kind."""
    if card.encoder is None:
        raise InputError(f"model card '{card.name}' is a {card.kind}, an encoder is needed; see: edgeret-export cards")
    return card.encoder


def _recall(key: str) -> bytes | None:
    file = cache_folder() / "onnx" / key
    try:
        data = file.read_bytes()
    except OSError:
        return None
    # The last 32 bytes are the hash of the rest: a file cut short by a crash must not be taken for a model.
    return data[:-32] if hashlib.sha256(data[:-32]).digest() == data[-32:] else None


def _remember(key: str, model: bytes) -> None:
    folder = cache_folder() / "onnx"
    folder.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=folder, prefix=".partial-")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(model)
            stream.write(hashlib.sha256(model).digest())
        Path(name).replace(folder / key)
    except OSError:
        Path(name).unlink(missing_ok=True)
        say("the export could not be kept in the cache (disk full?); the next build exports again")
