"""The command `edgeret apply`: a newer bundle out of an older one and a delta. The work is elsewhere."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from edgeret.cli.options import add_content_hash, add_trust
from edgeret.terminal.console import add_command


def add_apply_command(commands: Any) -> None:
    """Adds the command."""
    apply = add_command(
        commands, "apply", "Make a newer bundle of an older one and a delta.", _apply, _print, bundle=True
    )
    apply.add_argument("delta", metavar="DELTA", help="what `edgeret-export delta` wrote for this very bundle")
    apply.add_argument("-o", "--output", required=True, metavar="NEW", help="folder to write; may be the bundle's own")
    apply.add_argument("--force", action="store_true", help="replace a bundle that stands there already")
    apply.add_argument(
        "--link",
        action="store_true",
        help="let both bundles share the files that did not change, where the file system can: hard links, no copies",
    )
    add_content_hash(apply)
    add_trust(apply)


def _apply(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret.bundle.delta import apply_delta  # no other command waits for it

    made = apply_delta(
        arguments.bundle,
        arguments.delta,
        arguments.output,
        content_hash=arguments.content_hash,
        overwrite=arguments.force,
        link=arguments.link,
        trust=arguments.trust,
    )
    return {
        "bundle": arguments.output,
        "content_hash": made.manifest.content_hash,
        "bytes": sum(entry.size for entry in made.manifest.files),
        "kept": list(made.kept),
        "linked": list(made.linked),
        "made": list(made.made),
    }


def _print(result: Mapping[str, Any]) -> str:
    shared = f", {len(result['linked'])} of them shared" if result["linked"] else ""
    return "\n".join(
        (
            f"bundle  {result['bundle']}, {result['bytes'] / 1e6:.1f} MB",
            f"hash    {result['content_hash']}",
            f"files   {len(result['kept'])} from the old bundle{shared}; made: {', '.join(result['made']) or 'none'}",
        )
    )
