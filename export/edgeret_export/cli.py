"""The command line of the build host. Parses arguments and prints; the work is elsewhere."""

from __future__ import annotations

import argparse
import gc
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeret import __version__
from edgeret.bundle.index_form import STORED_AS
from edgeret.cli.options import probability
from edgeret.encoders.variants import TARGETS
from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.inputs.examples_file import with_examples_of
from edgeret.inputs.tools import read_tools
from edgeret.runtime.options import PROFILES
from edgeret.runtime.unread import unread
from edgeret.terminal.console import Parser, add_command, add_lab, add_offline, run, table, warn
from edgeret.types import Tool
from edgeret_export.argument_command import add_arguments
from edgeret_export.average_command import add_average
from edgeret_export.centre_command import add_centre
from edgeret_export.check_command import add_check
from edgeret_export.cut_command import add_cut
from edgeret_export.delta_command import add_delta
from edgeret_export.demos_command import add_demos
from edgeret_export.diff_command import add_diff
from edgeret_export.distil_command import add_distil
from edgeret_export.example import write_example
from edgeret_export.expand_command import add_expand
from edgeret_export.memory import keep_memory
from edgeret_export.pack_command import add_pack
from edgeret_export.planner_command import add_planner
from edgeret_export.prior_command import add_prior
from edgeret_export.recipe import PRECISION_CHOICES, Recipe, read_recipe
from edgeret_export.recorded.demonstrations import read_and_check
from edgeret_export.recorded.fit import Misfits
from edgeret_export.route_command import add_route
from edgeret_export.sbom_command import add_sbom
from edgeret_export.sign_command import add_sign
from edgeret_export.sources.cards import DEFAULT_ENCODER, Card, all_cards, check_licence, find_card, with_dimension
from edgeret_export.sources.expansions import demonstrated, read_expansion
from edgeret_export.sources.fetch import fetch_missing
from edgeret_export.teach_command import add_teach, add_trajectories
from edgeret_export.thin_command import add_thin
from edgeret_export.token_vectors_command import add_token_vectors
from edgeret_export.told import print_build
from edgeret_export.tune_command import add_tune
from edgeret_export.turns_command import add_turns

_LAB = (
    *(add_prior, add_token_vectors, add_distil, add_centre, add_tune, add_average, add_thin, add_cut),
    *(add_arguments, add_expand, add_route, add_turns, add_planner, add_trajectories, add_teach),
)
"""What makes the models that others build with; see docs/howto/tune.md."""
_GARBAGE = 50_000
"""New objects between two looks for circles among them; Python's own 700 cost a build, which makes few circles, a
twentieth of its time."""


def make_parser() -> argparse.ArgumentParser:
    """The parser of `edgeret-export`."""
    parser = Parser(prog="edgeret-export", description="Builds edgeret bundles on a build host.")
    parser.add_argument("--version", action="version", version=f"edgeret {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_build(commands)
    add_command(commands, "cards", "List the model cards.", _cards, _print_cards)
    add_demos(commands)
    add_diff(commands)
    add_delta(commands)
    add_check(commands)
    add_sbom(commands)
    add_pack(commands)
    add_sign(commands)
    example = add_command(
        commands, "example", "Write the desktop example: tools, demonstrations, requests.", _example, _print_example
    )
    example.add_argument("folder", nargs="?", default="edgeret-example", metavar="FOLDER", help="default: %(default)s")
    lab = add_lab(parser, commands, "make priors, tables, heads, adapters and planners, which builds then take")
    for add in _LAB:
        add(lab)
    return parser


def _add_build(commands: Any) -> None:
    """The command that builds a bundle."""
    build = add_command(
        commands, "build", "Build a bundle from tools, demonstrations and a model card.", _build, print_build
    )
    build.add_argument(
        "--tools",
        required=True,
        action="append",
        metavar="T",
        help="tools: JSONL, OpenAI or Anthropic `tools`, or MCP `tools/list`; may be given several times",
    )
    build.add_argument(
        "--demos",
        action="append",
        default=[],
        metavar="D",
        help="demonstrations, if there are any: JSONL; may be given several times",
    )
    build.add_argument("-o", "--output", required=True, metavar="BUNDLE", help="folder to write; must not exist yet")
    build.add_argument(
        "--encoder", default=DEFAULT_ENCODER, metavar="CARD", help="card name or .toml (default: %(default)s)"
    )
    _add_models(build)
    build.add_argument("--recipe", metavar="FILE.toml", help="settings of the build; see docs/recipe.md")
    build.add_argument(
        "--risk",
        type=probability,
        metavar="R",
        help="share of answers that may be wrong where a caller names none (default: 0.1, as far as that costs at most "
        "one in a hundred right ones)",
    )
    build.add_argument("--seed", type=int, metavar="N", help="seed of everything drawn (default: 0)")
    build.add_argument("--force", action="store_true", help="replace a bundle that stands there already")
    build.add_argument(
        "--allow-unpinned", action="store_true", help="take a model whose card names no hash for its files"
    )
    build.add_argument(
        "--strict",
        action="store_true",
        help="refuse arguments of demonstrations that do not fit their tools' parameters",
    )
    add_offline(build)
    build.add_argument(
        "--ray",
        nargs="?",
        const="",
        metavar="ADDRESS",
        help="encode and fit on the Ray cluster of this address, or without one on the one of RAY_ADDRESS or this "
        "machine's CPUs; the bundle is the same (edgeret-export[ray])",
    )
    build.add_argument(
        "--accept-licence",
        action="append",
        default=[],
        metavar="NAME",
        help="accept a model licence with terms of its own",
    )


def _add_models(build: argparse.ArgumentParser) -> None:
    """What is done to the models of a build."""
    build.add_argument(
        "--languages",
        metavar="CODES",
        help="like de,en, of those that the encoder was trained on: its vocabulary keeps what is written in their "
        "scripts or in Latin letters (default: all)",
    )
    build.add_argument(
        "--adapter",
        metavar="FOLDER",
        help="what `tune` wrote, in place of the card's own adapter; none: the encoder as its publisher made it",
    )
    build.add_argument(
        "--finetune",
        action="store_true",
        help="tune the encoder on the demonstrations first: minutes; what was tuned is kept in the cache",
    )
    build.add_argument(
        "--precision",
        choices=PRECISION_CHOICES,
        help="of the encoder (default: auto, which is int8 where that finds the same tools as fp32, else fp32; "
        "codebook of a card whose weights are in codes)",
    )
    build.add_argument(
        "--profile",
        choices=PROFILES,
        help="tiny: a table of token vectors in the encoder's place; default: decide by it where it is sure enough, "
        "else by the encoder; full: the encoder alone",
    )
    build.add_argument(
        "--target",
        action="append",
        choices=TARGETS,
        help="hardware that the encoder gets a graph for, beside the one for this CPU; may be given several times "
        "(cpu: for CPUs with and without VNNI; gpu: fp16; npu: static shapes, quantised beforehand; mobile: .ort)",
    )
    _add_vectors(build)
    build.add_argument("--planner", default="none", metavar="CARD", help="planner card, or none (default)")
    build.add_argument(
        "--examples",
        metavar="FILE.jsonl",
        help='requests for tools: {"name", "examples"} a line',
    )
    build.add_argument(
        "--expansion", metavar="FILE.jsonl", help="what `expand` wrote: queries that make the tools' vectors better"
    )


def _add_vectors(parser: argparse.ArgumentParser) -> None:
    """How many numbers a vector has, where tokens' vectors start, what reads arguments, and how tools' are kept."""
    parser.add_argument(
        "--dimension",
        type=int,
        metavar="N",
        help="keep the first N numbers of every vector, for an encoder that was trained so (Matryoshka)",
    )
    parser.add_argument(
        "--token-vectors",
        metavar="FILE",
        help="what `token-vectors` wrote, in place of those that are shipped for the encoder, where a table of token "
        "vectors starts; none: it is fitted to the tools and demonstrations alone",
    )
    parser.add_argument(
        "--argument-head",
        metavar="FILE",
        help="what `arguments` wrote, in place of the head that is shipped for the encoder, to read arguments with; "
        "none: they are read by signs alone",
    )
    parser.add_argument(
        "--index-vectors",
        choices=STORED_AS,
        help="how the tools' vectors are kept: int8 takes a quarter of the bytes (default: fp32)",
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point."""
    return run(make_parser(), argv, extra="edgeret-export")


def _build(arguments: argparse.Namespace) -> Mapping[str, Any]:
    keep_memory()
    gc.set_threshold(_GARBAGE)
    recipe = _recipe(arguments)
    tools, demonstrations, misfits = _read(arguments)
    expansion = None if arguments.expansion is None else read_expansion(arguments.expansion, tools)
    if expansion is not None and (double := demonstrated(expansion, demonstrations)):
        warn(
            f"{arguments.expansion}: {double} of its queries are demonstrations of this build, so that held-out "
            "figures and probabilities come out too high; expand by a model, or by other demonstrations"
        )
    from edgeret_export.encoders.vocabulary import with_languages

    card = with_languages(with_dimension(find_card(arguments.encoder), arguments.dimension), arguments.languages)
    planner = None if arguments.planner == "none" else find_card(arguments.planner)
    _look_at_languages(card, [demonstration.query for demonstration in demonstrations])
    for model in (card, planner):
        if model is not None:
            check_licence(model, frozenset(arguments.accept_licence))
    if arguments.finetune and arguments.adapter is not None:
        raise InputError("--finetune makes an adapter of its own; leave out --adapter or --finetune")
    if arguments.argument_head not in (None, "none") and recipe.profile == "tiny":
        raise InputError("--argument-head: a tiny bundle's tokens do not know each other, so no head reads them")
    # Cards of another kind are refused below, and not downloaded before.
    if card.encoder is not None:
        fetch_missing(card, offline=arguments.offline, allow_unpinned=False)
    if planner is not None and planner.planner is not None and planner.weights is None:
        fetch_missing(planner, offline=arguments.offline, allow_unpinned=arguments.allow_unpinned)
    from edgeret_export.build import build_bundle
    from edgeret_export.encoders.adapter import with_adapter
    from edgeret_export.places import place_of

    with place_of(arguments.ray) as place:
        built = build_bundle(
            tools,
            demonstrations,
            Path(arguments.output),
            with_adapter(card, arguments.adapter),
            recipe,
            finetune=arguments.finetune,
            planner=planner,
            expansion=expansion,
            overwrite=arguments.force,
            offline=arguments.offline,
            allow_unpinned=arguments.allow_unpinned,
            token_vectors=arguments.token_vectors,
            argument_head=arguments.argument_head,
            place=place,
        )
    return {
        "bundle": str(built.path),
        "content_hash": built.content_hash,
        "profile": recipe.profile,
        "bundle_mb": sum(file.stat().st_size for file in built.path.iterdir()) / 1e6,
        "tools": len(tools),
        "demonstrations": len(demonstrations),
        "warnings": misfits.arguments,
        **built.report,
    }


def _recipe(arguments: argparse.Namespace) -> Recipe:
    return read_recipe(
        arguments.recipe,
        precision=arguments.precision,
        seed=arguments.seed,
        profile=arguments.profile,
        targets=None if arguments.target is None else ",".join(arguments.target),
        index_vectors=arguments.index_vectors,
        risk=arguments.risk,
    )


def _read(arguments: argparse.Namespace) -> tuple[list[Tool], list[Demonstration], Misfits]:
    """Tools with what they show, demonstrations, and how far these do not fit. Raises InputError."""
    tools = read_tools(*arguments.tools, tell=warn)
    demonstrations, misfits = read_and_check(arguments.demos, tools)
    if misfits.arguments:
        if arguments.strict:
            raise InputError(f"{misfits}; mend them, or leave out --strict")
        warn(str(misfits))
    if arguments.examples is not None:
        tools = with_examples_of(tools, arguments.examples, warn)
    return tools, demonstrations, misfits


def _look_at_languages(card: Card, queries: Sequence[str]) -> None:
    """Warns where the encoder was not trained on the script or language that queries are written in."""
    languages = () if card.encoder is None else card.encoder.languages
    foreign = [found for query in queries if (found := unread(query, languages)) is not None]
    if foreign:
        warn(
            f"{len(foreign)} of {len(queries)} demonstrations are in {foreign[0]} or others that {card.name} was not "
            "trained on; take a multilingual encoder (edgeret-export cards)"
        )


def _cards(_: argparse.Namespace) -> Mapping[str, Any]:
    cards = [
        {
            "name": c.name,
            "kind": c.kind,
            "licence": c.licence,
            "pinned": c.pinned,
            "sources": list(c.sources),
            "languages": [] if c.encoder is None else list(c.encoder.languages),
            "summary": c.summary,
        }
        for c in all_cards()
    ]
    return {"cards": cards}


def _print_cards(result: Mapping[str, Any]) -> str:
    return table(
        [[c["name"], c["kind"], c["licence"], "yes" if c["pinned"] else "no", c["summary"]] for c in result["cards"]],
        ("name", "kind", "licence", "pinned", "summary"),
    )


def _example(arguments: argparse.Namespace) -> Mapping[str, Any]:
    return write_example(Path(arguments.folder))


def _print_example(result: Mapping[str, Any]) -> str:
    build, *then = result["next"]
    written = f"written  {result['folder']}: {', '.join(result['files'])}"
    return "\n".join((written, f"next     {build}", *(f"then     {line}" for line in then)))
