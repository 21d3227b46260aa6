"""Readers of DroidCall and Mobile Actions, and what BFCL's answers accept, on records of our own in the originals'
forms, clean and dirty."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from dataset_records import calls, lines, survives

from edgeret.errors import InputError
from edgeret.inputs.demonstrations import read_demonstrations
from edgeret_bench.answers import Answer, read_answers
from edgeret_bench.datasets import bfcl, droidcall, find_source, mobile_actions


def function(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "description": f"{name} it", "arguments": arguments, "returns": {"type": "str"}}


def one(kind: str, required: bool = False, **more: Any) -> dict[str, Any]:
    return {"description": "What.", "type": kind, "required": required, **more}


def test_droidcall_plans_take_outputs_by_their_ids(tmp_path: Path) -> None:
    lines(
        tmp_path / droidcall.FUNCTIONS,
        function("pick", kind=one("str", default="ALL", match_type="strict", reason="…")),
        function(
            "dial", number=one("str", True), days=one("list[str]", default=None), extra=one("Optional[Dict[str, Any]]")
        ),
        {"name": "no arguments"},
    )
    call = {"id": 4, "name": "pick", "arguments": {"kind": "PHONE"}}
    dial = {"id": 5, "name": "dial", "arguments": {"number": "#4", "days": None}}
    lines(
        tmp_path / "DroidCall_test.jsonl",
        {"query": "ring Victor", "answers": [call, dial], "tools": []},
        {"query": "ring him", "answers": [dial, call]},
        {"query": "room #4", "answers": [{"name": "dial", "arguments": {"number": "room #4"}}]},
        {"query": "sing", "answers": [{"id": 0, "name": "sing", "arguments": {}}]},
        {"query": "x", "answers": "none"},
    )
    dataset = droidcall.read(tmp_path)
    properties = dataset.tools[1].parameters["properties"]
    assert properties["days"] == {"description": "What.", "type": "array", "items": {"type": "string"}}
    assert properties["extra"]["type"] == "object"
    assert dataset.tools[1].parameters["required"] == ["number"]
    ring, room = dataset.demonstrations
    assert calls(ring) == (("pick", {"kind": "PHONE"}), ("dial", {"number": "$out_1"}))
    assert (ring.id, ring.links, room.links) == ("test-0", ((0, 1),), ())
    assert calls(room) == (("dial", {"number": "room #4"}),)
    assert dataset.skipped == {
        'a record without "arguments"': 1,
        "refers to a call that is not before it": 1,
        "calls a tool that the dataset does not define": 1,
        '"answers" of a record is no list': 1,
    }
    survives(dataset, tmp_path / "out")


def test_droidcall_without_splits_says_which(tmp_path: Path) -> None:
    lines(tmp_path / droidcall.FUNCTIONS, function("pick"))
    with pytest.raises(InputError, match="neither of DroidCall's splits"):
        droidcall.read(tmp_path)
    (tmp_path / "DroidCall_test.jsonl").write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match=r"DroidCall_test.jsonl:1: not JSON"):
        droidcall.read(tmp_path)


def row(said: str, *made: Any, clock: str = "2024-11-15T05:59:00", part: str = "eval") -> dict[str, Any]:
    parameters = {"type": "OBJECT", "properties": {"query": {"type": "STRING"}}, "required": ["query"]}
    tool = {"function": {"name": "show_map", "description": "Shows a place.", "parameters": parameters}}
    messages = [
        {"role": "developer", "content": f"Current date and time given in YYYY-MM-DDTHH:MM:SS format: {clock}\nDay"},
        {"role": "user", "content": said},
        {"role": "assistant", "tool_calls": [{"function": one} for one in made]},
    ]
    return {"metadata": part, "tools": [tool, {"function": 5}], "messages": messages}


def test_mobile_actions_say_what_time_it_was(tmp_path: Path) -> None:
    show = {"name": "show_map", "arguments": {"query": "Linz", "zoom": None}}
    lines(
        tmp_path / mobile_actions.FILE,
        row("show Linz", show, {"name": "show_map", "arguments": json.dumps({"query": "Graz"})}),
        row("show it", show, clock="some day", part="train"),
        row("hello"),
        row("show", {"name": "show_map", "arguments": "{"}),
        {"metadata": "eval", "tools": [], "messages": [5]},
        [],
    )
    dataset = mobile_actions.read(tmp_path)
    assert dataset.tools[0].parameters["properties"] == {"query": {"type": "string"}}
    both, single = dataset.demonstrations
    assert (both.id, both.links, single.id) == ("eval-0", (), "train-1")
    assert calls(both) == (("show_map", {"query": "Linz"}), ("show_map", {"query": "Graz"}))
    assert dataset.answers == {"eval-0": Answer((), datetime(2024, 11, 15, 5, 59))}
    survives(dataset, tmp_path / "out")
    plans = read_demonstrations(tmp_path / "out/demonstrations.jsonl", ["show_map"])
    assert read_answers(tmp_path / "out/answers.jsonl", plans) == dataset.answers


def test_bfcl_answers_have_all_that_is_accepted(tmp_path: Path) -> None:
    for category in (*bfcl.SINGLE, *bfcl.PARALLEL, bfcl.TURNS):
        lines(tmp_path / f"BFCL_v4_{category}.json")
        lines(tmp_path / f"possible_answer/BFCL_v4_{category}.json")
    for file in bfcl.CLASSES.values():
        lines(tmp_path / f"multi_turn_func_doc/{file}.json")
    schema = {"type": "dict", "properties": {n: {"type": "string"} for n in ("city", "unit")}, "required": ["city"]}
    asked = {
        "id": "s_0",
        "question": [[{"role": "user", "content": "Weather in Linz?"}]],
        "function": [{"name": "weather", "description": "Tells it.", "parameters": schema}],
    }
    lines(tmp_path / "BFCL_v4_simple_python.json", asked)
    truth = [{"weather": {"city": ["Linz", "Linz, Austria"], "unit": ["C", ""], "odd": ["x"]}}]
    lines(tmp_path / "possible_answer/BFCL_v4_simple_python.json", {"id": "s_0", "ground_truth": truth})
    dataset = bfcl.read(tmp_path)
    assert calls(dataset.demonstrations[0]) == (("weather", {"city": "Linz"}),)
    assert dataset.answers["s_0"].calls == ({"city": ["Linz", "Linz, Austria"], "unit": ["C", None]},)
    survives(dataset, tmp_path / "out")


def test_files_that_a_set_has_no_more_are_deleted_and_all_are_pinned(tmp_path: Path) -> None:
    lines(tmp_path / mobile_actions.FILE, row("show Linz", {"name": "show_map", "arguments": {"query": "Linz"}}))
    survives(mobile_actions.read(tmp_path), tmp_path / "out")
    assert (tmp_path / "out/answers.jsonl").is_file()
    lines(tmp_path / droidcall.FUNCTIONS, function("pick"))
    lines(tmp_path / "DroidCall_train.jsonl", {"query": "pick", "answers": [{"name": "pick", "arguments": {}}]})
    survives(droidcall.read(tmp_path), tmp_path / "out")
    assert not (tmp_path / "out/answers.jsonl").exists()
    assert find_source("droidcall").pinned and find_source("mobile-actions").pinned
