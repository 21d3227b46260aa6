"""Several files of tools and of demonstrations make one build."""

from __future__ import annotations

import json
from pathlib import Path

from edgeret.inputs.tools import read_tools
from edgeret_export.cli import make_parser
from edgeret_export.recorded.demonstrations import read_and_check


def test_files_given_several_times_are_all_read(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.tools").write_text(json.dumps({"name": name, "description": f"does {name}"}))
        (tmp_path / f"{name}.demos").write_text(json.dumps({"query": f"do {name}", "calls": [{"tool": name}]}))
    given = [f"--{kind}={tmp_path / name}.{kind}" for name in ("a", "b") for kind in ("tools", "demos")]
    arguments = make_parser().parse_args(["build", *given, "-o", "bundle"])
    tools = read_tools(*arguments.tools)
    assert [tool.name for tool in tools] == ["a", "b"]
    assert [d.query for d in read_and_check(arguments.demos, tools)[0]] == ["do a", "do b"]
