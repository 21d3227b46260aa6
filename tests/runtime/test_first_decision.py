"""What a new query needs is calculated in compiled calls or by numpy, with the same decisions."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edgeret
from edgeret import Demonstration, Tool
from edgeret.encoders.base import EncodedQuery
from edgeret.runtime.runtime import Runtime
from edgeret.types import Call
from edgeret_export.reference import evidence, kernel
from edgeret_export.reference.inputs import spelling
from tests.conftest import WORDS, without_library

pytestmark = pytest.mark.skipif(kernel.LIBRARY is None, reason="the package was built without a C compiler")
QUERIES = (
    "find my file and send a mail",
    "book a meeting",
    "zip it",
    "open calendar day",
    "phone call",
    "send mail",
    "Find the letter, then mail it to me; also play my song and write a note of it and book the meeting. Find a file",
    "größe " * 3 + "mail 漢字",
    "!?",
)


def walked(runtime: Runtime, query: str, tools: tuple[str, ...] | None) -> list[tuple[object, ...]]:
    """What is decided at the first steps, in words and numbers."""
    task, found = runtime.task(query, tools=tools), []
    for name in (None, "find_file", "send_mail"):
        if name is not None:
            task.call(name)
        decision = task.next()
        numbers = dict(decision.candidates)
        found.append((decision.tool, decision.stage, decision.source, decision.abstained, numbers))
    return found


def assert_alike(one: Runtime, other: Runtime, tools: tuple[str, ...] | None = None, off: float = 1e-5) -> None:
    compiled = [walked(one, query, tools) for query in QUERIES]
    with pytest.MonkeyPatch.context() as patch:
        without_library(patch)
        plain = [walked(other, query, tools) for query in QUERIES]
    for mine, theirs in zip(compiled, plain, strict=True):
        for step, expected in zip(mine, theirs, strict=True):
            assert step[:-1] == expected[:-1]
            assert step[-1] == pytest.approx(expected[-1], abs=off)


@pytest.mark.parametrize("bundle", ["tiny_original", "tiny_cascade", "tiny_table", "tiny_tools"])
@pytest.mark.parametrize("tools", [None, ("send_mail", "phone_call")])
def test_decisions_are_numpys(bundle: str, tools: tuple[str, ...] | None, request: pytest.FixtureRequest) -> None:
    path = request.getfixturevalue(bundle)
    with pytest.MonkeyPatch.context() as patch:
        without_library(patch)
        numpys = edgeret.load(path)
        numpys.task("mail").next()  # what is arranged with the first request is arranged for numpy
    assert_alike(edgeret.load(path), numpys, tools)


def test_decisions_are_numpys_with_other_tools_and_after_lessons(tiny_cascade: Path) -> None:
    def changed() -> Runtime:
        runtime = edgeret.load(tiny_cascade).with_tools(add=[Tool("zip_file", "zip a file")], remove=["play_music"])
        runtime.task("zip it").next()
        return runtime

    def taught(runtime: Runtime) -> Runtime:
        runtime.learn([Demonstration("zip", "zip the letter and send it", (Call("zip_file"), Call("send_mail")))])
        return runtime

    with pytest.MonkeyPatch.context() as patch:
        without_library(patch)
        numpys = changed()
    compiled = changed()
    assert_alike(compiled, numpys)
    with pytest.MonkeyPatch.context() as patch:
        without_library(patch)
        taught(numpys)
    assert_alike(taught(compiled), numpys, off=1e-4)  # lessons round otherwise, too


JOINTS = ["and", "and then", "AND  also", "as well as", "after that", "afterwards", "afterward", "in addition", "plus"]
JOINTS += ["followed by", "along with", "so that", "but", "or", ",", ", ", " ,", ";", "; ", ". ", "! ", ":", "sand"]
JOINTS += [
    "andy",
    "_and",
    "and_",
    "1and",
    "also,",
    "well",
    "moreover",
    "while",
    "then",
    "  ",
    "\t",
    "\n",
    "\x1c",
    "\x1f",
]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from([*JOINTS, " ", " ", *WORDS[:6], "a"]), max_size=400).map("".join),
    st.integers(0, 3),
    st.booleans(),
)
def test_passages_are_those_that_python_finds(text: str, left_out: int, wide: bool) -> None:
    ends = [(match.start(), match.end()) for match in re.finditer(r"[a-z0-9]+|[^a-z0-9\s]", text)]
    spans = np.array(ends[left_out:], np.intp).reshape(-1, 2)
    tokens = np.random.default_rng(left_out).normal(size=(len(spans), 12)).astype(np.float32)
    encoded = EncodedQuery(np.ones((4, 12), np.float32), tokens, spans)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evidence, "LIBRARY", kernel.load(wide))
        found = evidence.passages(text, encoded)
        patch.setattr(evidence, "LIBRARY", None)
        expected = evidence.passages(text, encoded)
    np.testing.assert_allclose(found.windows, expected.windows, atol=1e-4)
    np.testing.assert_allclose(found.clauses, expected.clauses, atol=1e-4)


@settings(max_examples=100)
@given(st.text(max_size=80))
def test_a_text_is_spelt_as_numpy_spells_it_to_the_bit(text: str) -> None:
    buckets, values = spelling.spelling(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spelling, "LIBRARY", None)
        expected, numbers = spelling.spelling(text)
    assert buckets.tolist() == expected.tolist()
    assert values.tobytes() == numbers.tobytes()
