"""Checks the embedded example: the tools, the generated demonstrations and the hand-written requests."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker, ValidationError

from edgeret.inputs.tool_text import name_in_words
from edgeret_export import example
from edgeret_export.cli import main as export_main

ROOT = Path(__file__).resolve().parents[1]
DESKTOP = ROOT / "examples" / "desktop"
REFERENCE = re.compile(r"\$out_(\d+)")


def read_rows(name: str) -> list[dict[str, Any]]:
    """The objects of one JSON Lines file of the example."""
    return [json.loads(line) for line in (DESKTOP / name).read_text(encoding="utf-8").splitlines()]


TOOLS = read_rows("tools.jsonl")
SCHEMAS = {tool["name"]: tool["parameters"] for tool in TOOLS}
DEMONSTRATIONS = read_rows("demonstrations.jsonl")
REQUESTS = read_rows("requests.jsonl")
TERSE = read_rows("terse.jsonl")
VALIDATION = read_rows("validation.jsonl")
FILES = pytest.mark.parametrize(
    "rows", [DEMONSTRATIONS, REQUESTS, TERSE], ids=["demonstrations", "requests", "terse requests"]
)


def accept_references(schema: Any) -> Any:
    """A copy of a schema in which every value may also be a reference to an earlier output."""
    schema = copy.deepcopy(schema)
    for key, value in schema.get("properties", {}).items():
        schema["properties"][key] = {
            "anyOf": [{"pattern": "^\\$out_[1-9]$", "type": "string"}, accept_references(value)]
        }
    if "items" in schema:
        schema["items"] = {
            "anyOf": [{"pattern": "^\\$out_[1-9]$", "type": "string"}, accept_references(schema["items"])]
        }
    return schema


VALIDATORS = {
    name: Draft202012Validator(accept_references(schema), format_checker=FormatChecker())
    for name, schema in SCHEMAS.items()
}


def references(value: Any) -> set[int]:
    """The 0-based positions of the calls to which an argument refers."""
    if isinstance(value, dict):
        return set().union(*(references(item) for item in value.values()))
    if isinstance(value, list):
        return set().union(*(references(item) for item in value))
    if isinstance(value, str) and (match := REFERENCE.fullmatch(value)):
        return {int(match[1]) - 1}
    return set()


def literals(value: Any, schema: dict[str, Any]) -> list[str]:
    """The strings of an argument that are neither references nor values of an enum."""
    if isinstance(value, dict):
        return [text for key, item in value.items() for text in literals(item, schema["properties"][key])]
    if isinstance(value, list):
        return [text for item in value for text in literals(item, schema["items"])]
    if isinstance(value, str) and "enum" not in schema and not REFERENCE.fullmatch(value):
        return [value]
    return []


def about_unsaid(error: ValidationError) -> bool:
    """Whether a value is refused only because something that it requires is left out."""
    if error.validator == "anyOf":  # a reference, or what the schema itself asks for
        return all(about_unsaid(inner) for inner in error.context or [] if inner.relative_schema_path[0] == 1)
    return bool(error.validator == "required")


def words_of(query: str) -> tuple[str, ...]:
    """The words of a text, whatever their case and the punctuation between them."""
    return tuple(re.findall(r"\w+", query.casefold()))


def runs(query: str, length: int = 6) -> set[tuple[str, ...]]:
    """Every run of words of a text."""
    words = words_of(query)
    return {tuple(words[start : start + length]) for start in range(len(words) - length + 1)}


def test_tools_are_many_and_their_schemas_valid() -> None:
    assert len(SCHEMAS) == len(TOOLS) >= 30
    for tool in TOOLS:
        assert set(tool) == {"name", "description", "parameters"}
        assert re.fullmatch(r"[a-z]+(_[a-z]+)+", tool["name"])
        assert tool["parameters"]["additionalProperties"] is False
        Draft202012Validator.check_schema(tool["parameters"])


def test_demonstrations_are_many_and_of_every_length() -> None:
    lengths = Counter(len(row["calls"]) for row in DEMONSTRATIONS)
    assert set(lengths) == set(range(7))
    assert lengths.total() - lengths[0] >= 1500
    assert lengths[0] >= 100


def test_every_tool_is_demonstrated() -> None:
    uses = Counter(name for row in DEMONSTRATIONS for name in {call["tool"] for call in row["calls"]})
    assert min(uses[name] for name in SCHEMAS) >= 25


def test_generator_reproduces_the_file(tmp_path: Path) -> None:
    output = tmp_path / "again.jsonl"
    subprocess.run([sys.executable, str(DESKTOP / "generate.py"), "-o", str(output)], check=True)
    assert output.read_bytes() == (DESKTOP / "demonstrations.jsonl").read_bytes()
    assert b"\r" not in output.read_bytes()


@FILES
def test_arguments_validate(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        for call in row["calls"]:
            errors = [error.message for error in VALIDATORS[call["tool"]].iter_errors(call["arguments"])]
            assert errors == [], row["id"]


@FILES
def test_links_are_the_references_to_earlier_calls(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        used = {(i, j) for j, call in enumerate(row["calls"]) for i in references(call["arguments"])}
        links = [tuple(link) for link in row["links"]]
        assert set(links) == used, row["id"]
        assert len(links) == len(used), row["id"]
        assert all(0 <= i < j < len(row["calls"]) for i, j in links), row["id"]


@FILES
def test_literals_occur_in_the_query(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        for call in row["calls"]:
            for text in literals(call["arguments"], SCHEMAS[call["tool"]]):
                assert text in row["query"], (row["id"], text)


@FILES
def test_ids_and_queries_are_unique(rows: list[dict[str, Any]]) -> None:
    assert len({row["id"] for row in rows}) == len(rows)
    assert len({row["query"].casefold() for row in rows}) == len(rows)


def test_queries_hold_no_leftovers_of_templates() -> None:
    for row in DEMONSTRATIONS:
        assert not re.search(r"[\[\]{}|~\x00]|  |^\s|\s$", row["query"]), row["query"]


def test_requests_are_complete() -> None:
    assert [row["id"] for row in REQUESTS] == [f"r{number:03d}" for number in range(1, 121)]
    assert sum(not row["calls"] for row in REQUESTS) == 20
    assert {len(row["calls"]) for row in REQUESTS} == set(range(7))
    for row in REQUESTS:
        assert row["tools"] == sorted({call["tool"] for call in row["calls"]}), row["id"]
    assert {name for row in REQUESTS for name in row["tools"]} == set(SCHEMAS)


def test_requests_are_worded_differently() -> None:
    known = {run for row in DEMONSTRATIONS for run in runs(row["query"])}
    for row in REQUESTS:
        assert not runs(row["query"]) & known, row["query"]


def test_terse_requests_are_complete() -> None:
    assert [row["id"] for row in TERSE] == [f"t{number:03d}" for number in range(1, len(TERSE) + 1)]
    assert len(TERSE) >= 170
    assert sum(not row["calls"] for row in TERSE) >= 25
    for row in TERSE:
        assert row["tools"] == sorted({call["tool"] for call in row["calls"]}), row["id"]
        assert len(row["query"].split()) <= 8, row["query"]
    uses = Counter(name for row in TERSE for name in row["tools"])
    assert min(uses[name] for name in SCHEMAS) >= 3


def test_requests_for_choosing_settings_are_complete() -> None:
    assert [row["id"] for row in VALIDATION] == [f"v{number:03d}" for number in range(1, len(VALIDATION) + 1)]
    assert {call["tool"] for row in VALIDATION for call in row["calls"]} == set(SCHEMAS)
    assert sum(not row["calls"] for row in VALIDATION) == 16


def test_requests_for_choosing_settings_say_their_arguments() -> None:
    for row in VALIDATION:
        for position, call in enumerate(row["calls"]):
            schema, arguments = SCHEMAS[call["tool"]], call["arguments"]
            errors = VALIDATORS[call["tool"]].iter_errors(arguments)
            # What a tool requires and nobody said is left out, so that asking for it can be measured.
            assert [error.message for error in errors if not about_unsaid(error)] == [], row["id"]
            assert all(0 <= earlier < position for earlier in references(arguments)), row["id"]
            for text in literals(arguments, schema):
                assert text in row["query"], (row["id"], text)
    assert sum(bool(references(call["arguments"])) for row in VALIDATION for call in row["calls"]) >= 50


def test_no_request_is_a_demonstration_or_in_two_files() -> None:
    known = {words_of(row["query"]) for row in DEMONSTRATIONS}
    rows = REQUESTS + TERSE + VALIDATION
    assert [row["query"] for row in rows if words_of(row["query"]) in known] == []
    assert len({words_of(row["query"]) for row in rows}) == len(rows)


def test_no_demonstration_is_the_name_of_a_tool() -> None:
    names = {words_of(name_in_words(name)) for name in SCHEMAS}
    assert [row["query"] for row in DEMONSTRATIONS if words_of(row["query"]) in names] == []


def test_short_demonstrations_are_of_every_sort() -> None:
    short = [row for row in DEMONSTRATIONS if len(row["query"].split()) <= 6]
    uses = Counter(name for row in short for name in {call["tool"] for call in row["calls"]})
    assert min(uses[name] for name in SCHEMAS) >= 12
    assert {len(row["calls"]) for row in short} >= {0, 1, 2, 3, 4}


def test_length_alone_does_not_tell_whether_a_tool_fits() -> None:
    for most in (2, 4, 6):
        short = [row for row in DEMONSTRATIONS if len(row["query"].split()) <= most]
        assert sum(bool(row["calls"]) for row in short) > len(short) / 2, most
    longer = [row for row in DEMONSTRATIONS if 9 <= len(row["query"].split()) <= 14]
    assert sum(not row["calls"] for row in longer) >= 40


def test_more_than_half_of_the_demonstrations_are_terse_or_untidy() -> None:
    def hurried(query: str) -> bool:
        return len(query.split()) <= 4 or (query == query.lower() and not query.endswith((".", "?")))

    share = sum(hurried(row["query"]) for row in DEMONSTRATIONS) / len(DEMONSTRATIONS)
    assert 0.5 <= share <= 0.6


def write_it(capsys: pytest.CaptureFixture[str], folder: Path) -> dict[str, Any]:
    assert export_main(["example", str(folder), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert isinstance(result, dict)
    return result


def test_the_command_writes_the_files_and_says_what_to_run_next(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = tmp_path / "new" / "my example"
    result = write_it(capsys, folder)
    assert sorted(path.name for path in folder.iterdir()) == sorted(result["files"]) == sorted(example.NAMES)
    for name in example.NAMES:
        assert (folder / name).read_bytes() == (DESKTOP / name).read_bytes()
    assert f"--tools '{folder}/tools.jsonl'" in result["next"][0]
    assert export_main(["example", str(folder)]) == 0
    assert result["next"][0] in capsys.readouterr().out


def test_the_command_leaves_files_of_others_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "requests.jsonl").write_text("mine")
    assert export_main(["example", str(tmp_path)]) == 2
    assert "requests.jsonl: exists already and is not the example's" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["requests.jsonl"]
    assert (tmp_path / "requests.jsonl").read_text() == "mine"


def test_the_command_refuses_a_folder_that_is_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    assert export_main(["example", str(tmp_path / "taken")]) == 2
    assert "is no folder); give another place with FOLDER" in capsys.readouterr().err


def test_the_command_reads_the_installed_files_where_there_are_some(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = tomllib.loads((ROOT / "export" / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"][
        "wheel"
    ]
    carried = {source: target for source, target in wheel["force-include"].items() if source.startswith("../examples/")}
    assert carried == {f"../examples/desktop/{name}": f"edgeret_export/desktop/{name}" for name in example.NAMES}
    for target in carried.values():
        (tmp_path / target).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / target).write_text(f"installed {target}")
    monkeypatch.setattr(example, "files", lambda package: tmp_path / package)
    write_it(capsys, tmp_path / "out")
    assert (tmp_path / "out" / "tools.jsonl").read_text() == "installed edgeret_export/desktop/tools.jsonl"
