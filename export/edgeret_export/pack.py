"""A bundle as one C file, for firmware without a file system. Knows nothing of what is in the files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from edgeret.bundle import roles
from edgeret.bundle.layout import LARGE_ROLES, MANIFEST, MAX_ROLE_BYTES, FileEntry, Manifest
from edgeret.bundle.reader import Bundle, open_bundle
from edgeret.errors import BundleError, InputError
from edgeret.terminal.console import write_whole

MOST_BYTES = 64 << 20
"""A compiler takes some 20 bytes of memory a byte, and a device's flash is smaller than this."""
ROW = 1024
"""Bytes of a string literal: every C compiler takes 4,095. Numbers in place of literals compile eleven times slower."""
WIDTH = 100
ENDINGS = (".c", ".h")
_KEPT = frozenset({roles.TOKENIZER, roles.WORD_VECTORS, roles.TOOLS, roles.WORDS})
_NAME = re.compile("[A-Za-z][A-Za-z0-9_]{0,40}")


@dataclass(frozen=True, slots=True)
class Packed:
    """What packing reports: the file, the name that its tables begin with, the bundle's content hash, and the names and
    sizes in bytes of what went in."""

    path: Path
    name: str
    content_hash: str
    files: dict[str, int]


def pack_bundle(source: Path, target: Path, *, content_hash: str | None = None) -> Packed:
    """Writes the files of `source` that its small encoder decides by, as constant arrays, into one .c or .h.

    The file holds `NAME_files`, `NAME_file_count` and `NAME_options` for er_load_files, NAME being the file's own.
    Raises BundleError for a bundle that is not whole or has no small encoder, InputError for another ending or a name
    that is none in C.
    """
    if target.suffix not in ENDINGS:
        raise InputError(
            f"{target}: expected a file that ends with {' or '.join(ENDINGS)}; name another one with --output"
        )
    if not _NAME.fullmatch(target.stem):
        raise InputError(
            f"{target}: its tables would have no name in C; name it by letters, digits and _, like home{target.suffix}"
        )
    bundle = open_bundle(source, content_hash=content_hash, only=lambda manifest: wanted_roles(manifest, source))
    wanted = wanted_roles(bundle.manifest, source)
    entries = [entry for entry in bundle.manifest.files if entry.role in wanted]
    manifest = (source / MANIFEST).read_bytes()
    contents = {MANIFEST: manifest, **{entry.name: _bytes(bundle, entry) for entry in entries}}
    text = "".join(_lines(target, bundle.manifest, entries, contents))
    write_whole(target, text, "--output")
    return Packed(
        target, target.stem, bundle.manifest.content_hash, {name: len(data) for name, data in contents.items()}
    )


def wanted_roles(manifest: Manifest, source: Path) -> set[str]:
    """The roles that er_list names with `first_stage_alone`: of a tiny bundle every one that readers prove, of another
    one what its first stage needs. Raises BundleError where no table of token vectors is, or too much beside it."""
    listed = {entry.role for entry in manifest.files}
    proved = listed & (MAX_ROLE_BYTES.keys() - set(roles.VARIANT_ROLES))
    if roles.TABLE not in listed:
        first = {role for role in proved if role.startswith(roles.of_part(roles.STATIC, ""))}
        if not first:
            raise BundleError(
                f"{source}: no table of token vectors in it; build one with: edgeret-export build --profile tiny"
            )
        # Links between tools are for searches among thousands.
        proved = (proved & _KEPT) | (first - {roles.of_part(roles.STATIC, roles.HNSW)})
    size = sum(entry.size for entry in manifest.files if entry.role in proved)
    if size > MOST_BYTES:
        raise BundleError(
            f"{source}: {size} bytes to pack, at most {MOST_BYTES} are; build it without a planner, or with fewer tools"
        )
    return proved


def _bytes(bundle: Bundle, entry: FileEntry) -> bytes:
    if entry.role not in LARGE_ROLES:
        return bundle.contents[entry.name]
    with bundle.large_file(entry.role).private_copy() as path:
        return path.read_bytes()


def _lines(target: Path, manifest: Manifest, entries: list[FileEntry], contents: dict[str, bytes]) -> Iterator[str]:
    name, static = target.stem, "static " if target.suffix == ".h" else ""
    told = {entry.name: f"{entry.role}; {_harmless(entry.licence)}" for entry in entries}
    yield f"""/* A bundle of edgeret for er_load_files, {manifest.content_hash}.
   Written by edgeret-export pack from {len(contents)} files, {sum(map(len, contents.values()))} bytes.

       extern const er_file {name}_files[];
       extern const size_t {name}_file_count;
       extern const er_load_options {name}_options;
       er_load_files({name}_files, {name}_file_count, &{name}_options, &model, &why); */

#include "edgeret.h"

/* A literal fills its row, and no zero byte is wanted behind it. */
#if defined(__GNUC__) && __GNUC__ >= 15
#pragma GCC diagnostic ignored "-Wunterminated-string-initialization"
#endif

"""
    for number, (file, data) in enumerate(contents.items()):
        yield f"/* {file}, {len(data)} bytes{'; ' + told[file] if file in told else ''} */\n"
        yield f"static const _Alignas(64) unsigned char {name}_{number}[][{ROW}] = {{\n"
        for begin in range(0, max(len(data), 1), ROW):
            yield from _literal(data[begin : begin + ROW])
        yield "};\n\n"
    yield f"{static}const er_file {name}_files[] = {{\n"
    for number, (file, data) in enumerate(contents.items()):
        yield f'    {{ER_TEXT_INIT("{file}"), {name}_{number}, {len(data)}}},\n'
    yield f"}};\n{static}const size_t {name}_file_count = {len(contents)};\n"
    yield f"{static}const er_load_options {name}_options = {{\n    .size = sizeof(er_load_options),\n"
    yield f'    .content_hash = ER_TEXT_INIT("{manifest.content_hash}"),\n    .first_stage_alone = 1,\n}};\n'


def _literal(data: bytes) -> Iterator[str]:
    """A row's bytes as string literals, which the compiler joins."""
    written: list[str] = []
    width = 0
    for here, behind in zip(data, (*data[1:], 0), strict=False):
        # A shorter octal escape would swallow a digit behind it.
        text = _PLAIN.get(here) or (f"\\{here:03o}" if chr(behind).isdigit() else f"\\{here:o}")
        written.append(text)
        width += len(text)
        if width >= WIDTH:
            yield f'"{"".join(written)}"\n'
            written, width = [], 0
    yield f'"{"".join(written)}",\n'


# Of "??" and another mark old compilers make one character.
_PLAIN = {code: chr(code) for code in range(0x20, 0x7F) if chr(code) not in '"\\?'}


def _harmless(text: str) -> str:
    """A stranger's words, for a comment that they cannot end."""
    return re.sub(r"[^\w .,:;()+-]", "_", text, flags=re.ASCII)[:200]
