"""What a delta is made of: little where little changed, all where nothing is shared, and the same bytes again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import edgeret
from edgeret.bundle.delta_file import SLICE, WIDTHS, turned
from edgeret.bundle.reader import read_manifest
from edgeret.cli import commands
from edgeret.errors import BundleError, InputError
from edgeret_export import cli
from edgeret_export import delta as delta_module
from edgeret_export.alike import steps
from edgeret_export.delta import sorted_bytes, write_delta
from tests.conftest import TOOLS, make_demonstrations, tiny_bundle


def made(old: bytes, new: bytes) -> tuple[int, int]:
    """How many bytes of `new` its steps take from `old` as they are, and how many they bring."""
    before, after, at, kept, fresh = np.frombuffer(old, np.uint8), np.frombuffer(new, np.uint8), 0, 0, 0
    for place, same, more in steps(old, new).tolist():
        assert place >= 0 and same >= 0 and more >= 0 and place + same <= len(old)
        kept += int((before[place : place + same] == after[at : at + same]).sum())
        at += same + more
        fresh += more
    assert at == len(new)
    return kept, fresh


pieces = st.lists(st.tuples(st.integers(0, 600), st.integers(0, 200), st.binary(max_size=9)), max_size=8)


@given(st.binary(max_size=40), pieces)
def test_steps_make_any_file_of_any_other(seed: bytes, cuts: list[tuple[int, int, bytes]]) -> None:
    old = (seed * 40)[:600] + bytes(range(256))
    made(old, b"".join(old[at : at + count] + more for at, count, more in cuts))
    made(b"".join(more for _, _, more in cuts), old)


def test_what_moved_is_found_and_what_was_put_in_is_all_that_is_fresh() -> None:
    old = np.random.default_rng(0).bytes(300_000)
    new = old[100_000:200_000] + b"between" + old[:90_000] + old[250_000:]
    kept, fresh = made(old, new)
    assert fresh == len(b"between") and kept == len(new) - fresh


def test_numbers_that_moved_by_one_are_differences_and_not_fresh() -> None:
    old = np.random.default_rng(0).integers(0, 200, 200_000).astype(np.uint8)
    near = np.random.default_rng(1).random(len(old)) < 0.4
    kept, fresh = made(old.tobytes(), (old + near).tobytes())
    assert fresh == 0 and kept == int((~near).sum())


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("size", [0, 1, 7, SLICE - 1, SLICE, 2 * SLICE + 5])
def test_sorted_bytes_are_put_back(width: int, size: int) -> None:
    data = np.random.default_rng(size).bytes(size)
    kept = sorted_bytes(data, width)
    assert b"".join(turned(kept[at : at + SLICE], width, 1) for at in range(0, size, SLICE)) == data


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with other demonstrations."""
    return tiny_bundle(tmp_path_factory.mktemp("newer") / "bundle", demonstrations=make_demonstrations(9))


def told(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert cli.main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_both_commands(tiny_original: Path, newer: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "new" / "update.delta"
    found = told(capsys, "delta", str(tiny_original), str(newer), "-o", str(target))
    assert found["bytes"] == target.stat().st_size and found["share"] < 1
    assert found["base"] == read_manifest(tiny_original).content_hash
    assert found["result"] == read_manifest(newer).content_hash
    assert "encoder.onnx" not in found["files"] and found["kept"] + len(found["files"]) == len(
        read_manifest(newer).files
    )
    first = target.read_bytes()
    told(capsys, "delta", str(tiny_original), str(newer), "-o", str(target))
    assert target.read_bytes() == first, "the same bundles give the same bytes"
    assert [file.name for file in target.parent.iterdir()] == ["update.delta"]
    line = ["apply", str(tiny_original), str(target), "-o", str(tmp_path / "made")]
    assert commands.main([*line, "--link", "--json"]) == 0
    applied = json.loads(capsys.readouterr().out)
    assert applied["content_hash"] == found["result"] and "encoder.onnx" in applied["linked"]
    assert sorted(applied["made"]) == sorted(found["files"])
    assert edgeret.load(tmp_path / "made").manifest.content_hash == found["result"]
    assert commands.main(line) == 2
    assert "give --force" in capsys.readouterr().err
    assert commands.main([*line, "--force", "--content-hash", found["result"]]) == 0
    assert "made: " in capsys.readouterr().out
    assert cli.main(["delta", str(tiny_original), str(newer), "-o", str(target)]) == 0
    assert "edgeret apply OLD" in capsys.readouterr().out


def test_the_same_bundle_twice_is_a_manifest_and_no_more(tiny_original: Path, tmp_path: Path) -> None:
    written = write_delta(tiny_original, tiny_original, tmp_path / "same.delta")
    assert written.files == {} and written.base == written.result
    assert written.size < (tiny_original / "manifest").stat().st_size + 500


def test_nothing_in_common_still_works(tiny_original: Path, tmp_path: Path) -> None:
    other = tiny_bundle(tmp_path / "other", seed=5, tools=TOOLS[:3], demonstrations=())
    assert write_delta(tiny_original, other, tmp_path / "other.delta").result == read_manifest(other).content_hash


def test_files_too_large_to_compare_are_packed_whole(
    tiny_original: Path, newer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delta_module, "MOST_COMPARED", 10)
    assert write_delta(tiny_original, newer, tmp_path / "whole.delta").files


def test_what_cannot_be_read_or_written_is_told_and_leaves_nothing(
    tiny: Path, newer: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = (newer / "head.msgpack").read_bytes()
    broken = Path(shutil.copytree(newer, tmp_path / "broken"))
    (broken / "head.msgpack").write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(BundleError, match=r"head\.msgpack: altered"):
        write_delta(tiny, broken, tmp_path / "x.delta")
    (tiny / "head.msgpack").write_bytes(data)
    with pytest.raises(BundleError, match=r"head\.msgpack"):
        write_delta(tiny, newer, tmp_path / "x.delta")
    with pytest.raises(InputError, match="it would lie in a bundle"):
        write_delta(newer, newer, tiny / "x.delta")
    for line in ((tiny, tmp_path / "none"), (tmp_path / "none", newer)):
        assert cli.main(["delta", *map(str, line), "-o", str(tmp_path / "x.delta")]) == 2
        assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken", "bundle"]
