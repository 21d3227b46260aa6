"""A newer bundle out of an older one and a delta: whole or not at all, and nothing forged gets as far as memory."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import edgeret
from edgeret.bundle import delta as delta_module
from edgeret.bundle import delta_file
from edgeret.bundle.delta import apply_delta
from edgeret.bundle.reader import read_manifest
from edgeret.cli import commands
from edgeret.errors import BundleError, EdgeretError, InputError
from edgeret_export import cli as export_cli
from edgeret_export.delta import write_delta
from edgeret_export.writer import writing
from tests.conftest import TOOLS, tiny_bundle

NEWER = [*TOOLS, edgeret.Tool("share_pack", "share a pack")]


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with one tool more."""
    return tiny_bundle(tmp_path_factory.mktemp("newer") / "bundle", tools=NEWER)


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
    other = tiny_bundle(tmp_path / "other", seed=1)
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
