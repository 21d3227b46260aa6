"""What tests of `edgeret-bench` commands share: running one, the files it reads, and a build of the made-up encoder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import encode_tiny

from edgeret.inputs.demonstrations import Demonstration
from edgeret.types import Tool
from edgeret_bench.cli import main
from edgeret_export.encoded import Encoded
from edgeret_export.recipe import Recipe


def run(*arguments: object, code: int = 0) -> None:
    """Runs a command and checks its exit code."""
    assert main([str(a) for a in arguments]) == code


def printed(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> dict[str, Any]:
    """The JSON object that a command prints."""
    capsys.readouterr()
    run(*arguments, "--json", code=code)
    value = json.loads(capsys.readouterr().out)
    assert isinstance(value, dict)
    return value


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one line with which a command refuses its input."""
    capsys.readouterr()
    try:
        code: Any = main([str(a) for a in arguments])
    except SystemExit as stop:
        code = stop.code
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert "Traceback" not in err
    assert len(err.strip().splitlines()) == 1
    return err


def write_demonstrations(path: Path, demonstrations: Sequence[Demonstration]) -> Path:
    """Demonstrations as JSONL."""
    rows = [
        {"id": d.id, "query": d.query, "calls": [{"tool": c.tool, "arguments": dict(c.arguments)} for c in d.calls]}
        for d in demonstrations
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_queries(path: Path, queries: Sequence[str]) -> Path:
    """Retrieval queries as JSONL; the tools named are not looked at by those who time."""
    rows = [{"id": str(i), "query": query, "tools": ["find_file"]} for i, query in enumerate(queries)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_tools(path: Path, tools: Sequence[Tool]) -> Path:
    """Tools as JSONL."""
    path.write_text("".join(json.dumps({"name": t.name, "description": t.description}) + "\n" for t in tools))
    return path


def encoded_tiny(
    card: object, recipe: Recipe, demonstrations: Sequence[Demonstration], tools: Sequence[Tool], offline: bool = True
) -> Encoded:
    """What `edgeret_export.build.encode` gives, called as it is, by the made-up encoder."""
    return encode_tiny(recipe, demonstrations, tools)
