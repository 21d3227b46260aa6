"""Readers of tasks over many tools (ToolLinkOS, LiveMCPBench, ACEBench, MCPToolBench++, NESTFUL, tau2-bench, ToolRet
whole), on records of our own in the originals' forms, clean and dirty."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dataset_records import calls, lines, survives, whole

from edgeret.errors import InputError
from edgeret_bench.datasets import acebench, livemcpbench, mcptoolbench, nestful, tau2, toollinkos, toolret

UNKNOWN = "calls a tool that the dataset does not define"
UNASKED = "names a tool that the dataset does not define"
LEFT_OUT = "mended: an argument that the tool does not have was left out"


def schema(*names: str, required: tuple[str, ...] = ()) -> dict[str, Any]:
    properties = {name: {"type": "string", "description": name} for name in names}
    return {"type": "object", "properties": properties, "required": list(required)}


# --- ToolLinkOS and LiveMCPBench -------------------------------------------------------------------------------------


def test_toollinkos_queries_list_what_their_tool_depends_on(tmp_path: Path) -> None:
    depends = [{"name": "find_port", "dependence_type": "TOOL_DIRECTLY_DEPENDS_ON", "reason": "…"}]
    parameters = [{"name": "port", "type": "string", "required": True}, {"name": "by", "type": "int"}, {"type": "x"}]
    moor = {"name": "moor", "description": "Moors", "parameters": parameters, "depends_on": depends}
    whole(tmp_path / "regular_tools.json", [{**moor, "func_type": "regular"}, {"name": "silent"}])
    core = {"name": "find_port", "description": "Finds a port", "parameters": [], "func_type": "core"}
    whole(tmp_path / "core_tools.json", [core])
    wanted = {"main_golden_function_name": "moor", "golden_function_names": ["moor", "find_port"]}
    whole(
        tmp_path / "instances.json",
        [
            {"user_query": "moor at once", **wanted},
            {"user_query": "fly", **wanted, "golden_function_names": ["fly"]},
            {"user_query": "nothing", **wanted, "golden_function_names": []},
        ],
    )
    dataset = toollinkos.read(tmp_path)
    assert [tool.name for tool in dataset.tools] == ["find_port", "moor"]
    assert dataset.tools[1].parameters["required"] == ["port"]
    assert dataset.tools[1].parameters["properties"]["by"]["type"] == "integer"
    assert [(q.id, set(q.tools)) for q in dataset.queries] == [("tl0", {"moor", "find_port"})]
    assert dataset.skipped == {
        'a record without "description"': 1,
        UNASKED: 1,
        '"golden_function_names" of a record is empty': 1,
    }
    survives(dataset, tmp_path / "out")


def server(name: str, *tools: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "category": "Boats", "tools": {name: {"server_name": name, "tools": list(tools)}}}


def test_livemcpbench_tasks_name_tools_and_steps_line_by_line(tmp_path: Path) -> None:
    row = {"name": "row", "description": "Rows", "inputSchema": schema("to", required=("to",)), "annotations": None}
    other = {"name": "row", "description": "Rows of a table", "inputSchema": None}
    whole(tmp_path / "tools/tools.json", [server("boat", row), server("table", other, {"name": "sum"}), {"name": "no"}])
    noted = {"Steps": "1. to the boat\n2. row", "Tools": "1. row\n2. sum ", "Number of tools": "2"}
    task = {"task_id": "t-1", "Question": "Over the lake?", "answers": "", "Annotator Metadata": noted}
    whole(
        tmp_path / "tasks/tasks.json",
        [
            task,
            {**task, "task_id": "t-2", "Annotator Metadata": {"Tools": "1. swim\n2. sum"}},
            {**task, "Annotator Metadata": {"Tools": "1. swim"}},
            {**task, "Annotator Metadata": {"Tools": " "}},
            {"task_id": "t-4", "Question": "x"},
        ],
    )
    dataset = livemcpbench.read(tmp_path)
    assert [(tool.name, tool.description) for tool in dataset.tools] == [
        ("boat: row", "Rows"),
        ("table: row", "Rows of a table"),
        ("sum", "sum"),
    ]
    assert [(q.id, set(q.tools), q.steps) for q in dataset.queries] == [
        ("t-1", {"boat: row", "table: row", "sum"}, ("to the boat", "row")),
        ("t-2", {"sum"}, ()),
    ]
    assert dataset.skipped == {
        "mended: a tool without a description is described by its name": 1,
        'a record without "tools"': 1,
        livemcpbench.NO_SUCH_TOOL: 2,
        "a task without a tool that a server has": 2,
        'a record without "Annotator Metadata"': 1,
    }
    survives(dataset, tmp_path / "out")


# --- ACEBench and MCPToolBench++ -------------------------------------------------------------------------------------


def ace(folder: Path, category: str, *pairs: tuple[dict[str, Any], Any]) -> None:
    lines(folder / f"data_{category}.json", *(entry for entry, _ in pairs))
    lines(folder / f"possible_answer/data_{category}.json", *(a for _, a in pairs if a is not None))


def question(identity: str, said: str, *functions: str) -> dict[str, Any]:
    listed = [{"name": name, "description": f"{name} it", "parameters": schema("a", "b")} for name in functions]
    return {"id": identity, "question": said, "function": listed, "time": ""}


def test_acebench_reads_what_the_user_said_and_calls_with_numbers(tmp_path: Path) -> None:
    for category in acebench.NORMAL:
        ace(tmp_path, category)
    parallel = "normal_single_turn_parallel_function"
    truth: dict[str, Any] = {"sail_1": {"a": "x"}, "sail_2": {"a": "y", "c": 1}, "moor": {}}
    ace(
        tmp_path,
        parallel,
        (question("p_0", "user: both\n", "sail", "moor"), {"id": "p_0", "ground_truth": truth}),
        (question("p_1", "user: none\n", "sail"), {"id": "p_1", "ground_truth": {"swim": {}}}),
        (question("p_2", "user: lost\n", "sail"), None),
    )
    said = "user: sail to A\nsystem: Where?\nsystem: [moor(a='x')]\nuser: to B\nof course\n"
    turns = "normal_multi_turn_user_adjust"
    ace(tmp_path, turns, (question("t_0", said, "lift_2"), {"id": "t_0", "ground_truth": {"lift_2": {"a": "B"}}}))
    dataset = acebench.read(tmp_path)
    turn, both = dataset.demonstrations
    assert (turn.query, calls(turn)) == ("sail to A\nto B\nof course", (("lift_2", {"a": "B"}),))
    assert both.query == "both"
    assert calls(both) == (("sail", {"a": "x"}), ("sail", {"a": "y"}), ("moor", {}))
    assert both.links == ()
    assert dataset.skipped == {LEFT_OUT: 1, UNKNOWN: 1, 'a record without "ground_truth"': 1}
    survives(dataset, tmp_path / "out")


def test_acebench_irrelevant_requests_are_queries_without_tools(tmp_path: Path) -> None:
    lines(tmp_path / f"data_{acebench.IRRELEVANT}.json", question("i_0", "user: bake\n", "sail"), {"id": "i_1"})
    dataset = acebench.read_irrelevant(tmp_path)
    assert [(q.id, q.query, q.tools) for q in dataset.queries] == [("i_0", "bake", frozenset())]
    assert [tool.name for tool in dataset.tools] == ["sail"]
    survives(dataset, tmp_path / "out")


def test_mcptoolbench_requests_are_demonstrations_and_queries(tmp_path: Path) -> None:
    for file in mcptoolbench.FILES:
        whole(tmp_path / file, [])
    tools = [
        {"name": "chart", "description": "Draws a chart", "input_schema": schema("of")},
        {"name": "sail", "description": "Sails", "input_schema": {}},
    ]
    labels = [
        {"name": "sail", "step": "2", "id": "2", "mcp_server": "boat", "similar_tools": [], "input": {}},
        {"name": "chart", "step": "1", "id": "1", "mcp_server": "boat", "similar_tools": [], "input": {"of": "sea"}},
    ]
    request = {"uuid": "u", "category": "map", "call_type": "single", "tools": tools, "query": "Out to sea"}
    whole(
        tmp_path / "map/map_0717_single_multi_lang_500.json",
        [
            {**request, "function_call_label": labels},
            {**request, "function_call_label": []},
            {**request, "function_call_label": [{"name": "dive", "input": {}}]},
            {**request, "function_call_label": [{"name": "sail"}]},
        ],
    )
    dataset = mcptoolbench.read(tmp_path)
    (plan,) = dataset.demonstrations
    assert (plan.id, calls(plan)) == ("map-0", (("chart", {"of": "sea"}), ("sail", {})))
    assert [(q.id, set(q.tools)) for q in dataset.queries] == [("map-0", {"chart", "sail"})]
    assert dataset.skipped == {
        '"function_call_label" of a record is empty': 1,
        UNKNOWN: 1,
        'a record without "input"': 1,
    }
    survives(dataset, tmp_path / "out")


# --- NESTFUL and tau2-bench ------------------------------------------------------------------------------------------


def nested(identity: str, *steps: dict[str, Any]) -> dict[str, Any]:
    parameters = {"arg_0": {"type": "int or float"}, "arg_1": {"type": "list or str"}, "arg_2": {"type": "str"}}
    tools = [{"name": "add", "description": "Adds", "parameters": parameters, "output_parameter": {"result": {}}}]
    return {"sample_id": identity, "input": "add it up", "tools": tools, "output": list(steps), "gold_answer": 3}


def step(number: int, **arguments: Any) -> dict[str, Any]:
    return {"name": "add", "label": f"$var_{number}", "arguments": arguments}


def test_nestful_references_are_links(tmp_path: Path) -> None:
    good = nested("n0", step(1, arg_0=1), step(2, arg_0="$var_1.result$", arg_1=["$var_1.other$", 2]))
    as_texts = {**good, "sample_id": "n1", "tools": json.dumps(good["tools"]), "output": json.dumps(good["output"])}
    lines(
        tmp_path / "nestful_data.jsonl",
        good,
        as_texts,
        nested("n2", step(1, arg_0="$var_2.result$"), step(2)),
        {**good, "output": "[{"},
        {**good, "output": [{"name": "subtract", "label": "$var_1", "arguments": {}}]},
    )
    dataset = nestful.read(tmp_path)
    assert {key: p.get("type") for key, p in dataset.tools[0].parameters["properties"].items()} == {
        "arg_0": "number",
        "arg_1": None,
        "arg_2": "string",
    }
    assert [d.id for d in dataset.demonstrations] == ["n0", "n1"]
    for plan in dataset.demonstrations:
        assert calls(plan) == (("add", {"arg_0": 1}), ("add", {"arg_0": "$out_1", "arg_1": ["$out_1", 2]}))
        assert plan.links == ((0, 1),)
    assert dataset.skipped == {
        "refers to a call that is not before it": 1,
        "a call that cannot be parsed": 1,
        UNKNOWN: 1,
    }
    survives(dataset, tmp_path / "out")


def test_nestful_is_read_from_parquet_too_and_damaged_parquet_is_named(tmp_path: Path) -> None:
    parquet, table = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow").Table
    record = nested("n0", step(1, arg_0=1))
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in record.items()}
    parquet.write_table(table.from_pylist([texts]), tmp_path / "train-00000-of-00001.parquet")
    (plan,) = nestful.read(tmp_path).demonstrations
    assert (plan.id, calls(plan)) == ("n0", (("add", {"arg_0": 1}),))
    (tmp_path / "train-00000-of-00001.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"train-00000-of-00001\.parquet: cannot be read as Parquet"):
        nestful.read(tmp_path)


def test_nestful_without_a_file_says_what_it_looks_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no file of NESTFUL's records in it \(parquet, jsonl\)"):
        nestful.read(tmp_path)


DESK = '''
import nowhere
raise SystemExit("never run")

class Tools:
    @is_tool(ToolType.WRITE)
    def rebook(self, ticket: str, days: List[int], cabin: Optional[str] = None) -> Ticket:
        """
        Moves a ticket.
        To other days.

        Args:
            ticket: The ticket, such as 'T1'.
            days (list): All days
                that would do.

        Raises:
            ValueError: never
        """

    @is_tool(ToolType.READ)
    def look(self) -> str:
        """Looks."""

    def hidden(self) -> None:
        """Not a tool."""
'''


def told(number: str, actions: Any) -> dict[str, Any]:
    instructions = {"reason_for_call": "Move my\n trip.", "known_info": "You are Ana.", "task_instructions": "Insist."}
    return {
        "id": number,
        "user_scenario": {"persona": None, "instructions": instructions},
        "evaluation_criteria": {"actions": actions, "nl_assertions": []},
    }


def act(name: str, **arguments: Any) -> dict[str, Any]:
    return {"action_id": "0", "requestor": "user", "name": name, "arguments": arguments, "info": None}


def test_tau2_reads_tools_out_of_a_module_without_running_it(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(DESK, encoding="utf-8")
    steps = [act("look"), act("rebook", ticket="T1", days=[1])]
    whole(tmp_path / "tasks.json", [told("0", steps), told("1", []), told("2", [act("sing")]), {"id": "3"}])
    dataset = tau2.read(tmp_path, "retail")
    rebook, look = dataset.tools
    assert (rebook.name, rebook.description) == ("rebook", "Moves a ticket. To other days.")
    assert rebook.parameters["properties"] == {
        "ticket": {"description": "The ticket, such as 'T1'.", "type": "string"},
        "days": {"description": "All days that would do.", "type": "array"},
        "cabin": {"type": "string"},
    }
    assert rebook.parameters["required"] == ["days", "ticket"]
    assert (look.name, look.parameters["properties"]) == ("look", {})
    (plan,) = dataset.demonstrations
    assert plan.query == "Move my trip.\nYou are Ana."
    assert calls(plan) == (("look", {}), ("rebook", {"ticket": "T1", "days": [1]}))
    assert dataset.skipped == {"no call in it": 1, UNKNOWN: 1, 'a record without "user_scenario"': 1}
    survives(dataset, tmp_path / "out")


def test_tau2_says_which_module_is_no_python(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text("def (", encoding="utf-8")
    with pytest.raises(InputError, match=r"tools\.py: not Python .*expected tau2-bench's module of tools"):
        tau2.read(tmp_path)


# --- ToolRet whole ---------------------------------------------------------------------------------------------------


def test_toolret_documentation_may_be_python_and_may_hold_nan(tmp_path: Path) -> None:
    about = {"description": "how many", "type": "int"}
    texts = (
        '{"name": "grow", "description": "Grows.", "parameters": {"n": {"type": "int", "default": NaN}}}',
        str({"name": "shrink", "description": "It's small.", "parameters": {"n": about}}),
        "{no literal",
    )
    lines(tmp_path / "web/tools.jsonl", *({"id": f"t{i}", "documentation": t} for i, t in enumerate(texts)))
    lines(tmp_path / "apigen/queries.jsonl", {"id": "q", "query": "less", "labels": '[{"id": "t1", "relevance": 1}]'})
    dataset = toolret.read(tmp_path, "toolret-whole")
    assert [tool.description for tool in dataset.tools] == ["grow: Grows.", "shrink: It's small.", "{no literal"]
    assert [set(tool.parameters.get("properties", ())) for tool in dataset.tools] == [{"n"}, {"n"}, set()]
    assert [(q.id, set(q.tools)) for q in dataset.queries] == [("q", {"t1"})]
    assert dataset.skipped == {}
    survives(dataset, tmp_path / "out")
