"""Whether nothing fits, as the first decision knows it: by demonstrations, by tools, and after learning."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from edgeret.bundle import roles
from edgeret.cli.options import add_runtime_options, load_runtime
from edgeret.errors import InputError
from edgeret.fields import get
from edgeret.inputs.demonstrations import Demonstration, read_demonstrations
from edgeret.inputs.queries import read_texts
from edgeret.runtime.runtime import Runtime
from edgeret.terminal.console import add_offline
from edgeret_bench.commands.common import FITTING, add_benchmark, numbers, seed

if TYPE_CHECKING:
    from edgeret_bench.accuracy.abstain import Request


def add_commands(commands: Any) -> None:
    """Adds abstain."""
    abstain = add_benchmark(
        commands,
        "abstain",
        "Whether the first decision knows that nothing fits: foreign requests declined, requests in scope lost.",
        _abstain,
        bundle=True,
        extra=FITTING,
    )
    abstain.add_argument("--demos", required=True, metavar="D", help="requests in scope, with their calls: JSONL")
    abstain.add_argument(
        "--nothing", required=True, metavar="N", help="requests that no tool fits: JSONL with a query, or plain lines"
    )
    abstain.add_argument("--train", metavar="T", help="demonstrations to build on and to learn from (JSONL)")
    abstain.add_argument("--sizes", metavar="a,b", help="also builds on so many of --train, 0: tools alone")
    abstain.add_argument("--among", metavar="a,b", help="also where a request may choose among so many tools only")
    abstain.add_argument("--learn", metavar="a,b", help="also after so many plans of --train were learned")
    abstain.add_argument(
        "--seed", type=seed, default=0, metavar="N", help="of what is drawn and built (default: %(default)s)"
    )
    add_offline(abstain)
    add_runtime_options(abstain)


def _abstain(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_bench.accuracy import abstain

    sizes, counts, learned = (
        _counts(getattr(arguments, name), f"--{name}", least)
        for name, least in (("sizes", 0), ("among", 1), ("learn", 1))
    )
    if arguments.train is None and (sizes or learned):
        raise InputError(f"{'--sizes' if sizes else '--learn'} needs --train, demonstrations to take so many of")
    runtime = load_runtime(arguments)
    train = [] if arguments.train is None else read_demonstrations(arguments.train, runtime.tools)
    demonstrations = read_demonstrations(arguments.demos, runtime.tools)
    requests = abstain.requests_of(demonstrations, read_texts(arguments.nothing))
    result = abstain.run(runtime, requests, counts, arguments.seed)
    if learned:
        result["learned"] = abstain.learning(runtime, requests, train, learned)
    if sizes:
        result["sizes"] = _built(arguments, runtime, train, requests, sizes)
    return {"bundle_hash": runtime.manifest.content_hash, "n_tools": len(runtime.tools), **result}


def _built(
    arguments: argparse.Namespace,
    runtime: Runtime,
    train: list[Demonstration],
    requests: list[Request],
    sizes: list[int],
) -> dict[str, Any]:
    """The figures of bundles with the same tools and encoder that are built on so many of the demonstrations."""
    from edgeret_bench.accuracy import abstain_sizes
    from edgeret_export.build import encode
    from edgeret_export.recipe import read_recipe
    from edgeret_export.sources.cards import find_card

    path = str(runtime.path)
    card = find_card(get(get(runtime.manifest.info, roles.INFO_ENCODER, dict, path), "card", str, path))
    recipe = read_recipe(None, seed=arguments.seed, profile="full")
    encoded = encode(card, recipe, train, list(runtime.tools.values()), arguments.offline)
    return abstain_sizes.run(card, recipe, encoded, requests, sizes, arguments.seed)


def _counts(text: str | None, option: str, least: int) -> list[int]:
    found = [] if text is None else numbers(text, int, option)
    if text is not None and (not found or min(found) < least):
        raise InputError(f"{option} must be numbers from {least}, found '{text}'")
    return found
