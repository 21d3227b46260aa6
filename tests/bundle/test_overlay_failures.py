"""What stops a writer of an overlay: full disks, failing calls, kills. What was acknowledged stays."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kill_run import kill_at_calls, kill_at_random
from overlay_notes import beside, fresh_path, noted, opened, texts

from edgeret.errors import OverlayError
from edgeret_export.reference import changed_file

if sys.platform == "win32":
    pytest.skip("limits, mounts and signals as used here are POSIX's", allow_module_level=True)

path = fresh_path


def test_what_returns_has_reached_the_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed process loses nothing that it wrote; a machine without power loses what was not flushed."""
    calls: list[str] = []
    for name in ("write", "fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *given, name=name, real=real: (calls.append(name), real(*given))[1])
    with opened(path) as overlay:
        assert calls[-3:] == ["fsync"] * 3  # the header, again as any file taken up, and its name
        calls.clear()
        overlay.append(noted("a"))
        assert calls == ["write", "fsync"]
        calls.clear()
        overlay.compact(noted("a"))
        assert calls == ["write", "fsync", "replace", "fsync"]


FULL_DISK = """
import resource, sys
from edgeret_export.reference.overlay_writer import Overlay
from edgeret.errors import OverlayError
resource.setrlimit(resource.RLIMIT_FSIZE, (4_000, 4_000))
overlay = Overlay.open(sys.argv[1], "ab" * 32, "cd" * 32)
overlay.append([("note", {"text": "a"})])
for change in (overlay.append, overlay.compact):
    try:
        change([("note", {"text": "x" * 5_000})])
    except OverlayError as error:
        print(error)
overlay.append([("note", {"text": "b"})])
"""


def test_a_file_that_may_not_grow_is_a_clear_error_and_stays_usable(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FULL_DISK, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.count("cannot be written (File too large); what was in it is kept; make room") == 2
    assert texts(path) == ["a", "b"]
    assert beside(path) == []


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 kB."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no right to mount a tmpfs here")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_loses_nothing_and_later_appends_go_on(disk: Path) -> None:
    path = disk / "b.overlay"
    with opened(path) as overlay:
        overlay.append(noted("x" * 30_000))
        for _ in range(3):
            with pytest.raises(OverlayError, match="No space left on device"):
                overlay.append(noted("y" * 40_000))
            assert path.stat().st_size == overlay.size_bytes
        with pytest.raises(OverlayError, match="No space left on device"):
            overlay.compact(noted("z" * 40_000))
        assert beside(path) == []
        overlay.append(noted("z"))
    assert texts(path) == ["x" * 30_000, "z"]


@pytest.mark.parametrize("number", [errno.EDQUOT, errno.EIO])
@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_call_that_fails_once_leaves_the_last_good_state(
    path: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    with opened(path) as overlay:
        overlay.append(noted("a"))
        real, calls = getattr(os, call), []

        def failing(*arguments: Any) -> Any:
            calls.append(call)
            if len(calls) > 1:
                return real(*arguments)
            if call == "write":
                real(arguments[0], arguments[1][:10])
            raise OSError(number, os.strerror(number))

        for change in (overlay.append, overlay.compact):
            calls.clear()
            monkeypatch.setattr(os, call, failing)
            with pytest.raises(OverlayError, match="what was in it is kept; make room"):
                change(noted("lost"))
            monkeypatch.undo()
            assert texts(path) == [record.value["text"] for record in overlay.records]
            overlay.append(noted("b"))
    assert texts(path) == ["a", "b", "b"]
    assert beside(path) == []


def test_a_failed_append_that_cannot_be_undone_ends_the_writing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with opened(path) as overlay:
        overlay.append(noted("a"))
        monkeypatch.setattr(os, "fsync", fails)
        monkeypatch.setattr(os, "ftruncate", fails)
        with pytest.raises(OverlayError, match="Input/output error"):
            overlay.append(noted("b"))
        monkeypatch.undo()
        with pytest.raises(OverlayError, match="its end is not known since a write failed; open it again"):
            overlay.append(noted("c"))
    with opened(path) as overlay:
        overlay.append(noted("d"))
    assert texts(path) in (["a", "d"], ["a", "b", "d"])


def test_a_compaction_whose_name_may_not_last_ends_the_writing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with opened(path) as overlay:
        overlay.append(noted("a"))
        monkeypatch.setattr(changed_file.ChangedFile, "settle_name", fails)
        with pytest.raises(OverlayError, match="Input/output error"):
            overlay.compact(noted("b"))
        monkeypatch.undo()
        with pytest.raises(OverlayError, match="its folder could not be written; open it again"):
            overlay.append(noted("c"))
    assert texts(path) == ["b"]


def test_writers_killed_at_any_call_leave_what_they_acknowledged(tmp_path: Path) -> None:
    assert kill_at_calls(tmp_path, 40) == {"killed": 40, "lost": []}


def test_writers_killed_at_any_moment_leave_what_they_acknowledged(tmp_path: Path) -> None:
    assert kill_at_random(tmp_path, 3, seed=1) == {"killed": 3, "lost": []}
