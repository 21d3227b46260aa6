"""What was verified is what a native library reads: nobody changes it in between, and nothing of it stays behind."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pytest

import edgeret
from edgeret.bundle.private_copy import PrivateBytes
from edgeret.bundle.reader import open_bundle
from edgeret.encoders.providers import choose
from edgeret.errors import BundleError
from edgeret_export.reference.encoders.load import load_encoder
from edgeret_export.reference.runtime import components_of

QUERY = "mail the note to ana"
linux = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="sealed memory is Linux's")


def private(data: bytes) -> PrivateBytes:
    return PrivateBytes(lambda stream: stream.write(data))


def left_behind() -> list[str]:
    """Descriptors and mappings of private copies in this process."""
    targets: list[str] = []
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            targets.append(str(descriptor.readlink()))
        except OSError:  # the one that lists them
            continue
    maps = Path("/proc/self/maps").read_text().splitlines()
    return [text for text in (*targets, *maps) if "memfd:edgeret" in text]


def no_sealed_memory(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """A system without it, or one that forbids it."""
    if how == "missing":
        monkeypatch.delattr(os, "memfd_create", raising=False)
    else:

        def refuse(*_: object) -> int:
            raise PermissionError(errno.EACCES, "memfd_noexec")

        monkeypatch.setattr(os, "memfd_create", refuse)


@linux
def test_a_private_copy_cannot_be_changed_or_cut_short_by_anybody() -> None:
    copy = private(b"graph")
    assert isinstance(copy.source, Path)
    assert copy.source.read_bytes() == bytes(copy.data) == b"graph"
    with copy.source.open("r+b", buffering=0) as stream, pytest.raises(PermissionError):
        stream.write(b"moved")
    with pytest.raises(PermissionError):
        os.truncate(copy.source, 2)
    with pytest.raises(TypeError):
        copy.data[0] = 0  # type: ignore[index]
    assert copy.data[:] == b"graph"


@linux
def test_a_private_copy_is_gone_with_its_last_user() -> None:
    before = left_behind()
    copy: PrivateBytes | None = private(b"graph")
    assert len(left_behind()) > len(before)
    del copy
    assert left_behind() == before


@pytest.mark.parametrize("how", ["missing", "forbidden"])
def test_without_sealed_memory_the_bytes_stay_in_this_process(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    no_sealed_memory(monkeypatch, how)
    copy = private(b"graph")
    assert copy.data == copy.source == b"graph"


@pytest.mark.parametrize("how", ["missing", "forbidden"])
def test_an_encoder_is_the_same_with_and_without_sealed_memory(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    expected = components_of(edgeret.load(tiny)).encoder.encode(QUERY)
    no_sealed_memory(monkeypatch, how)
    np.testing.assert_array_equal(components_of(edgeret.load(tiny)).encoder.encode(QUERY), expected)


@pytest.mark.parametrize("change", ["overwritten", "cut", "deleted"])
def test_an_encoder_exchanged_after_it_was_verified_is_not_used(tiny: Path, change: str) -> None:
    file = tiny / "encoder.onnx"
    good, expected = file.read_bytes(), components_of(edgeret.load(tiny)).encoder.encode(QUERY)
    bundle = open_bundle(tiny)
    if change == "deleted":
        file.unlink()
    else:
        with file.open("r+b") as stream:  # the very file that was read, not one in its place
            stream.write(bytes(len(good)))
            stream.truncate(len(good) if change == "overwritten" else 7)
    assert bytes(bundle.private_file("encoder").data) == good
    encoder = load_encoder(bundle, lambda: choose("cpu", False, {}), 1)
    np.testing.assert_array_equal(encoder.encode(QUERY), expected)


def test_an_encoder_changed_while_it_is_read_is_refused(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a changing file gives, what is kept is what was hashed."""
    import edgeret.bundle.reader as reader

    file, opened = tiny / "encoder.onnx", reader.Folder.open_file

    class Changing:
        """Gives the first block, and then what somebody wrote meanwhile."""

        def __init__(self, stream: Any) -> None:
            self.stream = stream

        def __enter__(self) -> Changing:
            return self

        def __exit__(self, *_: object) -> None:
            self.stream.close()

        def readinto(self, buffer: memoryview) -> int:
            count: int = self.stream.readinto(buffer[:512])
            with file.open("r+b") as writer:
                writer.seek(512)
                writer.write(b"forged")
            return count

    def open_file(self: Any, name: str, limit: int, remedy: str) -> Any:
        stream = opened(self, name, limit, remedy)
        return Changing(stream.detach()) if name == file.name else stream

    monkeypatch.setattr(reader.Folder, "open_file", open_file)
    with pytest.raises(BundleError, match=r"encoder\.onnx: altered"):
        open_bundle(tiny)


@linux
def test_a_loaded_bundle_keeps_no_copy_of_its_encoder_unless_it_may_fall_back(tiny: Path) -> None:
    before = left_behind()
    runtime = edgeret.load(tiny)
    assert left_behind() == before
    # ONNX Runtime makes its session anew when it falls back, and reads the file again.
    falling = edgeret.load(tiny, allow_fallback=True)
    assert len(left_behind()) > len(before)
    del runtime, falling


@linux
def test_a_refused_encoder_leaves_nothing_in_memory(tiny: Path) -> None:
    before = left_behind()
    (tiny / "encoder.onnx").write_bytes((tiny / "encoder.onnx").read_bytes()[:-1] + b"?")
    with pytest.raises(BundleError, match=r"encoder\.onnx: altered"):
        edgeret.load(tiny)
    assert left_behind() == before


def test_a_private_copy_of_nothing_is_empty() -> None:
    assert private(b"").data == b""


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No room for a private copy."""
    import edgeret.bundle.private_copy as module

    class Full:
        def write(self, data: bytes) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        def close(self) -> None: ...

    def memory() -> BinaryIO:
        return Full()  # type: ignore[return-value]

    monkeypatch.setattr(module, "_memory", memory)
    yield


@pytest.mark.usefixtures("full")
def test_where_files_in_memory_are_bounded_the_bytes_are_kept_by_the_process(tiny: Path) -> None:
    found = private(b"abc")
    assert (found.data, found.source) == (b"abc", b"abc")
    assert edgeret.load(tiny).task("write a note").next().tool == "write_note"
