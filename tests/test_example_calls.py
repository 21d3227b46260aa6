"""Requests with arguments, for the head that reads these: readable, by their schemas, in the words said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import edgeret
from edgeret.inputs.demonstrations import Demonstration, read_demonstrations
from edgeret.types import Tool, references

SETS = sorted((Path(__file__).parents[1] / "examples" / "calls").glob("*/demonstrations*.jsonl"))
NAMES = [f"{file.parent.name}{file.name.removeprefix('demonstrations').removesuffix('.jsonl')}" for file in SETS]


def read(file: Path) -> tuple[dict[str, Tool], list[Demonstration]]:
    tools = {tool.name: tool for tool in edgeret.read_tools(file.with_name("tools.jsonl"))}
    return tools, list(read_demonstrations(file, tools))


def texts(value: Any) -> Iterator[str]:
    """All texts in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from texts(one)


@pytest.mark.parametrize("file", SETS, ids=NAMES)
def test_arguments_are_known_and_outputs_are_of_earlier_calls(file: Path) -> None:
    tools, found = read(file)
    assert len({one.id for one in found}) == len({one.query for one in found}) == len(found) >= 60
    for one in found:
        for number, call in enumerate(one.calls):
            assert call.arguments.keys() <= tools[call.tool].parameters["properties"].keys(), one.id
            assert all(1 <= k <= number for k in references(call.arguments)), one.id


@pytest.mark.parametrize("file", SETS, ids=NAMES)
def test_texts_stand_in_the_request_unless_the_schema_has_a_form(file: Path) -> None:
    tools, found = read(file)
    strange = []
    for one in found:
        for call in one.calls:
            for name, value in call.arguments.items():
                schema = tools[call.tool].parameters["properties"][name]
                is_formed = "enum" in repr(schema) or re.search(r"(?i)YYYY|HH:MM|MM:SS|ISO|format", repr(schema))
                if not is_formed and not references({"": value}):
                    strange += [(one.id, text) for text in texts(value) if text.lower() not in one.query.lower()]
    assert not strange
