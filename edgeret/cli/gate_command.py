"""The command `edgeret gate`: its options. What is done with them is elsewhere."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeret.cli.console import add_command
from edgeret.cli.options import BASE, MAKE_BASE, MAKE_TOOLS, add_base, chosen_base, coverage, positive
from edgeret.errors import InputError, MissingExtraError
from edgeret.quoting import visible

TOKEN_VARIABLE = "EDGERET_GATE_TOKEN"
_ABOUT = f"""\
Stands between a program and the language model that it asks. Where a request
brings many tools, the gate passes on only those that it is likely to need, so
that the model reads less and chooses better. Everything else goes through as it
is, both ways, and answers are streamed as they come.

First make a bundle that brings an encoder, once:

  {MAKE_TOOLS}
  {MAKE_BASE} {BASE}

Then, for instance with a llama.cpp server on port 8080:

  edgeret gate --upstream http://127.0.0.1:8080/v1

and give your program the base URL http://127.0.0.1:8089/v1 instead. Every
answer says what was done in its header x-edgeret, such as "kept 16 of 120;
2.1 ms". If anything goes wrong in the gate, all tools are passed on, and the
header says why."""


def add_gate_command(commands: Any) -> None:
    """Adds `gate`."""
    gate = add_command(
        commands, "gate", "Show language models fewer tools: a proxy for OpenAI-compatible servers.", _gate, _print
    )
    gate.formatter_class = argparse.RawDescriptionHelpFormatter
    gate.description = _ABOUT
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
    gate.add_argument(
        "--learn",
        action="store_true",
        help="learn from the calls that worked; what is learned stays in a file here (default: learn nothing)",
    )
    gate.add_argument(
        "--learned", metavar="FILE", help="that file (default: BUNDLE.gate.overlay, beside the bundle); implies --learn"
    )
    gate.add_argument(
        "--token-file",
        metavar="FILE",
        help=f"holds a token that clients send as x-edgeret-token (or set {TOKEN_VARIABLE}); needed where others than "
        "this machine can ask",
    )
    gate.add_argument(
        "--allow-origin",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="a web page that may ask, such as http://localhost:3000; may be repeated (default: none may)",
    )
    gate.add_argument(
        "--ca",
        metavar="FILE",
        help="certificates of authorities (PEM) that the upstream may have besides the usual ones or SSL_CERT_FILE's",
    )
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
    try:
        from edgeret.adapters.gate.limits import Limits
        from edgeret.adapters.gate.options import Options
        from edgeret.adapters.gate.server import run
        from edgeret.adapters.selection import Amount
    except ModuleNotFoundError as error:
        raise MissingExtraError("gate", f"edgeret gate (it needs the module {error.name})") from None

    learned = Path(arguments.learned) if arguments.learned else base.with_name(f"{base.name}.gate.overlay")
    options = Options(
        upstream=arguments.upstream,
        base=base,
        listen=arguments.listen,
        amount=Amount(arguments.k, arguments.coverage),
        learned=learned if arguments.learn or arguments.learned else None,
        token=_token(arguments.token_file),
        origins=arguments.allow_origin,
        ca=arguments.ca,
        limits=Limits(arguments.max_body << 20, arguments.max_requests, arguments.timeout),
    )
    return run(options, _say)


def _token(file: str | None) -> str | None:
    """Raises InputError for a file that cannot be read."""
    if file is None:
        return os.environ.get(TOKEN_VARIABLE) or None
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{file}: cannot be read; --token-file needs a text file with the token alone") from None


def _say(message: str) -> None:
    sys.stderr.write(f"edgeret gate: {visible(message)}\n")
    sys.stderr.flush()


def _print(result: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {count}" for name, count in result.items())
