"""Strangers' bytes against Python's readers: whatever they are, a reader takes them or refuses them in one line.

    python tests/fuzz_python.py [--seconds 20] [--only overlay]
    python tests/fuzz_python.py --target overlay -max_total_time=60     # by atheris, as OSS-Fuzz does

With `atheris` (a wheel of its own) it looks for new ways through the code, and takes libFuzzer's options behind
`--target`; without, seeds are changed blindly. Seeds are made of conformance/ and of what is here. What was found once
lies in tests/data/fuzz/TARGET, and is tried by the tests.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import random
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

# Before anything else imports them: of these alone it is seen where bytes lead.
if "fuzz_python_" in sys.argv[0] or "--target" in sys.argv:
    import atheris

    READERS = ("bundle.delta_file", "bundle.signature_trust", "encoders.checks.onnx_file", "inputs.tools")
    READERS += ("bundle.overlay", "bundle.reader", "planner.checks.gguf_file")
    with atheris.instrument_imports(include=["edgeret"]):
        for reader in READERS:
            importlib.import_module(f"edgeret.{reader}")

from edgeret.bundle.codec import unpack, unpack_json
from edgeret.bundle.delta_file import opened, read_delta
from edgeret.bundle.overlay import Contents, is_unborn, scan
from edgeret.bundle.reader import parse_manifest
from edgeret.bundle.signature import parse_signatures
from edgeret.bundle.signature_trust import parse_trust
from edgeret.encoders.checks import onnx_file
from edgeret.errors import EdgeretError
from edgeret.inputs.jsonl import decode
from edgeret.inputs.tools import read_tool
from edgeret.planner.checks import gguf_file
from edgeret_export.reference.overlay_bytes import pack_batch, pack_header

ROOT = Path(getattr(sys, "_MEIPASS", Path(__file__).parents[1]))  # OSS-Fuzz packs this file by PyInstaller
NAMED = Path(sys.argv[0]).stem.partition("fuzz_python_")[2]
"""The target of a copy of this file that is called after one: OSS-Fuzz gives it libFuzzer's options alone."""
CONFORMANCE, KEPT = ROOT / "conformance", ROOT / "tests" / "data" / "fuzz"
MOST = 1 << 16
ENCODER, KEY = "ab" * 32, b"this device alone"
MAGIC = 16
"""Bytes of a manifest before the body that its checksum is over."""


@dataclass(frozen=True)
class Target:
    """A reader, which raises EdgeretError for what it refuses; and what to begin with."""

    read: Callable[[bytes], object]
    seeds: Callable[[], Iterator[bytes]]


def _files(*patterns: str) -> Callable[[], Iterator[bytes]]:
    def found() -> Iterator[bytes]:
        for pattern in patterns:
            yield from (path.read_bytes() for path in sorted(CONFORMANCE.glob(pattern)))

    return found


def _overlay(data: bytes) -> None:
    """The first byte says how much is made right: a header, with a key or not, and the digest of a batch's body."""
    how, body = data[:1], data[1:]
    key = KEY if how[0] & 2 else None
    if how[0] & 1:
        header = pack_header(ENCODER, ENCODER, bytes(16), key)
        if how[0] & 4:
            empty = pack_batch([], Contents(ENCODER, ENCODER, header[-32:], len(header), key=key), "f").data
            head = empty[:4] + struct.pack("<I", len(body)) + empty[8:48]
            whole = head + body
            body = whole + _sealed(whole, key)
        body = header + body
    if not is_unborn(body):
        scan(body, ENCODER, "f", key)


def _sealed(data: bytes, key: bytes | None) -> bytes:
    import hmac

    return hashlib.sha256(data).digest() if key is None else hmac.digest(key, data, "sha256")


def _overlays() -> Iterator[bytes]:
    for key in (None, KEY):
        header = pack_header(ENCODER, ENCODER, bytes(16), key)
        batch = pack_batch([("note", {"a": [1, "b", None]})], Contents(ENCODER, ENCODER, header[-32:], key=key), "f")
        flag = 2 if key else 0
        yield bytes([flag]) + header + batch.data
        yield bytes([flag | 1]) + batch.data
        yield bytes([flag | 5]) + batch.data[48:-32]


def _manifest(data: bytes) -> None:
    from edgeret.bundle.layout import wrap

    parse_manifest(wrap(data[0] if data[0] < 9 else 2, data[1:]) if data[0] != 255 else data[1:], "f")


def _manifests() -> Iterator[bytes]:
    for data in _files("*/manifest")():
        yield b"\xff" + data
        at = data.index(b"\x82\xa5files")
        yield b"\x02" + data[at:]


def _delta(data: bytes) -> None:
    with tempfile.NamedTemporaryFile(suffix=".delta") as file:
        file.write(data)
        file.flush()
        with opened(Path(file.name)) as stream:
            read_delta(stream, "f", None, None)


def _json(data: bytes) -> None:
    value = unpack_json(data, "f")
    if isinstance(value, list):
        for entry in value[:20]:
            with suppress(EdgeretError):
                read_tool(entry)


def _tool(data: bytes) -> None:
    with suppress(ValueError):
        read_tool(decode(data))


def _definitions() -> Iterator[bytes]:
    yield from (ROOT / "examples" / "desktop" / "tools.jsonl").read_bytes().splitlines()[:20]
    yield b'{"type": "function", "function": {"name": "a", "parameters": {"type": "object", "properties": {}}}}'
    yield b'{"name": "a", "inputSchema": {"type": "object", "$defs": {"x": {"$ref": "#/$defs/x"}}}}'


TARGETS: Mapping[str, Target] = {
    "overlay": Target(_overlay, _overlays),
    "msgpack": Target(lambda data: unpack(data, "f"), _files("*/*.msgpack")),
    "manifest": Target(_manifest, _manifests),
    "json": Target(_json, _files("*/tools.json", "*/exemplars.json")),
    "tool": Target(_tool, _definitions),
    "signatures": Target(lambda data: parse_signatures(data, "f"), lambda: iter(_SIGNED)),
    "keys": Target(lambda data: parse_trust(data, "f"), lambda: iter(_KEYS)),
    "delta": Target(_delta, lambda: iter((b"edgeret-delta\n\0\0" + bytes(40),))),
    "onnx": Target(
        lambda data: onnx_file.check(data, 128, "f"), lambda: iter((b"\x08\x08:\x00", b"\x08\x09\x42\x02\x10\x11"))
    ),
    "gguf": Target(lambda data: gguf_file.check(memoryview(data), "f"), lambda: iter((b"GGUF\x03\0\0\0" + bytes(24),))),
}
_SIGNED = (
    b"edgeret-signature 1\nbundle " + b"ab" * 32 + b"\nkey " + b"cd" * 32 + b"\nsigned 2026-01-01T00:00:00Z\n"
    b"expires 2027-01-31T23:59:59Z\nsignature " + b"ef" * 64 + b"\n",
)
_KEYS = (
    b"-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n"
    b"-----END PUBLIC KEY-----\n",
    b"# whom we trust\nnot-after 2027-01-31T23:59:59Z\n-----BEGIN PUBLIC KEY-----\n"
    b"MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----\n"
    b"revoked-key " + b"ab" * 32 + b"\nrevoked-bundle " + b"cd" * 32 + b"\nthreshold 1\n",
)


def try_one(name: str, data: bytes) -> None:
    """Reads an input. Raises whatever is no refusal in one line."""
    if not data or len(data) > MOST:
        return
    try:
        TARGETS[name].read(data)
    except EdgeretError as error:
        if not str(error) or "\n" in str(error):
            raise AssertionError(f"refused in no line of words: {str(error)[:200]!r}") from error


def seeds_of(name: str) -> list[bytes]:
    """What to begin with, and what was found once."""
    kept = [path.read_bytes() for path in sorted((KEPT / name).glob("*"))]
    return [*(seed for seed in TARGETS[name].seeds() if len(seed) <= MOST), *kept]


def changed(seeds: list[bytes], draw: random.Random) -> bytes:
    """One of these, changed in a few places, perhaps by a piece of another one."""
    data, other = bytearray(draw.choice(seeds)), draw.choice(seeds)
    for _ in range(draw.randint(1, 4)):
        at, some = draw.randrange(len(data) + 1), draw.randint(1, 16)
        kind = draw.randrange(5)
        if kind == 0:
            del data[at : at + some]
        elif kind == 1:
            data[at:at] = draw.randbytes(some)
        elif kind == 2 and at < len(data):
            data[at] ^= 1 << draw.randrange(8)
        elif kind == 3 and at < len(data):
            data[at] = draw.choice(b'\x00\x01\x7f\x80\x90\xc0\xc4\xca\xd9\xdc\xde\xff"{[\\\n')
        elif other:
            begin = draw.randrange(len(other))
            data[at : at + some] = other[begin : begin + some]
    return bytes(data)


def blindly(name: str, seconds: float, seed: int = 0) -> int:
    """Tries changed seeds for so long; how many."""
    draw, seeds, end, count = random.Random(seed), seeds_of(name), time.monotonic() + seconds, 0
    for one in seeds:
        try_one(name, one)
    while time.monotonic() < end:
        data = changed(seeds, draw)
        try:
            try_one(name, data)
        except BaseException:
            place = KEPT / name / f"crash-{hashlib.sha256(data).hexdigest()[:12]}"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
            sys.stderr.write(f"{name}: broke by what is in {place}\n")
            raise
        count += 1
    return count


def guided(name: str, arguments: list[str]) -> None:
    """Hands over to atheris, for as long as libFuzzer's options say."""
    corpus = tempfile.mkdtemp(prefix=f"fuzz-{name}-")
    for number, seed in enumerate(seeds_of(name)):
        (Path(corpus) / str(number)).write_bytes(seed)
    atheris.Setup([sys.argv[0], *arguments, corpus], lambda data: try_one(name, data))
    atheris.Fuzz()


def main() -> None:
    """Tries one target, or all of them in turn."""
    if NAMED:
        guided(NAMED, sys.argv[1:])
        return
    parser = argparse.ArgumentParser(description="Fuzz Python's readers.")
    parser.add_argument("--seconds", type=float, default=20.0, help="for each of them")
    parser.add_argument("--only", choices=TARGETS)
    parser.add_argument("--target", choices=TARGETS, help="this one by atheris; options of libFuzzer behind it")
    options, more = parser.parse_known_args()
    if options.target is not None:
        guided(options.target, more)
        return
    if more:
        parser.error(f"unknown option {more[0]}; options of libFuzzer go with --target")
    for name in TARGETS if options.only is None else (options.only,):
        sys.stdout.write(f"{name}: nothing broke, {blindly(name, options.seconds)} inputs\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
