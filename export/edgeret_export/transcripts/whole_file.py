"""A file that is written line by line and is there whole or not at all."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from edgeret.errors import InputError


@contextlib.contextmanager
def writing(target: Path, option: str) -> Iterator[TextIO]:
    """Opens a new file that takes the target's place when the block ends without an error. A link stays a link; a
    device or a pipe is written to. Raises InputError naming the `option` that chooses another place."""
    place = target.resolve() if target.is_symlink() else target
    direct = place.exists() and not place.is_file()
    partial = place if direct else place.with_name(f".{place.name}.{secrets.token_hex(4)}.partial")
    try:
        with partial.open("w", encoding="utf-8") as stream:
            yield stream
        if not direct:
            partial.replace(place)
    except OSError as error:
        raise InputError(f"{target}: cannot be written ({error.strerror}); give another place with {option}") from None
    finally:
        if not direct:
            with contextlib.suppress(OSError):
                partial.unlink(missing_ok=True)
