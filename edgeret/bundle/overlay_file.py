"""An overlay on disk, read: what was in it at some moment, without a lock. Knows nothing of what a record means; the
library writes it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from edgeret.bundle.locked_file import open_regular, read_all
from edgeret.bundle.overlay import MAX_OVERLAY_BYTES, Contents, Record, is_unborn, scan
from edgeret.errors import OverlayError


def overlay_path(bundle: Path | str) -> Path:
    """Where a bundle's overlay is unless another file is named: beside its folder, `NAME.overlay`."""
    folder = Path(os.path.abspath(bundle))  # noqa: PTH100 - resolve() would follow a link to one version of a bundle
    return folder.with_name(f"{folder.name}.overlay")


def read_overlay(path: Path | str, fingerprint: str, key: bytes | None = None) -> tuple[Record, ...]:
    """The records of the file at `path`, none if there is no file. Locks and changes nothing.

    Raises OverlayError for what is no overlay, damaged, too large, made with another encoder, or not bound to `key`.
    """
    return tuple(read_contents(Path(path), fingerprint, key)[0].records)


def read_contents(path: Path, fingerprint: str, key: bytes | None = None) -> tuple[Contents, str]:
    """What is in the file, and in words what was left out of it, since its writer died before that was whole; empty if
    nothing was. Raises OverlayError as `read_overlay` does."""
    # A writer that cuts off a failed append meanwhile can make this look like damage; that is what two readings find.
    before = None
    while True:
        with told(path, "read"):
            try:
                descriptor = open_regular(path, os.O_RDONLY)
            except FileNotFoundError:
                return Contents(fingerprint, "", b"", 0), ""
            try:
                data = read_all(descriptor, MAX_OVERLAY_BYTES, path)
            finally:
                os.close(descriptor)
        if is_unborn(data):
            return Contents(fingerprint, "", b"", 0), ""
        try:
            contents = scan(data, fingerprint, str(path), key)
            return contents, recovered(len(data) - contents.size_bytes)
        except OverlayError:
            if data == before:
                raise
            before = data


def recovered(torn_bytes: int) -> str:
    """What was left out, in words."""
    return f"left out {torn_bytes} bytes of an append that was cut off" if torn_bytes else ""


@contextmanager
def told(path: Path, what: str) -> Iterator[None]:
    """Turns what the system says into an OverlayError."""
    try:
        yield
    except OSError as error:
        raise OverlayError(
            f"{path}: cannot be {what} ({error.strerror}); what was in it is kept; make room or get the right to "
            "it, and try again"
        ) from None
