"""What tools and requests say in words: stems, overlaps worked by hand, and who gives what to whom."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import strategies as st

from edgeret.inputs.words import words
from edgeret.types import Tool
from edgeret_export.reference.lexicon import Lexicon, Overlaps, tool_flow, tool_words
from edgeret_export.reference.scoring.flow import Flow
from edgeret_export.reference.word_table import arrange


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("what is to be done with all of it", ["don"]),
        ("findFiles", ["find", "fil"]),
        ("Stopped stopping stops stop", ["stop"] * 4),
        ("cities City", ["citi", "citi"]),
        ("call calls press pressing addresses address", ["call", "call", "press", "press", "address", "address"]),
        ("bus is red", ["bus", "red"]),  # three letters stay
        ("order_id v2Beta 12:30", ["order", "id", "v2", "beta", "12", "30"]),
        ("Größe übrig", ["größ", "übrig"]),
        ("日本語", ["日本語"]),
    ],
)
def test_words_meet_in_one_form(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def properties(*keys: str, required: tuple[str, ...] = ()) -> dict:
    return {"type": "object", "properties": {key: {} for key in keys}, "required": list(required)}


def lexicon(*tools: Tool) -> Lexicon:
    return Lexicon([tool_words(tool) for tool in tools])


def test_overlaps_worked_by_hand() -> None:
    end, find = Tool("", ""), Tool("findFile", "looks", properties("folder"))
    found = lexicon(find, Tool("send_mail", "send files"), end).overlaps("find the file in a folder quickly")
    one, two = math.log1p(3 / 1), math.log1p(3 / 2)  # of three names one has "find", two have "fil"
    # "quickly" is nobody's word, and what only parameters say is as rare as can be.
    assert found.name == pytest.approx([1.0, 0.0, 0.0])
    assert found.parameters == pytest.approx([1.0, 0.0, 0.0])
    assert found.coverage == pytest.approx([(one + two) / (2 * one + two), two / (2 * one + two), 0.0])
    assert found.text == pytest.approx(
        [0.25 * (one + two) / (2 * one + two) ** 0.5, 0.25 * two / (2 * one + two) ** 0.5, 0]
    )
    assert found.said == ()
    assert {part.dtype for part in (found.name, found.parameters, found.coverage, found.text)} == {np.dtype(np.float32)}


@pytest.mark.parametrize("query", ["Send mails!", "mail, please: send it", "sendMail"])
def test_a_request_that_is_a_name_and_nothing_else_says_it(query: str) -> None:
    known = lexicon(Tool("find_file", "x"), Tool("send_mail", "x"), Tool("mail.send", "y"))
    assert known.overlaps(query).said == (1, 2)
    assert known.overlaps("send mail to Ann").said == ()


@pytest.mark.parametrize("query", ["", "!?", "is it for me", "zebra"])
def test_a_request_without_known_words_shares_nothing(query: str) -> None:
    found = lexicon(Tool("do_it", ""), Tool("_", ""), Tool("send_mail", "")).overlaps(query)
    for part in (found.name, found.parameters, found.coverage, found.text):
        assert part.tolist() == [0.0] * 3
    assert found.said == ()


def test_tools_with_names_alone_are_told_apart_and_twins_are_not() -> None:
    plain = lexicon(Tool("send_mail", ""), Tool("send_note", ""), Tool("play", "")).overlaps("send a note")
    assert plain.name.argmax() == plain.coverage.argmax() == plain.text.argmax() == 1
    twins = lexicon(Tool("a1", "sends a mail"), Tool("b1", "sends a mail")).overlaps("send the mail")
    assert twins.coverage[0] == twins.coverage[1] == pytest.approx(1)


def test_some_of_the_tools_keep_what_they_share() -> None:
    whole = lexicon(*(Tool(f"send_mail_{word}", "x") for word in ("now", "later", "daily"))).overlaps("send mail daily")
    part = whole.among(np.array([2, 0]))
    assert isinstance(part, Overlaps)
    assert (part.said, whole.said) == ((0,), (2,))
    assert part.name.tolist() == whole.name[[2, 0]].tolist()


def pairs(flow: Flow) -> set[tuple[int, int, bool]]:
    return set(zip(flow.taker.tolist(), flow.giver.tolist(), flow.named.tolist(), strict=True))


def test_a_tool_takes_what_it_mentions_and_what_its_required_keys_name() -> None:
    tools = [
        Tool("get_order", "Gets one."),
        Tool("cancel_order", "Cancels what `get_order` found.", properties("order_id", required=("order_id",))),
        Tool("find_order_items", "Lists.", properties("userId", required=("userId",))),
        Tool("place_order", "Places.", properties("order_id", "item_code", required=("item_code",))),
        Tool("search_users", "Searches; see Cancel_Order."),
        Tool("play", "No get and no order."),
    ]
    flow = tool_flow([tool_words(tool) for tool in tools], [tool.name for tool in tools])
    # A producer's name has all words of the key's owner; a plain word is no mention; what is optional is no need.
    assert pairs(flow) == {(1, 0, True), (4, 1, True), (1, 0, False), (1, 2, False), (2, 4, False), (3, 2, False)}


@pytest.mark.parametrize(
    "parameters", [{}, {"properties": []}, {"properties": {"a": 5}, "required": "a"}, {"required": [5, None]}]
)
def test_schemas_that_say_nothing_give_no_flow(parameters: dict) -> None:
    tools = [tool_words(Tool(name, "", parameters)) for name in ("get_a", "use_a")]
    flow = tool_flow(tools, ["get_a", "use_a"])
    assert (flow.taker.tolist(), flow.taker.dtype) == ([], np.intp)


def test_no_tools_have_no_flow() -> None:
    assert len(tool_flow([], []).taker) == 0


def test_five_thousand_tools_are_arranged_and_asked_within_seconds() -> None:
    schema = properties("user_id", "order_id", required=("user_id", "order_id"))
    tools = [
        Tool(f"get_user_order_{i}", f"Gets what get_user_order_{i + 1} gave of number {i}. " * 5, schema)
        for i in range(5000)
    ]
    started = time.process_time()
    said = [tool_words(tool) for tool in tools]
    found = Lexicon(said).overlaps("get the user order 17")
    flow = tool_flow(said, [tool.name for tool in tools])
    assert time.process_time() - started < 8
    assert found.name.argmax() == 17
    # Every one takes from every other one by key, which tells nothing; what they mention does.
    assert pairs(flow) == {(i, i + 1, True) for i in range(4999)}


@pytest.mark.parametrize("positions", [[0], [1, 3], [0, 1, 2, 3, 4], [4]])
@pytest.mark.parametrize("query", ["send the mail to the user", "find a file", "zebra", "", "list users and orders"])
def test_what_some_tools_share_with_a_request_is_what_they_share_among_all(positions: list[int], query: str) -> None:
    known = lexicon(
        Tool("send_mail", "sends a mail to a user", {"properties": {"user_id": {}, "file": {}}}),
        Tool("find_file", "finds a file"),
        Tool("list_users", "lists users", {"properties": {"order": {}}}),
        Tool("get_order", "gets the order of a user"),
        Tool("", ""),
    )
    every, at = known.overlaps(query), np.array(positions)
    some, expected = known.overlaps(query, at), every.among(at)
    for name in ("name", "parameters", "coverage", "text"):
        np.testing.assert_allclose(getattr(some, name), getattr(expected, name), rtol=1e-6)
    for found, table in zip(some.hits().tables(), expected.hits().tables(), strict=True):
        np.testing.assert_allclose(found[found.any(axis=1)], table[table.any(axis=1)], rtol=1e-6)
    assert some.said == expected.said


@pytest.mark.parametrize("k", [1, 2, 3, 4, 9])
def test_the_tools_that_cover_most_of_a_request_are_found_the_first_of_equal_ones(k: int) -> None:
    texts = ("play music", "send a mail", "mail", "send a mail to a user", "send a mail", "draw")
    known = lexicon(*(Tool(f"t{i}", text) for i, text in enumerate(texts)))
    said = "send the user a mail"
    coverage = known.overlaps(said).coverage
    ranked = [i for i in np.argsort(-coverage, kind="stable").tolist() if coverage[i] > 0]
    assert sorted(known.covering(said, k).tolist()) == sorted(ranked[:k])
    assert known.covering("zebra", k).tolist() == []


SAYINGS = st.lists(st.sampled_from("abcdefghij"), max_size=12).map(" ".join)


SAYS_ITS_NUMBERS = """
import hashlib
from edgeret_export.reference.lexicon import Lexicon, tool_words
from edgeret_export.reference.word_table import arrange
from edgeret.types import Tool
text = [f"word{i} thing{i % 7} matter{i % 11} affair{i % 13}" for i in range(60)]
found = Lexicon([tool_words(Tool(f"tool{i}", line)) for i, line in enumerate(text)]).overlaps(" ".join(text))
parts = (found.name, found.parameters, found.coverage, found.text, found.hits().word, found.hits().place)
print(hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest())
"""


def test_every_process_rounds_the_same_overlaps_alike() -> None:
    told = {
        subprocess.run(
            [sys.executable, "-c", SAYS_ITS_NUMBERS],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            check=True,
            capture_output=True,
        ).stdout
        for seed in range(3)
    }
    assert len(told) == 1


def told(name: str, description: str, properties: object) -> Tool:
    return Tool(name, description, {"type": "object", "properties": properties})


SAYING = [
    told(
        "set_climate",
        "Changes the air.",
        {
            "mode": {"type": "string", "enum": ["cool", "heat", 7, None], "description": "how the fan blows"},
            "zones": {"type": "array", "items": {"enum": ["attic"], "properties": {"hall": {"description": "window"}}}},
            "odd": "no schema",
            "none": None,
        },
    ),
    told("play_song", "Plays music.", ["no", "mapping"]),
]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("cool the attic", (2, 2)),  # values, one level down
        ("blow through the hall window", (3, 4)),  # descriptions, two levels down
        ("play music in the attic", (2, 3)),  # what one tool says, not all together
        ("play play play", (1, 1)),
        ("how are you", (0, 0)),
        ("zebra", (0, 1)),
        ("", (0, 0)),
    ],
)
def test_what_one_tool_says_of_a_request_anywhere(query: str, expected: tuple[int, int]) -> None:
    assert lexicon(*SAYING).explained(query) == expected


def test_of_very_many_tools_it_is_as_if_one_said_all() -> None:
    assert lexicon(*SAYING).explained("zebra song", few=True) == (2, 2)
    assert Lexicon(arrange([tool_words(tool) for tool in SAYING])).explained("zebra song") == (2, 2)


def test_parameters_are_read_to_a_bounded_depth() -> None:
    properties = {"last": {"description": "bottom"}}
    for level in range(40):
        properties = {f"level{level}": {"properties": properties}}
    assert lexicon(told("a", "", properties)).explained("bottom level39 level36 level35") == (2, 4)
