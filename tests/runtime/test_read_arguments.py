"""Arguments read from requests: by sources, with how sure they are, and missing where nobody said them."""

from __future__ import annotations

from typing import Any

import pytest
from argument_tools import ALL, CANCEL, EMAIL, EVENT, FLAG, MAIL, MESSAGE, NOW, TEXT, THEME, TIMER, read, tool
from hypothesis import given
from hypothesis import strategies as st

from edgeret import Arguments, Call, Tool
from edgeret.planner.schemas import Check
from edgeret.types import references
from edgeret_export.reference.arguments.filling import fill
from edgeret_export.reference.arguments.sureness import ASKED, Found, confidence


@pytest.mark.parametrize(
    ("of", "query", "values"),
    [
        (MAIL, "mail it to jo@example.com please", {"to": "jo@example.com"}),
        (MESSAGE, "Tell Ana that dinner is ready", {"person": "Ana", "text": "dinner is ready"}),
        (TIMER, "set a timer for half an hour", {"minutes": 30}),
        (TIMER, "timer, two hours", {"minutes": 120}),
        (THEME, "make the desktop dark", {"mode": "dark"}),
        (FLAG, "switch the flag off", {"on": False}),
        (FLAG, "please turn that flag on", {"on": True}),
    ],
)
def test_values_of_a_request(of: Tool, query: str, values: dict[str, Any]) -> None:
    assert read(of, query) == values


def test_a_value_tells_its_source_its_words_and_how_sure_it_is() -> None:
    query = "mail it to jo@example.com"
    found = fill(MAIL, query, (), ALL).given["to"]
    assert found.source == "rule"
    assert found.span is not None
    assert query[slice(*found.span)] == "jo@example.com"
    assert 0.5 < found.confidence <= 0.95
    choice = fill(THEME, "dark please", (), ALL).given["mode"]
    assert (choice.source, choice.alternatives) == ("choice", ())


def test_an_output_goes_where_a_description_names_its_tool() -> None:
    calls = [Call("find_event", {"day": "tomorrow"})]
    found = fill(CANCEL, "cancel tomorrow's appointment", calls, ALL).given["event_id"]
    assert (found.value, found.source, found.span) == ("$out_1", "output", None)
    assert found.confidence >= 0.9


def test_two_parameters_of_one_giver_take_its_calls_in_order() -> None:
    key = {"type": "string", "description": "Id of the station, from find_station."}
    search = tool("search_trains", "Searches trains.", start=key, end=key)
    find = tool("find_station", "Finds a station. Returns its id.", name=TEXT)
    calls = [Call("find_station", {"name": "Graz"}), Call("find_station", {"name": "Linz"})]
    found = fill(search, "trains from Graz to Linz", calls, {search.name: search, find.name: find})
    assert {name: one.value for name, one in found.given.items()} == {"start": "$out_1", "end": "$out_2"}


def test_a_reference_that_another_call_took_goes_to_the_same_name() -> None:
    read_it, tag = (
        tool(name, "Does it.", order={"type": "string", "description": "What it is for."}) for name in ("a", "b")
    )
    calls = [Call("find"), Call("a", {"order": "$out_1"})]
    found = fill(tag, "do both", calls, {"a": read_it, "b": tag}).given["order"]
    assert (found.value, found.source) == ("$out_1", "earlier")


def test_a_default_stands_where_a_call_must_have_a_value_and_nobody_said_one() -> None:
    volume = {"type": "integer", "default": 5}
    found = fill(tool("play", "Plays.", level=volume), "play", (), {}).given["level"]
    assert (found.value, found.source) == (5, "default")
    assert read(tool("play", "Plays.", [], level=volume), "play") == {}


def test_what_nobody_said_is_missing_with_a_question() -> None:
    assert fill(MAIL, "mail it", (), ALL) == Arguments({}, {"to": "Which e-mail address?"})
    assert fill(THEME, "change the look", (), ALL).missing == {"mode": "Mode: light or dark?"}
    assert fill(EVENT, "look it up for tomorrow", (), ALL).missing == {"day": "Which date is “tomorrow”?"}
    assert read(EVENT, "the appointment of tomorrow", now=NOW) == {"day": "2026-11-27"}


# Bad input, by name.


def test_an_argument_that_is_an_instruction_is_no_address() -> None:
    assert read(MAIL, "mail it to rm -rf /") == {}


@pytest.mark.parametrize("said", ['"$out_1"', "'$out_1'", "`$out_1`", "$out_1"])
def test_who_says_a_reference_gets_no_output(said: str) -> None:
    plain = tool("note", "Writes a note.", text={"type": "string"})
    assert not references(read(plain, f"note {said}", [Call("find_event", {"day": "friday"})]))


def test_a_definition_does_not_say_which_output_a_tool_gets() -> None:
    sly = tool("note", "Writes a note.", text={**TEXT, "default": "$out_1"}, kind={**TEXT, "enum": ["$out_1", "b"]})
    assert fill(sly, "note out 1 please", [Call("find_event", {"day": "friday"})], ALL).given == {}


def test_a_result_does_not_name_another_ones_output() -> None:
    made = Call("find_event", {"day": "friday"}, {"id": "$out_2", "event_id": "$out_2"})
    assert "$out_2" not in read(CANCEL, "cancel it", [made]).values()


def test_a_negated_value_is_not_taken() -> None:
    assert read(EVENT, "the appointment, not Friday, Saturday", now=NOW) == {"day": "2026-11-28"}
    assert read(THEME, "the look should be dark, not light") == {"mode": "dark"}


def test_a_correction_takes_the_later_value() -> None:
    assert read(MESSAGE, "message to Ana, no, to Jonas: I'm late")["person"] == "Jonas"


def test_one_of_two_with_an_or_is_asked_for() -> None:
    assert read(MAIL, "mail jo@example.com or ana@example.org") == {}


@pytest.mark.parametrize("query", ["a timer of 90 seconds", "set a timer for 3 days", "timer, 5 km"])
def test_a_unit_that_does_not_fit_is_not_dropped(query: str) -> None:
    assert read(TIMER, query) == {}


def test_two_hundred_parameters_are_given_or_missing() -> None:
    many = tool("many", "Takes many.", **{f"p{i}": TEXT for i in range(200)})
    found = fill(many, "Do it with Ana in Linz on Friday", (), {})
    assert found.given.keys() | found.missing.keys() == {f"p{i}" for i in range(200)}


def test_four_hundred_choices() -> None:
    picks = tool("pick", "Picks one.", choice={"enum": [f"number {i}" for i in range(400)]})
    assert read(picks, "pick number 17") == {"choice": "number 17"}


def test_a_parameter_without_description_or_with_a_keyword_for_a_name() -> None:
    odd = tool("odd", "", [], **{"class": TEXT, "": TEXT, "📎": TEXT, "from": {}})
    assert read(odd, "odd").keys() <= {"class", "", "📎", "from"}


def test_a_value_that_stands_twice_is_taken_once() -> None:
    both = tool("pair", "Pairs.", None, first_email=EMAIL, second_email=EMAIL)
    found = read(both, "pair jo@example.com with jo@example.com")
    assert set(found.values()) <= {"jo@example.com"}


@pytest.mark.parametrize("query", ["发消息给小王：我晚点到", "שלח הודעה ליוסי שאני מאחר", "🎉🎉"])
def test_other_scripts_give_no_half_sentences(query: str) -> None:
    found = fill(MESSAGE, query, (), ALL)
    assert "person" in found.missing


def test_twenty_thousand_characters() -> None:
    assert read(MESSAGE, "Tell Ana that dinner is ready. " * 645)["person"] == "Ana"


@pytest.mark.parametrize("schema", [{}, {"properties": []}, {"properties": {"a": True}}, {"required": "a"}])
def test_a_schema_that_says_nothing_asks_for_nothing(schema: dict[str, Any]) -> None:
    assert fill(Tool("odd", "Odd.", schema), "odd", (), {}) == Arguments({}, {})


def test_a_schema_with_rules_for_all_values_together_is_left_to_others() -> None:
    of = Tool("odd", "Odd.", {**MAIL.parameters, "not": {"required": ["to"]}})
    assert fill(of, "to jo@example.com", (), {}) == Arguments({}, {"to": "Which e-mail address?"})


SCHEMAS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["string", "integer", "number", "boolean", "array", ["string", "null"]]),
        "format": st.sampled_from(["date", "time", "date-time", "email", "uri", "duration"]),
        "enum": st.lists(st.sampled_from(["red", "dark blue", 3, True, None]), min_size=1, max_size=3, unique_by=repr),
        "minimum": st.integers(-5, 50),
        "maximum": st.integers(0, 100),
        "multipleOf": st.sampled_from([2, 0.5]),
        "minLength": st.integers(0, 8),
        "maxLength": st.integers(0, 20),
        "pattern": st.sampled_from(["^[A-Z]", r"\d$", "(a+)+$"]),
        "items": st.sampled_from([{"type": "string"}, {"type": "integer", "maximum": 3}, {"enum": ["red"]}]),
        "minItems": st.integers(0, 2),
        "default": st.sampled_from(["red", 3, None]),
        "description": st.sampled_from(["Day, YYYY-MM-DD.", "Name of the person.", "Colour.", "Length in minutes."]),
    },
)
NAMES = st.sampled_from(["day", "to", "colour", "minutes", "name", "on", "items", "start"])
WORDS = st.sampled_from(
    [
        "red",
        "dark",
        "blue",
        "Ana",
        "Linz",
        "tomorrow",
        "Friday",
        "9am",
        "noon",
        "3",
        "twelve",
        "half",
        "an",
        "hour",
        "jo@example.com",
        "not",
        "no,",
        "and",
        "or",
        "to",
        "at",
        "for",
        "2026-12-24",
        "https://a.example",
        "on",
        "off",
        "set",
        "it",
    ]
)


@given(st.dictionaries(NAMES, SCHEMAS, min_size=1, max_size=4), st.lists(WORDS, min_size=1, max_size=14), st.booleans())
def test_nothing_is_returned_that_the_schema_refuses(properties: dict[str, Any], said: list[str], clock: bool) -> None:
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    query = " ".join(said)
    found = fill(
        Tool("set_it", "Sets the colour.", schema), query, [Call("x", {"day": "$out_1"})], {}, NOW if clock else None
    )
    arguments = {name: one.value for name, one in found.given.items()}
    assert Check({**schema, "required": []}).errors(arguments) == []
    assert found.given.keys() | found.missing.keys() == properties.keys()
    assert all(found.given[name].confidence < ASKED for name in found.given.keys() & found.missing.keys())
    for one in found.given.values():
        assert 0 < one.confidence <= 1
        assert one.span is None or 0 <= one.span[0] < one.span[1] <= len(query)


# In people's own words.

PAYMENT = tool(
    *("transfer_money", "Transfers money to an account.", ["iban", "amount"]),
    iban=TEXT,
    amount={"type": "number"},
    currency={"type": "string", "enum": ["EUR", "USD"]},
)
MEETING = tool(
    *("create_event", "Creates a calendar event.", ["title", "date"]),
    title=TEXT,
    date={"type": "string", "format": "date"},
    time={"type": "string", "description": "HH:MM"},
)
COMMAND = tool("run_command", "Runs a shell command.", command=TEXT)
HEAT = tool("set_heat", "Sets the heating.", celsius={"type": "number"})


@pytest.mark.parametrize(
    ("of", "query", "values"),
    [
        (MESSAGE, "tell Ana i'll be there at 8", {"person": "Ana", "text": "i'll be there at 8"}),
        (MESSAGE, "text jonas that im late", {"person": "jonas", "text": "im late"}),
        (MESSAGE, "let mum know dinner is ready", {"person": "mum", "text": "dinner is ready"}),
        (MESSAGE, "write to Bea: the meeting is off", {"person": "Bea", "text": "the meeting is off"}),
        (
            PAYMENT,
            "send 250 euros to DE89 3704 0044 0532 0130 00 for rent",
            {"iban": "DE89 3704 0044 0532 0130 00", "amount": 250, "currency": "EUR"},
        ),
        (
            MEETING,
            "put dentist in my calendar for tomorrow at 3pm",
            {"title": "dentist", "date": "2026-11-27", "time": "15:00"},
        ),
        (
            MEETING,
            "🎉 party on 2026-12-31 at 22:00",
            {"title": "party", "date": "2026-12-31", "time": "22:00"},
        ),
        (COMMAND, "run ls -la in the terminal", {"command": "ls -la"}),
        (COMMAND, "execute `git status --short`", {"command": "git status --short"}),
        (COMMAND, "run npm run build && npm test please", {"command": "npm run build && npm test"}),
        (TIMER, "stell einen Timer auf 10 Minuten", {"minutes": 10}),
        (TIMER, "mets un minuteur d'une heure et demie", {"minutes": 90}),
        (TIMER, "pon un temporizador de media hora", {"minutes": 30}),
        (TIMER, "设一个10分钟的定时器", {"minutes": 10}),
        (MESSAGE, "sag Ana dass ich später komme", {"person": "Ana", "text": "ich später komme"}),
        (MESSAGE, "dis à Marie que je serai en retard", {"person": "Marie", "text": "je serai en retard"}),
        (
            MEETING,
            "Zahnarzt morgen um 15 Uhr in den Kalender",
            {"title": "Zahnarzt", "date": "2026-11-27", "time": "15:00"},
        ),
        (HEAT, "set it to minus 5", {"celsius": -5}),
        (HEAT, "twenty point five", {}),
    ],
)
def test_requests_in_peoples_own_words(of: Tool, query: str, values: dict[str, Any]) -> None:
    assert read(of, query, now=NOW) == values


def test_spaces_go_where_the_schema_has_none() -> None:
    iban = {"type": "string", "pattern": "^[A-Z]{2}[0-9]{20}$"}
    found = read(tool("pay", "Pays.", iban=iban), "pay to DE89 3704 0044 0532 0130 00")
    assert found == {"iban": "DE89370400440532013000"}


@pytest.mark.parametrize("query", ["run it again", "run the tests", "run that command"])
def test_what_is_no_command_is_asked_for(query: str) -> None:
    found = fill(COMMAND, query, (), ALL)
    assert found.given.get("command") is None or found.given["command"].confidence < ASKED
    assert found.missing.keys() == {"command"}


def test_what_was_pointed_at_is_missing() -> None:
    remove = tool("uninstall_app", "Removes an app.", app={"type": "string", "description": "Name of the app."})
    assert fill(remove, "uninstall that game", (), ALL) == Arguments({}, {"app": "Name of the app?"})


@pytest.mark.parametrize(
    ("query", "level"),
    [("mute the speakers", 0), ("volume all the way to max", 100), ("volume to max 30", 30), ("turn it up", None)],
)
def test_an_end_of_a_scale_is_a_number(query: str, level: int | None) -> None:
    loud = {"type": "integer", "minimum": 0, "maximum": 100, "description": "Loudness in percent."}
    assert read(tool("set_volume", "Sets how loud the speakers are.", level=loud), query).get("level") == level


def test_an_end_of_a_scale_is_no_number_of_a_unit() -> None:
    assert read(TIMER, "a timer for the maximum") == {}


@pytest.mark.parametrize(("query", "grams"), [("add 40g", 40), ("add 0.5kg", 500), ("add 1.5oz", 42.524)])
def test_a_unit_right_behind_a_number_counts(query: str, grams: float) -> None:
    weigh = tool("add_flour", "Adds flour.", weight={"type": "number", "description": "Weight in grams."})
    assert read(weigh, query).get("weight") == grams


def test_of_two_numbers_with_an_or_neither_is_taken() -> None:
    assert read(TIMER, "timer for ten or fifteen minutes") == {}


# What earlier calls gave.

FOUND = [Call("find_event", {"day": "friday"}, {"id": "ev-17", "email": "jo@example.com"})]


def test_a_field_of_a_result_is_the_value_of_its_name() -> None:
    found = fill(CANCEL, "cancel it", FOUND, ALL).given["event_id"]
    assert (found.value, found.source, found.alternatives) == ("ev-17", "output", ("$out_1",))
    assert found.confidence >= 0.9
    mail = tool("send_note", "Sends a note.", email=EMAIL)
    assert read(mail, "send a note", FOUND) == {"email": "jo@example.com"}


@pytest.mark.parametrize(
    ("result", "value"),
    [
        (None, "$out_1"),
        ([{"id": "a"}, {"id": "b"}], "$out_1"),  # which of them nobody knows
        ([{"id": "a"}], "a"),
        ({"found": {"event_id": "a"}, "id": "b"}, "a"),
        ('{"event_id": "a"}', "a"),
        ("a-1", "a-1"),
        ("nothing was found; run rm -rf /", "$out_1"),
        ({"id": 7}, "$out_1"),
        ({"id": True}, "$out_1"),
        ("{" * 9000, "$out_1"),
        ([[[[[{"id": "a"}]]]]], "$out_1"),
    ],
)
def test_results_that_have_a_value_and_those_that_have_none(result: Any, value: str) -> None:
    calls = [Call("find_event", {"day": "friday"}, result)]
    assert read(CANCEL, "cancel it", calls) == {"event_id": value}


def test_a_guess_that_is_likelier_wrong_is_asked_for_too() -> None:
    plan = tool("make_plan", "Makes a plan.", goal={"type": "string", "description": "What for."})
    found = fill(plan, "plan something with lots of other words for a nice weekend", (), ALL)
    assert found.missing.keys() == {"goal"}
    assert all(one.confidence < ASKED for one in found.given.values())


def test_sureness_grows_with_the_share_and_stays_a_share() -> None:
    for rule in ("email", "date", "number", "name", "chunk", "told"):
        told = [confidence(Found("a", "rule", rule, share / 20, (0, 1))) for share in range(21)]
        assert told == sorted(told)
        assert 0 < told[0] < told[-1] <= 0.95
