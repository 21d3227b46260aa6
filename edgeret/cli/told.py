"""What commands tell of a bundle's signatures, of its overlay, and of what a search read in its texts. Knows no
command, and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from edgeret.bundle.layout import Manifest
from edgeret.bundle.overlay_file import read_contents
from edgeret.bundle.reader import read_manifest
from edgeret.bundle.signature import read_signatures
from edgeret.bundle.signature_trust import Verdict, trust_of
from edgeret.core.understood import LANGUAGES
from edgeret.encoders.base import EncoderSpec
from edgeret.errors import BundleError
from edgeret.quoting import few, quoted
from edgeret.runtime.kept import plans_kept, summed


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


def overlay_told(path: Path | None, manifest: Manifest, key: bytes | None = None) -> dict[str, Any] | None:
    """Path, bytes, plans and changed tools of a bundle's overlay; None if there is none. Raises OverlayError."""
    if path is None or not path.exists():
        return None
    where = str(path)
    contents, recovered = read_contents(path, manifest.fingerprint, key)
    plans = plans_kept(contents.records, EncoderSpec.of(manifest.info, where).dimension, where)
    return {
        "path": where,
        "size_bytes": contents.size_bytes,
        "plans": len(plans),
        "plans_without_words": sum(plan.query is None for plan in plans),
        "tools": asdict(summed(contents.records)),
        "recovered": recovered,
    }


def overlay_line(overlay: Mapping[str, Any] | None) -> str:
    """The same in one line."""
    if overlay is None:
        return "none"
    changed = ", ".join(f"{len(names)} {kind}" for kind, names in overlay["tools"].items())
    text = f"{overlay['path']}, {overlay['size_bytes']} bytes: {overlay['plans']} plans learned; tools: {changed}"
    return f"{text}; {overlay['recovered']}" if overlay["recovered"] else text


def read_lines(texts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Lines of what `Runtime.understood` tells of each text, as JSON-ready data."""
    return [line for one in texts for line in _lines(one)]


def _lines(one: Mapping[str, Any]) -> Iterator[str]:
    """What was read in a text, in lines."""
    asks = ", a question that changes nothing" if one["only_asks"] else ""
    parts = "".join(f"; {quoted(clause)}" for clause in one["clauses"])
    yield f"{quoted(one['text'])} is read as {LANGUAGES[one['language']]}{asks}{parts}"
    for kind, takers in one["values"].items():
        named = few(takers["first"]) or "none"
        yield f"  {kind}: {takers['tools']} tools take one, by their parameters' names: {named}"
    for near in one["examples"]:
        shared = f", shown by {near['shown_by']} tools, so it counts less" if near["shown_by"] > 1 else ""
        yield f"  example of {near['tool']}: {quoted(near['text'])}, cosine {near['cosine']:.2f}{shared}"
