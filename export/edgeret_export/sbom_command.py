"""The command `sbom`: its options and what it prints. The work is `sbom`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeret.bundle.reader import verify_bundle
from edgeret.cli.options import add_content_hash
from edgeret.terminal.console import add_command, needing, write_whole


def add_sbom(commands: Any) -> None:
    """Adds the command."""
    sbom = add_command(
        commands, "sbom", "Write a bundle's bill of materials, with licences: CycloneDX.", _sbom, _print, bundle=True
    )
    sbom.add_argument("-o", "--output", required=True, metavar="FILE.json", help="where to write it")
    add_content_hash(sbom)


def _sbom(arguments: argparse.Namespace) -> Mapping[str, Any]:
    with needing("edgeret-export[sbom]", "a bill of materials"):
        from edgeret_export.sbom import bill
    manifest = verify_bundle(arguments.bundle, content_hash=arguments.content_hash)
    write_whole(Path(arguments.output), bill(manifest, Path(arguments.bundle).resolve().name), "--output")
    return {
        "file": arguments.output,
        "content_hash": manifest.content_hash,
        "files": len(manifest.files),
        "licences": sorted({entry.licence for entry in manifest.files}),
    }


def _print(result: Mapping[str, Any]) -> str:
    return f"{result['file']}: {result['files']} files; licences: {', '.join(result['licences'])}"
