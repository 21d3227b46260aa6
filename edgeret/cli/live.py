"""What lets a bundle's picture decide: the library of pages, the files that it reads, and a script that shows what it
says, all inside the one file. The page may load nothing, and runs no other script."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from edgeret.bundle import roles
from edgeret.bundle.layout import MANIFEST
from edgeret.bundle.reader import Bundle
from edgeret.core.listed import listed
from edgeret.errors import InputError

SOURCES = ("library.js", "edgeret.js")
LIBRARY = "edgeret.wasm"
MOST_BYTES = 96 << 20
"""Of a bundle's files: a browser opens no larger page gladly."""


class Live(NamedTuple):
    """The part of a page that decides, and what the page's policy says of its script."""

    body: str
    policy: str


def live(bundle: Bundle, folder: Path) -> Live:
    """Of the library in a folder: bindings/js, or the npm package. Raises InputError for another folder, and for a
    bundle that is too large for a page."""
    script = "\n".join([*(_plain(_read(folder / name)) for name in SOURCES), _own()])
    if "</script" in script:
        raise InputError(f"--live {folder}: its sources would end the page's script; give edgeret's own")
    tiny = bundle.part(roles.STATIC) is not None
    manifest = (bundle.path / MANIFEST).read_bytes()
    held = {MANIFEST: manifest} | {name: _file(bundle, name) for name in listed(manifest, tiny)}
    if (size := sum(map(len, held.values()))) > MOST_BYTES:
        raise InputError(f"--live: {size / 1e6:.0f} MB of files, too many for a page; draw it without --live")
    library = _read_bytes(folder / LIBRARY)
    if not library.startswith(b"\0asm"):
        raise InputError(f"--live: {folder / LIBRARY}: no WebAssembly; build it: make js")
    packed = {name: _packed(content) for name, content in held.items()}
    told = json.dumps({"library": _packed(library), "tiny": tiny, "files": packed})
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    body = files("edgeret.cli").joinpath("templates", "live.html").read_text(encoding="utf-8")
    data = told.replace("<", "\\u003c")
    return Live(
        f'{body}<script type="application/json" id="held">{data}</script>\n<script type="module">{script}</script>\n',
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}' 'wasm-unsafe-eval'",
    )


def _file(bundle: Bundle, name: str) -> bytes:
    """Its proved bytes; those of a large file are proved when the page loads them, as all are."""
    return bundle.contents[name] if name in bundle.contents else (bundle.path / name).read_bytes()


def _packed(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content, 6, mtime=0)).decode()


def _plain(module: str) -> str:
    """A module's source as a part of one script."""
    without = re.sub(r"^(?:import|export) \{[^}]*\}(?: from \"[^\"]*\")?;\n", "", module, flags=re.MULTILINE)
    return re.sub(r"^export ", "", without, flags=re.MULTILINE)


def _own() -> str:
    return files("edgeret.cli").joinpath("templates", "live.js").read_text(encoding="utf-8")


def _read(path: Path) -> str:
    return _read_bytes(path).decode("utf-8", "replace")


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            f"--live: {path}: {error.strerror}; give the folder bindings/js of a checkout behind `make js`, or that of "
            "the npm package edgeret"
        ) from None
