"""Examples in tools' definitions: every form in which they are written, what is cleaned, bounded and left out."""

from __future__ import annotations

from typing import Any

import pytest

from edgeret.errors import InputError
from edgeret.inputs.tool_examples import MAX_EXAMPLE_CHARS, MOST_EXAMPLES
from edgeret.inputs.tools import LEFT_OUT, read_tool, stored_tool
from edgeret.types import Tool

CITY = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer", "examples": [3]}}}
BARE: dict[str, Any] = {"name": "weather", "description": "Tells the weather.", "parameters": CITY}


def read(**more: Any) -> Tool:
    notes: list[str] = []
    tool = read_tool({**BARE, **more}, tell=notes.append)
    assert notes == []
    return tool


@pytest.mark.parametrize(
    "more",
    [
        {"examples": ["Will it rain?", "How warm is it?"]},
        {"examples": [{"query": "Will it rain?"}, {"text": "How warm is it?", "arguments": {}}]},
        {"examples": [{"input": "Will it rain?"}, {"utterance": "How warm is it?"}]},
        {"annotations": {"examples": ["Will it rain?", "How warm is it?"]}},
        {"_meta": {"examples": ["Will it rain?"]}, "examples": ["How warm is it?"]},
        {"x-examples": {"wet": {"value": "Will it rain?"}, "warm": "How warm is it?"}},
    ],
)
def test_sentences_are_read_wherever_they_are_written(more: dict[str, Any]) -> None:
    assert set(read(**more).examples) == {"Will it rain?", "How warm is it?"}


@pytest.mark.parametrize(
    "more",
    [
        {"input_examples": [{"city": "Oslo", "days": 2}]},
        {"input_examples": [{"input": {"city": "Oslo", "days": 2}}]},
        {"examples": [{"query": "Oslo?", "arguments": {"city": "Oslo", "days": 2}}]},
        {"examples": [{"city": "Oslo", "days": 2}]},
    ],
)
def test_arguments_become_examples_of_their_parameters(more: dict[str, Any]) -> None:
    properties = read(**more).parameters["properties"]
    assert properties == {
        "city": {"type": "string", "examples": ["Oslo"]},
        "days": {"type": "integer", "examples": [3, 2]},
    }
    assert CITY["properties"]["days"] == {"type": "integer", "examples": [3]}  # what was given stays as it is


def test_values_that_are_large_nested_or_of_no_parameter_are_not_kept() -> None:
    shown = [{"city": ["Oslo"]}, {"city": "x" * 300}, {"city": None}, {"planet": "Mars"}, {"city": float("nan")}]
    assert read(input_examples=shown).parameters == CITY
    many = read(input_examples=[{"city": f"c{i}"} for i in range(50)])
    assert len(many.parameters["properties"]["city"]["examples"]) == 20


def test_sentences_are_cleaned_and_count_once() -> None:
    found = read(examples=["Will it\u200b  rain?\n", "will it rain?", "\u202eWarm?"]).examples
    assert found == ("Will it rain?", "Warm?")


@pytest.mark.parametrize("odd", [3, None, "", " ", "x" * (MAX_EXAMPLE_CHARS + 1), ["a"], {}])
def test_what_is_no_example_is_left_out_and_told(odd: Any) -> None:
    notes: list[str] = []
    assert read_tool({**BARE, "examples": [odd, "Rain?"]}, tell=notes.append).examples == ("Rain?",)
    assert notes == [LEFT_OUT]


def test_a_tool_shows_no_more_than_so_many_sentences() -> None:
    notes: list[str] = []
    tool = read_tool({**BARE, "examples": [f"Rain in {i}?" for i in range(10_000)]}, tell=notes.append)
    assert (len(tool.examples), notes) == (MOST_EXAMPLES, [LEFT_OUT])


def test_a_tool_without_examples_is_written_as_before() -> None:
    assert read().to_dict() == BARE
    shown = read(examples=["Rain?"])
    assert stored_tool(shown.to_dict(), "t") == shown


@pytest.mark.parametrize("odd", ["Rain?", [3], [""], ["a  b"], ["a\nb"], ["x" * 201], ["a\u200bb"], ["a"] * 21])
def test_a_bundle_holds_no_others(odd: Any) -> None:
    with pytest.raises(InputError, match="example"):
        stored_tool({"name": "a", "description": "A", "examples": odd}, "t")
