"""`edgeret try` as it is used: at a terminal, by keys; and where there is none."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import full

pytest.importorskip("textual", reason="the extra 'try' is not installed")
pytest.importorskip("pyte", reason="the extra 'dev' is not installed")
if os.name != "posix":
    pytest.skip("pseudo-terminals are POSIX's", allow_module_level=True)

from screen_user import ScreenUser

import edgeret
from edgeret.cli.commands import main

QUERY = "find my file and send a mail"
ENTER, UP, DOWN, ESCAPE, F1, BACKSPACE = "\r", "\x1b[A", "\x1b[B", "\x1b", "\x1bOP", "\x7f"
CTRL = {letter: chr(ord(letter) - 96) for letter in "cglnstz"}
LEFT = b"\x1b[?1049l"
"""What gives a terminal back as it was."""


def mark(user: ScreenUser) -> int:
    """The row of the mark; -1 while it is being drawn."""
    found = [row for row, line in enumerate(user.lines) if "▸" in line]
    return found[0] if len(found) == 1 else -1


def marked(user: ScreenUser) -> str:
    """The marked candidate; empty while it is being drawn."""
    row = mark(user)
    return "" if row < 0 else user.lines[row].split("│")[0]


def marks(user: ScreenUser, name: str) -> None:
    user.waits(lambda: name in marked(user), f"a mark at {name}")


def moves(user: ScreenUser, name: str) -> None:
    """Presses Down until a row is marked."""
    user.waits(lambda: marked(user) != "", "a mark")
    while name not in marked(user):
        # By its row: what stands beside the candidates is drawn when it is ready, which moves no mark.
        before = mark(user)
        user.types(DOWN)
        user.waits(lambda before=before: mark(user) not in (-1, before), f"a mark below row {before}")


def test_a_plan_is_typed_accepted_learned_and_written(tiny: Path, tmp_path: Path) -> None:
    user = ScreenUser(["try", tiny], folder=tmp_path)
    user.sees("6 tools")
    user.types(QUERY)
    lines = user.sees("because most probable", "What told", "p50")
    assert next(line for line in lines if "▸" in line).split()[1:3][0] == "find_file"
    assert any("nothing fits" in line for line in lines)
    user.types(ENTER)
    user.sees("called find_file", "1 find_file")
    marks(user, "send_mail")
    user.types(ENTER)
    user.sees("→ 2 send_mail")
    marks(user, "done")
    user.types(ENTER)
    user.sees("done: Ctrl-L learns it", "1 tried, 1 not written")
    user.types(CTRL["l"])
    user.sees("learned: find_file first", "1 learned")
    user.types(CTRL["s"])
    user.sees("wrote 1 to edgeret-tried.jsonl", gone="not written")
    user.types(CTRL["s"])
    user.sees("nothing new to write")
    user.types("q")
    assert user.ended() == 0
    assert "1 tried, 1 written to edgeret-tried.jsonl, 1 learned" in "\n".join(user.lines)

    runtime = edgeret.load(tiny, overlay=True)
    [plan] = runtime.learned.plans
    assert (plan.query, plan.calls, plan.origin) == (QUERY, ("find_file", "send_mail"), "accepted")
    [written] = edgeret.read_demonstrations(tmp_path / "edgeret-tried.jsonl", tuple(runtime.tools))
    assert (written.query, [call.tool for call in written.calls]) == (QUERY, ["find_file", "send_mail"])


def test_a_correction_a_tool_and_the_way_back(tiny: Path) -> None:
    user = ScreenUser(["try", tiny])
    user.sees("6 tools")
    user.types(CTRL["t"])
    user.sees("Add a tool")
    user.types("lock_door" + ENTER)
    user.sees("What does it do? Enter adds it.")
    user.types("close the letter" + ENTER)
    user.sees("added lock_door, 7 tools now; kept in the overlay", gone="Add a tool")
    user.types("close the letter")
    user.sees("lock_door", 'has "close",', '"letter"')
    moves(user, "write_note")
    user.types(ENTER)
    user.sees("corrected to write_note", "1 write_note (corrected)")
    user.types("more words")
    user.sees("the request stands while its plan goes on", gone="more words")
    user.types(BACKSPACE)
    user.pastes("more")
    user.types(CTRL["z"])
    user.sees("took back the last choice", gone="(corrected)")
    user.types(" call")
    user.sees("close the letter call", "because")
    user.types(CTRL["z"])
    user.sees("took back the tool lock_door", "6 tools")
    user.types(CTRL["c"])
    assert user.ended() == 0
    assert "lock_door" not in edgeret.load(tiny, overlay=True).tools


def test_enter_takes_nothing_that_was_not_shown(tiny: Path) -> None:
    user = ScreenUser(["try", tiny])
    user.sees("6 tools")
    user.types(QUERY + ENTER)  # at once, as a paste into a terminal that does not say so
    user.sees("find_file", "0.9")
    assert "called" not in "\n".join(user.lines)
    user.types(ENTER)
    user.sees("called find_file")
    user.types(CTRL["n"])
    user.sees("type a request", gone="called")
    user.types(ENTER)
    user.sees("nothing to choose yet; type a request")
    user.types(CTRL["c"])
    assert user.ended() == 0


def test_what_is_not_written_is_said_before_the_end(tiny: Path, tmp_path: Path) -> None:
    user = ScreenUser(["try", tiny, "--no-overlay", "--output", tmp_path / "t.jsonl", "--json"], folder=tmp_path)
    user.sees("nothing learned is kept")
    user.types("write a note")
    user.sees("because")
    user.types(UP + DOWN + UP + ENTER + CTRL["z"])
    user.sees("took back")
    moves(user, "nothing fits")
    user.types(ENTER)
    user.sees("no tool fits: Ctrl-L learns it")
    user.types(CTRL["c"])
    user.sees("1 tried, not written: Ctrl-S writes, the same key again ends")
    user.types(CTRL["c"])
    assert user.ended() == 0
    told = next(line for line in "".join(user.raw.decode().splitlines(True)[-3:]).splitlines() if '"tried"' in line)
    assert json.loads(told[told.index("{") :])["written"] == 0
    assert not (tmp_path / "t.jsonl").exists()


def test_20_000_pasted_characters_and_then_a_narrow_window(tiny: Path) -> None:
    user = ScreenUser(["try", tiny], 120, 30)
    user.sees("6 tools")
    user.pastes("send a mail\n" * 2_000)
    user.sees("cut to 20000 characters", "ms (p50")
    user.resizes(40, 20)
    user.sees("Accept", "ms (p50")
    user.waits(lambda: any(line.startswith("─" * 30) for line in user.lines), "why below the candidates")
    assert all(len(line) <= 40 for line in user.lines)
    user.resizes(160, 40)
    user.waits(lambda: any("│" in line[60:] for line in user.lines), "why beside the candidates")
    user.types(CTRL["n"])
    user.sees("type a request")
    user.types("写一个 note 🙂")
    user.sees("写一个 note", "because")
    user.types(CTRL["c"])
    assert user.ended() == 0


def test_help_lies_over_it_and_goes(tiny: Path) -> None:
    user = ScreenUser(["try", tiny], 40, 40)
    user.sees("6 tools")
    user.types("mail" + F1)
    user.sees("Type a request.")
    user.types(ESCAPE)
    user.sees("send_mail", gone="Type a request.")
    user.types(CTRL["n"])
    user.types("why?")
    user.sees("why?", "because", '"why"', gone="Type a request.")
    moves(user, "nothing fits")
    user.types(ENTER)
    user.sees("Ctrl-L learns")  # "no tool fits" stands in the explanation, too, before the key was heard
    user.types("?")
    user.sees("Type a request.")
    user.types("q")
    user.sees("no tool fits", gone="Type a request.")
    user.types("q")
    user.sees("1 tried, not written")
    user.types(CTRL["c"])
    assert user.ended() == 0


@pytest.mark.parametrize("way", ["--no-color", *full("NO_COLOR")])
def test_without_colours_there_are_none(tiny: Path, way: str) -> None:
    options, environment = ([way], {}) if way.startswith("--") else ([], {way: "1"})
    user = ScreenUser(["try", tiny, *options], environment=environment)
    user.sees("6 tools")
    user.types(QUERY)
    user.sees("because")
    cells = [cell for row in user.cells.values() for cell in row.values()]
    assert {(cell.fg, cell.bg) for cell in cells} == {("default", "default")}
    assert any(cell.reverse for cell in cells)
    user.types(CTRL["c"])
    assert user.ended() == 0


@pytest.mark.parametrize("number", [signal.SIGHUP, *full(signal.SIGTERM)])
def test_a_signal_leaves_the_terminal_as_it_was(tiny: Path, number: signal.Signals) -> None:
    user = ScreenUser(["try", tiny])
    user.sees("6 tools")
    user.types(QUERY)
    user.sees("because")
    user.process.send_signal(number)
    assert user.ended() == 128 + number
    assert user.raw.count(LEFT) == 1
    assert b"Traceback" not in user.raw


def test_a_window_that_is_closed_ends_it(tiny: Path) -> None:
    user = ScreenUser(["try", tiny])
    user.sees("6 tools")
    assert user.closes() != 0


def test_tools_alone_are_decided_with_another_bundles_encoder(tiny_tools: Path, tmp_path: Path) -> None:
    tools = tmp_path / "tools.jsonl"
    tools.write_text(
        '{"name": "write_letter", "description": "write a letter"}\n{"name": "zip_file", "description": "zip a file"}'
    )
    user = ScreenUser(["try", "--tools", tools, "--base", tiny_tools], folder=tmp_path)
    user.sees("2 tools", "nothing learned is kept")
    user.types("write the letter")
    user.sees("write_letter", "because")
    marks(user, "write_letter")
    user.types(CTRL["c"])
    assert user.ended() == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tools.jsonl"]


def test_a_dumb_terminal_is_told_what_to_use(tiny_original: Path) -> None:
    user = ScreenUser(["try", tiny_original], columns=300, environment={"TERM": "dumb"})
    assert user.ended() == 2
    assert f'TERM is "dumb", which cannot draw; use: edgeret select {tiny_original} "your words"' in "\n".join(
        user.lines
    )


def test_without_a_terminal_it_is_told_too(tiny_original: Path) -> None:
    command = [sys.executable, "-m", "edgeret", "try", str(tiny_original)]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "needs a terminal, and there is none here; use: edgeret select" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_missing_extra_is_named(tiny_original: Path) -> None:
    code = (
        "import sys; sys.modules['textual'] = None; sys.stdin.isatty = sys.stderr.isatty = lambda: True\n"
        "from edgeret.cli.commands import main; sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "try", str(tiny_original)],
        capture_output=True,
        text=True,
        env={**os.environ, "TERM": "xterm"},
        check=False,
    )
    assert done.returncode == 2
    assert "Install it with: pip install 'edgeret[try]'" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "name a bundle, or tools with --tools FILE"),
        (("b", "--tools", "t"), "name a bundle, or tools with --tools FILE"),
        (("b", "--output", "/"), "give another place with --output"),
        (("b", "--output", "/dev/null"), "it is no file"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["try", *arguments]) == 2
    assert said in capsys.readouterr().err
