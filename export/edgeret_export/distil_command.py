"""The command `distil`: its options, what it reads, and what it prints. Parses and prints; the work is
`encoders.distil`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from edgeret.errors import InputError
from edgeret.terminal.console import add_command, add_offline
from edgeret_export.sources.cards import Card, find_card
from edgeret_export.text_options import add_texts, read_texts, write_file

ENCODER = "all-minilm-l6-v2-tools"
LEAST_TEXTS = 100


def add_distil(commands: Any) -> None:
    """Adds the command."""
    made = add_command(
        commands,
        "distil",
        "Teach an encoder of fewer layers, in codes of few bits, to be like a longer one: what comes with edgeret.",
        _make,
        _print,
    )
    add_texts(made)
    made.add_argument("--encoder", default=ENCODER, metavar="CARD", help="card name or .toml (default: %(default)s)")
    made.add_argument(
        "--layers", default="0,2,4,5", metavar="N,N", help="those that are kept, from 0 (default: %(default)s)"
    )
    made.add_argument("--bits", type=int, default=3, choices=range(2, 7), metavar="N", help="of a code (default: 3)")
    made.add_argument("--pieces", type=int, default=64, metavar="N", help="codes of a word (default: 64)")
    made.add_argument("--steps", type=int, default=800, metavar="N", help="of teaching (default: 800: 15 minutes)")
    made.add_argument("--seed", type=int, default=0, metavar="N", help="of everything drawn (default: 0)")
    add_offline(made)


def _make(arguments: argparse.Namespace) -> Mapping[str, Any]:
    card = find_card(arguments.encoder)
    texts, sets = _texts(arguments)
    if len(texts) < LEAST_TEXTS:
        raise InputError(f"{len(texts)} different texts, at least {LEAST_TEXTS} are needed; give more --set or --texts")
    from edgeret_export.encoders.coded import encoder_map
    from edgeret_export.encoders.distil import Course, distil
    from edgeret_export.encoders.export import encoder_of, export_encoder
    from edgeret_export.encoders.trainer import load_base
    from edgeret_export.reference.encoders.tokenizer import load_tokenizer
    from edgeret_export.sources.codebook import CodeFile, pack_code_file, specials_of

    spec = encoder_of(card)
    _check(arguments, card)
    exported = export_encoder(card, "fp32", arguments.offline)
    specials_of(exported.tokenizer.decode(), card.name)  # which whoever reads the file needs
    tokenizer = load_tokenizer(exported.tokenizer, spec.max_tokens, card.name).library
    pair: Any = [load_base(exported.model_folder)[0] for _ in range(2)]
    teacher, student = (each.auto_model for each in pair)
    layers = _layers(arguments.layers, len(teacher.encoder.layer))
    course = Course(layers, arguments.bits, arguments.pieces, arguments.steps, seed=arguments.seed)
    read = [each.ids for each in tokenizer.encode_batch(texts, add_special_tokens=False)]
    around = tokenizer.encode("a").ids
    taught = distil(teacher, student, [ids for ids in read if ids], (around[0], around[-1]), course)
    places = "embeddings.position_embeddings.weight"
    tensors = {**taught.tensors, places: taught.tensors[places][: spec.max_tokens]}
    config = teacher.config
    arrays = encoder_map(tensors, taught.words, course.bits, config.num_attention_heads, config.layer_norm_eps)
    told = {
        "taught_by": card.name,
        "licence": card.licence,
        "course": course._asdict(),
        "texts": len(texts),
        "sets": sets,
        "texts_off": round(taught.texts_off, 4),
        "tokens_off": round(taught.tokens_off, 4),
    }
    data = pack_code_file(CodeFile(arrays, exported.tokenizer.decode(), told))
    return {**write_file(arguments, data), **told}


def _check(arguments: argparse.Namespace, card: Card) -> None:
    spec = card.encoder
    assert spec is not None
    if spec.pooling != "mean" or not spec.normalised or spec.truncate or spec.centre or spec.query_prefix:
        raise InputError(f"model card '{card.name}': only an encoder that takes the mean, as it is, can be taught from")
    if not 0 < arguments.pieces <= spec.dimension or spec.dimension % arguments.pieces:
        raise InputError(f"--pieces {arguments.pieces}: expected a number that divides {spec.dimension}")
    if arguments.steps < 1:
        raise InputError(f"--steps {arguments.steps}: expected a number from 1 on")


def _layers(told: str, count: int) -> tuple[int, ...]:
    try:
        found = tuple(map(int, told.split(",")))
    except ValueError:
        found = ()
    if not found or list(found) != sorted(set(found)) or not 0 <= found[0] <= found[-1] < count:
        raise InputError(f"--layers {told}: expected numbers from 0 to {count - 1}, ascending, like 0,2,4,5")
    return found


def _texts(arguments: argparse.Namespace) -> tuple[list[str], list[str]]:
    """All different texts, sorted, and what the sets are called."""
    from edgeret.inputs.tool_text import name_in_words, tool_text
    from edgeret_export.encoders.asked import TOOL_FORM
    from edgeret_export.sources.plans import read_source

    found: set[str] = set()
    sets = [read_source(told, ()) for told in arguments.set]
    for source in sets:
        found.update(demonstration.query for demonstration in source.demonstrations)
        for tool in source.tools:
            described = tool.parameters.get("properties", {})
            schemas = described.values() if isinstance(described, dict) else ()
            said = [schema.get("description") for schema in schemas if isinstance(schema, dict)]
            own = (tool_text(tool, TOOL_FORM), name_in_words(tool.name), tool.description)
            found.update(text for text in (*own, *said) if isinstance(text, str))
    found.update(read_texts(arguments))
    return sorted({text.strip() for text in found} - {""}), [source.name for source in sets]


def _print(result: Mapping[str, Any]) -> str:
    return "\n".join(
        (
            f"written  {result['file']}: {result['bytes'] / 1e6:.1f} MB, taught with {result['texts']} texts",
            f"sha256   {result['sha256']}",
            f"off      texts by {result['texts_off']}, tokens by {result['tokens_off']} (1 less the mean cosine)",
            "next     write a card for it, like models/all-minilm-l4-tools.toml, and build with --encoder CARD.toml",
        )
    )
