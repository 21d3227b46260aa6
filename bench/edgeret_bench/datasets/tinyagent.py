"""TinyAgent: plans of an assistant for the desktop. A reference is `$k` (the k-th call), `join` closes every plan."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from edgeret.errors import InputError
from edgeret.inputs.jsonl import read_text
from edgeret_bench.datasets.collect import Collector, Dataset, DirtyError, field
from edgeret_bench.datasets.files import read_entries
from edgeret_bench.datasets.plans import BACKWARDS, refer
from edgeret_bench.datasets.schema import make_object

TOOLS = "tiny_agent_tools.py"
_REFERENCE = re.compile(r"\$\{?(\d+)\}?")
_SIGNATURE = re.compile(r"(\w+)\((.*?)\) -> [^\n]*\n(.*)", re.DOTALL)
_PARAMETER = re.compile(r"(\w+): ([\w.]+(?:\[[^\]]*\])?)")


def read(folder: Path, file: str = "training_data.json", name: str = "tinyagent") -> Dataset:
    """One of the two data files, and the module that describes the tools (parsed, never run). Raises InputError."""
    collector = Collector(name)
    _tools(collector, folder / TOOLS)
    for key, record in read_entries(folder / file, "TinyAgent's object of plans"):
        with collector.record():
            _plan(collector, key, record)
    return collector.dataset()


def _plan(collector: Collector, key: str, record: Any) -> None:
    steps = field(record, list, "output")
    if not steps or not isinstance(steps[0], dict) or steps[0].get("type") != "plan":
        raise DirtyError("a record whose first output is no plan")
    written = field(steps[0], list, "parsed_output")
    calls: list[tuple[str, dict[str, Any]]] = []
    links: set[tuple[int, int]] = set()
    for position, step in enumerate(written):
        tool = field(step, str, "tool_name")
        if tool == "join":
            if position < len(written) - 1:
                raise DirtyError("calls after the plan's end")
            break
        values, sources = refer(field(step, list, "tool_args"), _REFERENCE, lambda k: int(k) - 1)
        if any(not 0 <= i < position for i in sources):
            raise DirtyError(BACKWARDS)
        links |= {(i, position) for i in sources}
        known = collector.tools[tool].parameters["properties"] if tool in collector.tools else {}
        if known and len(values) > len(known):
            raise DirtyError("more arguments than the tool takes")
        calls.append((tool, {k: v for k, v in zip(known, values, strict=False) if v is not None}))
    collector.plan(key, field(record, str, "input"), calls, sorted(links))


def _tools(collector: Collector, file: Path) -> None:
    """Tools out of the texts `name(parameter: type, …) -> type`, each with lines of explanation below."""
    try:
        module = ast.parse(read_text(file, "TinyAgent's module of tools"))
    except (SyntaxError, ValueError) as error:
        raise InputError(f"{file}: not Python ({error}); expected TinyAgent's module of tools") from None
    found = [n for n in ast.walk(module) if isinstance(n, ast.keyword) and n.arg == "description"]
    for node in sorted(found, key=lambda n: (n.lineno, n.col_offset)):
        match = _SIGNATURE.fullmatch(_text(node.value))
        if match is None:
            collector.skip("a tool's description without a signature")
            continue
        properties: dict[str, Any] = {}
        for parameter, kind in _PARAMETER.findall(match[2]):
            inner = re.search(r"\[(\w+)\]", kind)
            properties[parameter] = {"type": kind} | ({"items": inner[1]} if inner else {})
        lines = (line.strip().removeprefix("- ") for line in match[3].splitlines())
        collector.tool(match[1], " ".join(line for line in lines if line), make_object(properties, properties))


def _text(node: ast.expr) -> str:
    """A string, plain or formatted; `Names.SOME_TOOL.value` in it stands for some_tool."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_text(part) for part in parts)
        case ast.FormattedValue(value=ast.Attribute(value=ast.Attribute(attr=name), attr="value")):
            return name.lower()
    return ""
