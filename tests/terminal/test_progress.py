"""Progress on stderr where it is no terminal: lines that a log can hold, and no bars."""

from __future__ import annotations

import pytest

from edgeret.terminal.progress import say, track


def test_off_a_terminal_a_line_is_said_plainly(capsys: pytest.CaptureFixture[str]) -> None:
    say("pip install 'edgeret[hnsw]' :smile:")
    say("a\x1b[31mb " + "long " * 60)
    out, err = capsys.readouterr()
    first, second = err.splitlines()
    assert out == ""
    assert first == "· pip install 'edgeret[hnsw]' :smile:"
    assert second.startswith(r"· a\x1b[31mb long")


def test_off_a_terminal_there_is_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(track(range(3), "things", 3)) == [0, 1, 2]
    assert capsys.readouterr() == ("", "")
