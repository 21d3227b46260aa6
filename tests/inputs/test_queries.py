"""Files of queries for those who only need the words: plain text, and every JSONL that holds queries."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from edgeret.errors import InputError
from edgeret.inputs.demonstrations import read_demonstrations
from edgeret.inputs.queries import read_queries, read_texts
from edgeret.inputs.query import MAX_QUERY_CHARS

SEPARATORS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
"""What `str.splitlines` cuts at, beside the ends of lines."""


def file(folder: Path, text: str, name: str = "queries.txt") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "text",
    [
        "write a note\nplay my song\n",
        "\ufeff\n  write a note  \r\n\n\nplay my song",
        '{"query": "write a note"}\n\n{"query": "play my song"}\n',
        '\n{"id": "1", "query": "write a note", "tools": ["a"]}\n{"id": "2", "query": "play my song", "tools": []}\n',
        '{"query": "write a note", "calls": [{"tool": "a", "arguments": {}}]}\n{"query": "play my song", "calls": []}',
    ],
    ids=["plain", "byte-order mark and blank lines", "objects", "retrieval queries", "demonstrations"],
)
def test_every_form_gives_the_same_queries_in_the_order_of_the_file(tmp_path: Path, text: str) -> None:
    assert read_texts(file(tmp_path, text)) == ["write a note", "play my song"]


def test_lines_are_cut_at_line_feeds_alone(tmp_path: Path) -> None:
    odd = f"a{SEPARATORS}b"
    assert read_texts(file(tmp_path, f"{odd}\nc\n")) == [odd, "c"]
    lines = [json.dumps({"query": query, "tools": [], "calls": []}, ensure_ascii=False) for query in (odd, "c")]
    written = file(tmp_path, "\n".join(lines), "q.jsonl")
    assert read_texts(written) == [odd, "c"]
    assert [found.query for found in read_queries(written)] == [odd, "c"]
    assert [found.query for found in read_demonstrations(written, [])] == [odd, "c"]


def test_a_line_in_braces_further_down_is_a_query_like_any_other(tmp_path: Path) -> None:
    assert read_texts(file(tmp_path, "explain this:\n{x}\n")) == ["explain this:", "{x}"]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("q.txt", "", r"q\.txt: no queries in it; give one a line"),
        ("q.txt", " \n\n", r"q\.txt: no queries in it"),
        ("q.jsonl", "\n", r"q\.jsonl: no queries in it"),
        ("q.txt", '{"query": "a"}\n{"text": "b"}\n', r'q\.txt:2: "query" must be a string, found nothing'),
        ("q.txt", '{"query": 3}', r'q\.txt:1: "query" must be a string, found a number'),
        ("q.txt", '{"query": " "}', r'q\.txt:1: "query" is empty'),
        ("q.txt", '{"query": "a"}\nplay my song\n', r"q\.txt:2: not JSON .*; every line must be one JSON object"),
        ("q.jsonl", "play my song\n", r"q\.jsonl:1: not JSON .*; every line must be one JSON object"),
        ("q.txt", f"a\n{'b' * (MAX_QUERY_CHARS + 1)}", rf"q\.txt:2: 20001 characters, at most {MAX_QUERY_CHARS}"),
    ],
)
def test_what_is_no_query_is_refused_with_its_place(tmp_path: Path, name: str, text: str, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        read_texts(file(tmp_path, text, name))


def test_a_file_that_is_not_there_is_named_with_what_it_should_be(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.txt: no such file; expected queries: plain text, one a line, or"):
        read_texts(tmp_path / "gone.txt")


def test_an_array_is_no_plain_text(tmp_path: Path) -> None:
    file = tmp_path / "q.json"
    file.write_text('[{"query": "x"}]')
    with pytest.raises(InputError, match="looks like a JSON array; write one query a line"):
        read_texts(file)


def test_queries_need_known_tools(tmp_path: Path) -> None:
    path = file(tmp_path, '{"id": 7, "query": "q", "tools": ["a"]}\n{"query": "r", "tools": []}')
    found = read_queries(path, ["a"])
    assert [(q.id, q.tools) for q in found] == [("7", frozenset("a")), ("1", frozenset())]
    with pytest.raises(InputError, match=':1: unknown tool "a"'):
        read_queries(path, ["b"])


def test_sub_tasks_of_a_query_are_its_steps_or_else_those_of_its_calls(tmp_path: Path) -> None:
    calls = '"calls": [{"tool": "a", "step": "1.2 first"}, {"tool": "b"}, {"tool": "a", "step": 3}, "x"]'
    head = '{"query": "q", "tools": [], '
    lines = (f'{head}"steps": ["one", "two"], {calls}}}', f"{head}{calls}}}", f'{head}"calls": 7}}')
    found = read_queries(file(tmp_path, "\n".join(lines), "q.jsonl"))
    assert [query.steps for query in found] == [("one", "two"), ("1.2 first",), ()]
    with pytest.raises(InputError, match=':1: "steps" must be an array of texts'):
        read_queries(file(tmp_path, '{"query": "q", "tools": [], "steps": [1]}'))


def test_an_unknown_tool_gets_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r'unknown tool "send_mial" in "tools"; .*; did you mean "send_mail"\?$'):
        read_queries(file(tmp_path, '{"query": "q", "tools": ["send_mial"]}'), ["find_file", "send_mail"])
