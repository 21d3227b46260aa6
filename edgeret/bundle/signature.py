"""Signatures of a bundle: the file beside its folder, read and written. Knows nothing of whom to trust.

docs/FORMAT.md 21 is the specification. What is signed is a statement, five lines that name the bundle by its content
hash, and the file repeats these very lines before each signature.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from edgeret.bundle.folder import Folder, in_folder
from edgeret.errors import BundleError
from edgeret.quoting import shortened
from edgeret.records import dataclass

MAX_SIGNATURES_BYTES = 1 << 16
LAST_TIME = 253402300799
"""The last second since 1970 that four digits of a year can say."""
SKEW_S = 86_400
"""How far a device's clock may be behind the signer's before it counts as wrong."""
_TIME = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"
_BLOCK = re.compile(
    (
        "edgeret-signature 1\nbundle ([0-9a-f]{64})\nkey ([0-9a-f]{64})\n"
        f"signed ({_TIME})\nexpires ({_TIME}|never)\nsignature ([0-9a-f]{{128}})\n"
    ).encode()
)
_NEWER = re.compile(rb"edgeret-signature ([0-9]{1,9})\n")


@dataclass(frozen=True, slots=True)
class Signature:
    """One signature over one bundle; whether it is right, nobody has looked."""

    bundle: str
    """The content hash, 64 hex digits."""
    key: str
    """The signer's key id, 64 hex digits."""
    signed: int
    """Seconds since 1970, by the signer's clock."""
    expires: int | None
    """Seconds since 1970: the last one at which it counts; None: always."""
    value: bytes = b""
    """64 bytes."""

    @property
    def statement(self) -> bytes:
        """The bytes that are signed."""
        expires = "never" if self.expires is None else time_text(self.expires)
        lines = ("edgeret-signature 1", f"bundle {self.bundle}", f"key {self.key}")
        return "".join(
            f"{line}\n" for line in (*lines, f"signed {time_text(self.signed)}", f"expires {expires}")
        ).encode()


def signatures_path(bundle: Path | str) -> Path:
    """Where a bundle's signatures are: beside its folder, `NAME.sig`."""
    folder = Path(os.path.abspath(bundle))  # noqa: PTH100 - resolve() would follow a link to one version of a bundle
    return folder.with_name(f"{folder.name}.sig")


def read_signatures(bundle: Path | str) -> tuple[Signature, ...]:
    """The signatures beside a bundle. Raises BundleError where the file is missing, no regular one, longer than
    64 KiB or not as FORMAT.md says. Links are followed where those to a bundle's files are."""
    path = signatures_path(bundle)
    remedy = (
        f"get it from where the bundle came from, or sign it: edgeret-export sign {shortened(str(bundle))} --key KEY"
    )

    def read(folder: Folder) -> bytes:
        with folder.open_file(path.name, MAX_SIGNATURES_BYTES, remedy) as stream:
            return stream.read(MAX_SIGNATURES_BYTES + 1)

    return parse_signatures(in_folder(path.parent, read), str(path))


def parse_signatures(data: bytes, where: str) -> tuple[Signature, ...]:
    """The signatures in a file's bytes. Raises BundleError for all else, and for two by one key over one bundle."""
    found: dict[tuple[str, str], Signature] = {}
    at = 0
    while at < len(data):
        match = _BLOCK.match(data, at)
        times = None if match is None else [parse_time(match[i].decode()) for i in (3, 4)]
        if match is None or times is None or times[0] is None or (times[1] is None and match[4] != b"never"):
            newer = _NEWER.match(data, at)
            if newer is not None and newer[1] != b"1":
                raise BundleError(
                    f"{where}: signatures of version {newer[1].decode()}, this edgeret reads 1; install a newer edgeret"
                )
            raise BundleError(
                f"{where}: no file of signatures, or damaged (from byte {at} on); get it again from where the bundle "
                "came from"
            )
        made = Signature(match[1].decode(), match[2].decode(), times[0], times[1], bytes.fromhex(match[5].decode()))
        if (made.bundle, made.key) in found:
            raise BundleError(
                f"{where}: two signatures by key {made.key[:16]}… over one bundle; keep one, or sign the bundle again"
            )
        found[made.bundle, made.key] = made
        at = match.end()
    return tuple(found.values())


def pack_signatures(signatures: Iterable[Signature]) -> bytes:
    """A file's bytes. Each signature must have its value."""
    return b"".join(each.statement + b"signature " + each.value.hex().encode() + b"\n" for each in signatures)


def time_text(seconds: int) -> str:
    """A time (seconds since 1970, UTC) as `2027-01-31T12:00:00Z`."""
    moment = time.gmtime(seconds)
    return f"{moment.tm_year:04}-" + time.strftime("%m-%dT%H:%M:%SZ", moment)


def parse_time(text: str) -> int | None:
    """The seconds since 1970 of a time as `time_text` writes it; None for anything else, and for days that no month
    has."""
    if re.fullmatch(_TIME, text, re.ASCII) is None or text < "1970":
        return None
    try:
        return int(datetime.strptime(text, "%Y-%m-%dT%H:%M:%S%z").timestamp())
    except ValueError:
        return None
