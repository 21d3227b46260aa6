"""The commands `keygen` and `sign`: their options and what they print. The work is `signing`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeret.bundle.signature import time_text
from edgeret.cli.options import add_content_hash
from edgeret.terminal.console import add_command
from edgeret_export.signing import make_key, read_passphrase, sign_bundle


def add_sign(commands: Any) -> None:
    """Adds both."""
    keygen = add_command(
        commands, "keygen", "Make a key to sign bundles with: KEY, and KEY.pub to hand out.", _keygen, _print_keygen
    )
    keygen.add_argument("-o", "--output", required=True, metavar="KEY", help="file to write; must not exist yet")
    sign = add_command(commands, "sign", "Sign a bundle: writes BUNDLE.sig beside it.", _sign, _print_sign, bundle=True)
    sign.add_argument("--key", required=True, metavar="KEY", help="secret key, as keygen or openssl wrote it (PEM)")
    sign.add_argument(
        "--expires", metavar="DAY", help="last day, or time (2027-01-31T12:00:00Z), at which it counts (default: never)"
    )
    add_content_hash(sign)
    for command in (keygen, sign):
        command.add_argument(
            "--passphrase", metavar="FILE", help="the secret key is encrypted with this file's first line"
        )


def _passphrase(arguments: argparse.Namespace) -> bytes | None:
    return None if arguments.passphrase is None else read_passphrase(Path(arguments.passphrase))


def _keygen(arguments: argparse.Namespace) -> Mapping[str, Any]:
    public, name = make_key(Path(arguments.output), _passphrase(arguments))
    return {"key": arguments.output, "public": str(public), "key_id": name}


def _print_keygen(result: Mapping[str, Any]) -> str:
    return "\n".join(
        (
            f"secret    {result['key']}; keep it to yourself, and a copy of it offline",
            f"public    {result['public']}; hand it out: edgeret verify BUNDLE --trust {result['public']}",
            f"key id    {result['key_id']}",
        )
    )


def _sign(arguments: argparse.Namespace) -> Mapping[str, Any]:
    made = sign_bundle(
        Path(arguments.bundle),
        Path(arguments.key),
        expires=arguments.expires,
        passphrase=_passphrase(arguments),
        content_hash=arguments.content_hash,
    )
    expires = made.signature.expires
    return {
        "bundle": arguments.bundle,
        "content_hash": made.signature.bundle,
        "signatures": str(made.path),
        "key_id": made.signature.key,
        "signed": time_text(made.signature.signed),
        "expires": None if expires is None else time_text(expires),
        "signers": made.signers,
        "left_out": made.left_out,
    }


def _print_sign(result: Mapping[str, Any]) -> str:
    lines = [
        f"signed    {result['bundle']}, content hash {result['content_hash']}",
        f"in        {result['signatures']}; signatures of {result['signers']} key(s)",
        f"key id    {result['key_id']}",
        f"expires   {result['expires'] or 'never'}",
    ]
    if result["left_out"]:
        lines.append(f"left out  {result['left_out']} over other bundles")
    return "\n".join(lines)
