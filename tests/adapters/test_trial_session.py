"""What is tried in a session, without a terminal: choices, corrections, the way back, learning, tools."""

from __future__ import annotations

from pathlib import Path

import pytest

import edgeret
from edgeret import END, InputError
from edgeret.adapters.trial.session import END_ROW, Session
from edgeret.adapters.trial.views import DONE, NOTHING, View

QUERY = "find my file and send a mail"


def row(view: View, tool: str) -> int:
    return next(number for number, one in enumerate(view.rows) if one.tool == tool)


def choose(session: Session, *tools: str) -> None:
    for tool in tools:
        session.choose(row(session.view(), tool))


def begun(bundle: Path, query: str = QUERY, overlay: bool = False) -> Session:
    session = Session(edgeret.load(bundle, overlay=overlay), kept=overlay)
    session.type(query)
    return session


def test_it_decides_as_the_runtime_does_and_counts_only_first_decisions(tiny_original: Path) -> None:
    session = begun(tiny_original)
    view, decision = session.view(), edgeret.load(tiny_original).task(QUERY).next()
    assert view.proposed == 0
    assert [one.tool for one in view.rows] == [one.tool for one in decision.candidates]
    assert [one.probability for one in view.rows] == pytest.approx([one.probability for one in decision.candidates])
    assert view.p50 == view.ms
    choose(session, "find_file")
    assert session.view().p50 == view.p50
    assert session.view().ms != view.ms


def test_a_plan_is_accepted_to_its_end_and_becomes_a_demonstration(tiny_original: Path) -> None:
    session = begun(tiny_original)
    assert session.view().label(END) == NOTHING
    choose(session, "find_file", "send_mail")
    assert [(step.tool, step.corrected) for step in session.view().steps] == [
        ("find_file", False),
        ("send_mail", False),
    ]
    assert session.view().label(END) == DONE
    assert session.unwritten() == []
    choose(session, END)
    assert session.view().finished
    [demonstration] = session.unwritten()
    assert (demonstration.query, [call.tool for call in demonstration.calls]) == (QUERY, ["find_file", "send_mail"])
    session.wrote([demonstration])
    assert (session.view().tried, session.view().unwritten) == (1, 0)


def test_another_row_is_a_correction_and_learned_as_one(tiny_original: Path) -> None:
    session = begun(tiny_original)
    choose(session, "phone_call", END)
    assert session.view().steps[0].corrected
    said = session.learn()
    assert said.startswith("learned: phone_call first, 0.0")
    assert session.runtime.learned.plans[0].origin == "corrected"
    with pytest.raises(InputError, match="learned already; Ctrl-Z forgets it"):
        session.learn()


def test_that_nothing_fits_can_be_said(tiny_original: Path) -> None:
    session = begun(tiny_original)
    choose(session, END)
    assert session.unwritten()[0].calls == ()
    assert session.learn().startswith("learned: nothing fits first")


def test_every_key_is_taken_back_the_last_first(tiny: Path) -> None:
    session = begun(tiny, overlay=True)
    before = session.view()
    choose(session, "find_file", "write_note", END)
    session.learn()
    session.new()
    session.add_tool("lock_door", "lock the door")
    assert session.view().tools == 7
    assert session.undo() == "took back the tool lock_door"
    assert session.view().tools == 6
    assert session.undo() == "took back the new request"
    assert session.view().finished
    assert session.undo() == "took back learning"
    assert session.view().learned == 0
    assert session.view().tried == 1
    for _ in range(3):
        assert session.undo() == "took back the last choice"
    after = session.view()
    assert (after.query, after.steps, after.tried) == (QUERY, (), 0)
    assert [one.tool for one in after.rows] == [one.tool for one in before.rows]
    with pytest.raises(InputError, match="nothing to take back"):
        session.undo()


def test_what_is_learned_and_added_is_in_the_overlay(tiny: Path) -> None:
    session = begun(tiny, overlay=True)
    choose(session, "phone_call", END)
    session.learn()
    assert "kept in the overlay" in session.add_tool("lock_door", "lock the door")
    session.runtime.close()
    again = edgeret.load(tiny, overlay=True)
    assert [(plan.query, plan.calls) for plan in again.learned.plans] == [(QUERY, ("phone_call",))]
    assert "lock_door" in again.tools


def test_without_an_overlay_nothing_is_left_behind(tiny: Path) -> None:
    session = begun(tiny)
    choose(session, END)
    session.learn()
    assert "while this session lasts" in session.add_tool("lock_door", "lock the door")
    assert [path.name for path in tiny.parent.iterdir()] == [tiny.name]


def test_an_added_tool_competes_at_once_within_the_plan(tiny_original: Path) -> None:
    session = begun(tiny_original, "close the letter")
    choose(session, "find_file")
    session.add_tool("close_letter", "close the letter")
    assert "close_letter" in [one.tool for one in session.view().rows]
    assert [step.tool for step in session.view().steps] == ["find_file"]
    choose(session, "close_letter")
    session.undo()
    session.undo()
    assert "close_letter" not in [one.tool for one in session.view().rows]


def test_a_tool_that_cannot_be_taken_changes_nothing(tiny_original: Path) -> None:
    session = begun(tiny_original)
    for name, description, said in (
        ("", "lock", "needs a name and a description"),
        ("lock_door", " ", "needs a name and a description"),
        ("find_file", "find it", "find_file"),
    ):
        with pytest.raises(InputError, match=said):
            session.add_tool(name, description)
    assert session.view().tools == 6
    with pytest.raises(InputError, match="nothing to take back"):
        session.undo()


def test_words_stand_once_a_plan_has_begun_and_what_cannot_be_decided_leaves_nothing_to_choose(
    tiny_original: Path,
) -> None:
    session = begun(tiny_original)
    choose(session, "find_file")
    with pytest.raises(InputError, match="Ctrl-N begins another"):
        session.type("write a note")
    session.new()
    with pytest.raises(InputError, match="20001 characters"):
        session.type("a" * 20_001)
    assert session.view().rows == ()
    for text in ("", " "):
        session.type(text)
        assert session.view().rows == ()
        with pytest.raises(InputError, match="type a request"):
            session.choose(0)


def test_only_a_finished_plan_is_learned(tiny_original: Path) -> None:
    session = begun(tiny_original)
    with pytest.raises(InputError, match='choose "done" or "nothing fits" first'):
        session.learn()
    assert session.view().learned == 0


def test_the_end_never_stands_far_below(tiny_original: Path) -> None:
    runtime = edgeret.load(tiny_original)
    many = [edgeret.Tool(f"write_{number}", f"write note {number}") for number in range(30)]
    session = Session(runtime.with_tools(add=many))
    session.type("write a note")
    session.choose(row(session.view(), "find_file"))
    view = session.view()
    assert len(view.rows) == 37
    assert row(view, END) <= END_ROW
    assert view.rows[view.proposed or 0].tool == session.runtime.task("write a note", ["find_file"]).next().tool


def test_details_say_why_what_is_given_and_what_is_missing(tiny_original: Path) -> None:
    needs = edgeret.Tool(
        "find_note",
        "find a note by its title",
        {
            "type": "object",
            "properties": {"title": {"type": "string"}, "day": {"type": "string", "format": "date"}},
            "required": ["title", "day"],
        },
    )
    session = Session(edgeret.load(tiny_original).with_tools(add=[needs]))
    session.type('find the note called "open calendar"')
    view = session.view()
    found = session.details(row(view, "find_note"))
    assert found is not None
    assert [(name, value) for name, value, _, _ in found.arguments] == [("title", '"open calendar"')]
    assert found.missing == ("For when?",)
    assert any("find_note" in line for line in found.why)
    other = session.details(row(view, "phone_call"))
    assert other is not None
    assert any("phone_call" in line for line in other.why)
    assert session.details(len(view.rows)) is None
