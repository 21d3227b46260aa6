"""Tools, demonstrations and queries from files: every form is read, every fault is one line with its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration, read_demonstrations
from edgeret.inputs.hygiene import without_hidden
from edgeret.inputs.jsonl import parse_objects, read_objects, read_text
from edgeret.inputs.query import MAX_QUERY_CHARS, check_query
from edgeret.inputs.tool_text import name_in_words, tool_text
from edgeret.inputs.tools import MAX_TOOLS, check_tools, read_tools
from edgeret.quoting import suggestion, visible
from edgeret.types import END, Call, Tool


def file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "f.jsonl"
    path.write_text(text, encoding="utf-8")
    return path


FORMS = {
    "jsonl": '{"name": "a", "description": "A", "parameters": {"type": "object"}}\n\n'
    '{"name": "b", "description": "B"}\n',
    "openai": json.dumps(
        [
            {"type": "function", "function": {"name": "a", "description": "A", "parameters": {"type": "object"}}},
            {"type": "function", "function": {"name": "b", "description": "B"}},
        ]
    ),
    "openai request": json.dumps(
        {
            "tools": [
                {"type": "function", "function": {"name": "a", "description": "A", "parameters": {"type": "object"}}},
                {"name": "b", "description": "B"},
            ]
        }
    ),
    "anthropic": json.dumps(
        [
            {"name": "a", "description": "A", "input_schema": {"type": "object"}},
            {"type": "custom", "name": "b", "description": "B"},
        ]
    ),
    "mcp": json.dumps(
        {
            "tools": [
                {"name": "a", "description": "A", "inputSchema": {"type": "object"}},
                {"name": "b", "description": "B"},
            ]
        }
    ),
    "mcp response": json.dumps(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "result": {
                "tools": [
                    {"name": "a", "description": "A", "inputSchema": {"type": "object"}},
                    {"name": "b", "description": "B"},
                ]
            },
        }
    ),
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_every_form_of_tools_is_read(tmp_path: Path, text: str) -> None:
    assert read_tools(file(tmp_path, text)) == [Tool("a", "A", {"type": "object"}), Tool("b", "B")]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85"], ids=ascii)
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=ascii)
def test_lines_end_at_line_feeds_alone(tmp_path: Path, separator: str, end: str) -> None:
    line = f'{{"query": "a{separator}b", "calls": []}}{end}'
    found = read_demonstrations(file(tmp_path, line + line), ["a"])
    assert [d.query for d in found] == [f"a{separator}b"] * 2
    with pytest.raises(InputError, match=":3: not JSON"):
        read_demonstrations(file(tmp_path, line + line + "{broken"), ["a"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"name": "a", "description": "A"}\n{"name": "a", "description": "B"}',
            r':2: the name "a" is already taken by .*:1',
        ),
        ('{"name": "a", "description": "A"}\n{broken', r":2: not JSON"),
        ('{"name": "a", "description": "A"}\n[1]', r":2: expected a JSON object, found an array"),
        ('{"name": "<end>", "description": "A"}', "reserved"),
        ('{"name": "a", "description": "A", "parameters": [1]}', r'of "a" cannot be taken \(an array is no JSON'),
        ('{"name": "a", "description": "A", "parameters": "none"}', r'of "a" cannot be taken \(text that is no JSON'),
        ('{"name": "a", "description": "A", "parameters": 3}', r'of "a" cannot be taken \(a number is no JSON Schema'),
        ('{"name": "\u200b", "description": "A"}', r':1: "name" is empty; a tool is \{"name"'),
        ('{"type": "web_search_20250305", "name": "web_search"}', r':1: "web_search" describes no function; a tool is'),
        ("", "no tools in it"),
        ("[" * 100_000, r":1: not JSON \(nested too deeply\)"),
        ('{"name": "a", "description": "A"}\n' + "[" * 100_000, r":2: not JSON \(nested too deeply\)"),
        ('{"name": "a", "description": "A", "parameters": {"minimum": ' + "9" * 5000 + "}}", ":1: not JSON"),
        ('{"name": "a", "description": "A", "parameters": {"minimum": NaN}}', "NaN is not a number of JSON"),
        ('{"name": "a", "description": "A", "parameters": {"minimum": 1e999}}', r'of "a" cannot be taken \(inf is not'),
        ('{"name": "a", "description": "A", "parameters": {"title": "' + "x" * 70_000 + '"}}', "more than 65536 bytes"),
        (
            '{"name": "a", "description": "A", "parameters": ' + '{"not": ' * 33 + "{}" + "}" * 34,
            r'"parameters" of "a" cannot be taken \(nested more than 32 deep\); describe fewer',
        ),
    ],
)
def test_bad_tools_are_refused_by_name(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_tools(file(tmp_path, text))


def test_tools_of_several_files_are_merged_and_a_name_clash_names_both(tmp_path: Path) -> None:
    a, b, empty = tmp_path / "a.jsonl", tmp_path / "b.json", tmp_path / "empty.jsonl"
    a.write_text('{"name": "a", "description": "A"}\n')
    b.write_text('[{"name": "b", "description": "B"}]')
    empty.write_text("[]")
    assert read_tools(a, b) == [Tool("a", "A"), Tool("b", "B")]
    assert read_tools(b, a, b) == [Tool("b", "B"), Tool("a", "A")]
    c = tmp_path / "c.json"
    c.write_text('[{"name": "b", "description": "C"}]')
    with pytest.raises(InputError, match=r'c\.json: tool 1: the name "b" is already taken by .*b\.json: tool 1; names'):
        read_tools(b, a, c)
    with pytest.raises(InputError, match=r"empty\.jsonl: no tools in it"):
        read_tools(a, empty)


def test_a_page_of_a_longer_list_is_refused_without_the_pages_behind_it(tmp_path: Path) -> None:
    first, last, other = tmp_path / "1.json", tmp_path / "2.json", tmp_path / "other.jsonl"
    first.write_text('{"result": {"tools": [{"name": "a", "description": "A"}], "nextCursor": "p2"}}')
    last.write_text('{"tools": [{"name": "b", "description": "B"}], "nextCursor": ""}')
    other.write_text('{"name": "c", "description": "C"}')
    for files in ([first], [last, first], [first, other], [other, first]):
        with pytest.raises(InputError, match=r'1\.json: one page of a longer list \(it has a "nextCursor"\)'):
            read_tools(*files)
    assert [tool.name for tool in read_tools(other, first, last)] == ["c", "a", "b"]


@pytest.mark.parametrize("key", ["schema", "params", "inputschema", "input-schema", "Parameters", "paramaters", "args"])
def test_parameters_under_another_name_are_not_taken_for_none(tmp_path: Path, key: str) -> None:
    text, told = json.dumps({"name": "a", "description": "A", key: {"type": "object"}}), list[str]()
    assert read_tools(file(tmp_path, text), tell=told.append) == [Tool("a", "A", {"type": "object"})]
    assert [line.partition(": ")[2] for line in told] == [
        "1 of 1 tools mended, each has its parameters under another key: they are taken: a"
    ]


def test_what_else_a_tool_carries_is_its_owners_business(tmp_path: Path) -> None:
    known = {"title": "T", "annotations": {"x": 1}, "outputSchema": {}, "strict": True, "_meta": {}, "icons": []}
    own = {"params": "none", "returns": {"type": "string"}, "example_output": ["x"], "schema_version": "1"}
    assert read_tools(file(tmp_path, json.dumps({"name": "a", "description": "A", **known, **own}))) == [Tool("a", "A")]
    both = {"name": "a", "description": "A", "parameters": {"type": "object"}, "schema": {"x": 1}}
    assert read_tools(file(tmp_path, json.dumps(both))) == [Tool("a", "A", {"type": "object"})]


HIDDEN = "\x00\x1b\x85\u202e\u2066\u200b\ufeff\u3164\ufe01\U000e0041"


@pytest.mark.parametrize("char", "\n\t\r\u2028\u2029\u200d" + HIDDEN, ids=ascii)
def test_a_name_holds_nothing_that_is_not_seen(char: str) -> None:
    with pytest.raises(InputError, match=rf"the invisible character U\+{ord(char):04X}; take it out") as caught:
        check_tools([("f:1", Tool(f"a{char}b", "A"))], "f")
    assert visible(str(caught.value)) == str(caught.value)


@pytest.mark.parametrize("char", HIDDEN, ids=ascii)
def test_a_description_holds_nothing_that_is_not_seen_but_layout(char: str) -> None:
    with pytest.raises(InputError, match=rf'description of "a" contains the invisible character U\+{ord(char):04X}'):
        check_tools([("f:1", Tool("a", f"A{char}B"))], "f")
    assert check_tools([("f:1", Tool("a", "A\n\tB\u2028 می\u200cخواهم ❤\ufe0f"))], "f")


@given(st.text())
def test_what_is_dropped_is_what_is_refused(text: str) -> None:
    kept = without_hidden(text.replace("\ud800", ""))
    assert check_tools([("f:1", Tool("a", kept))], "f")[0].description == kept


def test_more_tools_than_anybody_has_are_refused() -> None:
    with pytest.raises(InputError, match="f: 100001 tools, at most 100000 are allowed"):
        check_tools([("f:1", Tool("a", "A"))] * (MAX_TOOLS + 1), "f")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"query": "q", "calls": [' + ",".join(['{"tool": "a"}'] * 257) + "]}", ":1: 257 calls, at most 256"),
        ('{"query": "q", "calls": [{"tool": "a", "arguments": {"x": 1e999}}]}', "cannot be taken .inf is not a number"),
        ('{"query": "q", "calls": [{"tool": "\\u001b[2J"}]}', r':1: unknown tool "\\x1b\[2J" in a call'),
        ('{"query": "q", "calls": [{"tool": "nobody"}]}', r':1: unknown tool "nobody" in a call'),
        ('{"query": "q", "calls": []}\n{broken', ":2: not JSON"),
        ('{"query": "", "calls": []}', r':1: "query" is empty'),
        ('{"query": "' + "x" * 100_000 + '", "calls": []}', ":1: 100000 characters, at most 20000"),
        ('{"query": "q"}', r'"calls" must be a list, found nothing'),
        ('{"query": "q", "calls": ["a"]}', "a call must be"),
        ('{"query": "q", "calls": [{"tool": "a"}], "links": [[0, 0]]}', r"found \[0, 0\]"),
        ('{"query": "q", "calls": [{"tool": "a"}, {"tool": "a"}], "links": [[1, 0]]}', "0 <= i < j < 2"),
        ('{"query": "q", "calls": [], "links": 3}', '"links" must be pairs'),
        ("\n", "no demonstrations in it"),
    ],
)
def test_bad_demonstrations_are_refused_by_name(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_demonstrations(file(tmp_path, text), ["a"])


@pytest.mark.parametrize(
    ("text", "found", "meant"),
    [
        ('{"querry": "q", "calls": []}', "querry", "query"),
        ('{"query": "q", "call": [{"tool": "a"}]}', "call", "calls"),
        ('{"query": "q", "tools": ["a"]}', "tools", "calls"),
        ('{"query": "q", "calls": [], "link": []}', "link", "links"),
        ('{"query": "q", "calls": [{"tools": "a"}]}', "tools", "tool"),
        ('{"query": "q", "calls": [{"name": "a", "arguments": {}}]}', "name", "tool"),
        ('{"query": "q", "calls": [{"tool": "a", "argument": {"x": 1}}]}', "argument", "arguments"),
        ('{"query": "q", "calls": [{"tool": "a", "Arguments": {"x": 1}}]}', "Arguments", "arguments"),
        ('{"query": "q", "calls": [{"tool": "a", "args": {"x": 1}}]}', "args", "arguments"),
    ],
)
def test_a_mistyped_key_of_a_demonstration_is_no_missing_one(tmp_path: Path, text: str, found: str, meant: str) -> None:
    with pytest.raises(InputError, match=rf':1: unknown key "{found}"; did you mean "{meant}"\?'):
        read_demonstrations(file(tmp_path, text), ["a"])


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "a", "description": "A"}\n{"name": "b", "description": "B"}',
        '[{"name": "a", "description": "A"}, {"name": "b", "description": "B"}]',
        '{"tools": [\n{"name": "a", "inputSchema": {}},\n{"name": "b", "inputSchema": {}}\n]}',
    ],
)
def test_tools_in_the_place_of_demonstrations_are_told_as_such(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=r"these are tools \(2\), not demonstrations; give them with --tools"):
        read_demonstrations(file(tmp_path, text), ["a"])


def test_metadata_beside_a_demonstrations_keys_is_its_owners_business(tmp_path: Path) -> None:
    text = (
        '{"id": 1, "uid": 2, "query": "q", "queries": [], "lines": [3], "source": "me", '
        '"calls": [{"tool": "a", "name": "A", "output": "x", "thought": "y"}]}'
    )
    assert read_demonstrations(file(tmp_path, text), ["a"]) == [Demonstration("1", "q", (Call("a"),))]


def test_a_mistyped_tool_is_answered_with_the_one_that_was_meant(tmp_path: Path) -> None:
    tools = ["send_mail", "find_file"]
    with pytest.raises(InputError, match=r'unknown tool "send_mial" in a call; .*; did you mean "send_mail"\?$'):
        read_demonstrations(file(tmp_path, '{"query": "q", "calls": [{"tool": "send_mial"}]}'), tools)


def test_what_resembles_nothing_gets_no_suggestion() -> None:
    assert suggestion("send_mial", ["find_file", "send_mail"]) == '; did you mean "send_mail"?'
    assert suggestion("x", ["find_file", "send_mail"]) == ""
    assert suggestion("a\u202e" * 100_000, ["find_file"]) == ""


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file; expected tools"):
        read_tools(tmp_path / "nowhere")
    (tmp_path / "latin").write_bytes(b'{"name": "\xe4"}')
    with pytest.raises(InputError, match=r"not UTF-8 text \(byte 10\)"):
        read_tools(tmp_path / "latin")


def test_query_bounds() -> None:
    assert check_query("x" * MAX_QUERY_CHARS)
    for query in ("", " \n", "x" * (MAX_QUERY_CHARS + 1)):
        with pytest.raises(InputError):
            check_query(query)


def dag(links: list[tuple[int, int]] | None, n: int = 3) -> Demonstration:
    return Demonstration("d", "q", tuple(Call(f"t{i}") for i in range(n)), None if links is None else tuple(links))


def test_steps_of_a_chain_accept_one_tool_each() -> None:
    assert [(s.history, s.acceptable) for s in dag(None, 2).steps()] == [
        ((), {"t0"}),
        (("t0",), {"t1"}),
        (("t0", "t1"), {END}),
    ]


def test_steps_of_a_dag_accept_all_whose_predecessors_are_done() -> None:
    steps = dag([(0, 2), (1, 2)]).steps()
    assert [s.acceptable for s in steps] == [{"t0", "t1"}, {"t1"}, {"t2"}, {END}]
    assert [s.acceptable for s in dag([]).steps((2, 0, 1))] == [{"t0", "t1", "t2"}, {"t0", "t1"}, {"t1"}, {END}]


def test_a_plan_without_calls_is_over_at_once() -> None:
    assert [(s.history, s.acceptable, s.taken) for s in dag(None, 0).steps()] == [((), {END}, END)]


def test_names_become_words() -> None:
    assert name_in_words("send_smsNow") == "send sms Now"
    assert tool_text(Tool("get_time", "Tells it."), "name+description") == "get time | Tells it."
    with pytest.raises(InputError, match="unknown tool text 'json'"):
        tool_text(Tool("a", "b"), "json")


def test_parameters_of_null_are_none(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text('{"name": "a", "description": "A", "parameters": null}')
    assert read_tools(file)[0].parameters == {}


@pytest.mark.parametrize("entry", ['{"type": "web_search"}', '{"query": "q", "calls": []}', '{"functions": 3}'])
def test_what_is_no_tool_is_told_what_one_is(tmp_path: Path, entry: str) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text(entry)
    with pytest.raises(InputError, match=r'a tool is \{"name", "description", "parameters"\}, or what OpenAI'):
        read_tools(file)


def test_a_file_read_line_by_line_is_the_file_read_at_once(tmp_path: Path) -> None:
    path = tmp_path / "objects.jsonl"
    path.write_bytes('\ufeff{"a": "x\u2028y"}\r\n\n  \n{"b": [1]}\n{"c": 2}'.encode())
    at_once = list(parse_objects(read_text(path, "objects"), path))
    assert list(read_objects(path, "objects")) == at_once
    assert [where for where, _ in at_once] == [f"{path}:{number}" for number in (1, 4, 5)]


@pytest.mark.parametrize("before", ["", "\ufeff", '{"a": 1}\n', '\ufeff{"a": 1}\n'])
def test_a_byte_that_is_no_text_is_counted_from_the_beginning_of_the_file(tmp_path: Path, before: str) -> None:
    path = tmp_path / "objects.jsonl"
    path.write_bytes(before.encode() + b'{"b": "\xff"}\n')
    place = len(before.encode()) + 7
    with pytest.raises(InputError, match=rf"not UTF-8 text \(byte {place}\); expected objects"):
        list(read_objects(path, "objects"))
    with pytest.raises(InputError, match="no such file; expected objects"):
        list(read_objects(tmp_path / "none", "objects"))
