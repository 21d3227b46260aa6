"""Bundles as an attacker writes them: any content, and every size, hash, fingerprint, owner and digest right again.

Works on plain data with msgpack and json alone. Knows nothing of how edgeret reads a bundle, nor of what is worth
forging: the families in the other forge_ files say that.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgpack

from edgeret.bundle.layout import FORMAT_VERSION

MAPS = ("word-vectors", "words", "index", "hnsw", "graph", "head", "memory", "familiarity", "arguments")
"""Roles whose files are msgpack maps; all but the words name the encoder as their owner, or the tokenizer."""
OF_TOKENIZER = ("word-vectors",)
CODES = "encoder-arrays"
"""A msgpack map as well, which names no owner: it is what the encoder is known by."""
TREES = ("tools", "exemplars", "tokenizer")
"""Roles whose files are JSON."""


@dataclass(frozen=True)
class Raw:
    """Bytes that stand in a tree as they are, for what no honest packer would write."""

    data: bytes


def twice(pairs: Iterable[tuple[Any, Any]]) -> Raw:
    """A msgpack map whose keys may repeat."""
    items = [encode(key) + encode(value) for key, value in pairs]
    return Raw(b"\xdf" + len(items).to_bytes(4, "big") + b"".join(items))


def encode(value: Any) -> bytes:
    """A tree as msgpack; half surrogates become bytes that are no UTF-8, `Raw` stays as it is."""
    if isinstance(value, Raw):
        return value.data
    try:
        return bytes(msgpack.packb(value, use_bin_type=True, unicode_errors="surrogatepass"))
    except TypeError:
        head = msgpack.Packer()
        if isinstance(value, dict):
            start = head.pack_map_header(len(value))
            return bytes(start) + b"".join(encode(k) + encode(v) for k, v in value.items())
        return bytes(head.pack_array_header(len(value))) + b"".join(map(encode, value))


def encode_json(value: Any) -> bytes:
    """A tree as JSON, NaN and infinities included; half surrogates become bytes that are no UTF-8."""
    held: list[bytes] = []

    def hold(raw: Raw) -> str:
        held.append(raw.data)
        return f"\ue000{len(held) - 1}\ue000"

    text = json.dumps(value, ensure_ascii=False, default=hold, separators=(",", ":"))
    data = text.encode("utf-8", "surrogatepass")
    return re.sub('"\ue000([0-9]+)\ue000"'.encode(), lambda found: held[int(found[1])], data)


def encode_tools(value: Any) -> bytes:
    """The same with a line for every tool."""
    if not isinstance(value, list):
        return encode_json(value)
    return b"[\n" + b",\n".join(map(encode_json, value)) + b"\n]\n"


def wrap(body: bytes, version: int = FORMAT_VERSION) -> bytes:
    """The manifest's bytes around a body, its digest right."""
    digest = hashlib.sha256(f"edgeret-bundle/{version}\n".encode() + body).digest()
    return bytes(msgpack.packb(["edgeret-bundle", version, digest, body], use_bin_type=True))


def fingerprint(spec: Any, weights: str, tokenizer: str) -> str:
    """The encoder's fingerprint (FORMAT.md, section 4), for whatever stands in the spec's place."""
    pairs: dict[Any, Any] = {"weights": weights, "tokenizer": tokenizer}
    if isinstance(spec, dict) and all(isinstance(key, str) for key in spec):
        pairs |= {key: spec[key] for key in sorted(spec)}
    return hashlib.sha256(encode(pairs)).hexdigest()


class Forger:
    """A good bundle, read once; every `forgery` begins with its content."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        body = msgpack.unpackb(msgpack.unpackb((folder / "manifest").read_bytes())[3])
        self.info: dict[str, Any] = body["info"]
        self.entries: list[dict[str, Any]] = body["files"]
        self.files = {entry["role"]: (folder / entry["name"]).read_bytes() for entry in self.entries}

    def forgery(self) -> Forgery:
        """A bundle that is still as good as the original."""
        return Forgery(self)


class Forgery:
    """One forged bundle in the making: change what you like, then `write` it.

    `info`, `map(role)` and `trees[role]` are plain data to change in place, `files[role]` are bytes. `last` are
    changes to the finished body of the manifest, and `placed` to the finished folder: what must not be made right.
    """

    def __init__(self, forger: Forger) -> None:
        self._forger = forger
        self.info: Any = copy.deepcopy(forger.info)
        self.entries = [dict(entry) for entry in forger.entries]
        self.files = dict(forger.files)
        self.trees: dict[str, Any] = {}
        self.last: list[Callable[[dict[str, Any]], object]] = []
        self.placed: list[Callable[[Path], object]] = []
        self.body: Callable[[dict[str, Any]], bytes] = encode

    def map(self, role: str) -> Any:
        """The msgpack map of a role."""
        if role not in self.trees:
            self.trees[role] = msgpack.unpackb(self.files[role])
        return self.trees[role]

    def json(self, role: str) -> Any:
        """The JSON tree of a role."""
        if role not in self.trees:
            self.trees[role] = json.loads(self.files[role])
        return self.trees[role]

    def add(self, name: str, role: str, data: bytes = b"", **fields: Any) -> dict[str, Any]:
        """A file more. A role twice is told apart by the name of its file."""
        entry = {"name": name, "role": role, "size": 0, "sha256": "", "licence": "MIT", "source": "forged", **fields}
        self.entries.append(entry)
        self.files[role if role not in self.files else name] = data
        return entry

    def remove(self, role: str) -> None:
        """A file less."""
        self.entries = [entry for entry in self.entries if entry["role"] != role]

    def write(self, folder: Path) -> None:
        """Writes the bundle into an empty folder. Files that are as they were are hard links to the original's."""
        body = self._finish()
        for entry in self.entries:
            self._write_file(folder, entry)
        for change in self.last:
            change(body)
        (folder / "manifest").write_bytes(wrap(self.body(body)))
        for place in self.placed:
            place(folder)

    def _content(self, entry: dict[str, Any]) -> bytes:
        name, role = entry["name"], entry["role"]
        return self.files[name] if name in self.files else self.files[role]

    def _write_file(self, folder: Path, entry: dict[str, Any]) -> None:
        data, name = self._content(entry), entry["name"]
        if data is self._forger.files.get(entry["role"]) and (self._forger.folder / name).is_file():
            with suppress(OSError):  # another file system
                os.link(self._forger.folder / name, folder / name)
                return
        (folder / name).write_bytes(data)

    def _finish(self) -> dict[str, Any]:
        """Makes right, in the order in which one rests on the other: files, fingerprint, owners, hashes."""
        old = self._owners(self._forger.info, self._forger.entries)
        for role in TREES:
            if role in self.trees:
                self.files[role] = (encode_tools if role == "tools" else encode_json)(self.trees[role])
        if CODES in self.trees:
            self.files[CODES] = encode(self.trees[CODES])
        self._hash(("encoder", CODES, "table", "tokenizer"))
        hashes = {entry["role"]: entry["sha256"] for entry in self.entries}
        spec = self.info.get("encoder") if isinstance(self.info, dict) else None
        spec = spec.get("spec") if isinstance(spec, dict) else None
        # A table stands in its place (5.1), or codes do (5.4).
        weights = next((hashes[role] for role in ("encoder", "table", CODES) if role in hashes), "")
        owner = fingerprint(spec, weights, hashes.get("tokenizer", ""))
        for role in MAPS:
            key, new = ("tokenizer", hashes.get("tokenizer", "")) if role in OF_TOKENIZER else ("encoder", owner)
            as_it_was = self.files.get(role) is self._forger.files.get(role)
            if role in self.trees or (as_it_was and role in self.files and new != old[key]):
                value = self.map(role)
                self._own(value, key, old[key], new)
                self.files[role] = encode(value)
        self._hash({entry["role"] for entry in self.entries})
        hashes = {entry["role"]: entry["sha256"] for entry in self.entries}
        if isinstance(self.info, dict):
            self._own(self.info.get("encoder"), "fingerprint", old["encoder"], owner)
            policy = self.info.get("calibration")
            self._own(policy, "encoder", old["encoder"], owner)
            for role in ("graph", "head", "memory", "familiarity"):
                self._own(policy, role, old.get(role, ""), hashes.get(role, ""))
        return {"files": self.entries, "info": self.info}

    def _hash(self, roles: Iterable[str]) -> None:
        for entry in self.entries:
            if entry["role"] in roles:
                data = self._content(entry)
                if data is not self._forger.files.get(entry["role"]):
                    entry["size"], entry["sha256"] = len(data), hashlib.sha256(data).hexdigest()

    @staticmethod
    def _owners(info: dict[str, Any], entries: list[dict[str, Any]]) -> dict[str, str]:
        return {entry["role"]: entry["sha256"] for entry in entries} | {"encoder": info["encoder"]["fingerprint"]}

    @staticmethod
    def _own(value: Any, key: str, old: str, new: str) -> None:
        """Names the owner anew, unless a mutation has put something else in its place."""
        if isinstance(value, dict) and value.get(key) == old:
            value[key] = new
