"""Other programs' files, read and replaced whole or not at all. Knows nothing of what stands in them."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from edgeret import InputError
from edgeret.adapters.mcp.config import MOST_BYTES

_PRIVATE = 0o600


def read_whole(file: Path) -> bytes | None:
    """The file's bytes; None where there is no file. Raises InputError."""
    try:
        with file.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror}); nothing was changed") from None
    if len(data) > MOST_BYTES:
        raise InputError(f"{file}: more than {MOST_BYTES} bytes; nothing was changed")
    return data


def replace_whole(file: Path, data: bytes, before: bytes | None, like: Path | None = None) -> None:
    """Puts `data` in the place of `file`, which still has to hold what was read `before`. Its permissions stay; a new
    file gets those of the file that it is `like`, or its owner's alone. A link stays a link. Raises InputError."""
    place = file.resolve()
    model = next((one for one in (place, like) if one is not None and one.exists()), None)
    mode = _PRIVATE if model is None else model.stat().st_mode & 0o7777
    partial = place.with_name(f".{place.name}.{secrets.token_hex(4)}.partial")
    try:
        if place.exists() and not os.access(place, os.W_OK):
            raise PermissionError(0, "it may not be written")
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
        with open(handle, "wb") as stream:  # noqa: PTH123
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        partial.chmod(mode)
        if read_whole(place) != before:
            raise InputError(f"{file}: another program changed it just now; close its client and try again")
        partial.replace(place)
    except OSError as error:
        raise InputError(f"{file}: cannot be written ({error.strerror}); nothing was changed") from None
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
