"""The compiled library is used where it was made of the sources that are here, and nowhere else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from edgeret.scoring import compiled


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The library and its sources in a folder of the test's own."""
    if compiled.LIBRARY is None:
        pytest.skip("the package was built without a C compiler")
    for name in ("step.c", "teach.c", "arithmetic.h", compiled.FILE.name):
        if (source := compiled.FILE.with_name(name)).exists():
            shutil.copy(source, tmp_path)
    monkeypatch.setattr(compiled, "FILE", tmp_path / compiled.FILE.name)
    return tmp_path


def test_a_library_of_these_sources_is_loaded(copied: Path) -> None:
    assert compiled.load() is not None


def test_a_library_of_other_sources_is_left_alone(copied: Path) -> None:
    for name in ("step.c", "teach.c", "arithmetic.h"):
        (copied / name).write_text("/* newer */")
    assert compiled.load() is None


@pytest.mark.parametrize("content", [b"", b"not a library", b"\x7fELF" + bytes(200)])
def test_a_file_that_is_no_library_is_none(copied: Path, content: bytes) -> None:
    compiled.FILE.unlink()
    assert compiled.load() is None
    compiled.FILE.write_bytes(content)
    assert compiled.load() is None
