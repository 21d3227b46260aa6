"""Readers on excerpts of the originals as published (tests/data/originals), by the command `fetch NAME --from FOLDER`.

What is expected was counted and read in the files by hand. Nothing is fetched.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from dataset_records import survives

from edgeret_bench.cli import main
from edgeret_bench.datasets import DATASETS

ORIGINALS = Path(__file__).parents[1] / "data" / "originals"


class Read:
    """What the command says of an excerpt, and the records that it wrote."""

    def __init__(self, name: str, folder: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
        capsys.readouterr()
        assert main(["lab", "fetch", name, "--from", str(folder), "-o", str(out), "--json"]) == 0
        self.result: dict[str, Any] = json.loads(capsys.readouterr().out)
        self.tools = {tool["name"]: tool for tool in self._records(out / "tools.jsonl")}
        self.queries = {query["id"]: query for query in self._records(out / "queries.jsonl")}
        self.plans = {plan["id"]: plan for plan in self._records(out / "demonstrations.jsonl")}

    @property
    def counts(self) -> tuple[int, int, int]:
        """Tools, plans, queries."""
        counted = (len(self.tools), len(self.plans), len(self.queries))
        assert counted == tuple(self.result[f"n_{what}"] for what in ("tools", "demonstrations", "queries"))
        return counted

    @property
    def unlike_pinned(self) -> set[str]:
        """Names of files that are not the pinned ones, and why."""
        return {wrong.partition(" sha256 ")[0] for wrong in self.result["unlike_pinned"]}

    @staticmethod
    def _records(file: Path) -> list[Any]:
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.is_file() else []


def test_toole_as_published(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read = Read("toole", ORIGINALS / "toole", tmp_path, capsys)
    assert read.counts == (199, 0, 60 + 20)
    assert read.result["skipped"] == {}
    assert read.tools["ResearchFinder"] == {
        "name": "ResearchFinder",
        "description": "Tool for searching academic papers.",
    }
    assert read.queries["s0"]["query"] == "Can I find academic research papers on this topic?"
    assert read.queries["s0"]["tools"] == ["ResearchHelper"]
    assert read.queries["s47"]["query"].endswith("mental health, political discourse, and interpersonal relationships?")
    assert read.queries["m5"]["query"].endswith('list of tourist attractions in Tokyo?"')
    assert read.queries["m5"]["tools"] == ["FinanceTool", "TripTool"]
    assert read.queries["m3"]["tools"] == ["FinanceTool", "PDF&URLTool"]
    single = Counter(query["tools"][0] for query in read.queries.values() if len(query["tools"]) == 1)
    assert single == {"ResearchHelper": 21, "SEOTool": 20, "ResearchFinder": 19}


def test_toolbench_as_published(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read = Read("toolbench", ORIGINALS / "toolbench", tmp_path, capsys)
    assert read.counts == (3 + 4 + 6 + 10 + 3 + 10 + 8 + 10, 0, 8)
    assert read.result["skipped"] == {}
    assert list(read.queries) == [f"G1_tool-{k}" for k in (394, 692, 1617, 2412, 2513, 2701, 3007, 3215)]
    assert read.queries["G1_tool-394"]["tools"] == ["Simple YouTube Search: Search", "Simple YouTube Search: Video"]
    assert read.queries["G1_tool-2701"]["tools"] == [
        "Morning Star: {type}/parent/get-highest-rated-investments",
        "Morning Star: {type}/parent/get-recent-investment-rating-change",
        "Morning Star: {type}/portfolio/get-credit-quality",
        "Morning Star: {type}/sustainability/get-product-involvement",
    ]
    assert read.tools["Simple YouTube Search: Search"] == {
        "name": "Simple YouTube Search: Search",
        "description": "Make youtube search",
        "parameters": {
            "type": "object",
            # "type" is an ENUM whose values are nowhere said.
            "properties": {"query": {"type": "string"}, "type": {}, "safesearch": {"type": "boolean"}},
            "required": ["query"],
        },
    }
    reviews = read.tools["Wayfair: reviews/list"]["parameters"]
    assert reviews["required"] == ["sku"]
    assert reviews["properties"]["page"] == {"type": "number", "description": "For paging purpose"}
    placeholder = read.tools["MMAAPI: FemaleFighterImagePlaceholder"]
    assert placeholder["parameters"] == {"type": "object", "properties": {}}


def test_seal_tools_as_published(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read = Read("seal-tools", ORIGINALS / "seal-tools", tmp_path, capsys)
    assert read.counts == (17, 15, 0)
    assert read.result["skipped"] == {}
    assert list(read.plans) == [f"dev-easy-{k}" for k in range(15)]
    rooms = read.tools["getAvailableRooms"]
    assert rooms["description"] == "Retrieve available rooms information"
    assert rooms["parameters"]["properties"]["guests"] == {
        "type": "integer",
        "description": "The number of guests for the booking",
    }
    assert rooms["parameters"]["required"] == ["check_in_date", "check_out_date", "location"]
    assert read.plans["dev-easy-5"] == {
        "id": "dev-easy-5",
        "query": "Find available rooms in New York from November 25, 2013, to January 7, 2006.",
        "calls": [
            {
                "tool": "getAvailableRooms",
                "arguments": {"location": "New York", "check_in_date": "2013-11-25", "check_out_date": "2006-01-07"},
            }
        ],
        "links": [],
    }
    # Its schema says integer; values stay as published.
    assert read.plans["dev-easy-14"]["calls"][0]["arguments"]["age"] == "63"


@pytest.mark.parametrize("name", ["toole", "toolbench", "seal-tools"])
def test_what_is_written_of_an_excerpt_is_read_back_the_same(name: str, tmp_path: Path) -> None:
    survives(DATASETS[name].reader(ORIGINALS / name), tmp_path)


def test_an_excerpt_is_read_although_it_is_not_what_is_pinned_and_each_such_file_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """ToolE's descriptions are whole in the excerpt: their pins hold."""
    told = {
        name: Read(name, ORIGINALS / name, tmp_path / name, capsys).unlike_pinned for name in ("toole", "toolbench")
    }
    assert told["toole"] == {"all_clean_data.csv: expected", "multi_tool_query_golden.json: expected"}
    others = ("G1_instruction", "G1_category", "G2_instruction", "G2_category", "G3_instruction")
    assert told["toolbench"] == {"G1_tool.json: expected", *(f"{other}.json is missing" for other in others)}


def copied(name: str, tmp_path: Path) -> Path:
    return Path(shutil.copytree(ORIGINALS / name, tmp_path / "in"))


def test_toole_queries_whose_tool_nobody_describes_are_skipped_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copied("toole", tmp_path)
    for name in ("plugin_des.json", "big_tool_des.json"):
        described = json.loads((folder / name).read_text(encoding="utf-8"))
        del described["ResearchHelper"]
        (folder / name).write_text(json.dumps(described), encoding="utf-8")
    read = Read("toole", folder, tmp_path / "out", capsys)
    assert read.counts == (198, 0, 80 - 21)
    assert read.result["skipped"] == {"names a tool that the dataset does not define": 21}
    assert "s0" not in read.queries


def test_toolbench_queries_whose_api_nobody_describes_are_skipped_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copied("toolbench", tmp_path)
    records = json.loads((folder / "G1_tool.json").read_text(encoding="utf-8"))
    records[0]["api_list"] = [api for api in records[0]["api_list"] if api["api_name"] != "Video"]
    (folder / "G1_tool.json").write_text(json.dumps(records), encoding="utf-8")
    read = Read("toolbench", folder, tmp_path / "out", capsys)
    assert read.counts == (53, 0, 7)
    assert read.result["skipped"] == {"names a tool that the dataset does not define": 1}
    assert "G1_tool-394" not in read.queries


def test_seal_tools_plans_that_call_an_undefined_tool_are_skipped_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copied("seal-tools", tmp_path)
    kept = [
        line
        for line in (folder / "tool.jsonl").read_text(encoding="utf-8").splitlines()
        if "getWaterQuality" not in line
    ]
    (folder / "tool.jsonl").write_text("\n".join(kept), encoding="utf-8")
    read = Read("seal-tools", folder, tmp_path / "out", capsys)
    assert read.counts == (16, 14, 0)
    assert read.result["skipped"] == {"calls a tool that the dataset does not define": 1}
    assert "dev-easy-3" not in read.plans
