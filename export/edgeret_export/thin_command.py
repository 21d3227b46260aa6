"""The command `thin`: its options and what it prints. The work is `thin`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeret.cli.options import add_content_hash
from edgeret.encoders.variants import TARGETS
from edgeret.terminal.console import add_command
from edgeret_export.thin import thin_bundle


def add_thin(commands: Any) -> None:
    """Adds the command."""
    thin = add_command(
        commands, "thin", "Copy a bundle with the encoder's graph for one kind of hardware.", _thin, _print, bundle=True
    )
    thin.add_argument(
        "--target",
        required=True,
        metavar="NAME",
        help=f"{', '.join(TARGETS)} (cpu keeps the encoder and all graphs for CPUs), or one graph as `edgeret inspect` "
        "calls it, or encoder",
    )
    thin.add_argument("-o", "--output", required=True, metavar="BUNDLE", help="folder to write; must not exist yet")
    thin.add_argument("--force", action="store_true", help="replace a bundle that stands there already")
    add_content_hash(thin)


def _thin(arguments: argparse.Namespace) -> Mapping[str, Any]:
    made = thin_bundle(
        Path(arguments.bundle),
        arguments.target,
        Path(arguments.output),
        content_hash=arguments.content_hash,
        overwrite=arguments.force,
    )
    return {
        "bundle": str(made.path),
        "content_hash": made.content_hash,
        "size_mb": round(made.size / 1e6, 3),
        "kept": list(made.kept),
        "left_out": list(made.left_out),
    }


def _print(result: Mapping[str, Any]) -> str:
    return "\n".join(
        (
            f"bundle    {result['bundle']}, {result['size_mb']} MB",
            f"hash      {result['content_hash']}",
            f"kept      {', '.join(result['kept'])}",
            f"left out  {', '.join(result['left_out']) or 'nothing'}",
        )
    )
