"""The command `arguments`: its options, what it reads, and what it prints. Parses and prints; the work is
`argument_lab`'s."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeret.cli.options import positive
from edgeret.errors import InputError
from edgeret.terminal.console import add_command, add_offline, check_place
from edgeret_export.sources.cards import DEFAULT_ENCODER, find_card


def add_arguments(commands: Any) -> None:
    """Adds the command."""
    made = add_command(
        commands,
        "arguments",
        "Fit the head that reads arguments to other people's calls, and what joins it with the rules.",
        _make,
        _print,
    )
    made.add_argument(
        "--own",
        nargs="+",
        required=True,
        metavar="SET",
        help="tools.jsonl and demonstrations.jsonl in a folder, in the style that strangers are thought to have: they "
        "count twice",
    )
    made.add_argument("--others", nargs="+", default=[], metavar="SET", help="sets of other styles")
    made.add_argument(
        "--beside", nargs="+", default=[], metavar="SET", help="sets for the joining alone, which no head is fitted to"
    )
    made.add_argument("-o", "--output", required=True, metavar="FILE", help="the file to write")
    made.add_argument(
        "--encoder", default=DEFAULT_ENCODER, metavar="CARD", help="card name or .toml (default: %(default)s)"
    )
    made.add_argument(
        "--passes",
        nargs=2,
        type=positive,
        default=[6, 6],
        metavar="N",
        help="over the calls, and again with other tools' parameters beside (default: 6 6)",
    )
    made.add_argument(
        "--joined-as", metavar="CARD", help="join as the head of this encoder does: takes a quarter of the time"
    )
    add_offline(made)


def _make(arguments: argparse.Namespace) -> Mapping[str, Any]:
    card, path = find_card(arguments.encoder), Path(arguments.output)
    check_place(path, "--output")
    from edgeret_export.argument_lab import Sets, make_card
    from edgeret_export.encoders.argument_card import argument_card_of, pack_card

    joined_as = None if arguments.joined_as is None else argument_card_of(find_card(arguments.joined_as))
    if joined_as is None and arguments.joined_as is not None:
        raise InputError(f"--joined-as {arguments.joined_as}: there is no head for this encoder")
    sets = Sets(*([Path(one) for one in listed] for listed in (arguments.own, arguments.others, arguments.beside)))
    made = make_card(card, sets, arguments.passes, joined_as, arguments.offline)
    path.write_bytes(pack_card(made))
    return {"file": str(path), "bytes": path.stat().st_size, "card": card.name, "figures": made.told["figures"]}


def _print(result: Mapping[str, Any]) -> str:
    return "\n".join(
        (
            f"written  {result['file']}, {result['bytes']} bytes",
            *(
                f"{'' if i else 'left out':8} {name}: {_told(one)}"
                for i, (name, one) in enumerate(result["figures"].items())
            ),
            f"next     edgeret-export build --encoder {result['card']} --argument-head {result['file']} …",
        )
    )


def _told(figures: Any) -> str:
    if not isinstance(figures, Mapping):
        return str(figures)
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in figures.items())
