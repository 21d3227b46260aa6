"""The command `prior`: its options, what it reads, and its table. Parses and prints; the work is `prior`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeret.terminal.console import add_command, add_offline, table
from edgeret_export.recipe import read_recipe
from edgeret_export.reference.scoring.prior import KINDS
from edgeret_export.sources.cards import DEFAULT_ENCODER, find_card
from edgeret_export.sources.priors import read_prior, write_prior


def add_prior(commands: Any) -> None:
    """Adds the command."""
    prior = add_command(
        commands,
        "prior",
        "Fit the weights that rank tools without demonstrations, on other people's tools and plans.",
        _prior,
        _print_prior,
    )
    prior.add_argument(
        "--set",
        required=True,
        action="append",
        metavar="[NAME=]FOLDER",
        help="a folder of tools.jsonl and demonstrations.jsonl, or TOOLS:PLANS; at least two",
    )
    prior.add_argument(
        "--leave-out", action="append", default=[], metavar="PREFIX", help="plans whose ids begin so are left out"
    )
    prior.add_argument("-o", "--output", required=True, metavar="CARD.json", help="the card to write")
    prior.add_argument(
        "--encoder", default=DEFAULT_ENCODER, metavar="CARD", help="card name or .toml (default: %(default)s)"
    )
    prior.add_argument(
        "--adapter", metavar="FOLDER", help="as in build; none where the card's own was tuned on these sets"
    )
    prior.add_argument(
        "--adapter-for",
        action="append",
        default=[],
        metavar="SET=FOLDER",
        help="an adapter that was tuned without this set, which reads it; may be given several times",
    )
    prior.add_argument(
        "--token-vectors-for",
        action="append",
        default=[],
        metavar="SET=FILE",
        help="token vectors that were made without this set: the prior then is for tables that start there; one for "
        "every set",
    )
    prior.add_argument(
        "--only",
        choices=tuple(KINDS),
        help="fit this block of weights alone, and keep all else of the card that is there already",
    )
    prior.add_argument("--seed", type=int, default=0, metavar="N", help="seed of what is cut at random (default: 0)")
    add_offline(prior)


def _prior(arguments: argparse.Namespace) -> Mapping[str, Any]:
    card, recipe = find_card(arguments.encoder), read_recipe(None, seed=arguments.seed)
    from edgeret_export.encoders.adapter import with_adapter
    from edgeret_export.prior import make_card, read_pairs
    from edgeret_export.sources.plans import read_source

    card = with_adapter(card, arguments.adapter)
    sources = [read_source(told, arguments.leave_out) for told in arguments.set]
    adapters = read_pairs("--adapter-for", arguments.adapter_for)
    tables = read_pairs("--token-vectors-for", arguments.token_vectors_for)
    before = read_prior(card.name, arguments.output) if arguments.only else None
    precision, form, seed = "int8", recipe.tool_text, recipe.seed
    fitted = make_card(
        sources, card, precision, form, seed, arguments.offline, adapters, tables, before, arguments.only
    )
    write_prior(Path(arguments.output), fitted)
    return {"card": arguments.output, **fitted}


def _print_prior(result: Mapping[str, Any]) -> str:
    columns = ("decisions", "top1", "mrr", "first_tool", "search_first_tool", "ece")
    rows = [[name, *(str(found[column]) for column in columns)] for name, found in result["left_out"].items()]
    return "\n".join((f"written  {result['card']}", table(rows, ("left out", *columns))))
