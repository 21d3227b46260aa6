"""Requests on disk while more of them come: a later record may know more of one. In memory is a number or two each."""

from __future__ import annotations

import contextlib
import json
import tempfile
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from edgeret.errors import InputError
from edgeret_export.transcripts.conversation import Place
from edgeret_export.transcripts.requests import Request


@dataclass(frozen=True, slots=True)
class Entry:
    """A request as it was last known: a demonstration's fields, or why it is none."""

    place: Place
    group: int
    label: str
    reason: str
    left_out: tuple[tuple[str, str], ...]
    demonstration: dict[str, Any] | None


class Spool:
    """Holds each request once, by its key, in the order in which they first came."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._slots: dict[bytes, int] = {}
        self._starts, self._ranks = array("q"), array("i")
        self.again = 0
        """How many requests came in another record before."""

    def add(self, request: Request, label: str, demonstration: dict[str, Any] | None) -> None:
        """A request, in the place of what was known of it, unless more was known."""
        slot = self._slots.setdefault(request.key, len(self._starts))
        if slot < len(self._starts):
            self.again += 1
            if request.rank <= self._ranks[slot]:
                return
        else:
            self._starts.append(0)
            self._ranks.append(0)
        fields = (
            *(request.place.file, request.place.number, request.place.entry),
            *(int.from_bytes(request.group[:8], "big"), label, request.reason, request.left_out, demonstration),
        )
        try:
            self._starts[slot] = self._file.seek(0, 2)
            self._file.write(json.dumps(fields).encode() + b"\n")
        except OSError as error:
            raise _full(error) from None
        self._ranks[slot] = request.rank

    def __iter__(self) -> Iterator[Entry]:
        try:
            self._file.flush()
        except OSError as error:
            raise _full(error) from None
        for start in self._starts:
            self._file.seek(start)
            file, number, entry, group, label, reason, left_out, demonstration = json.loads(self._file.readline())
            pieces = tuple((what, why) for what, why in left_out)
            yield Entry(Place(file, number, entry), group, label, reason, pieces, demonstration)


def _full(error: OSError) -> InputError:
    return InputError(f"no room for what was read ({error.strerror}); give another place with -o")


@contextlib.contextmanager
def room_for(target: Path) -> Iterator[BinaryIO]:
    """A file without a name beside the target, where there is to be room anyway. Raises InputError."""
    beside = None if target.exists() and not target.is_file() else target.parent
    try:
        file = cast(BinaryIO, tempfile.TemporaryFile(dir=beside))  # noqa: SIM115 - closing it may fail
    except OSError as error:
        raise InputError(f"{target}: cannot be written ({error.strerror}); give another place with -o") from None
    try:
        yield file
    finally:
        with contextlib.suppress(OSError):  # what could not be written is not needed any more
            file.close()
