"""A moment of a session as lines: every width, every script, nothing that a terminal obeys."""

from __future__ import annotations

import pytest

pytest.importorskip("textual", reason="the extra 'try' is not installed")

from rich.cells import cell_len

from edgeret import END, Candidate
from edgeret.adapters.trial.drawing import bar, candidates, details, fitted, plan
from edgeret.adapters.trial.views import Details, Step, View

NAMES = (
    "find_file",
    "查找文件查找文件查找文件",
    "👩‍👩‍👧‍👦🙂_send",
    "a" * 300,
    "\x1b[31mred\u202e",
    END,
    "é" * 40,
    "ひらがな" * 30,
)
VIEW = View("q", tuple(Candidate(name, 1 / (number + 2)) for number, name in enumerate(NAMES)), 0)


@pytest.mark.parametrize("width", [20, 40, 79, 80, 200])
def test_every_row_fits_and_bars_stand_below_each_other(width: int) -> None:
    drawn = candidates(VIEW, 2, width, len(NAMES)).plain
    lines = drawn.split("\n")
    assert len(lines) == len(NAMES)
    assert all(cell_len(line) <= width for line in lines)
    assert len({cell_len(line[: line.rindex("0.")]) for line in lines}) == 1
    assert "\x1b" not in drawn
    assert "\u202e" not in drawn
    assert [line.startswith("▸") for line in lines].index(True) == 2


@pytest.mark.parametrize("chosen", range(len(NAMES)))
def test_the_marked_row_is_always_among_those_shown(chosen: int) -> None:
    lines = candidates(VIEW, chosen, 60, 3).plain.split("\n")
    assert len(lines) == 3
    assert sum(line.startswith("▸") for line in lines) == 1


def test_a_bar_is_exact_to_an_eighth() -> None:
    assert [bar(share, 4) for share in (0, 1, 0.5, 1 / 32, 2, -1)] == ["    ", "████", "██  ", "▏   ", "████", "    "]


def test_the_end_is_called_by_what_it_means() -> None:
    assert "nothing fits" in candidates(VIEW, 0, 80, 8).plain
    begun = View("q", VIEW.rows, 0, steps=(Step("a\x07", {}, False), Step("b", {}, True)), finished=True)
    assert "done" in candidates(begun, 0, 80, 8).plain
    assert plan(begun) == "1 a\\x07 → 2 b (corrected) → done"


def test_details_obey_nobody_either() -> None:
    told = details(Details("a", ("near: \x1b]0;x",), (("to\x1b[2J", '"\x07"', 0.5, "rule"),), ("Who\r?",))).plain
    assert not {*told} & {"\x1b", "\x07", "\r"}
    assert fitted("两个" * 10, 7) == "两个两…"
