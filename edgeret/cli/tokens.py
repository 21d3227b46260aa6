"""Options about who may ask a server of ours. Knows nothing of how it is asked."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from edgeret.errors import InputError


def add_token_options(parser: argparse.ArgumentParser, variable: str) -> None:
    """Adds `--token-file` and `--allow-origin`; the environment's `variable` holds a token as well."""
    parser.add_argument(
        "--token-file",
        metavar="FILE",
        help=f"holds a token that clients send as x-edgeret-token (or set {variable}); needed where others than this "
        "machine can ask",
    )
    parser.add_argument(
        "--allow-origin",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="a web page that may ask, such as http://localhost:3000; may be repeated (default: none may)",
    )


def chosen_token(arguments: argparse.Namespace, variable: str) -> str | None:
    """The token, None for none. Raises InputError for a file that cannot be read."""
    file = arguments.token_file
    if file is None:
        return os.environ.get(variable) or None
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{file}: cannot be read; --token-file needs a text file with the token alone") from None
