"""The command `distil`: its options, what it reads, and what it prints. Parses and prints; the work is
`encoders.distil`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from edgeret.errors import InputError
from edgeret.inputs.tool_text import name_in_words, tool_text
from edgeret.terminal.console import add_command, add_offline
from edgeret.terminal.progress import track
from edgeret_export.encoders.asked import TOOL_FORM
from edgeret_export.encoders.pairs import ToolSet
from edgeret_export.sources.cards import Card, find_card
from edgeret_export.text_options import add_texts, read_texts, write_file

if TYPE_CHECKING:
    from edgeret_export.encoders.chosen import Chosen
    from edgeret_export.encoders.distil import Course
    from edgeret_export.encoders.pairs import Vectors
    from edgeret_export.sources.codebook import CodeFile

ENCODER, LAYERS = "all-minilm-l6-v2-tools", "0,2,4,5"
LEAST_TEXTS = 100
MOST_CALLS = 10
RATE_ON = 3e-4
"""How fast what goes on is taught."""


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
    made.add_argument("--from", dest="begun", metavar="FILE", help="an encoder in codes to go on from")
    made.add_argument(
        "--layers", metavar="N,N", help=f"those that are kept, from 0 (default: {LAYERS}, or those of --from)"
    )
    made.add_argument(
        "--bits", type=int, choices=range(2, 7), metavar="N", help="of a code (default: 3, or as --from has them)"
    )
    made.add_argument("--pieces", type=int, metavar="N", help="codes of a word (default: 64, or as --from has them)")
    made.add_argument(
        "--calls",
        type=float,
        default=0.0,
        metavar="X",
        help="what it counts beside that requests of the sets find the tools that they call (default: 0, nothing)",
    )
    made.add_argument("--steps", type=int, default=800, metavar="N", help="of teaching (default: 800: 15 minutes)")
    made.add_argument("--seed", type=int, default=0, metavar="N", help="of everything drawn (default: 0)")
    add_offline(made)


def _make(arguments: argparse.Namespace) -> Mapping[str, Any]:
    card = find_card(arguments.encoder)
    _check(arguments, card)
    from edgeret_export.encoders.coded import Words, encoder_map
    from edgeret_export.encoders.distil import distil
    from edgeret_export.encoders.export import encoder_of, export_encoder
    from edgeret_export.encoders.trainer import TorchVectors, load_base
    from edgeret_export.reference.encoders.tokenizer import load_tokenizer
    from edgeret_export.sources.codebook import CodeFile, convert_codebook, pack_code_file, specials_of, words_in
    from edgeret_export.sources.plans import read_source

    sets = [ToolSet(each.name, each.tools, each.demonstrations) for each in map(read_source, arguments.set)]
    texts = _texts(sets, arguments)
    if len(texts) < LEAST_TEXTS:
        raise InputError(f"{len(texts)} different texts, at least {LEAST_TEXTS} are needed; give more --set or --texts")
    spec, begun = encoder_of(card), _begun(arguments)
    exported = export_encoder(card, "fp32", arguments.offline)
    vocabulary = exported.tokenizer.decode()
    specials_of(vocabulary, card.name)  # which whoever reads the file needs
    words = None if begun is None else Words(*words_in(begun, arguments.begun))
    if begun is not None and begun.tokenizer != vocabulary:
        raise InputError(f"--from {arguments.begun}: it has other tokens than {card.name}; name its --encoder")
    tokenizer = load_tokenizer(exported.tokenizer, spec.max_tokens, card.name).library
    base = load_base(exported.model_folder)
    first: Any = base[0]
    teacher = first.auto_model
    with TemporaryDirectory() as folder:
        if begun is not None:  # which proves all of it
            convert_codebook(Path(arguments.begun), Path(folder))
        student: Any = load_base(exported.model_folder if begun is None else Path(folder))[0]
    if student.auto_model.config.hidden_size != spec.dimension:
        raise InputError(f"--from {arguments.begun}: its vectors are not as long as those of {card.name}")
    course = _course(arguments, len(teacher.encoder.layer), begun)
    beside = _beside(sets, TorchVectors(base, spec), tokenizer, course.seed) if course.beside else None
    read = [each.ids for each in tokenizer.encode_batch(texts, add_special_tokens=False)]
    around = tokenizer.encode("a").ids
    ends = around[0], around[-1]
    taught = distil(teacher, student.auto_model, [ids for ids in read if ids], ends, course, words, beside)
    places = "embeddings.position_embeddings.weight"
    tensors = {**taught.tensors, places: taught.tensors[places][: spec.max_tokens]}
    config = teacher.config
    arrays = encoder_map(tensors, taught.words, course.bits, config.num_attention_heads, config.layer_norm_eps)
    told = {
        "taught_by": card.name,
        "licence": card.licence,
        "course": course._asdict(),
        "texts": len(texts),
        "sets": [each.name for each in sets],
        "texts_off": round(taught.texts_off, 4),
        "tokens_off": round(taught.tokens_off, 4),
        **({} if begun is None else {"before": begun.told}),
    }
    return {**write_file(arguments, pack_code_file(CodeFile(arrays, vocabulary, told))), **told}


def _check(arguments: argparse.Namespace, card: Card) -> None:
    spec = card.encoder
    assert spec is not None
    if spec.pooling != "mean" or not spec.normalised or spec.truncate or spec.centre or spec.query_prefix:
        raise InputError(f"model card '{card.name}': only an encoder that takes the mean, as it is, can be taught from")
    pieces = arguments.pieces
    if pieces is not None and (not 0 < pieces <= spec.dimension or spec.dimension % pieces):
        raise InputError(f"--pieces {pieces}: expected a number that divides {spec.dimension}")
    if arguments.steps < 1:
        raise InputError(f"--steps {arguments.steps}: expected a number from 1 on")
    if not 0 <= arguments.calls <= MOST_CALLS:
        raise InputError(f"--calls {arguments.calls:g}: expected a number from 0 to {MOST_CALLS}")
    if arguments.calls and not arguments.set:
        raise InputError("--calls: only sets have calls; give --set")
    given = [name for name in ("layers", "bits", "pieces") if getattr(arguments, name) is not None]
    if arguments.begun is not None and given:
        raise InputError(f"--{given[0]}: --from has its own; leave it out")


def _begun(arguments: argparse.Namespace) -> CodeFile | None:
    from edgeret_export.sources.codebook import read_code_file

    return None if arguments.begun is None else read_code_file(Path(arguments.begun))


def _course(arguments: argparse.Namespace, layers: int, begun: CodeFile | None) -> Course:
    from edgeret_export.encoders.distil import Course

    told = {"steps": arguments.steps, "seed": arguments.seed, "beside": arguments.calls}
    if begun is None:
        kept = _layers(LAYERS if arguments.layers is None else arguments.layers, layers)
        return Course(kept, arguments.bits or 3, arguments.pieces or 64, **told)
    bits = len(begun.arrays["layers"][0]["together"]["book"]).bit_length() - 1
    kept = tuple(range(len(begun.arrays["layers"])))
    return Course(kept, bits, len(begun.arrays["book_scales"]), rate=RATE_ON, **told)


def _layers(told: str, count: int) -> tuple[int, ...]:
    try:
        found = tuple(map(int, told.split(",")))
    except ValueError:
        found = ()
    if not found or list(found) != sorted(set(found)) or not 0 <= found[0] <= found[-1] < count:
        raise InputError(f"--layers {told}: expected numbers from 0 to {count - 1}, ascending, like {LAYERS}")
    return found


def _beside(sets: Sequence[ToolSet], vectors: Vectors, tokenizer: Any, seed: int) -> Chosen:
    """What the sets' requests call, as a loss. Raises InputError where none calls anything."""
    from edgeret_export.encoders.chosen import Asked, Chosen, texts_of
    from edgeret_export.encoders.pairs import PairOptions, make_anchors

    options = PairOptions(stories=0.0, seed=seed)
    asked = [
        Asked([tool_text(tool, TOOL_FORM) for tool in each.tools], make_anchors(each, vectors, options))
        for each in track(sets, "reading sets", len(sets))
    ]
    if not any(anchor.right for each in asked for anchor in each.anchors):
        raise InputError("--calls: no request of the sets calls one tool and not another; give other --set")
    told = texts_of(asked)
    return Chosen(asked, dict(zip(told, (each.ids for each in tokenizer.encode_batch(told)), strict=True)), seed)


def _texts(sets: Sequence[ToolSet], arguments: argparse.Namespace) -> list[str]:
    """All different texts, sorted."""
    found: set[str] = set()
    for source in sets:
        found.update(demonstration.query for demonstration in source.demonstrations)
        for tool in source.tools:
            described = tool.parameters.get("properties", {})
            schemas = described.values() if isinstance(described, dict) else ()
            said = [schema.get("description") for schema in schemas if isinstance(schema, dict)]
            own = (tool_text(tool, TOOL_FORM), name_in_words(tool.name), tool.description)
            found.update(text for text in (*own, *said) if isinstance(text, str))
    found.update(read_texts(arguments))
    return sorted({text.strip() for text in found} - {""})


def _print(result: Mapping[str, Any]) -> str:
    return "\n".join(
        (
            f"written  {result['file']}: {result['bytes'] / 1e6:.1f} MB, taught with {result['texts']} texts",
            f"sha256   {result['sha256']}",
            f"off      texts by {result['texts_off']}, tokens by {result['tokens_off']} (1 less the mean cosine)",
            "next     write a card for it, like models/all-minilm-l4-tools.toml, and build with --encoder CARD.toml",
        )
    )
