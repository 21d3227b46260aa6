"""Keys and signatures made: a secret key, its public half, and signatures beside a bundle. What it wrote it verifies by
the runtime's own code. docs/FORMAT.md 21 is the specification."""

from __future__ import annotations

import os
import stat
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from edgeret.bundle.reader import verify_bundle
from edgeret.bundle.signature import (
    MAX_SIGNATURES_BYTES,
    Signature,
    pack_signatures,
    parse_time,
    read_signatures,
    signatures_path,
)
from edgeret.bundle.signature_trust import key_id, trust_of
from edgeret.errors import InputError
from edgeret.quoting import quoted
from edgeret.records import dataclass
from edgeret.terminal.console import check_place, needing, warn, write_whole

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

MAX_KEY_BYTES = 1 << 14
"""Of a key's or a passphrase's file; a key has some 120."""
_EXTRA = "edgeret-export[sign]"


@dataclass(frozen=True, slots=True)
class Signed:
    """What `sign_bundle` wrote."""

    path: Path
    signature: Signature
    signers: int
    """Keys whose signatures over this bundle the file holds now."""
    left_out: int
    """Signatures over other bundles, which were in the file and are not any more."""


def make_key(target: Path, passphrase: bytes | None = None) -> tuple[Path, str]:
    """Writes a new secret key to `target` (PKCS #8 in PEM, for its owner alone) and its public half to `target` with
    `.pub` behind it; that file's place and the key id. With a passphrase the secret is encrypted. Raises InputError
    where either file is there or cannot be written, and MissingExtraError."""
    with needing(_EXTRA, "making a key"):
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    if not target.name or "\0" in str(target):
        raise InputError(f"{quoted(str(target))} is no file's name; name the key's file with -o")
    public_path = target.with_name(f"{target.name}.pub")
    for place in (target, public_path):
        check_place(place, "-o")
        if os.path.lexists(place):
            raise InputError(f"{place}: is there already, and a key is never replaced; name another one with -o")
    secret = Ed25519PrivateKey.generate()
    lock = serialization.NoEncryption() if passphrase is None else serialization.BestAvailableEncryption(passphrase)
    data = secret.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, lock)
    public = secret.public_key()
    told = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        for place, content, mode in ((target, data, 0o600), (public_path, told, 0o644)):
            with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
    except OSError as error:
        raise InputError(f"{target}: cannot be written ({error.strerror}); name another place with -o") from None
    return public_path, key_id(public.public_bytes_raw())


def sign_bundle(
    bundle: Path,
    key: Path,
    *,
    expires: str | None = None,
    passphrase: bytes | None = None,
    content_hash: str | None = None,
) -> Signed:
    """Verifies every file of a bundle, and signs it; signatures by other keys over the same bundle stay beside it, and
    those over others go. `expires` is a time or a day, UTC, the last one at which it counts. Raises InputError,
    BundleError and MissingExtraError."""
    secret = _read_secret(key, passphrase)
    raw = secret.public_key().public_bytes_raw()
    now = int(time.time())
    end = None if expires is None else _end(expires, now)
    there = read_signatures(bundle) if os.path.lexists(signatures_path(bundle)) else ()
    manifest = verify_bundle(bundle, content_hash=content_hash)
    made = Signature(manifest.content_hash, key_id(raw), now, end)
    made = replace(made, value=secret.sign(made.statement))
    trust_of(raw).check(manifest.content_hash, [made], bundle)  # a broken machine signs wrongly, and gives its key away
    kept = [each for each in there if each.bundle == made.bundle and each.key != made.key]
    data = pack_signatures([*kept, made])
    path = signatures_path(bundle)
    if len(data) > MAX_SIGNATURES_BYTES:
        raise InputError(f"{path}: more signatures than a file holds ({MAX_SIGNATURES_BYTES} bytes); delete some")
    write_whole(path, data.decode(), "another name of the bundle's folder")
    return Signed(path, made, len(kept) + 1, sum(each.bundle != made.bundle for each in there))


def read_passphrase(path: Path) -> bytes:
    """The first line of a file. Raises InputError."""
    data = _read_small(path, "a file with a passphrase").split(b"\n")[0].rstrip(b"\r")
    if not data:
        raise InputError(f"{path}: its first line is empty; put the passphrase there")
    return data


def _read_secret(path: Path, passphrase: bytes | None) -> Ed25519PrivateKey:
    with needing(_EXTRA, "signing a bundle"):
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    data = _read_small(path, "a secret key")
    if b"-----BEGIN PUBLIC KEY-----" in data and b"PRIVATE" not in data:
        raise InputError(f"{path}: a public key; sign with the secret one, which keygen wrote without .pub")
    try:
        secret = serialization.load_pem_private_key(data, passphrase)
    except TypeError:
        how = "is encrypted; name its passphrase's file" if passphrase is None else "is not encrypted; leave out"
        raise InputError(f"{path}: {how} with --passphrase") from None
    except (ValueError, UnsupportedAlgorithm):
        why = "" if passphrase is None else ", or another passphrase"
        raise InputError(f"{path}: no secret key in PEM{why}; make one with: edgeret-export keygen -o KEY") from None
    if not isinstance(secret, Ed25519PrivateKey):
        raise InputError(f"{path}: a key of another kind than Ed25519; make one with: edgeret-export keygen -o KEY")
    if os.name == "posix" and path.stat().st_mode & 0o077:
        warn(f"{path}: others may read this secret key; chmod 600 {path}")
    return secret


def _read_small(path: Path, what: str) -> bytes:
    if "\0" in str(path):
        raise InputError(f"{quoted(str(path))} is no path; name {what}")
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError(f"{path}: not a regular file; name {what}")
        with path.open("rb") as stream:
            data = stream.read(MAX_KEY_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); name {what}") from None
    if len(data) > MAX_KEY_BYTES:
        raise InputError(f"{path}: expected {MAX_KEY_BYTES} bytes at most; name {what}")
    return data


def _end(text: str, now: int) -> int:
    end = parse_time(text if "T" in text else f"{text}T23:59:59Z")
    if end is None:
        raise InputError(
            f"--expires must be a day such as 2027-01-31 or a time such as 2027-01-31T12:00:00Z, found {quoted(text)}"
        )
    if end <= now:
        raise InputError(f"--expires must lie in the future, found {quoted(text)}")
    return end
