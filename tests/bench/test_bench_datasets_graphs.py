"""TaskBench, TinyAgent and Seal-Tools, whose plans are graphs, on records of our own in the originals' forms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dataset_records import calls, lines, survives, whole

from edgeret.errors import InputError
from edgeret_bench.datasets import Dataset, sealtools, taskbench, tinyagent
from edgeret_bench.datasets.stats import dependencies

# --- TaskBench -------------------------------------------------------------------------------------------------------

MODELS = {
    "nodes": [
        {"id": "Image Editing", "desc": "Edits an image", "input-type": ["text", "image"], "output-type": ["image"]},
        {"id": "Summarization", "desc": "Shortens a text", "input-type": ["text"], "output-type": ["text"]},
        {"id": "Object Detection", "desc": "Finds objects", "input-type": ["image"], "output-type": ["text"]},
        {"id": "Image Blending", "desc": "Mixes", "input-type": ["image", "image"], "output-type": ["image"]},
    ]
}
SERVICES = {
    "nodes": [
        {"id": "get_rain", "desc": "Rain of a day", "parameters": [{"name": "day", "type": "date", "desc": "which"}]},
        {"id": "book_hall", "desc": "Books", "parameters": [{"name": "hall", "type": "string", "desc": "which"}]},
    ]
}


def node(task: str, *arguments: Any) -> dict[str, Any]:
    return {"task": task, "arguments": list(arguments)}


def link(source: str, target: str) -> dict[str, str]:
    return {"source": source, "target": target}


def sample(nodes: list[Any], links: list[Any], **more: Any) -> dict[str, Any]:
    return {"id": "7", "user_request": "do it", "task_nodes": nodes, "task_links": links, "type": "dag", **more}


def taskbench_of(folder: Path, tools: Any, *records: Any) -> Dataset:
    whole(folder / "tool_desc.json", tools)
    lines(folder / "data.json", *records)
    return taskbench.read(folder)


EDIT = [
    node("Image Editing", "<node-2>", "a.jpg"),
    node("Object Detection", "<node-0>"),
    node("Summarization", "a long story"),
]
EDIT_LINKS = [link("Image Editing", "Object Detection"), link("Summarization", "Image Editing")]


def test_taskbench_nodes_are_put_in_the_order_of_their_links(tmp_path: Path) -> None:
    dataset = taskbench_of(tmp_path, MODELS, sample(EDIT, EDIT_LINKS))
    (plan,) = dataset.demonstrations
    assert calls(plan) == (
        ("Summarization", {"text": "a long story"}),
        ("Image Editing", {"text": "$out_1", "image": "a.jpg"}),
        ("Object Detection", {"image": "$out_2"}),
    )
    assert plan.links == ((0, 1), (1, 2))
    assert dataset.skipped == {}
    survives(dataset, tmp_path / "out")


def test_taskbench_an_output_goes_where_its_type_fits(tmp_path: Path) -> None:
    nodes = [node("Object Detection", "a.jpg"), node("Image Editing", "b.jpg", "<node-0>")]
    (plan,) = taskbench_of(tmp_path, MODELS, sample(nodes, [])).demonstrations
    assert calls(plan)[1] == ("Image Editing", {"image": "b.jpg", "text": "$out_1"})
    assert plan.links == ((0, 1),)


def test_taskbench_the_hub_release_has_other_names_and_strings_for_lists(tmp_path: Path) -> None:
    record = {
        "id": "7",
        "instruction": "do it",
        "tool_nodes": json.dumps(EDIT),
        "tool_links": json.dumps(EDIT_LINKS),
        "tool_steps": "[]",
    }
    hub = taskbench_of(tmp_path / "hub", MODELS, record)
    raw = taskbench_of(tmp_path / "raw", MODELS, sample(EDIT, EDIT_LINKS))
    assert hub.demonstrations == raw.demonstrations


@pytest.mark.parametrize("value", ["<output_of_Summarization>", "Summarization", "<output_of_summarization>"])
def test_taskbench_the_name_of_another_call_stands_for_its_output(tmp_path: Path, value: str) -> None:
    nodes = [node("Image_Editing", value, "a.jpg"), node("Summarization", "story")]
    (plan,) = taskbench_of(tmp_path, MODELS, sample(nodes, [])).demonstrations
    edit = next(call for call in plan.calls if call.tool == "Image Editing")
    if "_summ" in value:  # another spelling is no name of a tool
        assert edit.arguments["text"] == value
    else:
        assert edit.arguments["text"] == "$out_1"


def test_taskbench_daily_life_takes_the_links_as_given(tmp_path: Path) -> None:
    nodes = [
        node("book_hall", {"name": "hall", "value": "get_rain"}),
        node("get_rain", {"name": "day", "value": "mon"}),
    ]
    dataset = taskbench_of(tmp_path, SERVICES, sample(nodes, [link("get_rain", "book_hall")]))
    (plan,) = dataset.demonstrations
    assert calls(plan) == (("get_rain", {"day": "mon"}), ("book_hall", {"hall": "$out_1"}))
    assert plan.links == ((0, 1),)
    assert dataset.tools[0].parameters["properties"]["day"]["type"] == "string"
    survives(dataset, tmp_path / "out")


def test_taskbench_a_chain_may_call_a_tool_twice(tmp_path: Path) -> None:
    day = {"name": "day", "value": "mon"}
    nodes = [node("get_rain", day), node("book_hall"), node("get_rain", day)]
    links = [link("get_rain", "book_hall"), link("book_hall", "get_rain")]
    (plan,) = taskbench_of(tmp_path, SERVICES, sample(nodes, links)).demonstrations
    assert plan.links == ((0, 1), (1, 2))


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (sample([node("Image Dreaming", "x")], []), "calls a tool that the dataset does not define"),
        (sample([node("Summarization", "<node-4>")], []), "refers to a node that is not there"),
        (sample([node("Summarization", "<node-0>")], []), "calls that wait for each other"),
        (sample(EDIT, [link("Summarization", "Image Blending")]), "a link to a tool that the plan does not call"),
        (sample([], []), "no call in it"),
        ({"id": "1", "task_nodes": [], "task_links": []}, 'a record without "instruction"'),
        (sample([], [], user_request=3), '"user_request" of a record is no str'),
        ({"id": "1", "tool_nodes": "[oh", "tool_links": "[]"}, "a list that is no JSON"),
        ([], 'a record without "tool_nodes"'),
    ],
)
def test_taskbench_a_dirty_record_is_counted_by_its_reason(tmp_path: Path, record: Any, reason: str) -> None:
    dataset = taskbench_of(tmp_path, MODELS, record, sample(EDIT, EDIT_LINKS))
    assert dataset.skipped == {reason: 1}
    assert len(dataset.demonstrations) == 1


def test_taskbench_a_link_by_an_ambiguous_name_is_not_guessed(tmp_path: Path) -> None:
    nodes = [node("get_rain"), node("get_rain"), node("book_hall")]
    dirty = sample(nodes, [link("get_rain", "book_hall")])
    dataset = taskbench_of(tmp_path, SERVICES, dirty, sample([node("get_rain")], []))
    assert dataset.skipped == {"a link by the name of a tool that is called twice": 1}


def test_taskbench_arguments_that_do_not_fit_are_left_out_and_counted(tmp_path: Path) -> None:
    nodes = [node("Summarization", "one", "two")]
    dataset = taskbench_of(tmp_path, MODELS, sample(nodes, []))
    assert calls(dataset.demonstrations[0]) == (("Summarization", {"text": "one"}),)
    assert dataset.skipped == {"mended: an argument more than the tool takes was left out": 1}
    nodes = [node("get_rain", {"name": "rain_year", "value": "x"})]
    dataset = taskbench_of(tmp_path, SERVICES, sample(nodes, []))
    assert dataset.skipped == {"mended: an argument that the tool does not have was left out": 1}


# --- TinyAgent -------------------------------------------------------------------------------------------------------

TINY_TOOLS = """
def find_mail(x) -> Tool:
    return Tool(
        name=Names.FIND_MAIL.value,
        description=(
            f"{Names.FIND_MAIL.value}(name: str) -> str\\n"
            " - Finds a mail address.\\n"
        ),
    )
MEET = Tool(description=(f"{Names.MEET.value}(" "title: str, guests: list[str], minutes: int) -> str\\n - Plans.\\n"))
BAD = Tool(description="no signature here")
"""


def plan_of(*steps: tuple[str, list[Any]], kind: str = "plan") -> dict[str, Any]:
    parsed = [{"tool_name": name, "tool_args": arguments} for name, arguments in steps]
    return {
        "input": "meet Ana",
        "output": [{"type": kind, "raw_input": "…", "parsed_output": parsed}, {"type": "join"}],
    }


def tinyagent_of(folder: Path, **records: Any) -> Dataset:
    (folder / "tiny_agent_tools.py").write_text(TINY_TOOLS, encoding="utf-8")
    whole(folder / "training_data.json", records)
    return tinyagent.read(folder)


MEETING = plan_of(("find_mail", ["Ana"]), ("meet", ["with $1", ["$1", "${1}"], None]), ("join", []))


def test_tinyagent_positions_become_names_and_dollars_references(tmp_path: Path) -> None:
    dataset = tinyagent_of(tmp_path, a=MEETING)
    (plan,) = dataset.demonstrations
    assert plan.id == "a"
    assert calls(plan) == (
        ("find_mail", {"name": "Ana"}),
        ("meet", {"title": "with $out_1", "guests": ["$out_1", "$out_1"]}),
    )
    assert plan.links == ((0, 1),)
    assert [tool.name for tool in dataset.tools] == ["find_mail", "meet"]
    assert dataset.tools[1].parameters["properties"]["guests"] == {"type": "array", "items": {"type": "string"}}
    assert dataset.tools[0].description == "Finds a mail address."
    assert dataset.skipped == {"a tool's description without a signature": 1}
    survives(dataset, tmp_path / "out")


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (plan_of(("find_mail", ["$1"]), ("join", [])), "refers to a call that is not before it"),
        (plan_of(("join", []), ("find_mail", ["Ana"])), "calls after the plan's end"),
        (plan_of(("find_mail", ["Ana", "Bo"])), "more arguments than the tool takes"),
        (plan_of(("send_pigeon", [])), "calls a tool that the dataset does not define"),
        (plan_of(kind="replan"), "a record whose first output is no plan"),
        (plan_of(("join", [])), "no call in it"),
        ({"input": "x", "output": []}, "a record whose first output is no plan"),
    ],
)
def test_tinyagent_a_dirty_record_is_counted(tmp_path: Path, record: Any, reason: str) -> None:
    dataset = tinyagent_of(tmp_path, bad=record, good=MEETING)
    assert dataset.skipped[reason] == 1
    assert [plan.id for plan in dataset.demonstrations] == ["good"]


@pytest.mark.parametrize("text", ["[]", '{"a": 1', '{"a" 1}', '{"a": }', '{"a": {}, }', "", "{1: 2}"])
def test_tinyagent_a_damaged_file_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "tiny_agent_tools.py").write_text(TINY_TOOLS, encoding="utf-8")
    (tmp_path / "training_data.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"training_data\.json"):
        tinyagent.read(tmp_path)


def seal(*written: tuple[str, dict[str, Any], list[str]]) -> list[dict[str, Any]]:
    return [{"api": name, "parameters": parameters, "responses": responses} for name, parameters, responses in written]


@pytest.mark.parametrize("old", [False, True])
def test_seal_tools_variables_lead_to_the_call_that_owns_them(tmp_path: Path, old: bool) -> None:
    spec = {"p": {"type": "str", "description": "p"}}
    tools = [{"api_name": n, "api_description": n, "parameters": spec, "required": ["p"]} for n in ("getA", "getB")]
    lines(tmp_path / "tool.jsonl", *tools)
    good = seal(
        ("getA", {"p": "x"}, ["API_call_0", "API_call_1"]),
        ("getA", {"p": "y"}, ["API_call_2"]),
        ("getB", {"p": "API_call_1"}, []),
    )
    bad = seal(("getB", {"p": "API_call_3"}, []))

    def record(calling: list[dict[str, Any]]) -> Any:
        return [calling, "ask"] if old else {"id": "dev-0", "query": "ask", "calling": calling}

    lines(tmp_path / "dev.jsonl", record(good), record(bad), {"what": 1}, record(seal(("getC", {}, []))))
    dataset = sealtools.read(tmp_path)
    (plan,) = dataset.demonstrations
    assert calls(plan)[2] == ("getB", {"p": "$out_1"})
    assert plan.links == ((0, 2),)
    assert dependencies(plan) == {(0, 2)}
    assert sum(dataset.skipped.values()) == 3
    assert dataset.skipped["refers to a call that is not before it"] == 1
    survives(dataset, tmp_path / "out")


# --- texts


def test_a_file_of_another_form_is_an_error_that_says_what_was_skipped(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r'no plans or queries.*1 × a record without "tool_nodes"'):
        taskbench_of(tmp_path, MODELS, {"other": 1})
    with pytest.raises(InputError, match="no tools could be read"):
        taskbench_of(tmp_path, [], sample(EDIT, EDIT_LINKS))


def test_a_line_that_is_no_json_is_an_error_with_its_number(tmp_path: Path) -> None:
    whole(tmp_path / "tool_desc.json", MODELS)
    (tmp_path / "data.json").write_text('{}\n\n{"a":', encoding="utf-8")
    with pytest.raises(InputError, match=r"data\.json:3: not JSON"):
        taskbench.read(tmp_path)


def test_texts_that_edgeret_cannot_take_are_counted_or_mended(tmp_path: Path) -> None:
    tools = {"nodes": [*MODELS["nodes"], {"id": "<end>", "desc": "x", "input-type": []}]}
    separators = "one\u2028two\x85three"
    dirty = [sample([node("Summarization", "x")], [], user_request=query) for query in ("  ", "\ud800", "y" * 20_001)]
    half = sample([node("Summarization", "\ud800")], [])
    (tmp_path / "data.json").write_text(
        "\n".join(
            json.dumps(r)
            for r in (*dirty, half, sample([node("Summarization", separators)], [], user_request=separators))
        ),
        encoding="utf-8",
    )
    whole(tmp_path / "tool_desc.json", tools)
    dataset = taskbench.read(tmp_path)
    assert dataset.skipped == {
        "a query that is empty, too long or no text": 3,
        "a tool whose name or parameters edgeret cannot take": 1,
        "an argument that JSON cannot hold": 1,
    }
    assert dataset.demonstrations[0].query == separators
    survives(dataset, tmp_path / "out")
