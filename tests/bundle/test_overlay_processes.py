"""Many at one overlay: one writer at a time, over processes, threads and forks; readers always."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from overlay_notes import both_locks, fresh_path, noted, opened, texts

from edgeret.bundle import locked_file, overlay_file
from edgeret.bundle.overlay import HEADER_BYTES
from edgeret.errors import OverlayError

if sys.platform == "win32":
    pytest.skip("forks are POSIX's, and so is replacing a file that somebody reads", allow_module_level=True)

path, locks = fresh_path, both_locks


def test_a_second_writer_is_told_at_once_or_waits(path: Path, locks: str) -> None:
    first = opened(path)
    first.append(noted("a"))
    with pytest.raises(OverlayError, match=r"another one is writing to it \(waited 0 s\)"):
        opened(path)
    with pytest.raises(OverlayError, match=r"waited 0\.05 s"):
        opened(path, wait_seconds=0.05)
    assert texts(path) == ["a"]
    threading.Timer(0.1, first.close).start()
    with opened(path, wait_seconds=20.0) as second:
        second.append(noted("b"))
    assert texts(path) == ["a", "b"]


WRITER = """
import sys
from edgeret_export.reference.overlay_writer import Overlay
with Overlay.open(sys.argv[1], "ab" * 32, "cd" * 32) as overlay:
    overlay.append([("note", {"text": "theirs"})])
    print("open", flush=True)
    sys.stdin.readline()
    overlay.compact([("note", {"text": "compacted"})])
"""


def test_who_waited_for_a_compacting_process_finds_the_new_file(path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin is not None and other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(OverlayError, match="another one is writing"):
            opened(path)
        threading.Timer(0.1, lambda: (other.stdin.write("\n"), other.stdin.flush())).start()  # type: ignore[union-attr]
        with opened(path, wait_seconds=20.0) as mine:
            mine.append(noted("mine"))
    assert texts(path) == ["compacted", "mine"]


def test_a_file_replaced_between_opening_and_locking_it_is_opened_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(path) as overlay:
        overlay.append(noted("old"))
    with opened(path.with_name("new")) as overlay:
        overlay.append(noted("new"))
    real, calls = locked_file.try_lock, []

    def late(descriptor: int) -> bool:
        calls.append(descriptor)
        if len(calls) == 1:
            path.with_name("new").replace(path)
        return real(descriptor)

    monkeypatch.setattr(locked_file, "try_lock", late)
    with opened(path, wait_seconds=20.0) as overlay:
        overlay.append(noted("more"))
    assert texts(path) == ["new", "more"]


def test_the_lock_of_a_killed_process_is_free(path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdin=-1, stdout=-1, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "open\n"
        other.kill()
    with opened(path) as overlay:
        assert len(overlay.records) == 1


def test_a_reader_sees_a_beginning_while_others_append_and_compact(path: Path) -> None:
    done = threading.Event()
    failures: list[list[str]] = []

    def read() -> None:
        while not done.is_set():
            found = texts(path)
            if found != [str(n) for n in range(int(found[0]), int(found[0]) + len(found))] if found else False:
                failures.append(found)

    with opened(path) as overlay:
        reader = threading.Thread(target=read)
        reader.start()
        for number in range(150):
            overlay.append(noted(str(number)))
            if number % 20 == 19:
                overlay.compact([(record.kind, record.value) for record in overlay.records[-5:]])
        done.set()
        reader.join()
    assert failures == []


def test_a_failed_append_taken_back_while_somebody_reads_is_not_called_damage(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(path) as overlay:
        overlay.append(noted("a"))
        overlay.append(noted("b"))
    data, seen = path.read_bytes(), []

    def mixed(*arguments: Any) -> bytes:
        seen.append(1)
        return data if len(seen) > 1 else data[: HEADER_BYTES + 60] + b"?" + data[HEADER_BYTES + 61 :]

    monkeypatch.setattr(overlay_file, "read_all", mixed)
    assert texts(path) == ["a", "b"]
    assert len(seen) == 2


def test_a_forked_process_cannot_write_and_takes_no_lock_away(path: Path) -> None:
    with opened(path) as overlay:
        child = os.fork()
        if child == 0:
            try:
                overlay.append(noted("theirs"))
            except OverlayError as error:
                overlay.close()
                os._exit(0 if "opened before a fork" in str(error) else 1)
            os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
        with pytest.raises(OverlayError, match="another one is writing"):
            opened(path)
        overlay.append(noted("mine"))
    assert texts(path) == ["mine"]


def test_threads_append_one_after_another(path: Path) -> None:
    with opened(path) as overlay:
        threads = [
            threading.Thread(target=lambda: [overlay.append(noted("x", "y")) for _ in range(20)]) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert texts(path) == ["x", "y"] * 80


def test_a_fork_that_lives_on_does_not_keep_a_closed_file_locked(path: Path) -> None:
    overlay = opened(path)
    child = os.fork()
    if child == 0:
        signal.pause()
    try:
        overlay.close()
        with opened(path) as again:
            again.append(noted("after"))
        assert texts(path) == ["after"]
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
