"""A newer bundle out of an older one and a delta: whole or not at all, and nothing forged gets as far as memory."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
from patience import PATIENCE_S

import edgeret
from edgeret.bundle import delta as delta_module
from edgeret.bundle import delta_file
from edgeret.bundle.delta import apply_delta
from edgeret.bundle.delta_file import header_of, opened, packed_steps, read_delta
from edgeret.bundle.layout import MANIFEST
from edgeret.bundle.reader import read_manifest, verify_bundle
from edgeret.bundle.writer import writing
from edgeret.cli import commands
from edgeret.errors import BundleError, EdgeretError, InputError
from edgeret_export import cli as export_cli
from edgeret_export.delta import write_delta
from tests.conftest import TOOLS, build_tiny

NEWER = [*TOOLS, edgeret.Tool("share_pack", "share a pack")]


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with one tool more."""
    return build_tiny(tmp_path_factory.mktemp("newer") / "bundle", tools=NEWER)


@pytest.fixture(scope="module")
def delta(tiny_original: Path, newer: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What makes it of the tiny one."""
    return write_delta(tiny_original, newer, tmp_path_factory.mktemp("delta") / "tools.delta").path


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def left(folder: Path) -> list[str]:
    """What lies there, hidden or not."""
    return sorted(entry.name for entry in folder.iterdir())


@pytest.mark.parametrize("link", [False, True])
def test_the_result_is_the_newer_bundle_to_the_byte(
    link: bool, tiny: Path, newer: Path, delta: Path, tmp_path: Path
) -> None:
    made = apply_delta(tiny, delta, tmp_path / "made", link=link)
    assert contents(tmp_path / "made") == contents(newer)
    assert made.manifest.content_hash == read_manifest(newer).content_hash
    assert {"tools.json", "index.msgpack"} <= set(made.made) and "encoder.onnx" in made.kept
    shared = (tiny / "encoder.onnx").samefile(tmp_path / "made" / "encoder.onnx")
    assert shared == link and made.linked == (made.kept if link else ())
    assert edgeret.load(tmp_path / "made").task("share a pack").next().tool in {t.name for t in NEWER}


def test_a_bundle_is_brought_up_to_date_where_it_stands(tiny: Path, newer: Path, delta: Path) -> None:
    with pytest.raises(InputError, match="exists already; give --force"):
        apply_delta(tiny, delta, tiny)
    apply_delta(tiny, delta, tiny, overwrite=True)
    assert contents(tiny) == contents(newer) and left(tiny.parent) == ["bundle"]
    with pytest.raises(BundleError, match="the very bundle that is there already"):
        apply_delta(tiny, delta, tiny, overwrite=True)


def test_another_bundle_is_no_base_and_another_result_is_refused(
    tiny: Path, newer: Path, delta: Path, tmp_path: Path
) -> None:
    other = build_tiny(tmp_path / "other", seed=1)
    with pytest.raises(BundleError, match="made for another bundle than this one"):
        apply_delta(other, delta, tmp_path / "made")
    with pytest.raises(BundleError, match="another bundle than the one asked for"):
        apply_delta(tiny, delta, tmp_path / "made", content_hash="0" * 64)
    assert apply_delta(tiny, delta, tmp_path / "made", content_hash=read_manifest(newer).content_hash.upper())
    with pytest.raises(BundleError, match="no such folder"):
        apply_delta(tmp_path / "none", delta, tmp_path / "made")


def test_with_trust_nothing_is_made_that_nobody_signed(
    tiny: Path, newer: Path, delta: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key, mine = tmp_path / "key", Path(shutil.copytree(newer, tmp_path / "mine"))
    assert export_cli.main(["keygen", "-o", str(key)]) == 0
    line = ["apply", str(tiny), str(delta), "-o", str(tmp_path / "made"), "--trust", f"{key}.pub"]
    assert commands.main(line) == 2 and "made.sig" in capsys.readouterr().err
    assert export_cli.main(["sign", str(tiny), "--key", str(key)]) == 0
    shutil.copy(tmp_path / "bundle.sig", tmp_path / "made.sig")  # over the older one
    assert commands.main(line) == 2 and "not signed" in capsys.readouterr().err
    assert not (tmp_path / "made").exists()
    assert export_cli.main(["sign", str(mine), "--key", str(key)]) == 0
    shutil.copy(tmp_path / "mine.sig", tmp_path / "made.sig")
    assert commands.main(line) == 0
    assert commands.main(["verify", str(tmp_path / "made"), "--trust", f"{key}.pub"]) == 0


@pytest.mark.parametrize("file", ["encoder.onnx", "index.msgpack"])
@pytest.mark.parametrize("link", [False, True])
def test_an_old_bundle_that_is_not_as_it_was_gives_none(
    file: str, link: bool, tiny: Path, delta: Path, tmp_path: Path
) -> None:
    data = bytearray((tiny / file).read_bytes())
    data[len(data) // 2] ^= 1
    (tiny / file).write_bytes(data)
    with pytest.raises(BundleError, match=file if file == "encoder.onnx" else "does not give index.msgpack"):
        apply_delta(tiny, delta, tmp_path / "made", link=link)
    (tiny / file).write_bytes(data[:100])
    with pytest.raises(BundleError):
        apply_delta(tiny, delta, tmp_path / "made", link=link)
    assert left(tmp_path) == ["bundle"]


def test_every_flipped_bit_and_every_cut_is_told(tiny: Path, delta: Path, tmp_path: Path) -> None:
    data, rng = delta.read_bytes(), np.random.default_rng(0)
    places = {*range(40), *rng.integers(len(data), size=60).tolist(), len(data) - 1}
    forged = tmp_path / "forged"
    for place in sorted(places):
        changed = bytearray(data)
        changed[place] ^= 1 << place % 8
        forged.write_bytes(changed)
        with pytest.raises(BundleError):
            apply_delta(tiny, forged, tmp_path / "made")
    for size in [0, 5, 13, 19, 20, 100, *rng.integers(len(data), size=20).tolist(), len(data) - 1]:
        forged.write_bytes(data[:size])
        with pytest.raises(BundleError):
            apply_delta(tiny, forged, tmp_path / "made")
    forged.write_bytes(data + b"x")
    with pytest.raises(BundleError, match="cut short or damaged"):
        apply_delta(tiny, forged, tmp_path / "made")
    assert left(tmp_path) == ["bundle", "forged"]


def test_what_is_no_file_is_refused_at_once(tiny: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place, words in (("pipe", "not a regular file"), ("none", "No such file"), ("bundle", "not a regular file")):
        with pytest.raises(BundleError, match=words):
            apply_delta(tiny, tmp_path / place, tmp_path / "made")
    with pytest.raises(BundleError, match="no delta of edgeret's"):
        apply_delta(tiny, tiny / "tools.json", tmp_path / "made")


class Forger:
    """Takes a delta apart, and writes it again with right checksums."""

    def __init__(self, delta: Path) -> None:
        with opened(delta) as stream:
            self.read = read_delta(stream, "delta")
            stream.seek(self.read.begin)
            data = stream.read()
        self.base, self.manifest, self.recipes = self.read.base, self.read.manifest, list(self.read.recipes)
        self.streams: list[list[bytes]] = []
        for recipe in self.recipes:
            parts = []
            for size in recipe.packed:
                parts.append(data[:size])
                data = data[size:]
            self.streams.append(parts)

    def number(self, name: str) -> int:
        return [recipe.name for recipe in self.recipes].index(name)

    def set(self, name: str, stream: int, data: bytes, packed: bool = False) -> None:
        self.streams[self.number(name)][stream] = data if packed else zlib.compress(data)

    def change(self, name: str, **fields: Any) -> None:
        at = self.number(name)
        self.recipes[at] = replace(self.recipes[at], **fields)

    def write(self, target: Path, change: Callable[[dict[str, Any]], object] | None = None) -> Path:
        recipes = [
            replace(recipe, packed=tuple(map(len, parts)))
            for recipe, parts in zip(self.recipes, self.streams, strict=True)
        ]
        data = b"".join(b"".join(parts) for parts in self.streams)
        head = header_of(self.base, self.manifest, recipes, hashlib.sha256(data).hexdigest())
        if change is not None:
            value = msgpack.unpackb(head[20:-32])
            change(value)
            body = msgpack.packb(value)
            head = head[:16] + len(body).to_bytes(4, "little") + body
            head += hashlib.sha256(head).digest()
        target.write_bytes(head + data)
        return target


FILE = "index.msgpack"
"""One of the files that the delta makes."""


def steps(*rows: tuple[int, int, int]) -> bytes:
    return packed_steps(np.array(rows, np.int64))


def jump_back(forger: Forger) -> None:
    forger.change(FILE, steps=1)
    forger.set(FILE, 0, np.array([-8, 8, 0], "<i8").tobytes())


def far_ahead(forger: Forger) -> None:
    forger.change(FILE, steps=1)
    forger.set(FILE, 0, steps((1 << 40, 8, 0)))


def wraps_around(forger: Forger) -> None:
    forger.change(FILE, steps=4)
    forger.set(FILE, 0, steps(*[(0, 0, 1 << 62)] * 4))


def one_byte_more(forger: Forger) -> None:
    size = next(entry.size for entry in forger.read.result.files if entry.name == FILE)
    forger.change(FILE, steps=1, base=None)
    forger.set(FILE, 0, steps((0, 0, size + 1)))


def other_bytes(forger: Forger) -> None:
    size = next(entry.size for entry in forger.read.result.files if entry.name == FILE)
    forger.change(FILE, steps=1, base=None, width=1)
    for stream, data in enumerate((steps((0, 0, size)), b"", b"x" * size)):
        forger.set(FILE, stream, data)


def bomb(stream: int) -> Callable[[Forger], None]:
    return lambda forger: forger.set(FILE, stream, bytes(200 << 20))


def short(stream: int) -> Callable[[Forger], None]:
    return lambda forger: forger.set(FILE, stream, b"")


def no_stream(stream: int) -> Callable[[Forger], None]:
    return lambda forger: forger.set(FILE, stream, b"no zlib at all", packed=True)


def behind(forger: Forger) -> None:
    forger.streams[forger.number(FILE)][2] += b"more"


def first_file(**fields: Any) -> Callable[[dict[str, Any]], object]:
    return lambda value: value["files"][0].update(fields)


FORGERIES: dict[str, tuple[Callable[[Forger], object] | None, Callable[[dict[str, Any]], object] | None, str]] = {
    "a step before the base": (jump_back, None, "steps do not make|leads out of the files"),
    "a step behind the base": (far_ahead, None, "leads out of the files"),
    "sums that wrap around": (wraps_around, None, "leads out of the files"),
    "a byte more than the file has": (one_byte_more, None, "leads out of the files|steps do not make"),
    "other bytes": (other_bytes, None, f"does not give {FILE} as it was written"),
    "a bomb of steps": (bomb(0), None, "too many bytes"),
    "a bomb of differences": (bomb(1), None, "too many bytes"),
    "a bomb of fresh bytes": (bomb(2), None, "too many bytes"),
    "no steps": (short(0), None, "too few bytes"),
    "too few differences": (short(1), None, "too few bytes"),
    "no deflate": (no_stream(0), None, "does not unpack"),
    "bytes behind a stream": (behind, None, "too many bytes"),
    "a thousand million steps": (None, first_file(steps=10**9), "impossible numbers"),
    "no steps at all": (None, first_file(steps=0), "impossible numbers"),
    "steps that are no number": (None, first_file(steps=1.5), '"steps" must be int'),
    "a stream of 2^60 bytes": (None, first_file(packed=[1 << 60, 1, 1]), "impossible numbers"),
    "two streams": (None, first_file(packed=[1, 1]), "impossible numbers"),
    "a width of 3": (None, first_file(width=3), "impossible numbers"),
    "a base outside": (None, first_file(**{"from": "../../etc/passwd"}), "builds on a file that the old bundle lacks"),
    "a base that is a number": (None, first_file(**{"from": 7}), "impossible numbers"),
    "a file outside": (None, first_file(name="../evil"), "files that the new bundle has not"),
    "a file twice": (None, lambda v: v["files"].insert(0, v["files"][0]), "files that the new bundle has not"),
    "another order": (None, lambda v: v["files"].reverse(), "not in their order"),
    "a file left out": (
        lambda f: (f.recipes.pop(), f.streams.pop()),
        None,
        "says nothing of",
    ),
    "files that are none": (None, lambda v: v.update(files=[7]), "no map"),
    "no files": (None, lambda v: v.pop("files"), '"files" must be list'),
    "a base that is no hash": (None, lambda v: v.update(base="x"), '"base" is no hash'),
    "a manifest of nothing": (None, lambda v: v.update(manifest=b""), "the new manifest.*damaged"),
    "a manifest cut short": (None, lambda v: v.update(manifest=v["manifest"][:-9]), "the new manifest.*damaged"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_deltas_are_refused_by_name_and_leave_nothing(
    name: str, tiny: Path, delta: Path, tmp_path: Path
) -> None:
    forger = Forger(delta)
    before, header, words = FORGERIES[name]
    if before is not None:
        before(forger)
    forged = forger.write(tmp_path / "forged", header)
    with pytest.raises(BundleError, match=words):
        apply_delta(tiny, forged, tmp_path / "made")
    assert left(tmp_path) == ["bundle", "forged"]


def test_an_untouched_forgery_is_taken(tiny: Path, newer: Path, delta: Path, tmp_path: Path) -> None:
    assert Forger(delta).write(tmp_path / "same").read_bytes() == delta.read_bytes()


def test_a_new_bundle_of_another_format_is_not_made(tiny: Path, delta: Path, tmp_path: Path) -> None:
    forger = Forger(delta)
    outer = msgpack.unpackb(forger.manifest)
    digest = hashlib.sha256(b"edgeret-bundle/12\n" + outer[3]).digest()
    forger.manifest = msgpack.packb([outer[0], 12, digest, outer[3]])
    with pytest.raises(BundleError, match=r"format version 12.*install a newer edgeret"):
        apply_delta(tiny, forger.write(tmp_path / "forged"), tmp_path / "made")


def zeros(folder: Path, megabytes: int) -> Path:
    """A bundle with a file of zeros, which pack a thousandfold."""
    with writing(folder) as writer:
        writer.add("zeros.bin", "zeros", bytes(megabytes << 20), "MIT", "test")
        writer.finish({})
    return folder


def test_more_bytes_than_a_delta_may_make_are_refused_before_any_is_written(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    big = zeros(tmp_path / "big", 8)
    monkeypatch.setattr(delta_file, "ALWAYS_ALLOWED", 1 << 20)
    with pytest.raises(InputError, match="send the newer bundle itself"):
        write_delta(tiny, big, tmp_path / "big.delta")
    assert not (tmp_path / "big.delta").exists()
    with monkeypatch.context() as patch:
        patch.setattr(delta_file, "ALWAYS_ALLOWED", 1 << 30)
        written = write_delta(tiny, big, tmp_path / "big.delta")
    assert written.size < 100_000
    monkeypatch.setattr(delta_module, "writing", lambda *_: pytest.fail("something was written"))
    with pytest.raises(BundleError, match="would make 8388608 bytes"):
        apply_delta(tiny, tmp_path / "big.delta", tmp_path / "made")


def test_a_disk_without_room_is_told_before_it_is_full(
    tiny: Path, delta: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=10)
    monkeypatch.setattr(delta_module.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(InputError, match=r"bytes are needed there, 10 are free"):
        apply_delta(tiny, delta, tmp_path / "made")


def test_a_target_that_cannot_be_is_told(tiny: Path, delta: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "text").write_text("mine")
    for target in (tmp_path / "file", tmp_path / "file" / "below", tmp_path / "mine"):
        with pytest.raises(EdgeretError):
            apply_delta(tiny, delta, target, overwrite=True)
    with pytest.raises(InputError, match="would lie in a bundle"):
        apply_delta(tiny, delta, tiny / "inside")
    assert left(tmp_path / "mine") == ["text"] and (tmp_path / "file").read_text() == "mine"


KILLED = """
import itertools, os, signal, sys
fatal, calls = int(sys.argv[4]), itertools.count(1)
def deadly(name):
    function = getattr(os, name)
    def call(*arguments, **options):
        if next(calls) == fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **options)
    return call
from edgeret.bundle import placing
from edgeret.bundle.delta import apply_delta
for name in ("fsync", "link", "mkdir", "rename", "unlink"):
    setattr(os, name, deadly(name))
real = placing.renamed
placing.renamed = lambda *given: (deadly_rename(), real(*given))[1]
def deadly_rename():
    if next(calls) == fatal:
        os.kill(os.getpid(), signal.SIGKILL)
apply_delta(sys.argv[1], sys.argv[2], sys.argv[3], overwrite=True)
print(next(calls) - 1)
"""


def killed_at(call: int, old: Path, delta: Path, target: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", KILLED, str(old), str(delta), str(target), str(call)]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


CALLS = 28
"""That change the disk in one update."""
SOME = (1, 9, 13, 15, 16, 17, 18, 24)


@pytest.mark.parametrize(
    "call", [call if call in SOME else pytest.param(call, marks=pytest.mark.full) for call in range(1, CALLS + 1)]
)
def test_a_killed_update_leaves_the_old_bundle_or_the_new_one(
    call: int, tiny: Path, newer: Path, delta: Path, tmp_path: Path
) -> None:
    before, after = contents(tiny), contents(newer)
    killed = killed_at(call, tiny, delta, tiny)
    assert killed.returncode in (-9, 0), killed.stderr
    assert contents(tiny) in (before, after)
    if contents(tiny) == before:
        apply_delta(tiny, delta, tiny, overwrite=True)
    assert verify_bundle(tiny).content_hash == read_manifest(newer).content_hash
    with writing(tmp_path / "bundle", overwrite=True) as writer:  # the next writer cleans up
        for entry in read_manifest(newer).files:
            writer.add_file(entry.name, entry.role, newer / entry.name, entry.licence, entry.source)
        writer.finish(read_manifest(newer).info)
    assert left(tmp_path) == ["bundle"] and MANIFEST in left(tiny)
