"""Values from anywhere: what can be a call's arguments, which outputs they refer to, and words for messages."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeret.errors import InputError
from edgeret.inputs.jsonl import MAX_DEPTH, decode, plain
from edgeret.quoting import quoted, visible
from edgeret.runtime.history import check_arguments
from edgeret.types import references

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


def ring() -> dict[str, Any]:
    value: dict[str, Any] = {"to": "$out_2"}
    value["again"] = [value, [value] * 1000]
    return value


def doubled(times: int) -> dict[str, Any]:
    """A value whose parts are shared: small in memory, 2^times as text."""
    value: Any = "x"
    for _ in range(times):
        value = [value, value]
    return {"a": value}


def test_references_end_where_a_value_holds_itself() -> None:
    assert references(ring()) == (2,)
    assert references(doubled(30)) == ()


def test_references_are_found_however_deep() -> None:
    deep: Any = "$out_3"
    for _ in range(100_000):
        deep = [deep]
    assert references({"a": deep}) == (3,)


@given(st.dictionaries(st.text(max_size=3), JSON, max_size=3))
def test_arguments_come_back_as_they_are_and_as_a_copy(value: dict[str, Any]) -> None:
    checked = check_arguments(value)
    assert json.dumps(checked) == json.dumps(value)
    assert checked is not value


def test_mappings_and_tuples_become_plain() -> None:
    value = MappingProxyType({"a": (1, MappingProxyType({"b": None})), "c": nested(MAX_DEPTH - 2)})
    assert check_arguments(value) == {"a": [1, {"b": None}], "c": nested(MAX_DEPTH - 2)}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], "must be an object, found list"),
        ("$out_1", "must be an object, found str"),
        ({1: 2}, "a key is no string"),
        ({"a": {"b", "c"}}, "a set is nothing that JSON can hold"),
        ({"a": float("nan")}, "nan is not a number of JSON"),
        ({"a": [float("inf")]}, "inf is not a number of JSON"),
        ({"a": 10**5000}, "an integer of more than 300 digits"),
        ({"a": "\ud800"}, "half a surrogate pair"),
        ({"\ud800": 1}, "half a surrogate pair"),
        (nested(MAX_DEPTH + 1), "nested more than 32 deep"),
        (nested(100_000), "nested more than 32 deep"),
        (ring(), "nested more than 32 deep"),
        (doubled(28), "more than 1048576 bytes"),
        ({"a": ["x" * 500_000] * 1000}, "more than 1048576 bytes"),
        ({"a": "é" * 600_000}, "more than 1048576 bytes"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_arguments_is_refused(value: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        check_arguments(value)


@given(JSON, st.integers(1, 200))
def test_bounds_are_those_of_the_text(value: Any, room: int) -> None:
    size = len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
    try:
        assert plain(value, room) == value
    except ValueError:
        assert size > room
    else:
        assert size <= room


@pytest.mark.parametrize("text", ["[" * 100_000, "NaN", '{"a": -Infinity}', "9" * 5000, "{", "\ud800", b"\xff", ""])
def test_whatever_does_not_decode_is_a_value_error(text: str | bytes) -> None:
    with pytest.raises(ValueError):
        decode(text)


@given(st.text())
def test_words_in_messages_are_short_and_visible(text: str) -> None:
    shown = quoted(text)
    assert visible(shown) == shown
    assert shown[0] == shown[-1] == '"'
    assert len(quoted(text * 1000)) < 2000


def test_both_ends_of_long_words_are_shown() -> None:
    assert quoted("a" * 99 + "\n\x1b" + "z" * 99) == f'"{"a" * 80}…{"z" * 80}"'
    assert quoted("a\tb\x1b\u202e") == r'"a b\x1b\u202e"'
