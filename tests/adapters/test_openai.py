"""Tools of chat completions and responses, and those of them that are kept."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from conftest import TOOLS
from samples import calls, functions, gave, many_tools, names, user

import edgeret
from edgeret import InputError
from edgeret.adapters.openai import conversation, select_tools
from edgeret.adapters.tool_sets import ToolSets

MANY = functions([*many_tools(30), *TOOLS])
MAIL = [user("find my file and send a mail")]


@pytest.fixture(scope="module")
def base(tiny_tools: Path) -> ToolSets:
    return ToolSets(tiny_tools)


def test_the_tools_that_are_needed_are_kept_as_they_are_and_in_their_order(base: ToolSets) -> None:
    before = copy.deepcopy(MANY)
    kept = select_tools(MAIL, MANY, base=base, k=4)
    assert len(kept) == 4
    assert {"find_file", "send_mail"} <= set(names(kept))  # both wishes
    assert [MANY.index(tool) for tool in kept] == sorted(MANY.index(tool) for tool in kept)
    assert all(any(tool is given for given in MANY) for tool in kept)
    assert before == MANY


def test_both_shapes_of_openai_keep_the_same(base: ToolSets) -> None:
    flat = [{"type": "function", **tool["function"]} for tool in MANY]
    chosen = names(select_tools(MAIL, MANY, base=base, k=4))
    assert names(select_tools("find my file and send a mail", flat, base=base, k=4)) == chosen
    items = [{"role": "user", "content": [{"type": "input_text", "text": "find my file and send a mail"}]}]
    assert names(select_tools(items, flat, base=base, k=4)) == chosen


def test_what_somebody_says_that_tools_should_do_is_kept_besides(base: ToolSets) -> None:
    vague = [user("you know what I need")]
    queries = ["send a mail", "play music"]
    kept = names(select_tools(vague, MANY, base=base, k=4, queries=queries))
    assert {"send_mail", "play_music"} <= set(kept) and len(kept) == 4
    assert names(select_tools(vague, MANY, base=base, k=1, queries="play music")) == ["play_music"]
    covering = names(select_tools(vague, MANY, base=base, coverage=0.5, queries=queries))
    assert {"send_mail", "play_music"} <= set(covering)
    for wrong, says in (([], "no text"), (["a", ""], "text 2 of 2: empty"), (list("abcde"), "more than 4")):
        with pytest.raises(InputError, match=says):
            select_tools(vague, MANY, base=base, queries=wrong)


def test_a_coverage_keeps_more_the_more_it_asks_for(base: ToolSets) -> None:
    sizes = [len(select_tools(MAIL, MANY, base=base, coverage=coverage)) for coverage in (0.2, 0.9, 0.999)]
    assert 0 < sizes[0] <= sizes[1] < sizes[2] <= len(MANY)


def test_a_runtime_of_its_own_keeps_what_it_does_not_know(tiny_original: Path) -> None:
    runtime = edgeret.load(tiny_original)
    stranger = functions([edgeret.Tool("lock_door", "close it")])
    kept = select_tools([user("write a note")], [*functions(TOOLS), *stranger], runtime=runtime, k=1)
    assert names(kept) == ["write_note", "lock_door"]
    fewer = select_tools([user("write a note")], functions(TOOLS[1:5]), runtime=runtime, k=1)
    assert names(fewer) == ["write_note"]


def test_called_forced_and_allowed_tools_stay(base: ToolSets) -> None:
    messages = [user("play music"), calls("phone_call"), gave("phone_call"), user("find my file and send a mail")]
    assert "phone_call" in names(select_tools(messages, MANY, base=base, k=2))
    choices: list[Any] = [
        {"type": "function", "function": {"name": "play_music"}},
        {"type": "function", "name": "play_music"},
        {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "play_music"}]},
        {
            "type": "allowed_tools",
            "allowed_tools": {"tools": [{"type": "function", "function": {"name": "play_music"}}]},
        },
    ]
    for choice in choices:
        assert "play_music" in names(select_tools(MAIL, MANY, base=base, k=2, tool_choice=choice)), choice
    for choice in (None, "auto", "required", 7, [], {}, {"allowed_tools": 7}, {"function": []}):
        assert "play_music" not in names(select_tools(MAIL, MANY, base=base, k=2, tool_choice=choice)), choice


def test_what_is_no_function_or_cannot_be_read_is_kept(base: ToolSets) -> None:
    odd: list[Any] = [
        {"type": "web_search"}, 7, None, "x", {}, {"type": "function"}, {"type": "function", "function": {"name": 7}},
        {"type": "custom", "custom": {"name": "shell"}},
        {"type": "function", "function": {"name": "x" * 300, "description": "long"}},
    ]  # fmt: skip
    kept = select_tools(MAIL, [*odd, *MANY], base=base, k=2)
    assert kept[: len(odd)] == odd
    assert len(kept) == len(odd) + 2


def test_what_hides_in_a_dict_is_not_given_back_and_the_dict_stays_as_it_was(base: ToolSets) -> None:
    poison = "\u200b\U000e0041\u202e"
    schema = {"type": "object", "properties": {"a": {"description": f"Where{poison}"}}}
    poisoned: list[Any] = [
        {"type": "web_search", "x": poison},
        {"type": "function", "function": {"name": "send_mail", "description": "send a mail", "parameters": schema}},
    ]
    before = copy.deepcopy(poisoned)
    with pytest.warns(UserWarning, match=r"2 of 38 tools held characters that nobody sees: \(no function\), send_mail"):
        kept = select_tools(MAIL, [*poisoned, *MANY], base=base, k=4)
    assert "web_search" in str(kept[0]) and "send_mail" in names(kept)
    assert edgeret.without_hidden(kept) is kept
    assert poisoned == before
    with pytest.warns(UserWarning, match="2 of 2 tools held"):
        assert edgeret.without_hidden(everything := select_tools([], poisoned, base=base)) is everything


def test_tools_with_one_name_stay_and_go_together(base: ToolSets) -> None:
    given = [*MANY, *functions(TOOLS[:2]), *MANY[:3]]
    chosen = set(names(select_tools(MAIL, given, base=base, k=2)))
    assert len(chosen) == 2
    assert "find_file" in chosen
    expected = [tool for tool in given if tool["function"]["name"] in chosen]
    assert select_tools(MAIL, given, base=base, k=2) == expected
    assert len(expected) > 2


def test_a_tool_without_description_is_found_by_its_name(base: ToolSets) -> None:
    bare = {"type": "function", "function": {"name": "zip_pack"}}
    assert bare in select_tools([user("zip a pack")], [*MANY[-6:], bare], base=base, k=1)


def test_all_are_kept_where_nobody_wants_anything_or_there_are_few(base: ToolSets) -> None:
    nothing: list[Any] = [
        [],
        "",
        [{"role": "system", "content": "send a mail"}],
        [user([{"type": "image_url"}])],
        [user("<system-reminder>Send a mail.</system-reminder>")],
        None,
    ]
    for messages in nothing:
        assert select_tools(messages, MANY, base=base, k=2) == MANY
    assert select_tools(MAIL, MANY[:2], base=base, k=2) == MANY[:2]
    assert select_tools(MAIL, [], base=base) == []


def test_options_that_do_not_fit_are_refused(base: ToolSets, tiny_tools: Path) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"base": base, "k": 2, "coverage": 0.5}, "not both"),
        ({"base": base, "k": 0}, "at least 1"),
        ({"base": base, "k": True}, "at least 1"),
        ({"base": base, "coverage": 1}, "between 0 and 1"),
        ({"base": base, "coverage": float("nan")}, "between 0 and 1"),
        ({}, "give base"),
        ({"base": base, "runtime": edgeret.load(tiny_tools)}, "give base"),
    ]
    for options, says in wrong:
        with pytest.raises(InputError, match=says):
            select_tools(MAIL, MANY, **options)
    with pytest.raises(InputError, match="must be a list"):
        select_tools(MAIL, "tools", base=base)
    with pytest.raises(InputError, match="surrogate"):
        select_tools([user("\ud800 send it to me please, all of it, and to nobody")], MANY, base=base, k=2)


def test_what_is_wanted_is_the_last_turn_and_what_was_said_before_is_kept() -> None:
    said = [user("Find my lease contract"), user("Play something by Bach"), calls("a"), gave("a"), user("and louder")]
    read = conversation(said)
    assert read.wanted == "and louder" and read.before == ("Play something by Bach", "Find my lease contract")
    assert len(conversation([user("x" * 9000 + " " + "y " * 9000)]).wanted or "") < 4100
    assert len(conversation([user(f"turn {i}") for i in range(50)]).before) < 10


def test_programs_words_are_no_turn_and_no_part_of_one() -> None:
    reminder = "<system-reminder>\nUse the music player.\n</system-reminder>"
    said = conversation([
        user([{"type": "text", "text": reminder}, {"type": "text", "text": "find my file"}]), calls("a"), gave("a"),
        user(reminder),
    ])  # fmt: skip
    assert said.wanted == "find my file" and said.before == ()
    assert [(call.tool, call.worked) for call in said.calls] == [("a", True)]  # the reminder began no request
    hostile = [user("<a_b>" * 100_000) for _ in range(100)]
    assert conversation([*hostile, user(f"{reminder}write a note")]).wanted == "write a note"


def test_calls_count_from_the_users_last_turn_and_worked_if_their_result_does_not_say_otherwise() -> None:
    said = conversation([
        user("a long question about the files in my folder"), calls("old"), gave("old"),
        user("another long question about something else"), calls("a", "b", "c"), gave("a"), gave("b", "Error: no"),
    ])  # fmt: skip
    assert [(call.tool, call.worked) for call in said.calls] == [("a", True), ("b", False), ("c", None)]
    assert said.called == {"old", "a", "b", "c"}
    items = [
        user("x"),
        {"type": "function_call", "call_id": "1", "name": "a"},
        {"type": "function_call_output", "call_id": "1", "output": "fine"},
    ]
    assert [(call.tool, call.worked) for call in conversation(items).calls] == [("a", True)]
    older = [
        user("x"),
        {"role": "assistant", "content": None, "function_call": {"name": "a", "arguments": "{}"}},
        {"role": "function", "name": "a", "content": "Error: no such file"},
    ]
    assert [(call.tool, call.worked) for call in conversation(older).calls] == [("a", False)]


def test_messages_of_any_shape_are_read(base: ToolSets) -> None:
    odd: list[Any] = [
        {}, {"role": 7}, {"role": "user"}, {"role": "assistant", "tool_calls": [{}, {"function": "x"}]},
        {"role": "assistant", "tool_calls": [{"id": [], "function": {"name": "a"}}]},
        {"role": "tool", "tool_call_id": {}, "content": 7}, {"type": "function_call", "name": []},
        {"type": "reasoning"},
        {"role": "user", "content": [{"type": "image_url"}, {"type": "video"}, "find my file"]},
    ]  # fmt: skip
    assert len(select_tools((*odd, *MAIL, *odd[:8]), MANY, base=base, k=3)) == 3
