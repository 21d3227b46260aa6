"""What a person is told once, and what programs never are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from edgeret.cli.commands import main


def test_the_first_use_at_a_terminal_is_explained_once(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    told = []
    for watched in (False, True, True):
        monkeypatch.setattr(sys.stderr, "isatty", lambda watched=watched: watched)
        assert main(["select", str(tiny), "find my file"]) == 0
        out, err = capsys.readouterr()
        told.append("Said once" in err)
        assert "ms, cold" in out and "Said once" not in out
    assert told == [False, True, False]
    assert [file.name for file in (tmp_path / ".edgeret").iterdir()] == ["select.explained"]


def test_where_nothing_can_be_kept_nothing_is_explained(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".edgeret").write_text("a file")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["select", str(tiny), "find my file"]) == 0
    assert capsys.readouterr().err == ""
