"""What requests share with tools, flow, and words of like meaning, against Python's."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from core_lexicon import (
    VECTOR_OF,
    Arranged,
    CoreLexicon,
    Text,
    described,
    expected,
    library_of,
    text_of,
)
from hypothesis import given
from hypothesis import strategies as st

from edgeret.inputs.tools import read_tools
from edgeret.inputs.words import forms, words
from edgeret.types import Tool
from edgeret_export.reference.lexicon import MOST_PAIRS, Lexicon, tool_flow
from edgeret_export.reference.similar_words import SimilarWords, table_of

ROOT = Path(__file__).parents[2]
HOSTILE = [
    Tool("get_order", "Gets an order. See Get_Order, getUser or get-user.", {"required": ["order_id", 7, "id", "_id"]}),
    Tool(
        "getUser",
        "say it",
        {"properties": {"user": {"description": ["get_order"]}}, "required": ["user ID", "a\nb id"]},
    ),
    Tool(
        "GETUSER", "", {"properties": {"x": {"description": True, "enum": ["red", 5, "blue"]}}, "required": "order_id"}
    ),
    Tool("get-user", "a. b- getuser", {"properties": ["order"], "required": ["order_ids", "orders_name", "idname"]}),
    Tool(
        "list_orders", "of the", {"properties": {"deep": {"items": {"properties": {"b": {"description": "bottom"}}}}}}
    ),
    Tool("ΣΑΣ.Σ", "İx ΑΣ.ΑΣ", {"required": ["ΣΑΣ.Σ_key"]}),
    Tool("None", "the of", {"properties": {"a": {"description": None}, "b": 5, "userId": {"enum": "no list"}}}),
    Tool("true", "None of them", {"properties": {"a": {"description": 1.5}}}),
    Tool("find_user_order", "find", examples=("where is my parcel", "my order")),
]
REQUESTS = ("get order", "order get please", "orders", "", "the", "user", "red bottom deep", "where is the ΣΑΣ", "none")


@pytest.fixture(scope="module")
def core(core_library: Callable[..., ctypes.CDLL]) -> ctypes.CDLL:
    return library_of(core_library)


@VECTOR_OF
def vector_of(_: int, word: Text, found: ctypes.Array[ctypes.c_float]) -> None:
    for i, number in enumerate(made(ctypes.string_at(word.at, word.length).decode())):
        found[i] = number


def made(word: str) -> list[float]:
    """Words with letters in common are near each other; those without any have zeros."""
    row = [0.0] * 64
    for letter in word:
        if letter.isascii():
            row[ord(letter) % 64] += 1.0
    length = math.sqrt(sum(number * number for number in row))
    return [number / length if length else 0.0 for number in row]


class Vectors:
    def of(self, listed: list[str]) -> np.ndarray:
        return np.array([made(word) for word in listed], np.float32).reshape(-1, 64)


def check(core: ctypes.CDLL, tools: list[Tool], requests: list[str], names: int | None = None) -> CoreLexicon:
    said, n = described(tools), len(tools)
    mine, lexicon = CoreLexicon(core, tools, names or n), Lexicon(said)
    table = table_of(tools)
    listed, deep, shown = mine.words()
    assert listed == list(table.words) and shown == list(table.forms)
    assert set(listed) | set(deep) == frozenset().union(
        *(tool.told for tool in said), *(tool.parameters for tool in said)
    )
    starts, places, _ = mine.sets()
    assert starts == table.starts.tolist() and places == table.numbers.tolist()
    flow = tool_flow(said, [tool.name for tool in tools])
    for keyed in (False, True):
        pairs, turned = mine.flow(keyed)
        assert pairs == [(t, g) for t, g, n in zip(flow.taker, flow.giver, flow.named, strict=True) if n != keyed]
        assert turned == sorted((giver, taker) for taker, giver in pairs)
    for number, text in enumerate(requests):
        wish, called = text[: len(text) // 2], [number % n, number * 7 % n][: number % 3]
        shared, counts = mine.overlap(text, wish, called)
        np.testing.assert_allclose(shared, expected(lexicon, said, text, wish, called), atol=1e-6, err_msg=text)
        explained, different = lexicon.explained(text)
        assert counts == [len(set(words(text)) & set(table.words)), different, explained, len(words(text))], text
    return mine


def check_alike(core: ctypes.CDLL, tools: list[Tool], requests: list[str]) -> None:
    mine, similar = CoreLexicon(core, tools, len(tools)), SimilarWords(table_of(tools), Vectors())
    assert core.probe_vectors(mine.at, vector_of)
    for text in requests:
        np.testing.assert_allclose(mine.alike(text, vector_of), similar.overlaps(forms(text)), atol=2e-6, err_msg=text)


def test_the_desktop(core: ctypes.CDLL) -> None:
    tools = read_tools(ROOT / "examples/desktop/tools.jsonl")
    requests = (ROOT / "examples/desktop/requests.jsonl").read_text().splitlines()[:200]
    check(core, tools, [*requests, *(tool.name for tool in tools), *(tool.description for tool in tools)])
    check_alike(core, tools, requests[:30])


def test_odd_tools(core: ctypes.CDLL) -> None:
    check(core, HOSTILE, [*REQUESTS, *(tool.name for tool in HOSTILE)])
    check_alike(core, HOSTILE, list(REQUESTS))
    check(core, HOSTILE[:1], list(REQUESTS))


def test_rarities_go_by_names(core: ctypes.CDLL) -> None:
    mine = CoreLexicon(core, HOSTILE, 100)
    table = table_of(HOSTILE)
    counted = np.bincount(table.text()[1], minlength=len(table.words))
    np.testing.assert_allclose(mine.sets()[2], np.log1p(100 / np.maximum(1, counted)), rtol=1e-6)


def test_words_that_a_bundle_brought(core: ctypes.CDLL) -> None:
    table, n = table_of(HOSTILE), len(HOSTILE)
    listed = [(Text * len(some))(*map(text_of, some)) for some in (table.words, table.forms)]
    starts, numbers = table.starts.astype(np.uint32), table.numbers.astype(np.uint32)
    arranged = Arranged(*listed, len(table.words), starts.ctypes.data, numbers.ctypes.data)
    mine, own = CoreLexicon(core, HOSTILE, n, arranged), CoreLexicon(core, HOSTILE, n)
    assert mine.words()[0] == list(table.words)
    for text in REQUESTS:
        (found, counts), (other, told) = mine.overlap(text), own.overlap(text)
        np.testing.assert_array_equal(found, other)
        assert counts == [told[0], told[1], told[1], told[3]]  # explained as if all were


@pytest.mark.parametrize("more", [0, 1])
def test_too_many_pairs_are_none(core: ctypes.CDLL, more: int) -> None:
    n = math.isqrt(MOST_PAIRS) + 1 - more  # without pairs of one tool with itself
    tools = [Tool(f"get_x {i}", "d", {"required": ["x_id"]}) for i in range(n)]
    mine = CoreLexicon(core, tools, n)
    assert mine.pairs == [0, n * (n - 1) if n * (n - 1) <= MOST_PAIRS else 0]


_PARTS = "get find list order user Get_ id key name IDs _ . - Σ"
NAMES = st.lists(st.sampled_from(_PARTS.split(" ")), min_size=1).map("".join)
SCHEMAS = st.recursive(
    st.one_of(st.none(), st.booleans(), NAMES),
    lambda inner: st.dictionaries(
        st.sampled_from(("properties", "description", "enum", "items", "required", "userId")),
        st.one_of(inner, st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    ),
    max_leaves=12,
)
MADE = st.builds(
    lambda name, told, schema: Tool(name, told, schema), NAMES, NAMES, SCHEMAS.filter(lambda s: isinstance(s, dict))
)


@given(st.lists(MADE, min_size=1, max_size=6, unique_by=lambda tool: tool.name), st.lists(NAMES, max_size=3))
def test_any_tools(core: ctypes.CDLL, tools: list[Tool], requests: list[str]) -> None:
    check(core, tools, requests)
