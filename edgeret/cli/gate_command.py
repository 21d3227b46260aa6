"""The command `edgeret gate`: its options. What is done with them is elsewhere."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeret.cli.options import (
    add_base,
    add_overlay_key,
    add_trust,
    base_options,
    chosen_base,
    coverage,
    learned_path,
    positive,
)
from edgeret.cli.tokens import add_token_options, chosen_token
from edgeret.terminal.console import add_command, counts, needing, speaker

TOKEN_VARIABLE = "EDGERET_GATE_TOKEN"
_ABOUT = """\
Stands between a program and the language model that it asks. Where a request
brings many tools, the gate passes on only those that it is likely to need, so
that the model reads less and chooses better. Everything else goes through as it
is, both ways, and answers are streamed as they come.

For instance with a llama.cpp server on port 8080:

  edgeret gate --upstream http://127.0.0.1:8080/v1

and give your program the base URL http://127.0.0.1:8089/v1 instead. Every
answer says what was done in its header x-edgeret, such as "kept 16 of 120;
2.1 ms". If anything goes wrong in the gate, all tools are passed on, and the
header says why."""


def add_gate_command(commands: Any) -> None:
    """Adds `gate`."""
    told = "Show language models fewer tools: a proxy for OpenAI-compatible servers."
    gate = add_command(commands, "gate", told, _gate, counts, about=_ABOUT)
    gate.add_argument("--upstream", required=True, metavar="URL", help="the server that is asked; its base URL")
    gate.add_argument(
        "--listen",
        default="127.0.0.1:8089",
        metavar="HOST:PORT",
        help="where the gate is asked (default: %(default)s, this machine alone)",
    )
    amount = gate.add_mutually_exclusive_group()
    amount.add_argument("-k", type=positive, metavar="N", help="tools to keep (default: 16)")
    amount.add_argument(
        "--coverage",
        type=coverage,
        metavar="C",
        help="keep the most probable ones until their probabilities add up to this, such as 0.95",
    )
    add_base(gate)
    add_trust(gate)
    add_overlay_key(gate)
    gate.add_argument(
        "--learn",
        action="store_true",
        help="learn from the calls that worked; what is learned stays in a file here (default: learn nothing)",
    )
    gate.add_argument(
        "--learned",
        metavar="FILE",
        help="that file (default: BUNDLE.gate.overlay beside --base, or in ~/.edgeret); implies --learn",
    )
    add_token_options(gate, TOKEN_VARIABLE)
    gate.add_argument(
        "--ca",
        metavar="FILE",
        help="certificates of authorities (PEM) that the upstream may have besides the usual ones or SSL_CERT_FILE's",
    )
    gate.add_argument("--metrics", metavar="HOST:PORT", help="where Prometheus may ask for /metrics (default: nowhere)")
    gate.add_argument(
        "--timeout",
        type=positive,
        default=600,
        metavar="S",
        help="the upstream may say nothing for (default: %(default)s)",
    )
    gate.add_argument(
        "--max-body", type=positive, default=100, metavar="MB", help="of a request (default: %(default)s)"
    )
    gate.add_argument("--max-requests", type=positive, default=64, metavar="N", help="at once (default: %(default)s)")


def _gate(arguments: argparse.Namespace) -> Mapping[str, Any]:
    base = chosen_base(arguments)
    with needing("gate", "edgeret gate"):
        from edgeret.adapters.gate.options import Options
        from edgeret.adapters.gate.server import run
        from edgeret.adapters.selection import Amount
        from edgeret.adapters.web.limits import Limits

    learned = Path(arguments.learned) if arguments.learned else learned_path(base, "gate") if arguments.learn else None
    options = Options(
        upstream=arguments.upstream,
        base=base,
        listen=arguments.listen,
        amount=Amount(arguments.k, arguments.coverage),
        learned=learned,
        token=chosen_token(arguments, TOKEN_VARIABLE),
        origins=arguments.allow_origin,
        ca=arguments.ca,
        limits=Limits(arguments.max_body << 20, arguments.max_requests, arguments.timeout),
        metrics=arguments.metrics,
        loading=base_options(arguments),
    )
    return run(options, speaker("edgeret gate"))
