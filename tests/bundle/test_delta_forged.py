"""Deltas that somebody made to do harm, with right checksums: refused by name, and nothing is left behind."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest

import edgeret
from edgeret.bundle.delta import apply_delta
from edgeret.bundle.delta_file import opened, read_delta
from edgeret.errors import BundleError
from edgeret_export.delta import header_of, packed_steps, write_delta
from tests.conftest import TOOLS, tiny_bundle


@pytest.fixture(scope="module")
def delta(tiny_original: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What makes a bundle with one tool more of the tiny one."""
    folder = tmp_path_factory.mktemp("forged")
    newer = tiny_bundle(folder / "newer", tools=[*TOOLS, edgeret.Tool("share_pack", "share a pack")])
    return write_delta(tiny_original, newer, folder / "tools.delta").path


def left(folder: Path) -> list[str]:
    """What lies there, hidden or not."""
    return sorted(entry.name for entry in folder.iterdir())


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


def test_an_untouched_forgery_is_the_delta(delta: Path, tmp_path: Path) -> None:
    assert Forger(delta).write(tmp_path / "same").read_bytes() == delta.read_bytes()


def test_a_new_bundle_of_another_format_is_not_made(tiny: Path, delta: Path, tmp_path: Path) -> None:
    forger = Forger(delta)
    outer = msgpack.unpackb(forger.manifest)
    digest = hashlib.sha256(b"edgeret-bundle/12\n" + outer[3]).digest()
    forger.manifest = msgpack.packb([outer[0], 12, digest, outer[3]])
    with pytest.raises(BundleError, match=r"format version 12.*install a newer edgeret"):
        apply_delta(tiny, forger.write(tmp_path / "forged"), tmp_path / "made")
