"""Families of forgeries of the folder: entries, names, roles and sizes, and what lies where a file should lie.

As in forge_fields.py, a family makes the same forgery of the same number and says what it did.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import msgpack
from forge import Forgery, Raw, encode, wrap
from forge_fields import Family, cell

LARGE = 600_000_000
"""Bytes of a file that takes no room on the disk; reading it whole would take all the memory that is allowed."""
TAKEN = ("encoder", "index", "graph", "head", "hnsw")
"""Roles that may be large and are held in memory, but not twice."""
TEXTS = (
    "\x1b[2J\x1b[1;31mowned", "\x9b31m", "\u202eTIM", "a\nb", "a\r\x1b[Kok     integrity: fine", "\0", "x" * 100_000,
    "",
    "<script>alert(1)</script>", "\ud800", "é" * 5_000, "\x07" * 500, "\u2066\u2069", "\x85", "\U000e0041", "a\tb",
)  # fmt: skip
NAMES = (
    "../evil", "a/b", "/tmp/x", ".hidden", "", "..", "manifest", "MANIFEST", "nul\0", "x" * 100, "x" * 101, "CON", "a.",
    "-", "---", "a b", "é", "a\nb", "encoder.onnx", "ENCODER.ONNX", "a\\b", "C:x", "\x1b[31m", "-rf", "a:b", "١٢٣", "Ⅷ",
)  # fmt: skip
ROLES = (
    "encoder", "tokenizer", "tools", "index", "graph", "head", "memory", "exemplars", "planner", "hnsw", "", "a\nb",
    "planner-licence", "planner-licence-99", "\x1b[31m", "x" * 100_000, "Encoder", "encoder ", "\u202e", "manifest",
)  # fmt: skip


@cache
def zeros(size: int) -> str:
    """The sha256 of so many zero bytes."""
    digest, block = hashlib.sha256(), bytes(1 << 20)
    for _ in range(size >> 20):
        digest.update(block)
    digest.update(block[: size & ((1 << 20) - 1)])
    return digest.hexdigest()


def sparse(forgery: Forgery, name: str, role: str, size: int) -> None:
    """A file of zeros whose hash is right."""
    forgery.remove(role)
    entry = forgery.add(name, role)
    forgery.last.append(lambda body: entry.update(size=size, sha256=zeros(size)))
    forgery.placed.append(lambda folder: os.truncate(folder / name, size))


def texts(forgery: Forgery, number: int) -> str:
    """Licences, sources, cards and the writer's version, as whoever made the bundle would have them printed."""
    row, where = cell(number, len(TEXTS), 9)
    text = TEXTS[row]
    if where < 2:
        forgery.entries[number % len(forgery.entries)][("licence", "source")[where]] = text
    elif where == 2:
        forgery.info["encoder"]["card"] = text
    elif where == 3:
        forgery.info["edgeret"] = text
    elif where == 4:
        forgery.info["encoder"]["spec"]["precision"] = text
    elif where == 5:
        forgery.info["encoder"]["spec"]["instruction_set"] = text
    elif where == 6:
        forgery.info["golden"]["queries"][0] = text
    elif where == 7:
        forgery.info["report"]["held_out"]["top1"] = {text: 1.0}
    else:
        forgery.info["encoder"]["spec"]["query_prefix"] = text
    return f"text {where} is {text[:30]!r}"


def entry_names(forgery: Forgery, number: int) -> str:
    """Files by other names."""
    row, where = cell(number, len(NAMES), 4)
    entry = forgery.entries[number % len(forgery.entries)]
    if where == 0 and row in (9, 11, 12):  # names that a file can have here
        forgery.files[NAMES[row]] = forgery.files[entry["role"]]
        entry["name"] = NAMES[row]
    elif where == 1:
        extra = forgery.add("extra", "extra")
        forgery.last.append(lambda body: extra.update(name=NAMES[row]))
    else:
        forgery.last.append(lambda body: entry.update(name=NAMES[row]))
    return f"{entry['role']} is called {NAMES[row][:20]!r} ({where})"


def roles(forgery: Forgery, number: int) -> str:
    """Roles twice, missing, unknown, or exchanged."""
    row, where = cell(number, len(ROLES), 4)
    entry = forgery.entries[number % len(forgery.entries)]
    if where == 0:
        forgery.remove(ROLES[row])
    elif where == 1:
        forgery.add("more", ROLES[row], b"more")
    elif where == 2:
        forgery.last.append(lambda body: entry.update(role=ROLES[row]))
    else:
        other = forgery.entries[row % len(forgery.entries)]
        forgery.files[entry["role"]] = forgery.files[other["role"]]
    return f"role {ROLES[row][:20]!r} ({where}, {entry['name']})"


def sizes(forgery: Forgery, number: int) -> str:
    """Files that are much larger than their role can need, and entries that only say so."""
    known = ("encoder", "tokenizer", "tools", "index", "graph", "head", "exemplars", "planner", "hnsw")
    row, where = cell(number, len(known) + 2, 3)
    role = (*known, "unknown", "planner-licence")[row]
    if where == 0:
        sparse(forgery, "large.bin", role, LARGE // 2 if role in TAKEN else LARGE)
    elif where == 1:
        sparse(forgery, "large.bin", role, 40_000_000)
    else:
        claim = (0, 1, 2**34, 2**34 + 1, 2**63, -1)[number // 36 % 6]
        entry = next((e for e in forgery.entries if e["role"] == role), None) or forgery.add("large.bin", role, b"x")
        forgery.last.append(lambda body: entry.update(size=claim))
    return f"{role}: size {where}"


def many(forgery: Forgery, number: int) -> str:
    """Very many entries, or very many bytes, where nobody looks."""
    maps = Raw(b"\xdd" + (15_000_000).to_bytes(4, "big") + b"\x80" * 15_000_000)
    more = Raw(b"\xdd" + (100_000_000).to_bytes(4, "big") + b"\x80" * 100_000_000)
    pairs = Raw(b"\xdf" + (3_000_000).to_bytes(4, "big") + b"".join(encode(i) + b"\x80" for i in range(3_000_000)))
    way = number % 8
    if way == 0:
        forgery.last.append(lambda body: body.update(unknown=maps))
    elif way == 1:
        forgery.info["report"] = maps
    elif way == 2:
        role = ("index", "graph", "head")[number // 8 % 3]
        forgery.map(role)["unknown"] = more
    elif way == 3:
        role = ("tools", "exemplars", "tokenizer")[number // 8 % 3]
        forgery.trees[role] = Raw(b"[" + b"{}," * 20_000_000 + b"{}]")
    elif way == 4:
        count = 20_000
        for i in range(count):
            forgery.last.append(
                lambda body, i=i: body["files"].append({**body["files"][0], "name": f"n{i}", "role": f"r{i}"})
            )
    elif way == 5:
        role = ("index", "graph", "head")[number // 8 % 3]
        forgery.map(role)["unknown"] = pairs
    elif way == 6:
        forgery.map("graph")["labels"] = ["a"] * 3_000_000
    else:
        for i in range(300):
            forgery.add(f"licence{i}", f"planner-licence-{i}", b"text")
    return f"many things, way {way}"


def _exchanged(name: str, make: Callable[[Path], object]) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        (folder / name).unlink()
        make(folder / name)

    return change


def places(forgery: Forgery, number: int) -> str:
    """Something else in a file's place: a folder, a pipe, a link, a socket, a device, nothing."""
    ways: list[tuple[str, Callable[[Path], object]]] = [
        ("a folder", lambda file: file.mkdir()),
        ("a pipe", lambda file: os.mkfifo(file)),
        ("a link to nothing", lambda file: file.symlink_to("nowhere")),
        ("a link to itself", lambda file: file.symlink_to(file.name)),
        ("a link outside", lambda file: file.symlink_to("/etc/passwd")),
        ("a link to a device", lambda file: file.symlink_to("/dev/zero")),
        ("nothing", lambda file: None),
        ("an empty file", lambda file: file.write_bytes(b"")),
        ("a file of 20 GB", lambda file: (file.write_bytes(b""), os.truncate(file, 20 << 30))),
        ("a file without rights", lambda file: (file.write_bytes(b"x"), file.chmod(0))),
        ("random bytes", lambda file: file.write_bytes(hashlib.sha512(str(number).encode()).digest() * 40)),
    ]
    way, where = cell(number, len(ways), len(forgery.entries) + 1)
    name = ("manifest", *(entry["name"] for entry in forgery.entries))[where]
    forgery.placed.append(_exchanged(name, ways[way][1]))
    return f"{name} is {ways[way][0]}"


def wrappings(forgery: Forgery, number: int) -> str:
    """The four elements around the body, and strays in the folder."""

    def rewrap(change: Callable[[list[object]], object]) -> Callable[[Path], object]:
        def place(folder: Path) -> None:
            outer = msgpack.unpackb((folder / "manifest").read_bytes())
            made = change(outer)
            (folder / "manifest").write_bytes(made if isinstance(made, bytes) else encode(made))

        return place

    ways: list[Callable[[list[object]], object]] = [
        lambda outer: wrap(outer[3], 0),
        lambda outer: wrap(outer[3], 2),
        lambda outer: wrap(outer[3], 2**63),
        lambda outer: wrap(outer[3], -1),
        lambda outer: [*outer, None],
        lambda outer: outer[:3],
        lambda outer: [outer[0], True, *outer[2:]],
        lambda outer: [outer[0], 1.0, *outer[2:]],
        lambda outer: [b"edgeret-bundle", *outer[1:]],
        lambda outer: {"magic": outer},
        lambda outer: encode(outer) + b"\0",
        lambda outer: encode(outer)[:-1],
        lambda outer: encode(outer).replace(b"\x01", b"\xcc\x01", 1),
        lambda outer: b"\xdc\x00\x04" + encode(outer)[1:],
        lambda outer: b"\x91" * 1_000_000,
        lambda outer: b"\xdd\xff\xff\xff\xff",
        lambda outer: b"",
        lambda outer: bytes(16 << 20),
        lambda outer: bytes((16 << 20) + 1),
        lambda outer: b"\x80" * (16 << 20),
        lambda outer: b"\xdd" + (15 << 20).to_bytes(4, "big") + b"\x80" * (15 << 20),
        lambda outer: wrap(b""),
        lambda outer: wrap(b"\xc0" * 100),
    ]
    strays: list[tuple[str, Callable[[Path], object]]] = [
        ("a stray with escapes in its name", lambda folder: (folder / "\x1b[31mred").write_bytes(b"")),
        ("a stray with lines in its name", lambda folder: (folder / "a\nok   integrity: fine").write_bytes(b"")),
        (
            "a stray whose name is no UTF-8",
            lambda folder: Path(os.fsdecode(os.fsencode(folder) + b"/\xff\xfe")).touch(),
        ),
        ("two thousand strays", lambda folder: [(folder / f"{i}{'x' * 200}").touch() for i in range(2_000)]),
        ("no folder", lambda folder: shutil.rmtree(folder)),
        ("a stray pipe", lambda folder: os.mkfifo(folder / "pipe")),
    ]
    way = number % (len(ways) + len(strays))
    if way < len(ways):
        forgery.placed.append(rewrap(ways[way]))
        return f"wrapping {way}"
    forgery.placed.append(strays[way - len(ways)][1])
    return strays[way - len(ways)][0]


MANIFEST: dict[str, Family] = {
    "texts": texts,
    "entry-names": entry_names,
    "roles": roles,
    "sizes": sizes,
    "places": places,
    "wrappings": wrappings,
    "many": many,
}
