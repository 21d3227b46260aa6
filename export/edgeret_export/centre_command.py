"""The command `centre`: its options, what it reads, and what it prints. Parses and prints; the work is
`encoders.centre`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeret.terminal.console import add_command, add_offline
from edgeret_export.sources.cards import find_card


def add_centre(commands: Any) -> None:
    """Adds the command."""
    made = add_command(
        commands,
        "centre",
        "Find where an encoder's vectors of requests lie in the mean, for a card to take off.",
        _make,
        _print,
    )
    made.add_argument("--encoder", required=True, metavar="CARD", help="card name or .toml")
    made.add_argument(
        "--set",
        action="append",
        required=True,
        metavar="[NAME=]FOLDER",
        help="other people's requests: tools.jsonl and demonstrations.jsonl in a folder; several times",
    )
    made.add_argument(
        "--most", type=int, default=10, metavar="N", help="requests for one and the same tool first (default: 10)"
    )
    made.add_argument("-o", "--output", required=True, metavar="FILE", help="the file to write")
    add_offline(made)


def _make(arguments: argparse.Namespace) -> Mapping[str, Any]:
    card = find_card(arguments.encoder)
    from edgeret_export.encoders.centre import make_centre, write_centre
    from edgeret_export.sources.fetch import sha256_of
    from edgeret_export.sources.plans import read_source

    taken: dict[str, int] = {}
    texts: dict[str, None] = {}
    sources = [read_source(told) for told in arguments.set]
    for source in sources:
        for demonstration in source.demonstrations:
            first = demonstration.calls[0].tool if demonstration.calls else ""
            taken[first] = taken.get(first, 0) + 1
            if taken[first] <= arguments.most:
                texts[demonstration.query] = None
    path = Path(arguments.output)
    write_centre(
        path, {"sets": [source.name for source in sources], **make_centre(card, list(texts), arguments.offline)}
    )
    return {"file": str(path), "sha256": sha256_of(path), "texts": len(texts), "card": card.name}


def _print(result: Mapping[str, Any]) -> str:
    return "\n".join(
        (
            f"written  {result['file']}, of {result['texts']} requests",
            f'next     in the card of {result["card"]}: centre = "{result["file"]}" (relative to the card) and',
            f'         centre_sha256 = "{result["sha256"]}"',
        )
    )
