"""What the library's bytes are for: its objects' code and constants, by what they do.

    python core/build.py linux-x86_64 && python core/sizes.py

It reads build/core/linux-x86_64/libedgeret.a, an archive of 64-bit ELF objects, and needs the standard library alone.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from pathlib import Path

ARCHIVE = Path(__file__).resolve().parents[1] / "build" / "core" / "linux-x86_64" / "libedgeret.a"
ALLOCATED, NO_BYTES = 2, 8
PARTS = {
    "tables of languages": "languages turns language",
    "tables of Unicode": "unicode",
    "the transformer, six instruction sets": "transform transformer cpu workers",
    "products of vectors, search of many": "vectors hnsw_walk hnsw neighbours",
    "tokenizers": "tokenizer tokenizer_file wordpiece unigram normalise charsmap split vocabulary encode",
    "loading and proving a bundle": "load manifest msgpack json folder parts part_* sha256 sha256_native",
    "signatures": "signature beside ed25519 ed25519_numbers sha512",
    "learning, and its file": "learn learn_* overlay locked",
    "versions side by side": "store store_* disk",
    "tools that come and go": "tools tools_given",
    "explanations": "explain told",
    "values in a request": "pieces pieces_told units matches glosses piece_words days amounts",
}
"""The rest decides."""
REST = "deciding"


def objects(archive: bytes) -> Iterator[tuple[str, bytes]]:
    """The members of an archive with their names, as ar keeps them (GNU's long names, and BSD's)."""
    if archive[:8] != b"!<arch>\n":
        raise SystemExit("not an archive of objects; run: python core/build.py linux-x86_64")
    at, names = 8, b""
    while at < len(archive):
        name, size = archive[at : at + 16].rstrip(), int(archive[at + 48 : at + 58])
        body = archive[at + 60 : at + 60 + size]
        at += 60 + size + size % 2
        if name == b"//":
            names = body
        elif name[:1] == b"/" and name[1:].isdigit():
            yield names[int(name[1:]) :].split(b"/", 1)[0].decode(), body
        elif name.startswith(b"#1/"):
            length = int(name[3:])
            yield body[:length].rstrip(b"\0").decode(), body[length:]
        elif name not in (b"/", b"/SYM64/"):
            yield name.rstrip(b"/").decode(), body


def loaded(elf: bytes) -> int:
    """Bytes of an object that a program has in its file and in memory."""
    (start,) = struct.unpack_from("<Q", elf, 40)
    entry, count = struct.unpack_from("<HH", elf, 58)
    sections = (struct.unpack_from("<IIQQQQ", elf, start + i * entry) for i in range(count))
    return sum(size for _, kind, flags, _, _, size in sections if flags & ALLOCATED and kind != NO_BYTES)


def part_of(source: str) -> str:
    """What a source is for."""
    for part, sources in PARTS.items():
        if any(source == one or (one[-1] == "*" and source.startswith(one[:-1])) for one in sources.split()):
            return part
    return REST


def main() -> int:
    """0, and the table."""
    if not ARCHIVE.is_file():
        print(f"{ARCHIVE}: not there; run: python core/build.py linux-x86_64", file=sys.stderr)
        return 2
    found = dict.fromkeys((*PARTS, REST), 0)
    for name, body in objects(ARCHIVE.read_bytes()):
        found[part_of(Path(name).stem)] += loaded(body)
    for part, size in sorted(found.items(), key=lambda one: -one[1]):
        print(f"{part:40} {size / 1000:6.1f} kB")
    print(f"{'all':40} {sum(found.values()) / 1000:6.1f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
