"""tau2-bench: tasks of a service desk, with the calls that an agent, or at one of the desks the customer, should make.

Tools are read out of the desk's own modules, which are parsed and never run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from edgeret.errors import InputError
from edgeret.inputs.jsonl import read_text
from edgeret_bench.datasets.collect import Collector, Dataset, field
from edgeret_bench.datasets.files import read_list
from edgeret_bench.datasets.schema import make_object

MODULES = {"airline": ("tools.py",), "retail": ("tools.py",), "telecom": ("tools.py", "user_tools.py")}
_MARK = "is_tool"
_ARGUMENT = re.compile(r"^ *(\w+)(?: *\([^)]*\))?: *(.*)$")
_SECTION = re.compile(r"^ *(Args|Returns|Raises|Return|Examples?|Notes?):", re.MULTILINE)


def read(folder: Path, desk: str = "airline") -> Dataset:
    """`tasks.json`, `tools.py` and, of telecom, `user_tools.py`. Raises InputError."""
    collector = Collector(f"tau2-{desk}")
    for module in MODULES[desk]:
        for name, description, parameters in _tools(folder / module):
            collector.tool(name, description, parameters)
    for number, task in enumerate(read_list(folder / "tasks.json", "tau2-bench's tasks")):
        with collector.record():
            _task(collector, number, task)
    return collector.dataset()


def _task(collector: Collector, number: int, task: Any) -> None:
    """The query is why the customer calls, and what he knows. Where an agent has to refuse, there may be no call: such
    tasks are counted as left out, since tools that fit are there."""
    told = field(field(task, dict, "user_scenario"), dict, "instructions")
    said = [field(told, str, "reason_for_call"), told.get("known_info")]
    query = "\n".join(" ".join(text.split()) for text in said if isinstance(text, str) and text.strip())
    actions = field(task, dict, "evaluation_criteria").get("actions") or []
    calls = [(field(action, str, "name"), field(action, dict, "arguments")) for action in actions]
    collector.plan(str(task.get("id", number)), query, calls)


def _tools(file: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Name, description and parameters of the methods that are marked as tools."""
    try:
        module = ast.parse(read_text(file, "tau2-bench's module of tools"))
    except (SyntaxError, ValueError, RecursionError) as error:
        raise InputError(f"{file}: not Python ({error}); expected tau2-bench's module of tools") from None
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef) and any(_marked(decorator) for decorator in node.decorator_list):
            text = ast.get_docstring(node) or ""
            named = [argument for argument in node.args.args if argument.arg != "self"]
            about = _arguments(text)
            properties = {
                argument.arg: {"type": _kind(argument.annotation), "description": about.get(argument.arg)}
                for argument in named
            }
            needed = [argument.arg for argument in named[: len(named) - len(node.args.defaults)]]
            yield node.name, " ".join(_SECTION.split(text)[0].split()), make_object(properties, needed)


def _marked(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(called, ast.Name) and called.id == _MARK


def _arguments(text: str) -> dict[str, str]:
    """What a docstring says below "Args:", by name; lines that begin no argument go on with the one before."""
    sections = _SECTION.split(text)
    found: dict[str, str] = {}
    for title, body in zip(sections[1::2], sections[2::2], strict=True):
        last = ""
        for line in body.split("\n") if title == "Args" else []:
            match = _ARGUMENT.match(line)
            if match is not None:
                last = match[1]
                found[last] = match[2].strip()
            elif last and line.strip():
                found[last] += f" {line.strip()}"
    return found


def _kind(annotation: ast.expr | None) -> str:
    """The annotation's own word: `List` of List[str], `str` of Optional[str]."""
    if isinstance(annotation, ast.Subscript):
        outer = annotation.value.id if isinstance(annotation.value, ast.Name) else ""
        return _kind(annotation.slice) if outer == "Optional" else outer
    return annotation.id if isinstance(annotation, ast.Name) else ""
