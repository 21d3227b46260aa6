"""The arguments that tasks and decisions tell, and what `accept` takes of them."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
from argument_tools import EMAIL, EVENT, MAIL, NOW, TEXT, tool

import edgeret
from edgeret import Argument, Arguments, Call, InputError, Runtime, Tool
from edgeret_export.reference.arguments.filling import fill


@pytest.fixture(scope="module")
def runtime(tiny_original: Path) -> Runtime:
    return edgeret.load(tiny_original, threads=1).with_tools(add=[EVENT], replace=[MAIL])


def test_a_task_tells_the_arguments_of_any_tool(runtime: Runtime) -> None:
    task = runtime.task("mail it to jo@example.com")
    assert task.arguments("send_mail").given["to"].value == "jo@example.com"
    assert task.arguments("find_event") == Arguments({}, {"day": "For when?"})
    with pytest.raises(InputError, match="unknown tool"):
        task.arguments("nothing")
    with pytest.raises(InputError, match="now must be a datetime"):
        task.arguments("find_event", now="today")  # type: ignore[arg-type]


def test_the_clock_is_the_tasks_or_the_calls(runtime: Runtime) -> None:
    told = runtime.task("the appointment tomorrow", now=NOW)
    assert told.arguments("find_event").given["day"].value == "2026-11-27"
    assert told.fork().arguments("find_event").given["day"].value == "2026-11-27"
    plain = runtime.task("the appointment tomorrow")
    assert plain.arguments("find_event", now=NOW).given["day"].value == "2026-11-27"
    assert plain.arguments("find_event").missing == {"day": "Which date is “tomorrow”?"}


def test_the_hour_of_a_day_is_no_count_of_people(runtime: Runtime) -> None:
    asked = {"when": {"type": "string", "format": "date-time"}, "people": {"type": "integer", "minimum": 1}}
    table = Tool("book_table", "Reserve a table", {"type": "object", "properties": asked, "required": [*asked]})
    task = runtime.with_tools(add=[table]).task("book a table tomorrow at seven", now=NOW)
    assert sorted(task.arguments("book_table").missing) == ["people", "when"]
    evening = runtime.with_tools(add=[table]).task("book a table for three tomorrow evening at seven", now=NOW)
    given = evening.arguments("book_table").given
    assert (given["people"].value, given["when"].value) == (3, "2026-11-27T19:00:00")


def test_a_resumed_task_and_a_turn_take_a_clock(runtime: Runtime) -> None:
    kept = runtime.task("the appointment tomorrow", now=NOW).to_dict()
    assert runtime.resume(kept, now=NOW).arguments("find_event").given["day"].value == "2026-11-27"
    assert runtime.resume(kept).arguments("find_event").missing == {"day": "Which date is “tomorrow”?"}
    conversation = runtime.conversation()
    assert (
        conversation.say("the appointment tomorrow", now=NOW).arguments("find_event").given["day"].value == "2026-11-27"
    )
    assert conversation.say("the appointment tomorrow").arguments("find_event").given == {}
    for wrong in (lambda: runtime.resume(kept, now="today"), lambda: conversation.say("hello", now="today")):
        with pytest.raises(InputError, match="now must be a datetime"):
            wrong()  # type: ignore[no-untyped-call]


def test_a_decision_tells_its_own_and_keeps_them_when_it_is_sent(runtime: Runtime) -> None:
    task = runtime.task(
        "find my file and send a mail to jo@example.com", ["find_file"], tools=["find_file", "send_mail"]
    )
    decision = task.next(policy="heads")
    assert decision.tool == "send_mail"
    assert decision.arguments is decision.arguments
    assert decision.arguments["to"].value == "jo@example.com"
    assert decision.missing == {}
    for other in (copy.copy(decision), copy.deepcopy(decision)):
        assert other.arguments == decision.arguments
    assert "arguments" not in decision.to_dict()


def test_accept_takes_what_is_sure_unless_some_are_given(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    sure, unsure = Argument("a", "rule", (0, 1), 0.9), Argument("b", "rule", (0, 1), 0.89)
    monkeypatch.setattr("edgeret.core.model.Task.arguments", lambda *_: Arguments({"sure": sure, "unsure": unsure}, {}))
    task = runtime.task("find_event", tools=["find_event"])
    assert task.accept(task.next(policy="heads"))
    assert task.calls == (Call("find_event", {"sure": "a"}),)
    other = runtime.task("find_event", tools=["find_event"])
    assert other.accept(other.next(policy="heads"), {})
    assert other.calls == (Call("find_event", {}),)


def test_a_list_takes_all_outputs_that_nobody_took() -> None:
    find = tool("get_email", "Looks a person up. Returns the person's e-mail address.", name=TEXT)
    send = tool("invite", "Invites guests.", to={"type": "array", "items": EMAIL, "description": "E-mail addresses."})
    calls = [Call("get_email", {"name": "Ana"}), Call("get_email", {"name": "Jonas"})]
    found = fill(send, "invite Ana and Jonas", calls, {find.name: find, send.name: send})
    assert found.given["to"].value == ["$out_1", "$out_2"]


def test_earlier_calls_are_told_anew_when_they_change(runtime: Runtime) -> None:
    query = "find the mail of jo@example.com and of al@example.com and send it to them"
    lists = [
        [],
        [Call("find_event", {"title": "jo"})],
        [Call("find_event", {"title": "jo"}), Call("find_file", {"path": "a.txt"}, {"path": "b.txt"})],
        [Call("find_event", {"title": "al"})],
        [Call("find_file", {"path": "b.txt"}, "a.txt"), Call("find_event", {"title": "jo"})],
        [],
    ]
    core = runtime.loaded.core
    kept = core.begin(query, None)
    for calls in lists:
        for name in ("send_mail", "find_file"):
            assert kept.arguments(name, calls) == core.begin(query, None).arguments(name, calls), calls


def test_a_tool_may_take_more_than_a_few_values_and_ask_for_more() -> None:
    names = [f"number_{letter}" for letter in "abcdefghijklmnopqrst"]
    properties = {name: {"type": "integer", "description": f"The {name[-1]} of it."} for name in names}
    many = Tool("set_many", "Set many numbers.", {"type": "object", "properties": properties, "required": names})
    runtime = edgeret.from_tools([many])
    asked = runtime.task("set many numbers")
    assert list(asked.arguments("set_many").missing) == names
    given = {"type": "object", "properties": {name: {"type": "integer", "default": 1} for name in names}}
    filled = edgeret.from_tools([Tool("set_many", "Set many numbers.", {**given, "required": names})]).task("set")
    found = filled.arguments("set_many")
    assert {name: one.value for name, one in found.given.items()} == dict.fromkeys(names, 1)
    assert filled.arguments("set_many") == found
