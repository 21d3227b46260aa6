"""UltraTool: plans in words, where some steps carry a call. Each is a demonstration, and a query whose sub-tasks are
those steps. Arguments are taken from the plan itself: those of the benchmark's own test set are cut off at commas."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from edgeret_bench.datasets.collect import Collector, Dataset, field
from edgeret_bench.datasets.files import read_lines
from edgeret_bench.datasets.plans import parse_call
from edgeret_bench.datasets.schema import make_object

_NOTHING = ("", "null", "none", "no tool required")


def read(folder: Path) -> Dataset:
    """`test.json`. Raises InputError."""
    collector = Collector("ultratool")
    records = list(read_lines(folder / "test.json", "UltraTool's plans"))
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for record in records:
        with collector.record():
            for tool in field(record, list, "tools"):
                _gather(collector, found, tool)
    for name, (description, properties) in found.items():
        collector.tool(name, description, make_object(properties))
    parameters = {name: tool.parameters["properties"] for name, tool in collector.tools.items()}
    for number, record in enumerate(records):
        with collector.record():
            _plan(collector, f"u{number}", record, parameters)
    return collector.dataset()


def _gather(collector: Collector, found: dict[str, tuple[str, dict[str, Any]]], tool: Any) -> None:
    """Adds a tool to those found. Records define the same tool with other parameters: it gets all of them."""
    name, description = field(tool, str, "name").strip(), tool.get("description")
    arguments = tool.get("arguments")
    properties = arguments.get("properties") if isinstance(arguments, dict) else None
    properties = properties if isinstance(properties, dict) else {}
    if name not in found:
        found[name] = (description if isinstance(description, str) else "", dict(properties))
    elif properties.keys() - found[name][1].keys():
        collector.skip("mended: parameters of another definition of a tool's name were added to the first one's")
        found[name] = (found[name][0], {**properties, **found[name][1]})


def _plan(collector: Collector, identity: str, record: Any, parameters: Mapping[str, Collection[str]]) -> None:
    steps = [(field(step, str, "tool").strip(), step.get("step")) for step in field(record, list, "plan")]
    needed = [(call, words) for call, words in steps if call.lower() not in _NOTHING]
    calls, question = [parse_call(call, parameters) for call, _ in needed], field(record, str, "question")
    collector.plan(identity, question, calls)
    collector.query(identity, question, [name for name, _ in calls], [words for _, words in needed])
