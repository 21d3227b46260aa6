"""Whom to trust: public keys and what was revoked, from files of both, and whether a bundle's signatures suffice.

docs/FORMAT.md 21 is the specification. Knows nothing of how a bundle is loaded.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import stat
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from edgeret.bundle.ed25519 import KEY_BYTES, is_key, verify
from edgeret.bundle.signature import LAST_TIME, SKEW_S, Signature, parse_time, signatures_path, time_text
from edgeret.errors import BundleError, InputError
from edgeret.quoting import quoted
from edgeret.records import dataclass

MAX_TRUST_BYTES = 1 << 20
MAX_KEYS = 256
_DER = bytes.fromhex("302a300506032b6570032100")
"""What a SubjectPublicKeyInfo of Ed25519 (RFC 8410) begins with; the key's 32 bytes are the rest."""
_BEGIN, _END = "-----BEGIN PUBLIC KEY-----", "-----END PUBLIC KEY-----"
_HEX = re.compile("[0-9a-f]{64}")
_HOW = "see docs/howto/trust.md"


@dataclass(frozen=True, slots=True)
class TrustedKey:
    """A public key, and until when it counts."""

    raw: bytes
    """32 bytes."""
    not_after: int | None = None
    """Seconds since 1970; None: always."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one signature is worth."""

    key: str
    """The signer's key id, 64 hex digits."""
    counts: bool
    told: str
    """In words: when it was signed and until when it counts, or why it does not."""


@dataclass(frozen=True, slots=True)
class Trust:
    """Keys by key id, what was revoked (ids and content hashes, 64 hex digits), and how many keys must have signed."""

    keys: Mapping[str, TrustedKey]
    revoked_keys: frozenset[str] = frozenset()
    revoked_bundles: frozenset[str] = frozenset()
    threshold: int = 1
    now: float | None = None
    """Seconds since 1970 to judge times by; None: this machine's clock, whenever it is asked."""

    def check(self, content_hash: str, signatures: Iterable[Signature], bundle: Path | str) -> tuple[Verdict, ...]:
        """What the signatures over a bundle are worth, those that count first. Raises BundleError where they do not
        suffice, or the bundle was revoked."""
        if content_hash in self.revoked_bundles:
            raise BundleError(
                f"{bundle}: revoked (content hash {content_hash}) by those you trust; get a newer bundle from its maker"
            )
        there = list(signatures)
        over = [each for each in there if each.bundle == content_hash]
        where = signatures_path(bundle)
        if not over:
            others = f"is over another bundle, {there[0].bundle}" if there else "is empty"
            raise BundleError(
                f"{bundle}: not signed: its content hash is {content_hash}, and {where} {others}; get both again from "
                f"one place, or sign the bundle: edgeret-export sign {bundle} --key KEY"
            )
        verdicts = sorted((self._judge(each) for each in over), key=lambda verdict: not verdict.counts)
        count = sum(verdict.counts for verdict in verdicts)
        if count < self.threshold:
            told = "; ".join(
                f"key {verdict.key[:16]}… {verdict.told}" for verdict in verdicts[:4] if not verdict.counts
            )
            needed = f"needs {self.threshold} signatures by keys that you trust, has {count}"
            raise BundleError(
                f"{bundle}: {needed}: {told or 'all others are missing'}. Whom to trust and how to go on: {_HOW}"
            )
        return tuple(verdicts)

    def _judge(self, signature: Signature) -> Verdict:
        key = self.keys.get(signature.key)
        if signature.key in self.revoked_keys:
            return Verdict(signature.key, False, "is revoked")
        if key is None:
            return Verdict(signature.key, False, "is not among the trusted ones")
        if not verify(key.raw, signature.statement, signature.value):
            return Verdict(signature.key, False, "did not sign this (damaged or forged)")
        return self._timely(signature, key.not_after)

    def _timely(self, signature: Signature, not_after: int | None) -> Verdict:
        """What times say of a signature that is right. Without an end the clock is not asked: devices begin in 1970."""
        ends = [end for end in (signature.expires, not_after) if end is not None]
        now = time.time() if self.now is None else self.now
        if ends and now < signature.signed - SKEW_S:
            told = (
                f"signed on {time_text(signature.signed)}, but by this clock it is {_clock(now)}, so that nobody can "
                "say whether it expired; set the clock"
            )
        elif signature.expires is not None and not now <= signature.expires:
            told = f"signed until {time_text(signature.expires)}, and it is {_clock(now)}; get it signed anew"
        elif not_after is not None and not now <= not_after:
            told = f"counts until {time_text(not_after)}, and it is {_clock(now)}; its maker has a newer key"
        else:
            until = f", expires {time_text(min(ends))}" if ends else ""
            return Verdict(signature.key, True, f"signed on {time_text(signature.signed)}{until}")
        return Verdict(signature.key, False, told)


def key_id(raw: bytes) -> str:
    """The id of a public key of 32 bytes: SHA-256 of its SubjectPublicKeyInfo in DER, 64 hex digits."""
    return hashlib.sha256(_DER + raw).hexdigest()


Trusted = str | Path | bytes | Trust
"""A file of public keys, its content, or the 32 bytes of one key, or what these make."""


def trust_of(given: Trusted | Sequence[Trusted]) -> Trust:
    """What all of these say together: keys and revocations of each, and the largest threshold. A key counts as long as
    each that names it says. Raises InputError for a file that cannot be read or used, and where no key is left."""
    if isinstance(given, Trust):
        return given
    parts = [_one(each) for each in ((given,) if isinstance(given, str | Path | bytes) else _listed(given))]
    keys: dict[str, TrustedKey] = {}
    for part in parts:
        for name, key in part.keys.items():
            ends = [end for end in (key.not_after, keys[name].not_after if name in keys else None) if end is not None]
            keys[name] = replace(key, not_after=min(ends, default=None))
    if not keys:
        raise InputError(f"trust names no public key, so that no bundle could be loaded; {_HOW}")
    threshold = max(part.threshold for part in parts)
    if threshold > len(keys):
        raise InputError(
            f"trust asks for {threshold} signatures and names {len(keys)} keys; add keys, or lower `threshold`"
        )
    moments = [part.now for part in parts if part.now is not None]
    return Trust(
        MappingProxyType(keys),
        frozenset[str]().union(*(part.revoked_keys for part in parts)),
        frozenset[str]().union(*(part.revoked_bundles for part in parts)),
        threshold,
        moments[0] if moments else None,
    )


def _listed(given: object) -> list[Trusted]:
    if not isinstance(given, Sequence) or not all(isinstance(each, str | Path | bytes | Trust) for each in given):
        raise InputError(f"trust must be files of public keys, or keys of {KEY_BYTES} bytes; {_HOW}")
    return list(given)


def _one(given: Trusted) -> Trust:
    if isinstance(given, Trust):
        return given
    if isinstance(given, bytes):
        return _of_key(given, None, "trust") if len(given) == KEY_BYTES else parse_trust(given, "trust")
    if not str(given) or "\0" in str(given):
        raise InputError(f"trust must be a path, found {quoted(str(given))}")
    path = Path(given)
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError(f"{path}: not a regular file; name a file of public keys")
        with path.open("rb") as stream:
            data = stream.read(MAX_TRUST_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); name a file of public keys") from None
    return parse_trust(data, str(path))


def parse_trust(data: bytes, where: str) -> Trust:
    """What a file of public keys says; it may hold none. Raises InputError for any line that is not understood: one
    that was to revoke something must not be passed over."""
    if len(data) > MAX_TRUST_BYTES:
        raise InputError(f"{where}: expected {MAX_TRUST_BYTES} bytes at most; name a file of public keys")
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError:
        raise InputError(
            f"{where}: no text; name a file of public keys, such as KEY.pub of edgeret-export keygen"
        ) from None
    keys: dict[str, TrustedKey] = {}
    revoked: dict[str, set[str]] = {"revoked-key": set(), "revoked-bundle": set()}
    threshold, not_after, body = 1, None, None
    for number, line in enumerate(lines, 1):
        line, at = line.strip(" \t\r"), f"{where}, line {number}"
        word, _, value = line.partition(" ")
        if body is not None:
            if line != _END:
                body += line
                continue
            made = _of_key(_raw_key(body, at), not_after, at)
            if made.keys.keys() & keys.keys() or len(keys) == MAX_KEYS:
                raise InputError(f"{at}: this key a second time, or more than {MAX_KEYS}; name each once")
            keys |= made.keys
            not_after, body = None, None
        elif line == _BEGIN:
            body = ""
        elif word in revoked and _HEX.fullmatch(value):
            revoked[word].add(value)
        elif word == "not-after" and not_after is None and parse_time(value) is not None:
            not_after = parse_time(value)
        elif word == "threshold" and re.fullmatch("[1-9][0-9]?", value, re.ASCII) is not None:
            threshold = max(threshold, int(value))
        elif line and not line.startswith("#"):
            what = (
                "a private key; name its .pub file"
                if "PRIVATE KEY" in line
                else f"not understood, {quoted(line)}; {_HOW}"
            )
            raise InputError(f"{at}: {what}")
    if body is not None or not_after is not None:
        raise InputError(f"{where}: ends within a key, or behind `not-after` without one; get the file again")
    return Trust(keys, frozenset(revoked["revoked-key"]), frozenset(revoked["revoked-bundle"]), threshold)


def _raw_key(body: str, at: str) -> bytes:
    try:
        data = base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        data = b""
    if not data.startswith(_DER) or len(data) != len(_DER) + KEY_BYTES:
        raise InputError(f"{at}: not a public key of Ed25519; make one with: edgeret-export keygen -o KEY")
    return data[len(_DER) :]


def _of_key(raw: bytes, not_after: int | None, at: str) -> Trust:
    if not is_key(raw):
        raise InputError(f"{at}: not a public key of Ed25519 (no point of the curve, or one of small order)")
    return Trust({key_id(raw): TrustedKey(raw, not_after)})


def _clock(now: float) -> str:
    return time_text(int(now)) if 0 <= now <= LAST_TIME else f"{now:.0f} s"
