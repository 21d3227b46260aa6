"""A person goes through queries: what each answer does, what stays; the command at a terminal, killed in between."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import TOOLS, build_tiny, full, make_demonstrations
from terminal_user import TerminalUser

import edgeret
from edgeret.errors import InputError
from edgeret.inputs.examples_file import with_examples_of
from edgeret.types import Tool
from edgeret_export.cli import main
from edgeret_export.planner.expand import expand
from edgeret_export.review import review
from edgeret_export.sources.expansions import Line, as_text, origin_hash, read_expansion, recall

MADE_BY = {"model": "m"}


class Source:
    """Writes three queries a tool; `asked` are those it wrote for."""

    def __init__(self, name: str = "m") -> None:
        self._name = name
        self.asked: list[str] = []

    def made_by(self, tool: Tool) -> dict[str, Any]:
        return {"model": self._name}

    def write(self, tool: Tool, origin: str) -> Sequence[str]:
        self.asked.append(tool.name)
        return [f"{self._name} one", f"{self._name} two", f"{self._name} three"]


class Scripted:
    """Types these lines, and is gone then. A function is called in place of an answer, and gives it."""

    def __init__(self, *lines: str | Callable[[], str]) -> None:
        self._lines = list(lines)
        self.told: list[str] = []
        self.drafts: list[str] = []

    def tell(self, text: str) -> None:
        self.told.append(text)

    def ask(self, prompt: str, draft: str = "") -> str:
        self.drafts += [draft] * bool(draft)
        if not self._lines:
            raise EOFError
        line = self._lines.pop(0)
        return line if isinstance(line, str) else line()

    @property
    def shown(self) -> list[str]:
        """The tools that were shown, in this order."""
        return [text.split("  ")[1].split("\n")[0] for text in self.told if text.startswith("\n")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    expand(TOOLS[:3], Source(), tmp_path / "e.jsonl")
    return tmp_path / "e.jsonl"


def queries(path: Path) -> list[tuple[str, ...]]:
    return [line.queries for line in recall(path).values()]


def marks(path: Path) -> list[bool | None]:
    return [line.reviewed for line in recall(path).values()]


ALL = ("m one", "m two", "m three")


@pytest.mark.parametrize(
    ("answers", "left"),
    [
        ([""], ALL),
        (["2", ""], ("m one", "m three")),
        (["1,3", ""], ("m two",)),
        (["1-2", ""], ("m three",)),
        (["1 2 3", ""], ()),
        (["e 2", "another  one\u200b", ""], ("m one", "another one", "m three")),
        (["e2 another", ""], ("m one", "another", "m three")),
        (["e 2", "m two", ""], ALL),
        (["a", "one more", ""], (*ALL, "one more")),
        (["a one more", "1", ""], ("m two", "m three", "one more")),
        (["s"], ALL),
        (["?", ""], ALL),
    ],
    ids=str,
)
def test_an_answer_does_what_it_says(path: Path, answers: list[str], left: tuple[str, ...]) -> None:
    review(TOOLS[:3], path, Scripted(*answers, "q"))
    assert queries(path) == [left, ALL, ALL]
    assert marks(path) == [None if answers == ["s"] else True, None, None]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("4", "there is no query 4, but 1 to 3"),
        ("1 0", "there is no query 0"),
        ("3-1", "there is no query 3-1"),
        ("e 9", "there is no query 9"),
        ("e", '"e" is no answer'),
        ("\x1b[2Jx", r'"\x1b[2Jx" is no answer'),
        ("b", "this is the first tool"),
        ("a|  ", "nothing was typed"),
        ("a M  ONE!", "the tool has this query already"),
        ("e 1 m two", "the tool has this query already"),
        ("a find file", "that is no query"),
        ("a ?!", "that is no query"),
        (f"a {'x' * 301}", "more than 300 characters"),
        ("9" * 30, "is no answer"),
    ],
    ids=repr,
)
def test_an_answer_that_cannot_be_changes_nothing_and_is_told_of(path: Path, answer: str, reason: str) -> None:
    before, person = path.read_bytes(), Scripted(*answer.split("|"), "", "q")
    review(TOOLS[:3], path, person)
    assert any(reason in text and text.endswith("; nothing changed") for text in person.told), person.told
    lines = before.splitlines(keepends=True)
    assert path.read_bytes() == lines[0].replace(b"]}", b'], "reviewed": true}') + b"".join(lines[1:])


def test_bytes_that_are_no_text_are_told_of(path: Path) -> None:
    person = Scripted(lambda: b"\xff".decode(), "q")
    review(TOOLS[:3], path, person)
    assert any("no UTF-8 text" in text for text in person.told) and marks(path) == [None] * 3


def test_one_can_go_back_and_leave_for_later(path: Path) -> None:
    person = Scripted("", "", "b", "b", "1", "", "s", "")
    report = review(TOOLS[:3], path, person)
    names = [tool.name for tool in TOOLS[:3]]
    assert person.shown == [*names, names[1], names[0], names[0], names[1], names[2]]
    assert queries(path) == [ALL[1:], ALL, ALL]
    assert marks(path) == [True, False, True]
    assert (report["reviewed"], report["to_review"], report["queries"]) == (2, 1, 8)
    again = Scripted("")
    assert review(TOOLS[:3], path, again)["to_review"] == 0 and again.shown == [names[1]]
    assert review(TOOLS[:3], path, Scripted())["reviewed"] == 3


def test_every_answer_is_in_the_file_before_the_next_is_asked_for(path: Path) -> None:
    def killed() -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        review(TOOLS[:3], path, Scripted("", "2", killed))
    assert queries(path) == [ALL, ("m one", "m three"), ALL]
    assert marks(path) == [True, False, None]
    assert [file.name for file in path.parent.iterdir()] == ["e.jsonl"]


def test_what_a_person_said_stays_whatever_writes_then_and_the_rest_does_not(path: Path) -> None:
    review(TOOLS[:3], path, Scripted("1", "", "2", "q"))
    source = Source("n")
    report = expand(TOOLS[:3], source, path)
    assert source.asked == [TOOLS[2].name] and (report["kept"], report["written"]) == (2, 1)
    assert queries(path) == [ALL[1:], ("m one", "m three"), ("n one", "n two", "n three")]
    assert marks(path) == [True, False, None]
    person = Scripted()
    review(TOOLS[:3], path, person)
    assert person.shown == [TOOLS[1].name]


def test_a_changed_tool_is_written_anew_and_reviewed_again(path: Path) -> None:
    review(TOOLS[:3], path, Scripted("1", "", "", ""))
    changed = [Tool(TOOLS[0].name, "something else"), *TOOLS[1:3]]
    source = Source()
    assert expand(changed, source, path)["kept"] == 2 and source.asked == [TOOLS[0].name]
    assert marks(path) == [None, True, True]
    person = Scripted("")
    assert review(changed, path, person)["to_review"] == 0 and person.shown == [TOOLS[0].name]


def test_a_changed_tool_is_shown_again_where_nothing_writes(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    review(TOOLS[:3], path, Scripted("", "", ""))
    changed = [Tool(TOOLS[0].name, "something else"), *TOOLS[1:3]]
    person = Scripted("")
    review(changed, path, person)
    assert person.shown == [TOOLS[0].name] and "something else" in person.told[1]
    assert "the tool changed since these were written" in person.told[1]
    assert read_expansion(path, changed).lines[TOOLS[0].name].reviewed and capsys.readouterr().err == ""


def test_lines_of_other_tools_stay_in_a_review_and_are_warned_of_when_they_go(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    review(TOOLS[:3], path, Scripted("", "", ""))
    review(TOOLS[1:3], path, Scripted())
    assert len(recall(path)) == 3 and capsys.readouterr().err == ""
    expand(TOOLS[1:3], Source(), path)
    assert f"1 reviewed lines go, since their tools are not among those given: {TOOLS[0].name}" in (
        capsys.readouterr().err
    )


def test_a_file_that_another_program_writes_to_is_left_to_it(path: Path) -> None:
    def elsewhere() -> str:
        expand(TOOLS, Source(), path)
        return ""

    with pytest.raises(InputError, match="another program wrote to it"):
        review(TOOLS[:3], path, Scripted("", elsewhere))
    assert marks(path) == [True, *[None] * 5]


def test_strangers_words_act_on_no_terminal(tmp_path: Path) -> None:
    tool = Tool("t", "a\x1b[31m" + "d" * 500)
    said = ("x\x1b]0;y\x07 \u202eback", "z" * 5000)
    (tmp_path / "e").write_text(as_text([Line("t", MADE_BY, origin_hash(tool, MADE_BY), said)]), "utf-8")
    person = Scripted("e 1")
    review([tool], tmp_path / "e", person)
    shown = "".join(person.told)
    assert "\x1b" not in shown and "\u202e" not in shown and r"\x1b[31m" in shown and len(shown) < 600
    assert person.drafts == ["x]0;y back"]


def test_marked_lines_are_read_wherever_queries_are(path: Path) -> None:
    review(TOOLS[:3], path, Scripted("2 3", "", "1", "q"))
    found = read_expansion(path, TOOLS).of(TOOLS)
    assert [line.queries for line in found[:3]] == [("m one",), ALL[1:], ALL]
    assert [tool.examples for tool in with_examples_of(TOOLS, path, print)[:2]] == [("m one",), ALL[1:]]


def test_a_build_takes_marked_lines(path: Path, tmp_path: Path) -> None:
    review(TOOLS[:3], path, Scripted("2 3", "a look for the file", "", "q"))
    built = build_tiny(tmp_path / "b", demonstrations=make_demonstrations(), expansion=read_expansion(path, TOOLS))
    assert edgeret.load(built, threads=1).manifest.info["report"]["expansion"]["queries"] == 8


@pytest.mark.parametrize(("mark", "found"), [(1, "a number"), (None, "null"), ("yes", "text")])
def test_a_mark_that_is_none_is_refused(path: Path, mark: Any, found: str) -> None:
    first, *rest = path.read_text("utf-8").splitlines()
    path.write_text("\n".join([json.dumps(json.loads(first) | {"reviewed": mark}), *rest]) + "\n", "utf-8")
    with pytest.raises(InputError, match=f'e.jsonl:1: "reviewed" must be true or false, found {found}'):
        read_expansion(path, TOOLS)
    with pytest.raises(InputError, match="would be written over"):
        review(TOOLS[:3], path, Scripted())


def test_files_without_lines_say_how_to_get_some(tmp_path: Path, path: Path) -> None:
    with pytest.raises(InputError, match="no such file; have one written first, with --planner"):
        review(TOOLS, tmp_path / "none", Scripted())
    with pytest.raises(InputError, match="has no line of these tools"):
        review(TOOLS[3:], path, Scripted())


def test_only_a_terminal_can_review(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "expand", "--tools", "t", "-o", str(path), "--review"]) == 2
    assert "--review asks a person, and stdin is no terminal" in (err := capsys.readouterr().err)
    assert err.count("\n") == 1


@pytest.fixture
def command(path: Path, tmp_path: Path) -> list[str]:
    pytest.importorskip("pty", reason="no pseudo-terminals here")
    tools = tmp_path / "t.jsonl"
    told = [{"name": tool.name, "description": tool.description, "parameters": tool.parameters} for tool in TOOLS[:3]]
    tools.write_text("".join(f"{json.dumps(each)}\n" for each in told), "utf-8")
    return ["lab", "expand", "--tools", str(tools), "-o", str(path), "--review"]


def test_a_user_at_a_terminal_drops_edits_adds_and_ends(command: list[str], path: Path) -> None:
    user = TerminalUser(command)
    assert "1 of 3  find_file" in (shown := user.sees("? > ")) and "   3  m three" in shown
    user.types("2\n")
    assert "m two" not in user.sees("? > ").partition("1 of 3")[2]
    user.types("e 1\n")
    user.sees("   1  m one")
    user.types(" more, grüße\n")  # behind what is there already
    user.sees("? > ")
    user.types("a\n")
    user.sees("  new  ")
    user.types("mine\n")
    user.sees("? > ")
    user.types("\n")
    user.sees("2 of 3")
    user.sees("? > ")
    user.types("q\n")
    assert user.ended() == 0
    assert "6 queries" not in user.seen and "reviewed  1 tools, 2 left; the same command goes on" in user.seen
    assert queries(path) == [("m one more, grüße", "m three", "mine"), ALL, ALL] and marks(path) == [True, None, None]


@pytest.mark.parametrize("how", ["ctrl-c", "killed", *full("ctrl-d", "closed")])
def test_who_is_cut_off_goes_on_where_they_were(command: list[str], path: Path, how: str) -> None:
    user = TerminalUser(command)
    user.sees("? > ")
    user.types("\n")
    user.sees("2 of 3")
    user.sees("? > ")
    user.types("1\n")
    user.sees("2 of 3")
    user.sees("? > ")
    if how == "ctrl-c":
        assert user.interrupts() == 130 and "interrupted" in user.seen and "Traceback" not in user.seen
    elif how == "ctrl-d":
        user.types("\x04")
        assert user.ended() == 0
    elif how == "closed":
        user.closes()  # by SIGHUP or by the end of its input, whichever it meets first
    else:
        user.kills()
    assert queries(path) == [ALL, ALL[1:], ALL] and marks(path) == [True, False, None]
    if how != "ctrl-c":  # the file is the same, and so is what the command makes of it
        person = Scripted("", "")
        assert review(TOOLS[:3], path, person)["to_review"] == 0
        assert person.shown == [tool.name for tool in TOOLS[1:3]]
        return
    again = TerminalUser(command)
    assert "1 of 2" in (shown := again.sees("? > ")) and "m one" not in shown
    again.types("\n")
    again.sees("? > ")
    again.types("\n")
    assert again.ended() == 0 and "reviewed  3 tools, 0 left" in again.seen
    assert marks(path) == [True] * 3


def test_written_then_reviewed_with_the_result_elsewhere(command: list[str], path: Path, tmp_path: Path) -> None:
    demos, out = tmp_path / "d.jsonl", tmp_path / "out.json"
    said = [{"query": f"for {tool.name} now", "calls": [{"tool": tool.name}]} for tool in TOOLS[:3]]
    demos.write_text("".join(f"{json.dumps(each)}\n" for each in said), "utf-8")
    user = TerminalUser([*command, "--demos", str(demos), "--json"], stdout=out)
    user.types("\n\n")  # before anything is asked: answers nothing
    assert "for find_file now" in user.sees("? > ")
    user.types("a at home\n")
    user.sees("at home\r\n")
    user.sees("   2  at home")
    user.sees("? > ")
    user.types("\n")
    user.sees("? > ")
    user.types("q\n")
    assert user.ended() == 0
    report = json.loads(out.read_text("utf-8"))
    assert (report["written"], report["reviewed"], report["to_review"], report["queries"]) == (3, 1, 2, 4)
    assert "demonstrations" in recall(path)[TOOLS[0].name].made_by
