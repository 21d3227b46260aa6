"""The other readers of public datasets, on records of our own in the originals' forms, clean and dirty."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dataset_records import calls, lines, survives, whole

from edgeret.errors import InputError
from edgeret_bench.datasets import (
    Dataset,
    apibank,
    bfcl,
    sealtools,
    taskbench,
    tinyagent,
    toolbench,
    toole,
    toolret,
    ultratool,
)

# --- ToolE, ToolBench, ToolRet ---------------------------------------------------------------------------------------


def test_toole_has_queries_with_one_tool_and_with_two(tmp_path: Path) -> None:
    whole(tmp_path / "plugin_des.json", {"SurfReport": "Waves", "local": "Shops near by"})
    whole(tmp_path / "big_tool_des.json", {"ProductSearch": "Goods", "local": "otherwise described"})
    table = 'Query,Tool\n"Waves, ""big"" ones?",surfreport\nAny shop?,local\nNo,Unheard\n,local\n'
    (tmp_path / "all_clean_data.csv").write_text(table, encoding="utf-8")
    golden = [{"query": "Both", "tool": ["local", "ProductSearch"]}, {"query": "None", "tool": []}, {"query": "x"}]
    whole(tmp_path / "multi_tool_query_golden.json", golden)
    dataset = toole.read(tmp_path)
    assert [(q.id, q.query, set(q.tools)) for q in dataset.queries] == [
        ("s0", 'Waves, "big" ones?', {"SurfReport"}),
        ("s1", "Any shop?", {"local"}),
        ("m0", "Both", {"local", "ProductSearch"}),
    ]
    assert sum(dataset.skipped.values()) == 4
    assert dataset.skipped["names a tool that the dataset does not define"] == 1
    survives(dataset, tmp_path / "out")


def api(tool: str, name: str, description: str = "does it", **more: Any) -> dict[str, Any]:
    return {"category_name": "Misc", "tool_name": tool, "api_name": name, "api_description": description, **more}


def test_toolbench_tools_are_pairs_of_names(tmp_path: Path) -> None:
    parameter = {"name": "task_id", "type": "STRING", "description": "which", "default": ""}
    first = api("Cargo", "Health", " \u200b", required_parameters=[parameter], optional_parameters=[])
    records = [
        {
            "api_list": [first, api("Cargo", "Stop")],
            "query": "healthy?",
            "relevant APIs": [["Cargo", "Health"]],
            "query_id": 9,
        },
        {"api_list": [api("Cargo", "Stop", "another text")], "query": "q", "relevant APIs": [["Cargo", "Go"]]},
        {"api_list": [], "query": "q", "relevant APIs": [["Cargo"]]},
        {"api_list": [], "query": "q", "relevant APIs": []},
        {"api_list": [], "query": "q"},
    ]
    whole(tmp_path / "G1_query.json", records)
    dataset = toolbench.read(tmp_path)
    assert [(q.id, set(q.tools)) for q in dataset.queries] == [("G1_query-9", {"Cargo: Health"})]
    assert dataset.tools[0].parameters["required"] == ["task_id"]
    assert dataset.tools[0].parameters["properties"]["task_id"]["type"] == "string"
    assert dataset.skipped == {
        "mended: invisible characters in a tool's description were dropped": 1,
        "mended: a tool without a description is described by its name": 1,
        "another definition of a tool's name; the first one is kept": 1,
        "names a tool that the dataset does not define": 1,
        '"relevant APIs" of a record holds something else than pairs of names': 1,
        '"relevant APIs" of a record is empty': 1,
        'a record without "relevant APIs"': 1,
    }
    survives(dataset, tmp_path / "out")


def test_toolret_knows_tools_by_id_and_reads_many_forms_of_documentation(tmp_path: Path) -> None:
    documents = [
        {"name": "grow", "description": "Grows.", "parameters": {"n": {"type": "int", "description": "how many"}}},
        {"tool_name": "grow", "desc": "Grows, too.", "parameters": [{"name": "u", "schema": {"type": "str"}}]},
        "plain words",
    ]
    tools = [{"id": f"t{i}", "documentation": json.dumps(d) if i else d} for i, d in enumerate(documents)]
    whole(tmp_path / "a/tools.json", tools)
    labels = [{"id": "t0", "relevance": 1}, {"id": "t1", "relevance": 0}]
    lines(
        tmp_path / "a/queries.jsonl",
        {"id": "q0", "query": "grow", "labels": json.dumps(labels), "instruction": "…"},
        {"id": "q1", "query": "late", "labels": [{"id": "t9", "doc": {"api_name": "late", "description": "Late."}}]},
        {"id": "q2", "query": "none", "labels": "[]"},
        {"id": "q3", "query": "lost", "labels": [{"id": "t10"}]},
    )
    dataset = toolret.read(tmp_path)
    assert [(t.name, t.description) for t in dataset.tools] == [
        ("t0", "grow: Grows."),
        ("t1", "grow: Grows, too."),
        ("t2", "plain words"),
        ("t9", "late: Late."),
    ]
    assert dataset.tools[0].parameters["properties"]["n"]["type"] == "integer"
    assert dataset.tools[1].parameters["properties"]["u"]["type"] == "string"
    assert [(q.id, set(q.tools)) for q in dataset.queries] == [("q0", {"t0"}), ("q1", {"t9"})]
    assert dataset.skipped == {"no label in it": 1, "names a tool that the dataset does not define": 1}
    survives(dataset, tmp_path / "out")


def test_toolret_parquet_without_pyarrow_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tools.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"tools\.parquet: .* needs pyarrow.*convert"):
        toolret.read(tmp_path)


# --- UltraTool, API-Bank, Seal-Tools ---------------------------------------------------------------------------------


def ultra(*steps: str, question: str = "write\n") -> dict[str, Any]:
    properties = {
        "path": {"type": "string", "description": "p"},
        "content": {"type": "string"},
        "lines": {"type": "int"},
    }
    tool = {"name": "file_write", "description": "Writes", "arguments": {"type": "object", "properties": properties}}
    return {"question": question, "plan": [{"step": s, "tool": s} for s in steps], "tools": [tool]}


def test_ultratool_reads_calls_whose_quotes_are_not_escaped(tmp_path: Path) -> None:
    call = r"file_write(path='D:\new.txt', content='Tomorrow's note, size=3, done', 'lines'=2, colour='red')"
    lines(
        tmp_path / "test.json",
        ultra("null", "No tool required", call),
        ultra("null"),
        ultra("file_write('D:/x')"),
        ultra("file_read(path='x')"),
    )
    dataset = ultratool.read(tmp_path)
    (plan,) = dataset.demonstrations
    assert plan.query == "write"
    (query,) = dataset.queries
    assert (query.id, query.query, query.tools, query.steps) == (plan.id, "write", {"file_write"}, (call,))
    assert plan.links is None
    assert calls(plan) == (
        ("file_write", {"path": r"D:\new.txt", "content": "Tomorrow's note, size=3, done", "lines": 2}),
    )
    assert dataset.skipped == {
        "mended: an argument that the tool does not have was left out": 1,
        "no call in it": 1,
        "a call that cannot be parsed": 1,
        "calls a tool that the dataset does not define": 1,
    }
    survives(dataset, tmp_path / "out")


def test_ultratool_a_tool_has_the_parameters_of_all_its_definitions(tmp_path: Path) -> None:
    first, second = ultra("file_write(path='a')"), ultra("file_write(mode='add', path='b')")
    second["tools"][0]["arguments"]["properties"] = {"mode": {"type": "string"}, "path": {"type": "integer"}}
    lines(tmp_path / "test.json", first, second)
    dataset = ultratool.read(tmp_path)
    (tool,) = dataset.tools
    assert set(tool.parameters["properties"]) == {"path", "content", "lines", "mode"}
    assert tool.parameters["properties"]["path"]["type"] == "string"
    assert calls(dataset.demonstrations[1]) == (("file_write", {"mode": "add", "path": "b"}),)
    assert list(dataset.skipped.values()) == [1]


def turn(file: str, said: str, expected: str, *tools: dict[str, Any]) -> dict[str, Any]:
    described = "\n".join(["Generate…", "API descriptions:", *(json.dumps(tool) for tool in tools)])
    return {"file": file, "id": 0, "instruction": described, "input": said, "expected_output": expected}


def described(name: str, *parameters: str) -> dict[str, Any]:
    fields = {p: {"type": "str", "description": p} for p in parameters}
    return {"name": name, "description": f"{name} does it", "input_parameters": fields, "output_parameters": {}}


def searched(found: dict[str, Any]) -> dict[str, Any]:
    return {"api_name": "ToolSearcher", "input": {"keywords": "k"}, "output": {"output": found, "exception": None}}


def called(name: str, result: Any, exception: str | None = None, **arguments: str) -> dict[str, Any]:
    return {"api_name": name, "input": arguments, "output": {"output": result, "exception": exception}}


def test_api_bank_reads_whole_dialogues_and_finds_what_came_from_results(tmp_path: Path) -> None:
    token = described("GetToken", "user")
    alarm = described("AddAlarm", "token", "time")
    first = "User: I am Ana.\nAI: Good.\nGenerate API Request:\n"
    later = (
        "User: I am Ana.\nAI: Good.\nAPI-Request: [GetToken(user='Ana')]->{'token': 'abc-123'}\n"
        "AI: Here.\nUser: Wake me at 07:30.\nGenerate API Request:\n"
    )
    turns = [
        turn("x-level-1-1.jsonl", first, "API-Request: [GetToken(user='Ana')]", token, alarm),
        turn("x-level-1-1.jsonl", later, "API-Request: [AddAlarm(token='abc-123', time='07:30')]", token, alarm),
        turn("y-level-1-1.jsonl", "User: hm\n", "API-Request: nothing", token),
    ]
    rooms = [{"room": "Blue room", "id": 1}]
    apis = [
        searched(described("Rooms", "who")),
        called("Rooms", {"rooms": rooms}, who="Ana"),
        searched(described("Book", "room")),
    ]
    requests = [
        {"requirement": " Book Ana's room", "apis": [*apis, called("Book", "done", room="Blue room")]},
        {"requirement": "Book", "apis": [*apis, called("Book", None, "no such room", room="x")]},
    ]
    whole(tmp_path / "level-1-api.json", turns)
    whole(tmp_path / "level-3.json", requests)
    dataset = apibank.read(tmp_path)
    dialogue, request = dataset.demonstrations
    assert (dialogue.id, dialogue.query) == ("x-level-1-1", "I am Ana.\nWake me at 07:30.")
    assert calls(dialogue) == (("GetToken", {"user": "Ana"}), ("AddAlarm", {"token": "$out_1", "time": "07:30"}))
    assert request.query == "Book Ana's room"
    assert calls(request) == (("Rooms", {"who": "Ana"}), ("Book", {"room": "$out_1"}))
    assert [tool.name for tool in dataset.tools] == ["GetToken", "AddAlarm", "Rooms", "Book"]
    assert dataset.skipped == {"a call that cannot be parsed": 1, "a call that failed": 1}
    survives(dataset, tmp_path / "out")


def test_api_bank_cuts_dialogues_at_line_feeds_alone(tmp_path: Path) -> None:
    said = "User: I am\u2028Ana.\nGenerate API Request:\n"
    turns = [turn("x-level-1-1.jsonl", said, "API-Request: [GetToken(user='Ana')]", described("GetToken", "user"))]
    whole(tmp_path / "level-1-api.json", turns)
    whole(tmp_path / "level-3.json", [])
    assert [d.query for d in apibank.read(tmp_path).demonstrations] == ["I am\u2028Ana."]


# --- BFCL ------------------------------------------------------------------------------------------------------------


def function(name: str, **properties: Any) -> dict[str, Any]:
    parameters = {"type": "dict", "properties": properties, "required": ["x"]}
    return {"name": name, "description": f"{name}.", "parameters": parameters}


def entry(identity: str, *functions: dict[str, Any], said: str = "go") -> dict[str, Any]:
    messages = [{"role": "system", "content": "be kind"}, {"role": "user", "content": said}]
    return {"id": identity, "question": [messages], "function": list(functions)}


def bfcl_folder(folder: Path) -> Path:
    area = function(
        "area", x={"type": "float"}, unit={"type": "String"}, how={"type": "dict", "properties": {"k": {"type": "any"}}}
    )
    other = function("area", x={"type": "tuple", "items": {"type": "integer"}})
    total = function("total", x={"type": "integer"})
    files: dict[str, tuple[list[Any], list[Any]]] = {c: ([], []) for c in (*bfcl.SINGLE, *bfcl.PARALLEL, bfcl.TURNS)}
    files["simple_python"] = (
        [entry("simple_0", area), entry("simple_1", total), entry("simple_2", total), entry("simple_3", total)],
        [
            {
                "id": "simple_0",
                "ground_truth": [{"area": {"x": [2.5, 2], "unit": ["m", ""], "how": [{"k": [1, 2], "l": ["", 3]}]}}],
            },
            {"id": "simple_1", "ground_truth": [{"sum": {"x": [1]}}]},
            {"id": "simple_2", "ground_truth": [{"total": {"x": 1}}]},
        ],
    )
    files["parallel"] = (
        [entry("parallel_0", other, total)],
        [{"id": "parallel_0", "ground_truth": [{"area": {"x": [[1, 2]]}}, {"total": {"x": ["", 4]}}]}],
    )
    turns = {
        "id": "multi_turn_base_0",
        "question": [[{"role": "user", "content": "first"}], [{"role": "user", "content": "second"}]],
        "involved_classes": ["MathAPI"],
    }
    files[bfcl.TURNS] = (
        [turns, {**turns, "id": "multi_turn_base_1"}],
        [
            {"id": "multi_turn_base_0", "ground_truth": [["mean(x=[1, 2])"], [], ["round_up(0.5, digits=1)"]]},
            {"id": "multi_turn_base_1", "ground_truth": [["mean(x=y)"]]},
        ],
    )
    for category, (entries, answers) in files.items():
        lines(folder / f"BFCL_v4_{category}.json", *entries)
        lines(folder / f"possible_answer/BFCL_v4_{category}.json", *answers)
    for file in bfcl.CLASSES.values():
        lines(folder / f"multi_turn_func_doc/{file}.json")
    digits = {"type": "integer"}
    lines(
        folder / "multi_turn_func_doc/math_api.json",
        function("mean", x={"type": "array", "items": {"type": "float"}}),
        function("round_up", x={"type": "float"}, digits=digits),
    )
    return folder


def test_bfcl_takes_one_accepted_call_and_tells_equal_names_apart(tmp_path: Path) -> None:
    dataset = bfcl.read(bfcl_folder(tmp_path / "in"))
    single, parallel, turns = dataset.demonstrations
    names = [tool.name for tool in dataset.tools]
    assert names[1:2] == ["total"]
    assert [name[:5] for name in names if name.startswith("area")] == ["area~", "area~"]
    schema = next(tool for tool in dataset.tools if tool.name == single.calls[0].tool).parameters
    assert schema["type"] == "object"
    assert schema["properties"]["x"] == {"type": "number"}
    assert schema["properties"]["how"] == {"type": "object", "properties": {"k": {}}}
    assert single.query == "go"
    assert single.calls[0].arguments == {"x": 2.5, "how": {"k": 1}}
    assert single.calls[0].tool != parallel.calls[0].tool
    assert parallel.links == ()
    assert parallel.calls[0].arguments == {"x": [1, 2]}
    assert parallel.calls[1].arguments == {"x": 4}
    assert turns.query == "first\nsecond"
    assert calls(turns) == (("mean", {"x": [1, 2]}), ("round_up", {"x": 0.5, "digits": 1}))
    assert turns.links is None
    assert dataset.skipped == {
        "calls a tool that the dataset does not define": 1,
        "a call that cannot be parsed": 2,
        'a record without "ground_truth"': 1,
    }
    survives(dataset, tmp_path / "out")


def test_bfcl_irrelevance_gives_queries_without_tools(tmp_path: Path) -> None:
    for category in bfcl.IRRELEVANT:
        lines(tmp_path / f"BFCL_v4_{category}.json", entry(f"{category}_0", function("area", x={"type": "float"})))
    dataset = bfcl.read_irrelevance(tmp_path)
    assert [(q.id, q.tools) for q in dataset.queries] == [
        ("irrelevance_0", frozenset()),
        ("live_irrelevance_0", frozenset()),
    ]
    survives(dataset, tmp_path / "out")


# --- all of them -----------------------------------------------------------------------------------------------------

READERS: list[Callable[[Path], Dataset]] = [
    taskbench.read,
    tinyagent.read,
    toole.read,
    toolbench.read,
    toolret.read,
    ultratool.read,
    apibank.read,
    sealtools.read,
    bfcl.read,
    bfcl.read_irrelevance,
]


@pytest.mark.parametrize("reader", READERS)
def test_a_folder_without_the_files_is_an_error_that_names_them(
    tmp_path: Path, reader: Callable[[Path], Dataset]
) -> None:
    with pytest.raises(InputError, match=r"expected|in it"):
        reader(tmp_path)
