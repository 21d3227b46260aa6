"""An overlay on disk: opened, added to, compacted, moved away; what is no overlay is left alone."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import numpy as np
import pytest
from overlay_notes import BUNDLE, ENCODER, beside, both_locks, fresh_path, noted, opened, texts

from edgeret.bundle.codec import get_array
from edgeret.bundle.overlay import HEADER_BYTES, MAX_OVERLAY_BYTES
from edgeret.bundle.overlay_file import overlay_path, read_overlay
from edgeret.errors import OverlayError
from edgeret_export.reference.overlay_writer import Overlay

if sys.platform == "win32":
    pytest.skip("modes, pipes and links as used here are POSIX's", allow_module_level=True)

path, locks = fresh_path, both_locks


def test_what_was_appended_is_there_after_opening_again(path: Path, locks: str) -> None:
    vector = np.arange(4, dtype=np.float16)
    with opened(path) as overlay:
        assert overlay.records == () and overlay.size_bytes == HEADER_BYTES
        (first,) = overlay.append([("plan", {"vector": vector, "at": 2.5})])
        overlay.append(noted("a", "b"))
        kept = overlay.records
    assert kept[0] is first
    assert [(record.kind, record.number) for record in kept] == [("plan", 0), ("note", 1), ("note", 2)]
    np.testing.assert_array_equal(get_array(first.value, "vector", "<f2", (4,), "t"), vector)
    with opened(path) as overlay:
        assert overlay.records == kept == read_overlay(path, ENCODER)
        assert overlay.size_bytes == path.stat().st_size
        assert (overlay.bundle_hash, overlay.recovered) == (BUNDLE, "")


def test_another_bundle_with_the_same_encoder_reads_it(path: Path) -> None:
    with opened(path) as overlay:
        overlay.append(noted("a"))
    with Overlay.open(path, ENCODER, "ee" * 32) as overlay:
        assert overlay.bundle_hash == BUNDLE
        assert len(overlay.records) == 1


def test_another_encoder_is_refused_and_the_file_left_as_it_is(path: Path) -> None:
    with opened(path) as overlay:
        overlay.append(noted("a"))
    data = path.read_bytes()
    for read_only in (True, False):
        with pytest.raises(OverlayError, match="learned with another encoder"):
            Overlay.open(path, "ee" * 32, BUNDLE, read_only=read_only)
    assert path.read_bytes() == data


def test_the_file_is_beside_the_bundle_and_its_users_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = overlay_path("b/")
    assert path == overlay_path(tmp_path / "b") == tmp_path / "b.overlay"
    mask = os.umask(0)
    try:
        with opened(path) as overlay:
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            overlay.compact(noted("a"))
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
    finally:
        os.umask(mask)


def test_no_file_is_no_records_and_reading_makes_none(path: Path) -> None:
    assert read_overlay(path, ENCODER) == ()
    with opened(path, read_only=True) as overlay:
        assert (overlay.records, overlay.size_bytes) == ((), 0)
        with pytest.raises(OverlayError, match="cannot be written, it was opened to be read"):
            overlay.append(noted("a"))
    assert not path.exists()


def test_a_file_cut_at_any_byte_of_its_last_batch_is_taken_up_again(path: Path) -> None:
    with opened(path) as overlay:
        overlay.append(noted("a"))
        whole = overlay.size_bytes
        overlay.append(noted("b", "c"))
    data = path.read_bytes()
    for size in range(whole + 1, len(data)):
        path.write_bytes(data[:size])
        assert texts(path) == ["a"]
        with opened(path) as overlay:
            assert path.stat().st_size == overlay.size_bytes == whole
            assert overlay.recovered == f"left out {size - whole} bytes of an append that was cut off"
            assert [record.value["text"] for record in overlay.append(noted("d"))] == ["d"]
        assert texts(path) == ["a", "d"]


@pytest.mark.parametrize("size", [0, 1, 16, HEADER_BYTES - 1])
def test_a_file_whose_writer_died_at_its_beginning_is_begun_again(path: Path, size: int) -> None:
    opened(path).close()
    path.write_bytes(path.read_bytes()[:size])
    assert read_overlay(path, ENCODER) == ()
    with opened(path) as overlay:
        overlay.append(noted("a"))
    assert texts(path) == ["a"]


def test_damage_in_the_middle_is_an_error_and_nothing_is_overwritten(path: Path) -> None:
    with opened(path) as overlay:
        overlay.append(noted("a"))
        overlay.append(noted("b"))
    data = bytearray(path.read_bytes())
    data[HEADER_BYTES + 60] ^= 1
    path.write_bytes(data)
    for read_only in (True, False):
        with pytest.raises(OverlayError, match=r"b\.overlay: damaged at byte 132, .*; nothing was changed; bring back"):
            opened(path, read_only=read_only)
    assert path.read_bytes() == data


@pytest.mark.parametrize("content", [b"my diary", b"my diary" * 100, b"\x94\xaeedgeret-bundle"])
def test_a_file_that_is_no_overlay_is_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(OverlayError, match="not an edgeret overlay; nothing was changed; name another file"):
        opened(path)
    assert path.read_bytes() == content


def test_a_file_that_is_too_large_is_refused_before_it_is_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(path).close()
    os.truncate(path, MAX_OVERLAY_BYTES + 1)
    monkeypatch.setattr(os, "read", lambda *_: pytest.fail("was read"))
    for read_only in (True, False):
        with pytest.raises(OverlayError, match=f"expected {MAX_OVERLAY_BYTES} bytes at most, found {1 + (64 << 20)}"):
            opened(path, read_only=read_only)


@pytest.mark.parametrize("what", ["link", "link to nothing", "pipe", "folder", "device"])
@pytest.mark.parametrize("read_only", [True, False])
def test_what_is_no_regular_file_is_refused_without_waiting(path: Path, what: str, read_only: bool) -> None:
    if what == "link":
        (path.parent / "real").write_bytes(b"")
        path.symlink_to("real")
    elif what == "link to nothing":
        path.symlink_to("nothing")
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    else:
        try:
            os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 5))
        except OSError:
            pytest.skip("no right to make a device here")
    with pytest.raises(OverlayError, match=r"a symbolic link; name the file itself|not a regular file|Is a directory"):
        opened(path, read_only=read_only)
    assert not (path.parent / "nothing").exists()


def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(OverlayError, match="there is no such folder; make it"):
        opened(tmp_path / "no" / "b.overlay")


def test_compacting_keeps_what_it_is_given_and_goes_on_from_there(path: Path, locks: str) -> None:
    with opened(path) as overlay:
        for number in range(50):
            overlay.append([("plan", {"text": str(number), "vector": np.zeros(64, np.float16)})])
        large, last = overlay.size_bytes, overlay.records[-2:]
        overlay.compact([(record.kind, record.value) for record in last])
        assert overlay.size_bytes == path.stat().st_size < large / 10
        assert [record.value for record in overlay.records] == [record.value for record in last]
        with pytest.raises(OverlayError, match="another one is writing"):
            opened(path)
        overlay.append(noted("after"))
        overlay.compact([(record.kind, record.value) for record in overlay.records])
        overlay.append(noted("later"))
    assert texts(path) == ["48", "49", "after", "later"]
    assert beside(path) == []


def test_a_compaction_that_cannot_be_done_changes_nothing(path: Path, locks: str) -> None:
    with opened(path) as overlay:
        overlay.append(noted("a"))
        for records in ([("Bad kind", {})], [("a", {"x": object()})], [("state", {"x": bytes(17 << 20)})]):
            with pytest.raises(OverlayError, match="nothing was changed"):
                overlay.compact(records)
        overlay.append(noted("b"))
    assert texts(path) == ["a", "b"]
    assert beside(path) == []


def test_what_dead_writers_left_beside_it_goes(path: Path) -> None:
    (path.parent / ".b.overlay.abcdefgh.partial").write_bytes(b"half")
    (path.parent / ".b.overlay.abcdefgi.partial").mkdir()
    (path.parent / ".bb.overlay.abcdefgh.partial").write_bytes(b"another one's")
    opened(path).close()
    assert sorted(beside(path)) == [".b.overlay.abcdefgi.partial", ".bb.overlay.abcdefgh.partial"]


@pytest.mark.parametrize("what", ["moved", "deleted", "replaced", "linked"])
def test_a_file_moved_away_under_its_writer_is_not_written_to_any_more(path: Path, what: str) -> None:
    with opened(path) as overlay:
        overlay.append(noted("a"))
        aside = path.with_name("aside")
        path.rename(aside)
        if what == "deleted":
            aside.unlink()
        elif what == "replaced":
            path.write_bytes(aside.read_bytes())
        elif what == "linked":
            path.symlink_to(aside)
        for change in (overlay.append, overlay.compact):
            with pytest.raises(OverlayError, match="moved, deleted or replaced since it was opened; open it again"):
                change(noted("b"))


def test_a_closed_overlay_keeps_its_records_and_takes_no_more(path: Path) -> None:
    overlay = opened(path)
    overlay.append(noted("a"))
    overlay.close()
    overlay.close()
    assert len(overlay.records) == 1
    with pytest.raises(OverlayError, match="cannot be written, it was closed; open it again"):
        overlay.append(noted("b"))


def test_no_descriptor_is_left_open(path: Path, locks: str) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        with opened(path) as overlay:
            overlay.append(noted("a"))
            overlay.compact(noted("b"))
            with pytest.raises(OverlayError):
                opened(path)
        read_overlay(path, ENCODER)
        with pytest.raises(OverlayError):
            Overlay.open(path, "ee" * 32, BUNDLE)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
