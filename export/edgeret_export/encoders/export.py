"""An encoder from a card, ready for the runtime: fetched, exported, quantised, and kept for the next build."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from edgeret.bundle import roles
from edgeret.encoders.base import PRECISIONS, EncoderSpec
from edgeret.errors import InputError, MissingExtraError
from edgeret.host import instruction_set
from edgeret.terminal.progress import say
from edgeret_export.encoders.adapter import identity, merged_folder
from edgeret_export.encoders.cache import key_of, recall, remember
from edgeret_export.encoders.modules import check_modules
from edgeret_export.encoders.onnx_graph import export_onnx, read_onnx
from edgeret_export.encoders.quantize import convert
from edgeret_export.encoders.vocabulary import cut_folder
from edgeret_export.reference.encoders.tokenizer import load_tokenizer
from edgeret_export.sources.cards import Card
from edgeret_export.sources.centres import read_centre
from edgeret_export.sources.codebook import ARRAYS
from edgeret_export.sources.encoder_card import EncoderCard
from edgeret_export.sources.fetch import fetch

EXPORT_RECIPE = 4
"""Raised with any change to how a model is exported, so that the cache does not answer with the old way."""
CODEBOOK = "codebook"
"""The precision, and the layout, of weights in codes."""
TOOLCHAIN = ("torch", "transformers", "optimum-onnx", "onnx", "onnxruntime")


@dataclass(frozen=True, slots=True)
class ExportedEncoder:
    """An ONNX model, weights in codes or a table of token vectors (`role`) with its tokenizer, and what the runtime
    needs to know."""

    model: bytes
    tokenizer: bytes
    spec: EncoderSpec
    model_folder: Path
    toolchain: Mapping[str, str]
    role: str = roles.ENCODER
    centre: tuple[float, ...] | None = None
    """What was taken off the original's vectors, a number a dimension."""


def export_encoder(
    card: Card, precision: str, offline: bool = False, attempt: int = 0, *, family: str | None = None
) -> ExportedEncoder:
    """The card's encoder in `precision`; int8 for a CPU `family`, which is this machine's where none is named.

    `attempt` counts through the card's `int8_keep`, each of which keeps more of the model in fp32. An export takes
    about ten seconds, so it is kept in the cache under the hash of all that determines it. The card's adapter, if it
    has one, is merged in before. Raises InputError for a card of another kind, an unknown precision or an adapter that
    does not fit, MissingExtraError without the export extra.
    """
    encoder = encoder_of(card)
    if precision not in PRECISIONS:
        raise InputError(f"unknown precision '{precision}'; choose one of {', '.join(PRECISIONS)}")
    family = (family or instruction_set()) if precision == "int8" else "any"
    try:
        toolchain = {name: version(name) for name in TOOLCHAIN}
    except ModuleNotFoundError:
        raise MissingExtraError("edgeret-export", "exporting an encoder to ONNX") from None
    centre = read_centre(card)
    folder, changes = _prepared(card, encoder, offline)
    tokenizer = (folder / "tokenizer.json").read_bytes()
    if precision == CODEBOOK:
        return _in_codes(card, encoder, folder, toolchain)
    keep = encoder.int8_keep[attempt] if precision == "int8" else ""
    parts = [
        ("recipe", EXPORT_RECIPE),
        *sorted(card.files.items()),
        *changes,
        *toolchain.items(),
        ("precision", precision),
        ("keep", keep),
        ("cpu", family),
        ("pooling", encoder.pooling),
        ("cut", encoder.truncate),
    ]
    key = key_of(parts)
    model = recall(key)
    if model is None:
        # The others are made from fp32, which every build has for comparison: torch then exports once.
        source = None if precision == "fp32" else export_encoder(card, "fp32", offline).model
        say(f"exporting {card.name} to ONNX, {precision}")
        graph = export_onnx(folder, encoder.pooling, encoder.truncate, centre) if source is None else read_onnx(source)
        model = convert(graph, precision, family, tokenizer, encoder.max_tokens, keep)
        remember(key, model)
    return ExportedEncoder(model, tokenizer, _spec(encoder, precision, family), folder, toolchain, centre=centre)


def _spec(encoder: EncoderCard, precision: str, family: str) -> EncoderSpec:
    return EncoderSpec(
        dimension=encoder.truncate or encoder.dimension,
        max_tokens=encoder.max_tokens,
        pooling=encoder.pooling,
        normalised=encoder.normalised,
        query_prefix=encoder.query_prefix,
        tool_prefix=encoder.tool_prefix,
        precision=precision,
        instruction_set=family,
    )


def _in_codes(card: Card, encoder: EncoderCard, folder: Path, toolchain: Mapping[str, str]) -> ExportedEncoder:
    """The card's codes as they are. Raises InputError for a card without, or one that changes what they stand for."""
    if not in_codes(card):
        raise InputError(
            f"model card '{card.name}': its weights are in no codes, or not as they are; choose another --precision, "
            "or make an encoder in codes with: edgeret-export lab distil"
        )
    arrays, tokenizer = (folder / ARRAYS).read_bytes(), (folder / "tokenizer.json").read_bytes()
    return ExportedEncoder(arrays, tokenizer, _spec(encoder, CODEBOOK, "any"), folder, toolchain, roles.ENCODER_ARRAYS)


def in_codes(card: Card) -> bool:
    """Whether a card's weights are in codes, and nothing changes what they stand for."""
    in_file = card.converted is not None and card.converted.layout == CODEBOOK
    return in_file and encoder_of(card).as_published


def _prepared(card: Card, encoder: EncoderCard, offline: bool) -> tuple[Path, list[tuple[str, str]]]:
    """The folder of what is exported: the card's files, its adapter merged, its vocabulary cut; and what was changed,
    for the cache's key. Raises InputError for what cannot be exported, before that takes its time."""
    folder = fetch(card, offline)
    check_modules(card, encoder, folder)
    load_tokenizer((folder / "tokenizer.json").read_bytes(), encoder.max_tokens, card.name)
    changes = [] if encoder.centre is None else [("centre", encoder.centre.sha256)]
    if encoder.adapter is not None:
        folder = merged_folder(card, folder, encoder.adapter)
        changes.append(("adapter", identity(encoder.adapter)))
    if encoder.scripts:
        folder = cut_folder(card, folder, encoder.scripts)
        changes.append(("scripts", ",".join(encoder.scripts)))
    return folder, changes


def attempts(card: Card, precision: str | None) -> Sequence[tuple[str, int]]:
    """What a build tries until the parity gate passes, as arguments of `export_encoder`, best first.

    A precision that was asked for is kept to; None goes on from int8 to fp32. Raises InputError for a card of
    another kind.
    """
    encoder = encoder_of(card)
    if in_codes(card) and precision in (None, CODEBOOK):
        return [(CODEBOOK, 0), *([] if precision else [("fp32", 0)])]
    int8 = [("int8", attempt) for attempt in range(len(encoder.int8_keep))]
    if precision is None:
        # Not by fp16: on CPUs ONNX Runtime casts it to fp32 and back, and a text took 1.1 times as long (AVX-512).
        return [*int8, ("fp32", 0)]
    return int8 if precision == "int8" else [(precision, 0)]


def encoder_of(card: Card) -> EncoderCard:
    """The card's encoder. Raises InputError for a card of another kind."""
    if card.encoder is None:
        raise InputError(f"model card '{card.name}' is a {card.kind}, an encoder is needed; see: edgeret-export cards")
    return card.encoder
