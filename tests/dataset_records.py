"""What the tests of dataset readers share: records of our own on disk, and the round trip through edgeret's readers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from edgeret.inputs.demonstrations import Demonstration, read_demonstrations
from edgeret.inputs.queries import read_queries
from edgeret.inputs.tools import read_tools
from edgeret_bench.datasets import Dataset, convert

Plan = tuple[tuple[str, dict[str, Any]], ...]


def lines(file: Path, *records: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")


def whole(file: Path, value: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


def calls(demonstration: Demonstration) -> Plan:
    return tuple((call.tool, dict(call.arguments)) for call in demonstration.calls)


def survives(dataset: Dataset, folder: Path) -> None:
    """What is written is what edgeret's own readers read."""
    convert.write(dataset, folder)
    tools = read_tools(folder / "tools.jsonl")
    names = [tool.name for tool in tools]
    assert tuple(tools) == dataset.tools
    if dataset.demonstrations:
        assert tuple(read_demonstrations(folder / "demonstrations.jsonl", names)) == dataset.demonstrations
    if dataset.queries:
        assert tuple(read_queries(folder / "queries.jsonl", names)) == dataset.queries
