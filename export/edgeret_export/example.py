"""The desktop example's files, brought to a folder of the user's. Knows nothing of what is in them."""

from __future__ import annotations

import shlex
from importlib.resources import files
from pathlib import Path
from typing import Any

from edgeret.errors import InputError
from edgeret.terminal.console import write_whole

NAMES = ("tools.jsonl", "demonstrations.jsonl", "requests.jsonl", "terse.jsonl")


def example_folder() -> Path:
    """Where the files come from: inside the installed package, or at the top of a source checkout."""
    packaged = Path(str(files("edgeret_export"))) / "desktop"
    return packaged if packaged.is_dir() else Path(__file__).resolve().parents[2] / "examples" / "desktop"


def write_example(target: Path) -> dict[str, Any]:
    """Writes the files to the folder `target`, and says what to run `next`: lines of a shell.

    A file that stands there already with the same bytes is left alone. Raises InputError, and writes nothing, where
    another file has one of the names.
    """
    contents = {name: (example_folder() / name).read_bytes() for name in NAMES}
    wanted = {name: data for name, data in contents.items() if not _stands(target / name, data)}
    for name, data in wanted.items():
        write_whole(target / name, data.decode(), "FOLDER")
    tools, demonstrations, requests, _ = (shlex.quote(str(target / name)) for name in NAMES)
    return {
        "folder": str(target),
        "files": list(NAMES),
        "next": [
            f"edgeret-export build --tools {tools} --demos {demonstrations} -o bundle",
            'edgeret select bundle "Mail the minutes to Ana"',
            f"edgeret-bench next-tool bundle --demos {requests}",
        ],
    }


def _stands(path: Path, data: bytes) -> bool:
    """Whether the file is there already. Raises InputError for another one of that name."""
    try:
        if not path.exists():
            return False
        if path.is_file() and path.read_bytes() == data:
            return True
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); name another FOLDER") from None
    raise InputError(f"{path}: exists already and is not the example's; move it away, or name another FOLDER")
