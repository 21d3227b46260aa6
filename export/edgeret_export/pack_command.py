"""The command `pack`: its options and what it prints. The work is `pack`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeret.cli.options import add_content_hash
from edgeret.terminal.console import add_command
from edgeret_export.pack import pack_bundle

TARGETS = ("c",)


def add_pack(commands: Any) -> None:
    """Adds the command."""
    pack = add_command(
        commands, "pack", "Write what a bundle's small encoder needs as one file of C.", _pack, _print, bundle=True
    )
    pack.add_argument("--target", required=True, choices=TARGETS, help="c: constant arrays, which a firmware links")
    pack.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        help="ends with .c for tables that others see, or with .h for ones that one file includes; its name is theirs",
    )
    add_content_hash(pack)


def _pack(arguments: argparse.Namespace) -> Mapping[str, Any]:
    packed = pack_bundle(Path(arguments.bundle), Path(arguments.output), content_hash=arguments.content_hash)
    return {
        "file": str(packed.path),
        "name": packed.name,
        "content_hash": packed.content_hash,
        "bytes": sum(packed.files.values()),
        "files": packed.files,
    }


def _print(result: Mapping[str, Any]) -> str:
    return "\n".join(
        (
            f"file    {result['file']}",
            f"tables  {result['name']}_files, {result['name']}_file_count, {result['name']}_options",
            f"hash    {result['content_hash']}",
            f"bytes   {result['bytes']:,}",
            *(f"        {size:>10,}  {name}" for name, size in result["files"].items()),
        )
    )
