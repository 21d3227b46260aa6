"""The words of very many tools, arranged by the build: read back as they are, forged ones refused, and decisions the
same as by words that are arranged on the device."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import TOOLS, tiny_bundle
from python_reader import by_python
from rewritten import changed

import edgeret
from edgeret.bundle.reader import open_bundle
from edgeret.errors import BundleError
from edgeret.types import Tool
from edgeret_export.recipe import Recipe
from edgeret_export.reference.lexicon import Lexicon, tool_words
from edgeret_export.reference.runtime import components_of, runtime_of
from edgeret_export.reference.similar_words import table_of
from edgeret_export.reference.word_table import WordTable, arrange, load_words, pack_words

pytest.importorskip("hnswlib")

SAID = [tool_words(tool) for tool in TOOLS]
QUERIES = (
    "find a file and send it",
    "send mail",
    "play my song then phone me",
    "zebra",
    "book a meeting, write a note",
)


@pytest.fixture(scope="module", params=["demonstrations", "tools alone"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle that keeps its tools' words, with many tools that no demonstration calls."""
    pairs = [(tool, other, i) for i in range(20) for tool in TOOLS for other in TOOLS[i % 5 : i % 5 + 2]]
    more = [Tool(f"{one.name}_{n}", f"{one.description} of {two.name} {i}") for n, (one, two, i) in enumerate(pairs)]
    tools, recipe = [*more[::2], *TOOLS, *more[1::2]], Recipe(precision="fp32", profile="full", hnsw_from=1)
    shown = () if request.param == "tools alone" else None
    return tiny_bundle(tmp_path_factory.mktemp("words") / "bundle", recipe=recipe, tools=tools, demonstrations=shown)


def test_golden_bytes() -> None:
    table = table_of(TOOLS[:2])
    assert table.words == ["fil", "find", "mail", "nam", "send"]
    assert table.forms == ["file", "find", "mail", "nam", "send"]  # parameters' words have no form
    assert table.starts.tolist() == [0, 2, 4, 6, 8, 11, 13]
    assert table.numbers.tolist() == [0, 1, 2, 4, 0, 1, 2, 4, 0, 1, 3, 2, 4]
    digest = hashlib.sha256(pack_words(table)).hexdigest()
    assert digest == "6f1c8ce3d14e12c18a8c52abf7d1383e69acf74303dc86bea4478d7f7c5d8d0b"


@pytest.mark.parametrize("rows", [[0, 1, 2, 3, 4, 5], [-1, 0, 1, 2, 3, 4, 5], [3, -1, 0, 5, 1], [5, 4, 3, 2, 1, 0, -1]])
def test_words_in_another_order_are_those_of_the_tools_in_that_order(rows: list[int]) -> None:
    nothing = tool_words(Tool("", ""))
    found = arrange(SAID).ordered(np.array(rows))
    expected = arrange([nothing if row < 0 else SAID[row] for row in rows])
    for query in QUERIES:
        some, other = (Lexicon(table).overlaps(query) for table in (found, expected))
        for name in ("name", "parameters", "text"):
            np.testing.assert_array_equal(getattr(some, name), getattr(other, name))
        assert some.said == other.said


def test_decisions_and_searches_are_those_of_words_arranged_here(folder: Path) -> None:
    stored = by_python(folder, threads=1, index="hnsw")
    assert components_of(stored).words is not None
    fresh = runtime_of(replace(components_of(stored), words=None))
    for query in QUERIES:
        one, other = (runtime.task(query) for runtime in (stored, fresh))
        for _ in range(3):
            np.testing.assert_array_equal(one.probabilities(), other.probabilities())
            one.call(TOOLS[0].name)
            other.call(TOOLS[0].name)
        assert stored.search(query, 9) == fresh.search(query, 9)


def test_a_first_decision_reads_no_tool(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = edgeret.load(folder, threads=1, index="hnsw")
    monkeypatch.setattr("edgeret_export.reference.arrangement.tool_words", None)
    assert runtime.task("send mail").next().candidates


def test_other_tools_are_arranged_here(folder: Path) -> None:
    runtime = by_python(folder, threads=1, index="hnsw")
    other = runtime.with_tools(add=[Tool("feed_cat", "feed the cat")], remove=["send_mail"])
    assert components_of(other).words is None
    assert other.task("feed the cat").next(policy="heads").candidates[0].tool == "feed_cat"
    assert components_of(edgeret.from_tools([Tool("feed_cat", "feed the cat")], base=runtime)).words is None


def test_few_tools_keep_no_words(tiny: Path) -> None:
    assert load_words(open_bundle(tiny), len(TOOLS)) is None


TABLE = table_of(TOOLS)
FORGED: dict[str, tuple[dict[str, Any], str]] = {
    "words twice": ({"words": [TABLE.words[0], *TABLE.words[:-1]]}, "its words are not in order"),
    "words that are none": ({"words": [5] * len(TABLE.words)}, "must hold strings only"),
    "too few words": ({"words": TABLE.words[:3], "forms": TABLE.forms[:3]}, "a number of none of its 3 words"),
    "too few forms": ({"forms": TABLE.forms[:3]}, f"3 forms of {len(TABLE.words)} words"),
    "a form without end": ({"forms": ["x" * 16_385, *TABLE.forms[1:]]}, "a form of more than 16384 characters"),
    "forms that are none": ({"forms": [None] * len(TABLE.words)}, "must hold strings only"),
    "starts of another number of tools": ({"starts": TABLE.starts[:-3].astype("<i4")}, '"starts" must have shape'),
    "starts that fall": ({"starts": np.r_[TABLE.starts[:1], 9, TABLE.starts[2:]].astype("<i4")}, "starts do not go"),
    "starts that begin later": ({"starts": np.r_[1, TABLE.starts[1:]].astype("<i4")}, "starts do not go"),
    "starts that end early": ({"starts": np.r_[TABLE.starts[:-1], 20].astype("<i4")}, "starts do not go"),
    "a number below none": ({"numbers": np.r_[-1, TABLE.numbers[1:]].astype("<i4")}, "a number of none of its"),
    "a word twice": ({"numbers": np.zeros(len(TABLE.numbers), "<i4")}, "a tool's words are not in order"),
    "numbers of another kind": ({"numbers": TABLE.numbers.astype("<f4")}, "must be an array of <i4"),
}


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return tiny_bundle(tmp_path / "bundle", recipe=Recipe(precision="fp32", profile="full", hnsw_from=1))


@pytest.mark.parametrize("case", FORGED)
def test_numbers_that_cannot_be_are_refused(small: Path, case: str) -> None:
    fields, message = FORGED[case]
    changed(small, "words.msgpack", **fields)
    with pytest.raises(BundleError, match=rf"\(words\): .*{message}.*; build the bundle again"):
        by_python(small)
    with pytest.raises(BundleError, match=r"\(words\): .*; build the bundle again"):
        edgeret.load(small)


@pytest.mark.parametrize("tools", [1, 7, 70_000])
def test_tables_of_few_and_of_more_words_than_16_bits_count_are_sorted_alike(tools: int) -> None:
    numbers = np.random.default_rng(0).permutation(tools).astype(np.int32)
    starts = np.concatenate((np.zeros(tools, int), np.arange(tools + 1), np.full(tools, tools)))
    found = Lexicon(WordTable([f"w{i:06}x" for i in range(tools)], starts, numbers))
    for number in (0, tools // 2, tools - 1):
        assert found.covering(f"w{number:06}x", 5).tolist() == [int(np.flatnonzero(numbers == number)[0])]
