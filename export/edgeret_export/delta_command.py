"""The command `delta`: its options and what it prints. The work is `delta`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeret.terminal.console import add_command
from edgeret_export.delta import write_delta


def add_delta(commands: Any) -> None:
    """Adds the command."""
    delta = add_command(
        commands,
        "delta",
        "Write what makes a newer bundle of an older one, for devices that have that.",
        _delta,
        _print,
    )
    delta.add_argument("old", metavar="OLD", help="folder of the bundle that devices have")
    delta.add_argument("new", metavar="NEW", help="folder of the bundle that they are to have")
    delta.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="file to write; replaces what stands there"
    )


def _delta(arguments: argparse.Namespace) -> Mapping[str, Any]:
    written = write_delta(Path(arguments.old), Path(arguments.new), Path(arguments.output))
    return {
        "delta": str(written.path),
        "bytes": written.size,
        "share": written.size / max(1, written.bundle_size),
        "base": written.base,
        "result": written.result,
        "bundle_bytes": written.bundle_size,
        "kept": written.kept,
        "files": written.files,
    }


def _print(result: Mapping[str, Any]) -> str:
    lines = [
        f"delta   {result['delta']}, {result['bytes'] / 1e6:.3f} MB: {100 * result['share']:.1f} % of the new bundle",
        f"from    {result['base']}",
        f"to      {result['result']}",
        f"files   {result['kept']} as they are, {len(result['files'])} made anew:",
        *(f"        {size:>10,}  {name}" for name, size in result["files"].items()),
        f"then    edgeret apply OLD {result['delta']} -o NEW",
    ]
    return "\n".join(lines)
