"""The command `token-vectors`: its options, what it reads, and what it prints. Parses and prints; the work is
`encoders.pretrained`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from edgeret.errors import InputError
from edgeret.terminal.console import add_command, add_offline
from edgeret_export.sources.cards import DEFAULT_ENCODER, find_card
from edgeret_export.text_options import add_texts, read_texts, write_file


def add_token_vectors(commands: Any) -> None:
    """Adds the command."""
    made = add_command(
        commands,
        "token-vectors",
        "Fit token vectors to many people's texts: where the tables of tiny and default bundles start.",
        _make,
        _print,
    )
    add_texts(made)
    made.add_argument(
        "--leave-out", action="append", default=[], metavar="PREFIX", help="plans whose ids begin so are left out"
    )
    made.add_argument(
        "--encoder", default=DEFAULT_ENCODER, metavar="CARD", help="card name or .toml (default: %(default)s)"
    )
    made.add_argument("--numbers", type=int, metavar="N", help="of a token's vector (default: 192)")
    add_offline(made)


def _make(arguments: argparse.Namespace) -> Mapping[str, Any]:
    if not arguments.set and not arguments.texts:
        raise InputError("no texts to fit to; give some with --set or --texts")
    card = find_card(arguments.encoder)
    from edgeret_export.encoders.asked import Numbered
    from edgeret_export.encoders.export import encoder_of
    from edgeret_export.encoders.pretrained import DIMENSION, make_token_vectors
    from edgeret_export.sources.plans import read_source

    whole, numbers = encoder_of(card).dimension, arguments.numbers or DIMENSION
    if not 0 < numbers <= whole or numbers % 2:  # the file keeps them in pairs
        raise InputError(
            f"--numbers {numbers}: expected an even number up to {whole}, which the encoder's vectors have"
        )
    texts = Numbered()
    sets = [texts.asked(read_source(told, arguments.leave_out)) for told in arguments.set]
    for text in read_texts(arguments):
        texts.number(text)
    with_pairs = [asked for asked in sets if asked.pairs]
    data, found = make_token_vectors(card, texts.texts, with_pairs, numbers, arguments.offline)
    return {**write_file(arguments, data), **found}


def _print(result: Mapping[str, Any]) -> str:
    return "\n".join(
        (
            f"written  {result['file']}: {result['bytes'] / 1e6:.1f} MB, of {result['texts']} texts",
            f"sha256   {result['sha256']}",
            f"cosine   {result['cosine']} to the encoder's vectors, on texts that a trial did not see",
            f"next     edgeret-export build --tools TOOLS -o BUNDLE --profile tiny --token-vectors {result['file']}",
        )
    )
