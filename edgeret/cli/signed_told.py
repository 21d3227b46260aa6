"""The check that a bundle was signed by those whom its reader trusts. Verifies nothing itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from edgeret.bundle.reader import read_manifest
from edgeret.bundle.signature import read_signatures
from edgeret.bundle.signature_trust import Verdict, trust_of
from edgeret.errors import BundleError


def signature_check(folder: Path, trust: Sequence[str]) -> tuple[dict[str, Any], str | None]:
    """The check, and the content hash that was signed, None where it fails. Nothing of the bundle is parsed before.
    Raises InputError for files of keys that cannot be used."""
    trusted = trust_of(trust)
    verdicts: list[Verdict] = []

    def check(content_hash: str) -> None:
        verdicts[:] = trusted.check(content_hash, read_signatures(folder), folder)

    try:
        content_hash = read_manifest(folder, signed=check).content_hash
    except BundleError as error:
        return {"name": "signature", "ok": False, "detail": str(error)}, None
    told = "; ".join(f"key {each.key} {each.told}" for each in verdicts)
    return {"name": "signature", "ok": True, "detail": told}, content_hash
