"""What tests of `edgeret-bench` commands share: running one, the files it reads, and a build of the made-up encoder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from conftest import tiny_exported

from edgeret.encoders.onnx import OnnxEncoder
from edgeret.encoders.providers import choose
from edgeret.inputs.demonstrations import Demonstration
from edgeret.inputs.tool_text import tool_text
from edgeret.types import Tool
from edgeret_bench.cli import main
from edgeret_export.build import Encoded
from edgeret_export.fitting.training_set import training_set
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


def encode_tiny(
    card: object, recipe: Recipe, demonstrations: Sequence[Demonstration], tools: Sequence[Tool], offline: bool = True
) -> Encoded:
    """What `edgeret_export.build.encode` gives, by the made-up encoder, whose parity nobody measured."""
    exported = tiny_exported()
    encoder = OnnxEncoder(exported.model, exported.tokenizer, exported.spec, choose(("cpu",), False, {}), 1)
    vectors = np.stack([encoder.encode_query(d.query)[0] for d in demonstrations])
    tool_vectors = encoder.encode_tools([tool_text(tool, recipe.tool_text) for tool in tools])
    training = training_set(demonstrations, tools, vectors, tool_vectors, recipe.seed)
    return Encoded(exported, training, tool_vectors, cast(Any, SimpleNamespace(to_dict=dict)))
