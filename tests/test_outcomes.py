"""Whether a call worked, from what it gave: texts in the form of many frameworks, and texts that only look alike."""

from __future__ import annotations

import json
import string
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from edgeret.outcomes import MOST_DECODED, outcome

TABLES = Path(__file__).parent / "data" / "outcomes"
ROWS = [json.loads(line) for path in sorted(TABLES.glob("*.jsonl")) for line in path.read_text("utf-8").splitlines()]
FAILING = "An error occurred while running the tool. Please try again. Error: city not found"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['from']}: {str(row['result'])[:30]!a}")
def test_results_of_known_programs_are_told(row: dict[str, Any]) -> None:
    assert outcome(row["result"]) == row["outcome"]
    if not isinstance(row["result"], str):
        assert outcome(json.dumps(row["result"])) == row["outcome"]
        assert outcome(json.dumps(row["result"], indent=2)) == row["outcome"]
    else:
        assert outcome([{"type": "text", "text": row["result"]}]) == row["outcome"]


@pytest.mark.parametrize(
    ("text", "flag", "right"),
    [
        ("Sunny", True, "failed"),
        ("", True, "failed"),
        ("<tool_use_error>no such file</tool_use_error>", False, "failed"),
        (FAILING, False, "failed"),
        ('{"error": "no"}', False, "failed"),
        ("The page was not found", False, "worked"),
        ("3 failed, 9 passed", False, "worked"),
        ("Sunny", False, "worked"),
    ],
)
def test_a_field_of_the_format_counts(text: str, flag: bool, right: str) -> None:
    assert outcome(text, flag) == right


def test_only_the_ends_of_a_long_text_are_read() -> None:
    filler = "All is well here, said the keeper of the house. " * 200
    assert outcome(filler + FAILING + filler) == "worked"
    assert outcome(FAILING + filler) == "failed"
    assert outcome(filler + '\nTraceback (most recent call last):\n  File "a", line 1\nValueError: no') != "worked"
    assert outcome(filler + "\n[The command completed with exit code 1.]") == "failed"
    assert outcome(json.dumps({"error": "no", "more": "x" * MOST_DECODED})) == "failed"
    assert outcome(json.dumps({"rows": ["x" * MOST_DECODED], "error": "no"})) == "worked"


@example({"error": None, "errors": None, "detail": [None]})
@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just(FAILING),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(
        ["error", "errors", "status", "code", "message", "content", "type", "text", "isError", "exit_code", "detail"]
    ), inner), max_leaves=12,
))  # fmt: skip
def test_any_value_has_an_outcome(value: Any) -> None:
    assert outcome(value) in ("worked", "failed", "unknown")
    assert outcome(value, True) == "failed"


@pytest.mark.parametrize(
    "text",
    [
        *("[" * 1_000_000, "{" * 1_000_000, '{"a":' * 1_000_000, "9" * 100_000, "\n" * 4_000_000, "'" * 4_000_000),
        *("a.B" * 1_000_000, "error " * 700_000, "the tool " * 400_000, " : " * 1_000_000, "\ud800" * 100_000),
    ],
    ids=lambda text: ascii(text[:8]),
)
def test_hostile_texts_are_told_as_fast_as_others(text: str) -> None:
    for _ in range(20):
        assert outcome(text) in ("worked", "failed", "unknown")


@given(st.text(alphabet=string.ascii_lowercase + " .,:;'\"\n-0123456789()[]<>", max_size=700))
def test_no_short_text_takes_long(text: str) -> None:
    assert outcome(text) in ("worked", "failed", "unknown")


def test_what_a_call_fetched_tells_nothing_of_the_call() -> None:
    text = {"type": "text", "text": "The page was loaded"}
    image = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
    page = {"type": "resource", "resource": {"uri": "file:///a", "text": FAILING}}
    assert outcome([text, image]) == outcome([image]) == outcome([text, page]) == outcome([page]) == "worked"
    assert outcome([{"type": "text", "text": FAILING}, image]) == "failed"
    assert outcome([SimpleNamespace(type="text", text=FAILING)]) == "failed"
    assert outcome([SimpleNamespace(type="text", text="fine"), SimpleNamespace(type="image")]) == "worked"
    assert outcome([{"type": "search_result", "source": "x", "title": "y", "content": [text]}]) == "worked"
    assert outcome({"status": "success", "message": "Removed 3 jobs that failed to start"}) == "worked"
