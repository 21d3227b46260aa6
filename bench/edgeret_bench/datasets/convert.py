"""Writes a dataset as the files that edgeret reads."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.inputs.queries import RetrievalQuery
from edgeret.types import Tool
from edgeret_bench.datasets.collect import Dataset

TOOLS, DEMONSTRATIONS, QUERIES = "tools.jsonl", "demonstrations.jsonl", "queries.jsonl"
ANSWERS = "answers.jsonl"


def write(dataset: Dataset, folder: Path) -> tuple[Path, ...]:
    """Those of tools.jsonl, demonstrations.jsonl, queries.jsonl and answers.jsonl that the dataset has; returns
    their paths.

    Each file appears whole or not at all, and one that the dataset has not is deleted, so that nothing of another
    dataset stays behind. Raises InputError when the folder cannot be written.
    """
    rows = {
        TOOLS: [_tool(tool) for tool in dataset.tools],
        DEMONSTRATIONS: [_demonstration(demonstration) for demonstration in dataset.demonstrations],
        QUERIES: [_query(query) for query in dataset.queries],
        ANSWERS: [{"id": identity, **answer.to_dict()} for identity, answer in dataset.answers.items()],
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".write-") as temporary:
            whole = {name: _write(Path(temporary) / name, lines) for name, lines in rows.items() if lines}
            for name in rows:
                if name in whole:
                    whole[name].replace(folder / name)
                else:
                    (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror})") from None
    return tuple(folder / name for name in whole)


def _write(file: Path, rows: Iterable[dict[str, Any]]) -> Path:
    """One object a line. Escaped to ASCII, as some characters inside texts would end a line for a reader."""
    with file.open("w", encoding="ascii", newline="\n") as sink:
        sink.writelines(json.dumps(row) + "\n" for row in rows)
    return file


def _tool(tool: Tool) -> dict[str, Any]:
    parameters = {"parameters": dict(tool.parameters)} if tool.parameters else {}
    return {"name": tool.name, "description": tool.description, **parameters}


def _demonstration(demonstration: Demonstration) -> dict[str, Any]:
    calls = [
        {"tool": call.tool} | ({"arguments": dict(call.arguments)} if call.arguments else {})
        for call in demonstration.calls
    ]
    links = {} if demonstration.links is None else {"links": [list(link) for link in demonstration.links]}
    return {"id": demonstration.id, "query": demonstration.query, "calls": calls, **links}


def _query(query: RetrievalQuery) -> dict[str, Any]:
    steps = {"steps": list(query.steps)} if query.steps else {}
    return {"id": query.id, "query": query.query, "tools": sorted(query.tools), **steps}
