"""A tiny bundle with fewer tokens: its table, vectors of words and tokenizer keep those that its texts use, and common
ones. Fits nothing anew: a text all of whose tokens stay is read as before, to the bit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgeret.bundle import roles
from edgeret.bundle.codec import get_array, pack
from edgeret.bundle.few_bits import get_scales
from edgeret.bundle.layout import encoder_fingerprint
from edgeret.bundle.reader import Bundle, open_bundle
from edgeret.errors import BundleError, InputError
from edgeret_export.reference.encoders.static import read_table
from edgeret_export.reference.encoders.tokenizer import load_tokenizer
from edgeret_export.writer import writing

_OWNED = (roles.INDEX, roles.HNSW, roles.GRAPH, roles.HEAD, roles.MEMORY, roles.FAMILIARITY, roles.ARGUMENTS)
"""Roles whose files name the encoder that they were made for, by its fingerprint."""


@dataclass(frozen=True, slots=True)
class Cut:
    """What cutting reports: the new bundle, its size in bytes and content hash; tokens that it has, that texts use, and
    that there were."""

    path: Path
    content_hash: str
    size: int
    tokens: int
    used: int
    before: int


def cut_bundle(
    source: Path,
    target: Path,
    tokens: int,
    texts: Iterable[str] = (),
    *,
    content_hash: str | None = None,
    overwrite: bool = False,
) -> Cut:
    """Copies the tiny bundle at `source` with at least `tokens` tokens, or with those that it needs, if these are more.

    It needs special ones, ASCII characters, so that any word can be spelt, and all that its tools, exemplars, golden
    queries and the `texts` are cut into. The others are the first of the vocabulary, where BERT has the commonest ones.
    Raises BundleError for a bundle that is not whole, InputError for one that is not tiny or has another kind of
    tokenizer.
    """
    bundle = open_bundle(source, content_hash=content_hash)
    if bundle.manifest.file(roles.TABLE) is None:
        raise InputError(f"{source}: only a table of token vectors can be cut; build one with: --profile tiny")
    value = json.loads(bundle.read(roles.TOKENIZER))
    if value["model"]["type"] != "WordPiece":
        raise InputError(f"{source}: only a WordPiece vocabulary can be cut, found {value['model']['type']}")
    used = _used(bundle, value, texts)
    before = len(value["model"]["vocab"])
    kept = sorted(used | set(_commonest(value, used, tokens)))
    files = _files(bundle, value, kept)
    info = dict(bundle.manifest.info)
    with writing(target, overwrite) as writer:
        hashes: dict[str, str] = {}
        for entry in bundle.manifest.files:
            if entry.role in files:
                added = writer.add(entry.name, entry.role, files[entry.role], entry.licence, entry.source)
            else:
                added = writer.add_file(entry.name, entry.role, source / entry.name, entry.licence, entry.source)
            hashes[entry.role] = added.sha256
        fingerprint = _fingerprint(bundle, hashes)
        info[roles.INFO_ENCODER] = {**info[roles.INFO_ENCODER], "fingerprint": fingerprint}
        owned = {role: hashes[role] for role in info[roles.INFO_CALIBRATION] if role in hashes}
        info[roles.INFO_CALIBRATION] = {**info[roles.INFO_CALIBRATION], **owned, "encoder": fingerprint}
        made = writer.finish(info)
        size = sum(entry.size for entry in writer.entries)
    return Cut(target, made, size, len(kept), len(used), before)


def _commonest(value: Mapping[str, Any], used: set[int], tokens: int) -> Sequence[int]:
    """Ids of the first tokens that are words or parts of words, and not used anyway. Before these BERT has places that
    nothing stands for, and a thousand characters of other scripts."""
    prefix = value["model"]["continuing_subword_prefix"]
    vocabulary = sorted(value["model"]["vocab"].items(), key=lambda pair: pair[1])
    words = [i for text, i in vocabulary if i not in used and len(text.removeprefix(prefix)) > 1 and text[0] != "["]
    return words[: max(0, tokens - len(used))]


def _used(bundle: Bundle, value: Mapping[str, Any], texts: Iterable[str]) -> set[int]:
    """Ids that have to stay."""
    vocabulary: Mapping[str, int] = value["model"]["vocab"]
    prefix = value["model"]["continuing_subword_prefix"]
    used = {int(token["id"]) for token in value["added_tokens"]} | {vocabulary[value["model"]["unk_token"]]}
    ends = value.get("post_processor") or {}
    used |= {i for token in ends.get("special_tokens", {}).values() for i in token["ids"]}
    used |= {ends[name][1] for name in ("cls", "sep") if name in ends}
    if max(used) >= len(vocabulary):
        raise InputError(f"{bundle.path}: its tokenizer has tokens beyond its vocabulary, which cannot be cut")
    for code in range(0x21, 0x7F):
        used |= {vocabulary[each] for each in (chr(code), prefix + chr(code)) if each in vocabulary}
    library = load_tokenizer(bundle.read(roles.TOKENIZER), 1 << 13, str(bundle.path)).library
    library.no_truncation()
    for text in (*_own_texts(bundle), *texts):
        used |= set(library.encode(text, add_special_tokens=False).ids)
    return used


def _own_texts(bundle: Bundle) -> list[str]:
    """What is in the bundle: tools with everything in them, exemplars' queries, golden queries and decisions."""
    found: list[str] = []

    def gather(value: object) -> None:
        if isinstance(value, str):
            # Names are read as words, too, with signs of their own and without.
            found.extend((value, " ".join(_words(value))))
        elif isinstance(value, Mapping):
            for key, inner in value.items():
                gather(key)
                gather(inner)
        elif isinstance(value, list | tuple):
            for inner in value:
                gather(inner)

    gather(json.loads(bundle.read(roles.TOOLS)))
    if bundle.manifest.file(roles.EXEMPLARS) is not None:
        gather(json.loads(bundle.read(roles.EXEMPLARS)))
    golden = bundle.manifest.info.get(roles.INFO_GOLDEN)
    gather(golden.get("queries") if isinstance(golden, Mapping) else None)
    gather(bundle.manifest.info.get(roles.INFO_DECISIONS))
    return found


def _words(name: str) -> list[str]:
    """A name's words: at signs, and where capitals begin."""
    spaced = "".join(f" {c}" if c.isupper() else c if c.isalnum() else " " for c in name)
    return spaced.split()


def _files(bundle: Bundle, value: dict[str, Any], kept: Sequence[int]) -> dict[str, bytes]:
    """The files that change, by their roles."""
    where, new = str(bundle.path), {old: i for i, old in enumerate(kept)}
    places = [token for token, _ in sorted(value["model"]["vocab"].items(), key=lambda pair: pair[1])]
    value["model"]["vocab"] = {places[old]: i for i, old in enumerate(kept)}
    for token in value["added_tokens"]:
        token["id"] = new[token["id"]]
    ends = value.get("post_processor") or {}
    for token in ends.get("special_tokens", {}).values():
        token["ids"] = [new[i] for i in token["ids"]]
    for name in ("cls", "sep"):
        if name in ends:
            ends[name][1] = new[ends[name][1]]
    value["padding"] = value["truncation"] = None
    tokenizer = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    spec = bundle.manifest.info[roles.INFO_ENCODER]["spec"]
    rows, scales = read_table(bundle.map(roles.TABLE), spec["dimension"], where)
    table = pack({"rows": rows[kept], "scales": scales[kept]})
    words = bundle.map(roles.WORD_VECTORS)
    pairs = get_array(words, "pairs", "|i1", (len(rows), None), where)
    own = {"pairs": pairs[kept], "scales": get_scales(words, "scales", len(rows), where)[kept]}
    files = {roles.TOKENIZER: tokenizer, roles.TABLE: table}
    files[roles.WORD_VECTORS] = pack({"tokenizer": _sha256(tokenizer), **own})
    old = bundle.fingerprint().encode()
    fingerprint = _fingerprint(bundle, {role: _sha256(data) for role, data in files.items()}).encode()
    for role in _OWNED:
        if bundle.manifest.file(role) is None:
            continue
        data = bundle.read(role)
        if data.count(old) != 1:
            raise BundleError(f"{where} ({role}): made for another encoder; build the bundle again")
        files[role] = data.replace(old, fingerprint)
    return files


def _fingerprint(bundle: Bundle, hashes: Mapping[str, str]) -> str:
    spec = bundle.manifest.info[roles.INFO_ENCODER]["spec"]
    return encoder_fingerprint(spec, hashes[roles.TABLE], hashes[roles.TOKENIZER])


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
