"""The command `cut`: its options and what it prints. The work is `cut`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeret.cli.options import add_content_hash
from edgeret.inputs.queries import read_texts
from edgeret.terminal.console import add_command
from edgeret_export.cut import cut_bundle


def add_cut(commands: Any) -> None:
    """Adds the command."""
    cut = add_command(
        commands,
        "cut",
        "Copy a tiny bundle with fewer tokens, for devices with little memory.",
        _cut,
        _print,
        bundle=True,
    )
    cut.add_argument(
        "--tokens",
        type=int,
        default=0,
        metavar="N",
        help="keep the commonest ones until there are N; those of its own texts stay anyway (default: these alone)",
    )
    cut.add_argument(
        "--demos",
        action="append",
        default=[],
        metavar="D",
        help="demonstrations or requests, JSONL, whose words stay, too; may be given several times",
    )
    cut.add_argument("-o", "--output", required=True, metavar="BUNDLE", help="folder to write; must not exist yet")
    cut.add_argument("--force", action="store_true", help="replace a bundle that stands there already")
    add_content_hash(cut)


def _cut(arguments: argparse.Namespace) -> Mapping[str, Any]:
    made = cut_bundle(
        Path(arguments.bundle),
        Path(arguments.output),
        arguments.tokens,
        [text for file in arguments.demos for text in read_texts(file)],
        content_hash=arguments.content_hash,
        overwrite=arguments.force,
    )
    return {
        "bundle": str(made.path),
        "content_hash": made.content_hash,
        "size_mb": round(made.size / 1e6, 3),
        "tokens": made.tokens,
        "used": made.used,
        "before": made.before,
    }


def _print(result: Mapping[str, Any]) -> str:
    return "\n".join(
        (
            f"bundle    {result['bundle']}, {result['size_mb']} MB",
            f"hash      {result['content_hash']}",
            f"tokens    {result['tokens']} of {result['before']}; {result['used']} are needed",
        )
    )
