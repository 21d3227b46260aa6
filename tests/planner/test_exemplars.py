"""Exemplars: which demonstrations a build picks for prompts, and what a reader takes for one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import make_demonstrations

from edgeret.errors import BundleError
from edgeret.planner.exemplars import MAX_BYTES, MAX_EXEMPLARS, Exemplar, parse_exemplars
from edgeret.types import Call
from edgeret_export.planner.exemplars import choose_exemplars, pack_exemplars


def test_exemplars_begin_with_constant_ones_and_cover_the_tools() -> None:
    demonstrations = make_demonstrations()
    packed = json.loads(pack_exemplars(choose_exemplars(demonstrations)))
    assert choose_exemplars(demonstrations) == choose_exemplars(list(demonstrations))
    worked = [[call["tool"] for call in example["calls"]] for example in packed[:2]]
    assert len(worked[0]) >= 2
    assert len(set(worked[0])) == len(worked[0])
    called = {call.tool for d in demonstrations for call in d.calls}
    assert {call["tool"] for example in packed[2:] for call in example["calls"]} == called
    assert choose_exemplars([d for d in demonstrations if not d.calls]) == []


CALL = {"tool": "find_file", "arguments": {"name": "my file"}}


@pytest.mark.parametrize(
    ("examples", "words"),
    [
        ({}, "expected a list of at most 65536 exemplars"),
        ([{}] * (MAX_EXEMPLARS + 1), "expected a list of at most 65536 exemplars"),
        (["find"], "exemplar 1: expected an object, found str"),
        ([{"query": "find", "calls": [CALL]}, {"query": 7, "calls": []}], 'exemplar 2: "query" must be a string'),
        ([{"query": " ", "calls": [CALL]}], 'exemplar 1: "query" is empty'),
        ([{"query": "x" * 20_001, "calls": [CALL]}], "20001 characters, at most 20000"),
        ([{"query": "find", "calls": []}], "exemplar 1: no calls"),
        ([{"query": "find", "calls": {}}], '"calls" must be a list, found an object'),
        ([{"query": "find", "calls": ["find_file"]}], "exemplar 1: a call must be"),
        ([{"query": "find", "calls": [CALL] * 257}], "257 calls, at most 256"),
        ([{"query": "find", "calls": [{"tool": 7}]}], '"tool" must be a string, found a number'),
        ([{"query": "find", "calls": [{"tool": "a\nb"}]}], r"invisible character U\+000A"),
        (
            [{"query": "find", "calls": [{"tool": "a", "arguments": ["x"]}]}],
            '"arguments" must be an object, found an array',
        ),
        ([{"query": "find", "calls": [{"tool": "a", "arguments": {"x": 1e999}}]}], "not JSON|is not a number"),
        (b"[" * 100_000, "nested too deeply"),
        (b"\xff", "codec can't decode"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_examples_that_no_prompt_can_show_are_refused_by_place(examples: Any, words: str) -> None:
    data = examples if isinstance(examples, bytes) else json.dumps(examples).encode()
    with pytest.raises(BundleError, match=rf"^b \(exemplars\): .*({words}).*; build the bundle again$"):
        parse_exemplars(data, "b (exemplars)")


def test_no_more_exemplars_are_packed_than_a_reader_takes() -> None:
    many = [Exemplar("x" * 15_000, (Call("find_file"),))] * 400
    packed = pack_exemplars(many)
    assert MAX_BYTES - 20_000 < len(packed) <= MAX_BYTES
    assert parse_exemplars(packed, "b") == tuple(many[: packed.count(b"query")])
