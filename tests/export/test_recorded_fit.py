"""Arguments that their tools do not have, or not of that type, are counted and never stop a reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from edgeret.inputs.demonstrations import read_demonstrations
from edgeret.types import Call, Tool
from edgeret_export.recorded.demonstrations import read_and_check
from edgeret_export.recorded.fit import misfitting


def said(kind: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": {"type": kind, **more}}}


@pytest.mark.parametrize(
    ("parameters", "value"),
    [
        (said("string"), 1),
        (said("integer"), "1"),
        (said("integer"), 1.5),
        (said("integer"), True),
        (said("number"), True),
        (said("boolean"), 0),
        (said("boolean"), "$out_0"),
        (said("array"), {}),
        (said("object"), []),
        (said("string"), None),
        (said(["string", "null"]), 3),
        ({"properties": {}}, 1),
        ({"properties": {"X": {"type": "integer"}}, "additionalProperties": False}, 1),
    ],
)
def test_another_name_or_type_does_not_fit(parameters: dict[str, Any], value: Any) -> None:
    assert misfitting(Call("a", {"x": value}), Tool("a", "A", parameters)) == ["x"]


@pytest.mark.parametrize(
    ("parameters", "value"),
    [
        (said("string"), "s"),
        (said("integer"), 1),
        (said("integer"), 1.0),
        (said("number"), 1),
        (said("boolean"), True),
        (said("array"), [1]),
        (said("object"), {}),
        (said("integer"), "$out_1"),
        (said(["string", "null"]), None),
        (said("string", nullable=True), None),
        (said("dict"), 1),
        (said(["string", "any"]), 1),
        (said(None), 1),
        ({}, 1),
        ({"type": "object"}, 1),
        ({"properties": []}, 1),
        ({"properties": {"x": True}}, 1),
        ({"properties": {}, "additionalProperties": True}, 1),
        ({"properties": {}, "additionalProperties": {"type": "string"}}, 1),
        ({"properties": {}, "patternProperties": {"^x": {}}}, 1),
    ],
)
def test_what_a_schema_leaves_open_fits(parameters: dict[str, Any], value: Any) -> None:
    assert misfitting(Call("a", {"x": value}), Tool("a", "A", parameters)) == []


def test_misfits_are_counted_and_the_first_is_told_with_its_place(tmp_path: Path) -> None:
    tools = [
        Tool("wake", "Wakes.", {"properties": {"time": {"type": "string"}, "days": {"type": ["integer", "null"]}}})
    ]
    arguments = [{"time": "7"}, {"tiem": "7", "days": "many"}, {"time": 7}]
    lines = [json.dumps({"query": "q", "calls": [{"tool": "wake", "arguments": a}]}) for a in arguments]
    path = tmp_path / "d.jsonl"
    path.write_text("\n".join(lines))
    found, misfits = read_and_check([path], tools)
    assert found == read_demonstrations(path, ["wake"])
    assert str(misfits) == (
        "3 arguments of 2 demonstrations do not fit their tools' parameters "
        f'(first: {path}:2: "wake" has no parameter "tiem"; did you mean "time"?)'
    )
    path.write_text(lines[2])
    assert (
        read_and_check([path], tools)[1].first == f'{path}:1: argument "time" of "wake" must be string, found a number'
    )
